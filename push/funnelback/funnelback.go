// Package funnelback is the push target that speaks version 2 of Funnelback's Push
// API: one request a document, with the URL as its key.
//
// The body is the page as it was sent, where the crawl was asked for it, and else a
// small HTML page with title and text. Metadata go in headers,
// X-Funnelback-Push-Meta-Data-NAME, in UTF-8 and up to 6 KiB together; what does not
// fit is left out, because servers refuse longer headers (ours: the vendor names no
// limit). A commit follows before what was pushed counts as safe.
package funnelback

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// Settings of a funnelback target. Zero values stand for the defaults in brackets.
type Settings struct {
	Name       string // of the target ["funnelback"]
	Collection string // or data source, of type push

	Filters  string // filters of the server that documents pass; its own if empty
	NoCommit bool   // leaves commits to the server

	Fields wire.Names    // of metadata; text, content and url are not metadata
	Server wire.Settings // such as https://host:8443; a token is a header X-Security-Token
	Limits wire.Limits   // only Requests applies: a request has one document
}

// Target is a push.Target for one collection.
type Target struct {
	wire.Endpoint
	set        Settings
	fields     wire.Names
	collection string // path
	pushed     bool   // since the last commit
}

// New checks the settings; it makes no request.
func New(s Settings) (*Target, error) {
	s.Name = cmp.Or(s.Name, "funnelback")
	collection, err := wire.Segment("collection", s.Collection)
	if err != nil {
		return nil, fmt.Errorf("the funnelback target: %w", err)
	}
	endpoint, err := wire.NewEndpoint(s.Name, s.Server)
	if err != nil {
		return nil, err
	}
	s.Limits.Count = 1
	return &Target{
		set: s, Endpoint: endpoint, collection: "/push-api/v2/collections/" + collection,
		fields: wire.Names{"url": "", "text": "", "content": "", "content_type": "", "charset": ""}.Over(s.Fields),
	}, nil
}

// Push makes one request an entry.
func (t *Target) Push(ctx context.Context, entries []push.Entry) ([]push.Refusal, error) {
	t.pushed = t.pushed || len(entries) > 0
	return t.Spread(ctx, entries, t.set.Limits, func(push.Entry) ([]byte, error) { return nil, nil }, t.send)
}

// Checkpoint commits the pushed documents.
func (t *Target) Checkpoint(ctx context.Context, _ uint64) error {
	if t.set.NoCommit || !t.pushed {
		return ctx.Err()
	}
	_, err := t.Client.Do(ctx, wire.Request{Name: "commit", Method: http.MethodPost, Path: t.collection + "/commit"})
	if err == nil {
		t.pushed = false
	}
	return err
}

func (t *Target) send(ctx context.Context, items []wire.Item) ([]push.Refusal, error) {
	e := items[0].Entry
	r := wire.Request{Name: "documents", Method: http.MethodDelete, Path: t.collection + "/documents", Query: url.Values{"key": {e.URL}}}
	if e.Op == push.Add {
		if err := t.put(&r, e); err != nil {
			return nil, &wire.Unfit{Words: err.Error(), Err: err}
		}
	}
	_, err := t.Client.Do(ctx, r)
	status, ok := errors.AsType[*wire.StatusError](err)
	if !ok {
		return nil, err
	}
	return nil, status.Unfit(reason(status.Body))
}

// put builds the request for a document.
func (t *Target) put(r *wire.Request, e push.Entry) error {
	d, err := wire.Document(e)
	if err != nil {
		return err
	}
	r.Method = http.MethodPut
	if t.set.Filters != "" {
		r.Query.Set("filters", t.set.Filters)
	}
	r.ContentType, r.Body = "text/html; charset=UTF-8", page(d)
	if len(d.Content) > 0 {
		r.Body, r.ContentType = d.Content, d.ContentType
		if !httpguts.ValidHeaderFieldValue(r.ContentType) || r.ContentType == "" {
			r.ContentType = "application/octet-stream"
		}
	}
	r.Header = t.metadata(d)
	return nil
}

// page is a document without its bytes.
func page(d *push.Document) []byte {
	lang := ""
	if d.Language != "" {
		lang = fmt.Sprintf(" lang=%q", html.EscapeString(d.Language))
	}
	return fmt.Appendf(nil, "<!DOCTYPE html>\n<html%s><head><meta charset=\"UTF-8\"><title>%s</title></head><body>%s</body></html>\n",
		lang, html.EscapeString(d.Title), html.EscapeString(d.Text))
}

const (
	metaHeader = "X-Funnelback-Push-Meta-Data-"
	// maxHeaders bounds the metadata of a request: servers in Java take 8 KiB of headers, including the key.
	maxHeaders = 6 << 10
)

// metadata are the headers of a document.
func (t *Target) metadata(d *push.Document) http.Header {
	fields := t.fields.Fields(d, func(name string) string { return name })
	out, room := http.Header{}, maxHeaders-len(url.QueryEscape(d.URL))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		key := metaHeader + token(name)
		if key == metaHeader {
			continue
		}
		for _, value := range values(fields[name]) {
			value = wire.Plain(value)
			if cost := len(key) + len(value) + 4; value != "" && cost <= room {
				room -= cost
				out[key] = append(out[key], value)
			}
		}
	}
	return out
}

// token is a name as a header can carry it.
func token(name string) string {
	return strings.Map(func(r rune) rune {
		if r > '~' || !httpguts.IsTokenRune(r) {
			return -1
		}
		return r
	}, name)
}

func values(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		out := make([]string, len(v))
		for i := range v {
			out[i] = fmt.Sprint(v[i])
		}
		return out
	}
	return []string{fmt.Sprint(v)}
}

// reason returns the message of an error response.
func reason(body []byte) string {
	var answer struct {
		ErrorMessage string `json:"errorMessage"`
		Message      string `json:"message"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return ""
	}
	words := strings.TrimSpace(answer.ErrorMessage + " " + answer.Message)
	return wire.Clip(wire.Plain(words), wire.MaxWords)
}
