// Package elastic is the push target that speaks the _bulk interface of
// Elasticsearch (7 and later) and OpenSearch.
//
// A document's _id is the SHA-256 of its URL in hex, because ids are limited to 512
// bytes; the URL is a field. Each entry carries its number as an external version, so
// that whatever arrives late or twice cannot replace something newer. What was
// answered with 200, and in it with a good status of its own, is safe: the indexer
// has it in its transaction log on disk, where index.translog.durability is left at
// request.
package elastic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// Settings of an elastic target. Zero values stand for the defaults in brackets.
type Settings struct {
	Name  string // of the target ["elasticsearch", or "opensearch"]
	Index string // or an alias that has one index to write to

	Pipeline       string // ingest pipeline of the documents; none if empty
	CreateTemplate bool   // creates an index template unless one of that name exists
	OpenSearch     bool   // the server is OpenSearch, whose templates differ

	Fields wire.Names
	Server wire.Settings // of the node, or of the load balancer in front of the nodes
	Limits wire.Limits
}

// Target is a push.Target for one index.
type Target struct {
	wire.Endpoint
	set      Settings
	bulkPath string
	query    url.Values
	ready    bool // the template exists, or is not needed
}

// New checks the settings; it makes no request.
func New(s Settings) (*Target, error) {
	if s.Name == "" {
		s.Name = "elasticsearch"
		if s.OpenSearch {
			s.Name = "opensearch"
		}
	}
	index, err := wire.Segment("index", s.Index)
	if err != nil {
		return nil, fmt.Errorf("the %s target: %w", s.Name, err)
	}
	endpoint, err := wire.NewEndpoint(s.Name, s.Server)
	if err != nil {
		return nil, err
	}
	t := &Target{
		set: s, Endpoint: endpoint, ready: !s.CreateTemplate, bulkPath: "/" + index + "/_bulk",
		query: url.Values{"filter_path": {"errors,items.*.status,items.*.error"}},
	}
	if s.Pipeline != "" {
		t.query.Set("pipeline", s.Pipeline)
	}
	return t, nil
}

// Push sends entries as _bulk requests. Entries that the indexer refuses temporarily (429, 503) are sent again;
// documents that it refuses permanently are returned.
func (t *Target) Push(ctx context.Context, entries []push.Entry) ([]push.Refusal, error) {
	if len(entries) == 0 {
		return nil, ctx.Err()
	}
	if !t.ready {
		if err := t.createTemplate(ctx); err != nil {
			return nil, err
		}
		t.ready = true
	}
	return t.Spread(ctx, entries, t.set.Limits, t.encode, t.send)
}

// ID is the _id of the document of a URL.
func ID(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:])
}

// encode returns the action line and, for an add, the document's line.
func (t *Target) encode(e push.Entry) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(e.Body) + 200)
	op := "index"
	if e.Op == push.Delete {
		op = "delete"
	}
	fmt.Fprintf(&b, `{"%s":{"_id":"%s","version":%d,"version_type":"external_gte"}}`+"\n", op, ID(e.URL), e.Seq)
	if e.Op == push.Delete {
		return b.Bytes(), nil
	}
	if err := t.set.Fields.Append(&b, e); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// send makes a _bulk request, and another one for the items that were refused temporarily.
func (t *Target) send(ctx context.Context, items []wire.Item) ([]push.Refusal, error) {
	var refused []push.Refusal
	for attempt := 0; ; attempt++ {
		v, err := t.bulk(ctx, items)
		if err != nil {
			return nil, err
		}
		refused = append(refused, v.refused...)
		if len(v.again) == 0 {
			return refused, nil
		}
		if attempt == t.Client.Retries() {
			return nil, fmt.Errorf("_bulk: %d of %d entries were turned away for now, %d times: %s", len(v.again), len(items), attempt+1, v.words)
		}
		if err := t.Client.Pause(ctx, attempt); err != nil {
			return nil, err
		}
		items = v.again
	}
}

// itemAnswers are the indexer's results for the items of a request.
type itemAnswers struct {
	refused []push.Refusal
	again   []wire.Item
	words   string // of one that is to be sent again
}

// Limits of the response: errors quote much of documents.
const (
	answerBytes = 64 << 10
	itemBytes   = 8 << 10
)

func (t *Target) bulk(ctx context.Context, items []wire.Item) (v itemAnswers, err error) {
	body, err := t.Client.Do(ctx, wire.Request{
		Name: "_bulk", Method: http.MethodPost, Path: t.bulkPath, Query: t.query,
		ContentType: "application/x-ndjson", Body: wire.Join(items), MaxAnswer: int64(answerBytes + itemBytes*len(items)),
	})
	if status, ok := errors.AsType[*wire.StatusError](err); ok {
		return v, status.Unfit(reason(status.Body))
	}
	if err != nil {
		return v, err
	}
	answers, err := parseAnswer(body, len(items))
	if err != nil {
		return v, &wire.Unanswered{Err: err}
	}
	for i, a := range answers {
		switch item := items[i]; a.judge(item.Op) {
		case delivered:
		case refused:
			v.refused = append(v.refused, push.Refusal{Seq: item.Seq, Words: a.Error.words()})
		case turnedAway:
			v.again, v.words = append(v.again, item), a.Error.words()
		case broken:
			return v, fmt.Errorf("_bulk: the indexer answers %d for an entry, which is a matter of the index %q and not of the entry: %s",
				a.Status, t.set.Index, a.Error.words())
		}
	}
	return v, nil
}

// reason returns the message of an error response.
func reason(body []byte) string {
	var answer struct {
		Error failure `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return ""
	}
	return answer.Error.words()
}

// templateName is the name of the index template.
func (t *Target) templateName() string { return "sextant-" + strings.TrimPrefix(t.set.Index, ".") }
