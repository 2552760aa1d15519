package admin

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
)

// door is a server with tokens, on TCP and on a socket.
type door struct {
	url, data        string
	operator, reader string // tokens
	config           string // path
	access           *Access
	log              *testlog.Buffer
	client           *http.Client
}

// openDoor serves a Crawler named a until the test ends.
func openDoor(t *testing.T, change func(*AccessSettings), mount func(*Server)) *door {
	t.Helper()
	data, err := os.MkdirTemp("", "admin") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	d := &door{data: data, config: filepath.Join(data, "CrawlConfig.xml"), log: &testlog.Buffer{}}
	d.operator, d.reader = makeToken(t, data, Operator), makeToken(t, data, Reader)
	if err := os.WriteFile(d.config, []byte("<old/>"), 0o640); err != nil {
		t.Fatal(err)
	}
	settings := AccessSettings{OperatorToken: TokenPath(data, Operator), ReaderToken: TokenPath(data, Reader)}
	if change != nil {
		change(&settings)
	}
	if d.access, err = NewAccess(settings); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(d.log, nil))
	server := NewServer([]Crawler{fakeCrawler{name: "a", store: storeWith(t, "http://a.test/1", "http://a.test/2", "http://b.test/3")}}, fakeService{}, fakeConfig{d.config}, d.access, log)
	if mount != nil {
		mount(server)
	}
	d.client = &http.Client{Transport: &http.Transport{}}
	d.url = "http://" + runServer(t, server, data)
	t.Cleanup(d.client.CloseIdleConnections) // before the server ends
	return d
}

// makeToken makes a token and reads it.
func makeToken(t *testing.T, data string, role Role) string {
	t.Helper()
	path, made, err := EnsureToken(data, role)
	if err != nil || !made {
		t.Fatalf("EnsureToken: %v, %v", made, err)
	}
	b := testdir.Read(t, path)
	return strings.TrimSpace(string(b))
}

// request makes a request with a token; none if it is empty.
func (d *door) request(t *testing.T, method, path, token, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do sends a request and reads its answer.
func (d *door) do(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	answer, err := d.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer, b.String()
}

// TestProblemPage: a browser gets an error as a page, which loads itself again where a retry helps. Programs and the
// API's paths get JSON.
func TestProblemPage(t *testing.T) {
	for path, want := range map[string]struct{ accept, media, refresh string }{
		"/nosuch":        {"text/html,*/*;q=0.8", "text/html; charset=utf-8", "5"},
		"/metrics":       {"*/*", problemMedia, ""},
		"/api/v1/nosuch": {"text/html", problemMedia, ""},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept", want.accept)
		busy("wait for <b>").write(w, r)
		if h := w.Header(); w.Code != http.StatusServiceUnavailable || h.Get("Content-Type") != want.media || h.Get("Refresh") != want.refresh {
			t.Errorf("%s: %d %v", path, w.Code, h)
		}
		if body := w.Body.String(); strings.Contains(body, "<b>") || strings.Contains(body, "<h1>Service Unavailable</h1>") != (want.refresh != "") {
			t.Errorf("%s: %s", path, body)
		}
	}
}
