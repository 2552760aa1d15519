package pushtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/klauspost/compress/gzip"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/webhook"
	"github.com/sextant-crawler/sextant/push/wire"
)

// contract is docs/webhook.openapi.yaml before a real receiver: what passes must be as
// it says.
type contract struct {
	t         *testing.T
	operation *openapi3.Operation
	receiver  http.Handler

	mu      sync.Mutex
	keys    map[string]string // body by Idempotency-Key
	answers map[int]int       // by status
}

func newContract(t *testing.T, receiver http.Handler) *contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join("..", "..", "docs", "webhook.openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &contract{t: t, operation: doc.Paths.Find("/hook").Post, receiver: receiver, keys: map[string]string{}, answers: map[int]int{}}
}

func (c *contract) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request(r, body)
	r.Body, r.URL.Path = io.NopCloser(bytes.NewReader(body)), "/webhook/hook"
	recorded := httptest.NewRecorder()
	c.receiver.ServeHTTP(recorded, r)
	c.answer(recorded)
	w.Header().Set("Content-Type", recorded.Header().Get("Content-Type"))
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

func (c *contract) request(r *http.Request, body []byte) {
	for _, p := range c.operation.Parameters {
		value := r.Header.Get(p.Value.Name)
		if value == "" && !p.Value.Required {
			continue
		}
		if err := p.Value.Schema.Value.VisitJSON(value); err != nil {
			c.t.Errorf("header %s: %v", p.Value.Name, err)
		}
	}
	content := c.operation.RequestBody.Value.Content[r.Header.Get("Content-Type")]
	if content == nil {
		c.t.Errorf("content type %q", r.Header.Get("Content-Type"))
		return
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(z)
		}
		if err != nil {
			c.t.Error(err)
		}
	}
	key := r.Header.Get(webhook.KeyHeader)
	if before, ok := c.keys[key]; ok && before != string(body) {
		c.t.Errorf("key %s has two bodies", key)
	}
	c.keys[key] = string(body)
	for line := range bytes.Lines(body) {
		c.visit("a line", content.Schema, line)
	}
}

func (c *contract) answer(r *httptest.ResponseRecorder) {
	c.answers[r.Code]++
	response := c.operation.Responses.Status(r.Code)
	if response == nil {
		c.t.Errorf("status %d is not described", r.Code)
		return
	}
	if content := response.Value.Content["application/json"]; content != nil {
		c.visit("an answer", content.Schema, r.Body.Bytes())
	}
}

func (c *contract) visit(what string, schema *openapi3.SchemaRef, raw []byte) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		c.t.Errorf("%s: %v: %.200s", what, err, raw)
		return
	}
	if err := schema.Value.VisitJSON(v); err != nil {
		c.t.Errorf("%s: %v: %.200s", what, err, raw)
	}
}

// TestWebhookContract: requests of the target and answers of the receiver are as the
// OpenAPI file says, with and without compression, signature and renamed fields.
func TestWebhookContract(t *testing.T) {
	for name, tt := range map[string]struct {
		gzip   bool
		key    string // of the target; the receiver's is hookSecret
		fields wire.Names
		status int
	}{
		"plain":     {false, hookSecret, nil, 200},
		"gzip":      {true, hookSecret, wire.Names{"text": "", "meta:a": "author"}, 200},
		"wrong key": {false, "another", nil, 401},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := indexer.Open(t.TempDir(), indexer.Settings{WebhookSecret: hookSecret, Fail: indexer.Fail{Bad: []string{pushtest.Bad}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			c := newContract(t, server.Handler())
			srv := httptest.NewServer(c)
			defer srv.Close()
			target, err := webhook.New(webhook.Settings{
				Server: wire.Settings{URL: srv.URL + "/hook", Gzip: tt.gzip, Retries: -1}, Secret: secret.New(tt.key), Fields: tt.fields,
				Limits: wire.Limits{Count: 3},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			page := func(url, text string) push.Entry {
				return pushtest.DocumentEntry(push.Document{URL: url, Text: text, FetchedAt: time.Now()})
			}
			full := pushtest.DocumentEntry(push.Document{
				URL: "http://h/full", Source: "s", Title: "T", Text: strings.Repeat("é\x00", 1000), Content: []byte{0, 255}, ContentType: "text/html",
				Charset: "utf-8", Language: "fr", LastModified: "2026-01-02T03:04:05Z", FetchedAt: time.Now(), Depth: 2, Referrer: "http://h/", Hash: "00ff", Metas: map[string][]string{"a": {"1", "2"}},
			})
			refused, err := target.Push(t.Context(), pushtest.Numbered(1, full, page("http://h"+pushtest.Bad, "x"), pushtest.Del("http://h/gone"), page("http://h/b", "")))
			if tt.status == 200 && (err != nil || len(refused) != 1 || refused[0].Seq != 2) || tt.status != 200 && err == nil {
				t.Errorf("%v, refused %v", err, refused)
			}
			if c.answers[tt.status] == 0 || len(c.answers) != 1 {
				t.Errorf("answers %v", c.answers)
			}
		})
	}
}
