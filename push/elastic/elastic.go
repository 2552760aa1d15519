// Package elastic is the push target for the _bulk API of Elasticsearch (7 and later) and OpenSearch.
//
// A document's _id is the SHA-256 of its URL in hex, because ids are limited to 512 bytes; the URL is a field. Each
// entry has its number as an external version, so that late or repeated requests cannot replace a newer version. An
// entry is safe if the response has status 200 and a good status for the entry: the indexer then has it in its
// transaction log on disk, provided that index.translog.durability is request, the default.
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
	ChunkDocuments bool   // chunks are separate documents, not nested objects

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
	// countPath is where the number of a page's chunks is read.
	countPath string
	ready     bool // the template exists, or is not needed
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
		query: url.Values{"filter_path": {"errors,items.*.status,items.*.error"}}, countPath: "/" + index + "/_mget",
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
	send := t.send
	if t.set.ChunkDocuments {
		send = t.sendChunked
	}
	return t.Spread(ctx, entries, t.set.Limits, t.encode, send)
}

// ID returns the _id of the document of a URL.
func ID(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:])
}

// encode returns the action line and, for an add, the document's line.
func (t *Target) encode(e push.Entry) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(e.Body) + 200)
	action(&b, e.Op, ID(e.URL), e.Seq)
	if e.Op == push.Delete {
		return b.Bytes(), nil
	}
	if err := t.set.Fields.Append(&b, e); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// action writes the action line of an entry.
func action(b *bytes.Buffer, op push.Op, id string, version uint64) {
	word := "index"
	if op == push.Delete {
		word = "delete"
	}
	fmt.Fprintf(b, `{"%s":{"_id":"%s","version":%d,"version_type":"external_gte"}}`+"\n", word, id, version)
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
			return nil, fmt.Errorf("_bulk: the indexer temporarily rejected %d of %d entries, %d times: %s", len(v.again), len(items), attempt+1, v.words)
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
	words   string // of an item to send again
}

// Limits of the response: errors quote large parts of documents.
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
			return v, fmt.Errorf("_bulk: the indexer responded with %d to an entry, which is a problem of the index %q and not of the entry: %s",
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

// templateName returns the name of the index template.
func (t *Target) templateName() string { return "sextant-" + strings.TrimPrefix(t.set.Index, ".") }
