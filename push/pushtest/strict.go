package pushtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// Strict.mu guards the documents: the server's goroutines write them, the test's goroutine
// reads them.

// Strict is a receiver of one protocol that fails the test for requests that the protocol does not allow. It keeps
// everything that it accepted with 200. It is safe for concurrent use.
type Strict struct {
	http.Handler

	mu   sync.Mutex
	docs Index
	// pending reports whether there are uncommitted changes.
	pending bool
}

// Safe returns the documents that an indexer of the protocol has stored safely, and whether these are all.
func (s *Strict) Safe() (Index, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.docs), !s.pending
}

func newStrict() *Strict { return &Strict{docs: Index{}} }

// NewSolr returns a Solr server with the collection "web" below /solr and the fields of its _default configuration.
func NewSolr(t testing.TB) *Strict {
	s := newStrict()
	s.Handler = &solrServer{s, t}
	return s
}

// NewFunnelback returns a Funnelback server with the collection "web pages" and the token "token".
func NewFunnelback(t testing.TB) *Strict {
	s := newStrict()
	s.Handler = &funnelbackServer{s, t}
	return s
}

// solrServer executes the commands of an update one by one, as Solr does: those before a bad document take effect.
type solrServer struct {
	*Strict
	t testing.TB
}

func (s *solrServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	q := r.URL.Query()
	if r.Method != http.MethodPost || r.URL.Path != "/solr/web/update" || r.Header.Get("Content-Type") != "application/json" || q.Get("commitWithin") != "5000" || q.Get("wt") != "json" {
		s.t.Errorf("%s %s with %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"))
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.commands(json.NewDecoder(bytes.NewReader(body))); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"responseHeader": map[string]any{"status": 400}, "error": map[string]any{"msg": err.Error(), "code": 400}})
		return
	}
	_, _ = io.WriteString(w, `{"responseHeader":{"status":0,"QTime":1}}`)
}

// commands reads an object whose names may be repeated.
func (s *solrServer) commands(d *json.Decoder) error {
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return fmt.Errorf("no object: %v, %w", token, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var command struct {
			ID  string         `json:"id"`
			Doc map[string]any `json:"doc"`
		}
		if err := d.Decode(&command); err != nil {
			return err
		}
		switch {
		case name == "delete" && command.ID != "" && command.Doc == nil:
			delete(s.docs, command.ID)
		case name == "add" && command.ID == "" && command.Doc != nil:
			if err := s.add(command.Doc); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown command %v", name)
		}
	}
	_, err := d.Token()
	return err
}

// add accepts the dynamic fields of the _default configuration.
func (s *solrServer) add(doc map[string]any) error {
	id, _ := doc["id"].(string)
	if id == "" {
		return errors.New("the document has no id, which is its uniqueKey")
	}
	for name, value := range doc {
		ok := name == "id"
		switch suffix := name[strings.LastIndexByte(name, '_')+1:]; suffix {
		case "s", "t", "dt":
			text, isText := value.(string)
			_, err := time.Parse(time.RFC3339Nano, text)
			ok = isText && (suffix != "dt" || err == nil && strings.HasSuffix(text, "Z"))
		case "ss":
			_, ok = value.([]any)
		case "i":
			_, ok = value.(float64)
		}
		if !ok {
			return fmt.Errorf("ERROR: [doc=%s] unknown or bad field '%s'", id, name)
		}
	}
	if strings.Contains(id, Bad) {
		return fmt.Errorf("ERROR: [doc=%s] bad document", id)
	}
	s.docs[id], _ = doc["text_t"].(string)
	return nil
}

// funnelbackServer keeps documents by key.
type funnelbackServer struct {
	*Strict
	t testing.TB
}

func (s *funnelbackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	const collection = "/push-api/v2/collections/web pages"
	key := r.URL.Query().Get("key")
	switch {
	case r.Header.Get("X-Security-Token") != "token":
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPost && r.URL.Path == collection+"/commit":
		s.pending = false
	case r.URL.Path != collection+"/documents" || !strings.Contains(key, "://"):
		s.t.Errorf("%s %s", r.Method, r.RequestURI)
		http.NotFound(w, r)
	case r.Method == http.MethodPut && strings.Contains(key, Bad):
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"errorMessage":"bad key"}`)
	case r.Method == http.MethodDelete:
		delete(s.docs, key)
		s.pending = true
	case r.Method == http.MethodPut:
		s.docs[key] = s.text(r, body)
		s.pending = true
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// text returns the text of a page's body; it also checks the headers.
func (s *funnelbackServer) text(r *http.Request, body []byte) string {
	size := len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v) + 4
		}
	}
	if size > 8<<10 {
		s.t.Errorf("%d bytes of headers", size)
	}
	if kind := r.Header.Get("Content-Type"); kind != "text/html; charset=UTF-8" {
		s.t.Errorf("content type %q", kind)
	}
	// A NUL, and a line end of Windows, are not text of HTML.
	raw := string(body[bytes.Index(body, []byte("<body>"))+6 : bytes.LastIndex(body, []byte("</body>"))])
	if strings.ContainsAny(raw, "<>") {
		s.t.Errorf("text that is not escaped: %.100q", raw)
	}
	return html.UnescapeString(raw)
}
