package indexer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

// TestMain is also the child of the crash tests: the variable names its directory.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(runChild(dir))
	}
	// Bleve starts its analysis goroutines when the program starts.
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

// client speaks the protocol over a real socket, by hand.
type client struct {
	t       testing.TB
	address string // http://host:port
	name    string
	session string
	http    *http.Client
}

func newClient(t testing.TB, address string) *client {
	t.Helper()
	c := &client{t: t, address: address, name: "web", http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// start opens a server in dir, serves it and gives a client with its session. The
// server is stopped and closed by stop, which is also the cleanup.
func start(t testing.TB, dir string, settings indexer.Settings) (c *client, server *indexer.Server, stop func()) {
	t.Helper()
	server, err := indexer.Open(dir, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, listener) }()
	c = newClient(t, "http://"+listener.Addr().String())
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		c.http.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	t.Cleanup(stop)
	return c, server, stop
}

// open is start with the session read.
func open(t testing.TB, settings indexer.Settings) *client {
	t.Helper()
	c, _, _ := start(t, t.TempDir(), settings)
	c.readSession()
	return c
}

func (c *client) readSession() {
	c.t.Helper()
	code, body := c.get("get_current_session_id", nil)
	if code != 200 {
		c.t.Fatalf("get_current_session_id: %d %s", code, body)
	}
	c.session = body
}

func (c *client) url(command string, query url.Values) string {
	q := url.Values{}
	for k, v := range query {
		q[k] = v
	}
	if c.session != "" && !q.Has("PAPI_session") {
		q.Set("PAPI_session", c.session)
	}
	return fmt.Sprintf("%s/papi/4/connectors/%s/%s?%s", c.address, url.PathEscape(c.name), command, q.Encode())
}

func (c *client) do(method, address, contentType string, body io.Reader) (int, string, http.Header) {
	c.t.Helper()
	req, err := http.NewRequest(method, address, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return resp.StatusCode, string(text), resp.Header
}

func (c *client) get(command string, query url.Values) (int, string) {
	c.t.Helper()
	code, body, _ := c.do(http.MethodGet, c.url(command, query), "", nil)
	return code, body
}

func (c *client) post(command string, query url.Values) (int, string) {
	c.t.Helper()
	code, body, _ := c.do(http.MethodPost, c.url(command, query), "", nil)
	return code, body
}

// must returns a call that has to succeed; it returns the body.
func (c *client) must(code int, body string) string {
	c.t.Helper()
	if code/100 != 2 {
		c.t.Fatalf("answer %d: %s", code, body)
	}
	return body
}

// part is one part of add_documents.
type part struct{ name, value, contentType string }

func form(t testing.TB, parts ...part) (contentType string, body []byte) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := `form-data; name="` + p.name + `"`
		if !strings.HasSuffix(p.name, ":uri") && !strings.HasSuffix(p.name, ":stamp") {
			disposition += `; filename=""`
		}
		h.Set("Content-Disposition", disposition)
		if p.contentType != "" {
			h.Set("Content-Type", p.contentType)
		}
		pw, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pw.Write([]byte(p.value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), out.Bytes()
}

func (c *client) add(parts ...part) (int, string) {
	c.t.Helper()
	contentType, body := form(c.t, parts...)
	code, answer, _ := c.do(http.MethodPost, c.url("add_documents", nil), contentType, bytes.NewReader(body))
	return code, answer
}

// page returns the parts of a small document.
func page(id, uri, text string) []part {
	return []part{
		{"PAPI_" + id + ":uri", uri, ""},
		{"PAPI_" + id + ":stamp", "stamp of " + id, ""},
		{"PAPI_" + id + ":part_bytes:master", text, "text/plain; charset=utf-8"},
	}
}

func (c *client) sync() {
	c.t.Helper()
	c.must(c.post("sync", nil))
}

func (c *client) count() string {
	c.t.Helper()
	return c.must(c.get("count_synced_entries", nil))
}
