package papi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testpipe"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

// part is a part of a multipart request as it came.
type part struct {
	name, disposition, contentType, value string
}

// received is a document as the server understood it.
type received struct {
	uri   string
	parts []part // but uri
}

func (r received) values(name string) []string {
	var v []string
	for _, p := range r.parts {
		if p.name == name {
			v = append(v, p.value)
		}
	}
	return v
}

func (r received) text() string {
	return strings.Join(r.values("part_bytes:master"), "")
}

// server is a strict Push API in memory. What is pushed is lost in a restart
// until a checkpoint with sync made it safe, which takes syncTakes.
type server struct {
	t         *testing.T
	syncTakes time.Duration
	user      string // and "secret"

	mu          sync.Mutex
	session     int64
	now, synced map[string]received
	checkpoints map[string]string // synced, by name
	pending     []pendingSync
	requests    []string // commands in order, with the number of URIs of pushes
	script      []fault  // for the next requests that push or set checkpoints
	down        bool     // connections are refused
}

type pendingSync struct {
	ready       time.Time
	state       map[string]received
	name, value string
}

// fault is what happens instead of an answer, or after the work is done.
type fault struct {
	status     int // answered with body, if not 0
	header     string
	body       string
	restart    bool // before the request is looked at
	stall      time.Duration
	loseAnswer bool // the work is done, and the connection then cut
}

func newServer(t *testing.T) *server {
	return &server{t: t, session: 1 << 62, now: map[string]received{}, synced: map[string]received{}, checkpoints: map[string]string{}}
}

func (s *server) with(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// restart loses what is not synced. s.mu is held.
func (s *server) restart() {
	s.settle()
	s.session++
	s.now, s.pending = maps.Clone(s.synced), nil
}

// settle completes the syncs whose time has come. s.mu is held.
func (s *server) settle() {
	for len(s.pending) > 0 && !time.Now().Before(s.pending[0].ready) {
		p := s.pending[0]
		s.synced, s.checkpoints[p.name] = p.state, p.value
		s.pending = s.pending[1:]
	}
}

// safe is the text of the documents that a restart would leave.
func (s *server) safe() pushtest.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	x := pushtest.Index{}
	for uri, d := range s.synced {
		x[uri] = d.text()
	}
	return x
}

const prefix = "/papi/4/connectors/web pages/"

var methods = map[string]string{
	"get_current_session_id": http.MethodGet,
	"add_documents":          http.MethodPost,
	"delete_documents":       http.MethodPost,
	"set_checkpoint":         http.MethodPost,
	"get_checkpoint":         http.MethodGet,
}

type refusal struct {
	status int
	words  string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	command, ok := strings.CutPrefix(r.URL.Path, prefix)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	if status := s.route(r, command, ok); status != 0 {
		w.WriteHeader(status)
		return
	}
	f := s.fault(r)
	if f.stall > 0 {
		select {
		case <-time.After(f.stall):
		case <-r.Context().Done():
			return
		}
	}
	if f.status != 0 {
		if name, value, ok := strings.Cut(f.header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, f.body)
		return
	}
	answer, refused := s.command(command, r, body)
	switch {
	case f.loseAnswer:
		panic(http.ErrAbortHandler)
	case refused != nil:
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(refused.status)
		_, _ = fmt.Fprintf(w, "<?xml version='1.0' encoding='UTF-8'?><PushAPIError><message>%s</message></PushAPIError>", refused.words)
	default:
		_, _ = io.WriteString(w, answer+"\n")
	}
}

// route returns the status of a request that reaches no command, or 0.
func (s *server) route(r *http.Request, command string, known bool) int {
	user, password, _ := r.BasicAuth()
	switch {
	case s.user != "" && (user != s.user || password != "secret"):
		return http.StatusUnauthorized
	case !known || methods[command] == "":
		return http.StatusNotFound
	case methods[command] != r.Method:
		return http.StatusMethodNotAllowed
	}
	return 0
}

// fault takes the next one of the script, for a request that changes something.
func (s *server) fault(r *http.Request) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f fault
	if r.Method == http.MethodPost && len(s.script) > 0 {
		f, s.script = s.script[0], s.script[1:]
	}
	if f.restart {
		s.restart()
	}
	return f
}

func (s *server) command(command string, r *http.Request, body []byte) (string, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	q := r.URL.Query()
	session := strconv.FormatInt(s.session, 10)
	if command == "get_current_session_id" {
		s.requests = append(s.requests, command)
		return session, nil
	}
	if q.Get("PAPI_session") != session {
		s.requests = append(s.requests, command+" in old session")
		return "", &refusal{400, "session mismatch"}
	}
	switch command {
	case "add_documents":
		return s.add(r, body)
	case "delete_documents":
		return s.delete(r, q, body)
	case "set_checkpoint":
		return s.setCheckpoint(q)
	default:
		s.requests = append(s.requests, command)
		return s.checkpoints[q.Get("PAPI_name")], nil
	}
}

func (s *server) add(r *http.Request, body []byte) (string, *refusal) {
	docs, err := parseDocuments(r.Header.Get("Content-Type"), string(body))
	if err != nil {
		s.t.Errorf("add_documents: %v", err)
		return "", &refusal{400, err.Error()}
	}
	s.requests = append(s.requests, fmt.Sprintf("add %d", len(docs)))
	seen := map[string]bool{}
	for _, d := range docs {
		if seen[d.uri] {
			s.t.Errorf("%s comes twice in a request", d.uri)
		}
		seen[d.uri] = true
		if strings.Contains(d.uri, "bad") {
			return "", &refusal{400, "cannot take &lt;" + d.uri + "&gt;"}
		}
	}
	for _, d := range docs {
		s.now[d.uri] = d
	}
	return "", nil
}

func (s *server) delete(r *http.Request, q url.Values, body []byte) (string, *refusal) {
	form, err := url.ParseQuery(string(body))
	if err != nil || (len(body) > 0 && r.Header.Get("Content-Type") != "application/x-www-form-urlencoded") {
		s.t.Errorf("delete_documents: form of type %q: %v", r.Header.Get("Content-Type"), err)
	}
	uris := append(q["PAPI_uri"], form["PAPI_uri"]...)
	if len(uris) == 0 {
		s.t.Error("delete_documents without a URI")
	}
	if len(r.RequestURI) > 8000 {
		return "", &refusal{414, "too long"}
	}
	s.requests = append(s.requests, fmt.Sprintf("delete %d", len(uris)))
	for _, uri := range uris {
		if strings.Contains(uri, "keep") {
			return "", &refusal{400, "no"}
		}
	}
	for _, uri := range uris {
		delete(s.now, uri)
	}
	return "", nil
}

func (s *server) setCheckpoint(q url.Values) (string, *refusal) {
	if q.Get("PAPI_checkpoint") == "" || q.Get("PAPI_name") == "" || q.Get("PAPI_sync") != "true" {
		s.t.Errorf("set_checkpoint with %v", q)
	}
	s.requests = append(s.requests, "set_checkpoint")
	s.pending = append(s.pending, pendingSync{time.Now().Add(s.syncTakes), maps.Clone(s.now), q.Get("PAPI_name"), q.Get("PAPI_checkpoint")})
	s.settle()
	return "17", nil
}

// parseDocuments takes a multipart body apart by hand, as little forgiving as can
// be, and puts documents together from part names.
func parseDocuments(contentType, body string) ([]received, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" {
		return nil, fmt.Errorf("content type %q: %w", contentType, errors.Join(err, errors.ErrUnsupported))
	}
	delimiter := "--" + params["boundary"] + "\r\n"
	body, ok := strings.CutSuffix(body, "\r\n--"+params["boundary"]+"--\r\n")
	if !ok || !strings.HasPrefix(body, delimiter) {
		return nil, errors.New("body is not between boundaries")
	}
	var ids []string
	docs := map[string]received{}
	for p := range strings.SplitSeq(strings.TrimPrefix(body, delimiter), "\r\n"+delimiter) {
		id, part, err := parsePart(p)
		if err != nil {
			return nil, err
		}
		d, known := docs[id]
		if !known {
			ids = append(ids, id)
		}
		if part.name == "uri" {
			if d.uri != "" || part.value == "" {
				return nil, fmt.Errorf("document %s has URIs %q and %q", id, d.uri, part.value)
			}
			d.uri = part.value
		} else {
			d.parts = append(d.parts, part)
		}
		docs[id] = d
	}
	all := make([]received, 0, len(ids))
	for _, id := range ids {
		if d := docs[id]; d.uri == "" || len(d.values("part_bytes:master")) != 1 {
			return nil, fmt.Errorf("document %s lacks its URI or its master part", id)
		}
		all = append(all, docs[id])
	}
	return all, nil
}

func parsePart(s string) (id string, p part, err error) {
	head, value, ok := strings.Cut(s, "\r\n\r\n")
	if !ok {
		return "", p, fmt.Errorf("part without end of header: %.100q", s)
	}
	p.value = value
	for line := range strings.SplitSeq(head, "\r\n") {
		name, v, _ := strings.Cut(line, ": ")
		switch name {
		case "Content-Disposition":
			p.disposition = v
		case "Content-Type":
			p.contentType = v
		default:
			return "", p, fmt.Errorf("header %q", line)
		}
	}
	kind, params, err := mime.ParseMediaType(p.disposition)
	if err != nil || kind != "form-data" {
		return "", p, fmt.Errorf("disposition %q: %w", p.disposition, errors.Join(err, errors.ErrUnsupported))
	}
	name, ok := strings.CutPrefix(params["name"], "PAPI_")
	id, p.name, _ = strings.Cut(name, ":")
	known := []string{"uri", "stamp", "meta:", "part_bytes:master", "part_directive:master:encoding", "part_directive:master:filename", "part_directive:master:mimeHint", "directive:datamodel_class"}
	if !ok || id == "" || !slices.ContainsFunc(known, func(k string) bool {
		return p.name == k || (k == "meta:" && len(p.name) > len(k) && strings.HasPrefix(p.name, k))
	}) {
		return "", p, fmt.Errorf("part name %q", params["name"])
	}
	filename, has := params["filename"]
	if wants := p.name != "uri" && p.name != "stamp"; has != wants || filename != "" {
		return "", p, fmt.Errorf("part %s: filename %q (%t)", p.name, filename, has)
	}
	return id, p, nil
}

// serve starts s inside the bubble of the test and gives the way to it.
func (s *server) serve() http.RoundTripper {
	network := testpipe.Listen()
	srv := &http.Server{Handler: s, ErrorLog: quiet()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(network)
	}()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		s.mu.Lock()
		down := s.down
		s.mu.Unlock()
		if down {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
		return network.Dial(ctx)
	}}
	s.t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = srv.Close()
		<-done
	})
	return transport
}
