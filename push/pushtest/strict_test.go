package pushtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/funnelback"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/solr"
	"github.com/sextant-crawler/sextant/push/wire"
	"github.com/sextant-crawler/sextant/secret"
)

// strict is what the two servers below have in common: what was answered with 200 is
// kept.
type strict struct {
	t    testing.TB
	mu   sync.Mutex
	docs pushtest.Index
}

func (s *strict) safe() pushtest.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.docs)
}

func (s *strict) served(t testing.TB, h http.Handler, open func(s wire.Settings) (push.Target, error)) pushtest.Served {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return pushtest.Served{
		Address: srv.URL, Safe: s.safe, Read: s.safe, Kill: srv.CloseClientConnections,
		Open: func(t testing.TB, s wire.Settings) push.Target {
			target, err := open(s)
			if err != nil {
				t.Fatal(err)
			}
			return target
		},
	}
}

// solrServer follows the commands of an update one by one, as Solr does: what stands
// before a bad document stays.
type solrServer struct{ strict }

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

// add knows the dynamic fields of the _default configuration.
func (s *solrServer) add(doc map[string]any) error {
	id, _ := doc["id"].(string)
	if id == "" {
		return errors.New("Document is missing mandatory uniqueKey field: id")
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
	if strings.Contains(id, pushtest.Bad) {
		return fmt.Errorf("ERROR: [doc=%s] bad document", id)
	}
	s.docs[id], _ = doc["text_t"].(string)
	return nil
}

func TestSolr(t *testing.T) {
	t.Parallel()
	pushtest.TestServed(t, func(t *testing.T) pushtest.Served {
		s := &solrServer{strict{t: t, docs: pushtest.Index{}}}
		return s.served(t, s, func(server wire.Settings) (push.Target, error) {
			server.URL += "/solr"
			return solr.New(solr.Settings{
				Server: server, Collection: "web", CommitWithin: 5 * time.Second, MetaPrefix: "meta_", MetaSuffix: "_ss",
				Limits: wire.Limits{Count: 7, Requests: 3},
			})
		})
	})
}

// funnelbackServer keeps documents by key; commits are counted.
type funnelbackServer struct {
	strict
	commits int
	pending bool
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
		s.commits, s.pending = s.commits+1, false
	case r.URL.Path != collection+"/documents" || !strings.Contains(key, "://"):
		s.t.Errorf("%s %s", r.Method, r.RequestURI)
		http.NotFound(w, r)
	case r.Method == http.MethodPut && strings.Contains(key, pushtest.Bad):
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

// text is that of the body of a page, and headers are looked at.
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
	// A NUL, and a line end of Windows, are no text of HTML.
	raw := string(body[bytes.Index(body, []byte("<body>"))+6 : bytes.LastIndex(body, []byte("</body>"))])
	if strings.ContainsAny(raw, "<>") {
		s.t.Errorf("text that is not escaped: %.100q", raw)
	}
	return html.UnescapeString(raw)
}

func TestFunnelback(t *testing.T) {
	t.Parallel()
	pushtest.TestServed(t, func(t *testing.T) pushtest.Served {
		s := &funnelbackServer{strict: strict{t: t, docs: pushtest.Index{}}}
		served := s.served(t, s, func(server wire.Settings) (push.Target, error) {
			return funnelback.New(funnelback.Settings{
				Server: withToken(server), Collection: "web pages", Limits: wire.Limits{Requests: 4},
			})
		})
		served.Single = true
		served.Safe = func() pushtest.Index {
			if s.pending {
				t.Error("what is safe is not committed")
			}
			return s.safe()
		}
		served.Read = served.Safe
		return served
	})
}

func withToken(s wire.Settings) wire.Settings {
	s.Headers = append(s.Headers, wire.Header{Name: "X-Security-Token", Value: secret.New("token")})
	return s
}
