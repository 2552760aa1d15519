// Package solr is the push target for the JSON form of Apache Solr's /update. A document's id is its URL. Solr responds
// with 200 once its update log contains the whole request. One bad document makes it refuse the request, which is then
// split into halves until that document is found.
package solr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// Settings of a solr target. Zero values stand for the defaults in brackets.
type Settings struct {
	Name       string // of the target ["solr"]
	Collection string // or core

	CommitWithin time.Duration // time until documents are searchable; 0 leaves it to Solr's autoSoftCommit
	IDField      string        // the schema's uniqueKey ["id"]
	// MetaPrefix and MetaSuffix form the name of a meta's field: "meta_" and "_ss" fit Solr's _default configuration.
	MetaPrefix, MetaSuffix string

	Fields wire.Names    // overrides DefaultFields
	Server wire.Settings // such as http://host:8983/solr
	Limits wire.Limits
}

// DefaultFields returns dynamic fields of Solr's _default configuration. Page bytes and chunks are omitted: there is no
// field for them.
func DefaultFields() wire.Names {
	return wire.Names{
		"url": "url_s", "source": "source_s", "title": "title_t", "text": "text_t", "content": "",
		"content_type": "content_type_s", "charset": "charset_s", "language": "language_s",
		"last_modified": "last_modified_dt", "fetched_at": "fetched_at_dt", "depth": "depth_i",
		"referrer": "referrer_s", "hash": "hash_s", wire.Chunks: "",
	}
}

// Target is a push.Target for one collection.
type Target struct {
	wire.Endpoint
	set    Settings
	fields wire.Names
	path   string
	query  url.Values
}

// New checks the settings; it makes no request.
func New(s Settings) (*Target, error) {
	s.Name, s.IDField = cmp.Or(s.Name, "solr"), cmp.Or(s.IDField, "id")
	collection, err := wire.Segment("collection", s.Collection)
	if err != nil {
		return nil, fmt.Errorf("the solr target: %w", err)
	}
	endpoint, err := wire.NewEndpoint(s.Name, s.Server)
	if err != nil {
		return nil, err
	}
	t := &Target{
		set: s, fields: s.Fields.Over(DefaultFields()), Endpoint: endpoint,
		path: "/" + collection + "/update", query: url.Values{"wt": {"json"}},
	}
	if s.CommitWithin > 0 {
		t.query.Set("commitWithin", strconv.FormatInt(s.CommitWithin.Milliseconds(), 10))
	}
	return t, nil
}

// Push sends adds and deletions together, in one JSON object per request.
func (t *Target) Push(ctx context.Context, entries []push.Entry) ([]push.Refusal, error) {
	return t.Spread(ctx, entries, t.set.Limits, t.encode, t.send)
}

// encode returns a member of the object. Member names may be repeated; Solr executes them in order.
func (t *Target) encode(e push.Entry) ([]byte, error) {
	command, value := "delete", any(map[string]string{"id": e.URL})
	if e.Op == push.Add {
		d, err := wire.Document(e)
		if err != nil {
			return nil, err
		}
		fields := t.fields.Fields(d, t.metaField)
		fields[t.set.IDField] = e.URL
		command, value = "add", map[string]any{"doc": fields}
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%q:%s", command, encoded), nil
}

// metaField returns the field of a meta: Solr's names consist of letters, digits and underscores.
func (t *Target) metaField(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	if strings.Trim(plain, "_") == "" {
		return "" // nothing is left of the name
	}
	return t.set.MetaPrefix + plain + t.set.MetaSuffix
}

func (t *Target) send(ctx context.Context, items []wire.Item) ([]push.Refusal, error) {
	var b bytes.Buffer
	for i, item := range items {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(item.Wire)
	}
	b.WriteByte('}')
	body, err := t.Client.Do(ctx, wire.Request{
		Name: "update", Method: http.MethodPost, Path: t.path, Query: t.query, ContentType: "application/json", Body: b.Bytes(),
	})
	if status, ok := errors.AsType[*wire.StatusError](err); ok {
		return nil, status.Unfit(reason(status.Body))
	}
	if err != nil {
		return nil, err
	}
	if err := check(body); err != nil {
		return nil, &wire.Unanswered{Err: err}
	}
	return nil, nil
}

// check checks a response of status 200: other servers also send that.
func check(body []byte) error {
	var answer struct {
		Header *struct {
			Status *int `json:"status"`
		} `json:"responseHeader"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Header == nil || answer.Header.Status == nil {
		return fmt.Errorf("update: the response %q is not from Solr: is url the address of Solr, ending in /solr?", wire.Clip(wire.Plain(string(body)), 100))
	}
	if status := *answer.Header.Status; status != 0 {
		return fmt.Errorf("update: Solr responded with status %d", status)
	}
	return nil
}

// reason returns the message of an error response.
func reason(body []byte) string {
	var answer struct {
		Error struct {
			Msg string `json:"msg"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return ""
	}
	return wire.Clip(wire.Plain(answer.Error.Msg), wire.MaxWords)
}
