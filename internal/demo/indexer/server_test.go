package indexer_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

func TestBasicAuthentication(t *testing.T) {
	c, _, _ := start(t, t.TempDir(), indexer.Settings{User: "u", Password: "p"})
	for _, credentials := range []string{"", "u:wrong@", "wrong:p@"} {
		address := strings.Replace(c.url("ping", nil), "http://", "http://"+credentials, 1)
		code, body, header := c.do("GET", address, "", nil)
		if code != 401 || header.Get("WWW-Authenticate") == "" {
			t.Errorf("with %q: %d", credentials, code)
		}
		checkErrorBody(t, code, body)
	}
	if code, body, _ := c.do("GET", strings.Replace(c.url("ping", nil), "http://", "http://u:p@", 1), "", nil); code/100 != 2 {
		t.Errorf("right password: %d %s", code, body)
	}
	if code, _, _ := c.do("GET", c.address+"/", "", nil); code != 401 {
		t.Errorf("search page without password: %d, want 401", code)
	}
	if code, _, _ := c.do("GET", c.address+"/healthz", "", nil); code != 200 {
		t.Errorf("healthz: %d", code)
	}
	if _, err := indexer.Open(t.TempDir(), indexer.Settings{User: "u"}, nil); err == nil {
		t.Error("a user without a password is accepted")
	}
}

// TestHostsOfOthers: a page in a browser cannot reach the index, neither by a name that
// it bends to this machine nor from its own.
func TestHostsOfOthers(t *testing.T) {
	c := open(t, indexer.Settings{})
	port := c.address[strings.LastIndex(c.address, ":"):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200, "localhost": 200, "[::1]" + port: 200, "127.9.9.9": 200,
		"evil.example" + port: 403, "evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "192.0.2.1": 403,
	} {
		for _, path := range []string{"/", "/healthz", "/api/search?q=a", "/documents"} {
			r, err := http.NewRequest("GET", c.address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			answer, err := c.http.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if got := answer.StatusCode; (got == 403) != (want == 403) {
				t.Errorf("%s of Host %s: %d", path, host, got)
			}
		}
	}
	r, err := http.NewRequest("POST", c.url("add_documents", nil), strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "http://evil.example")
	answer, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != 403 {
		t.Errorf("a page of another site: %d", answer.StatusCode)
	}
}

func TestConnectorNames(t *testing.T) {
	c := open(t, indexer.Settings{Connectors: []string{"web", "files"}})
	c.name = "files"
	c.must(c.get("ping", nil))
	c.name = "other"
	if code, body := c.get("ping", nil); code != 404 || !strings.Contains(body, "unknown connector") {
		t.Errorf("connector not accepted: %d %s", code, body)
	}
	anyName := open(t, indexer.Settings{})
	for _, name := range []string{"a/b", "a\x00b", strings.Repeat("x", 200)} {
		anyName.name = name
		if code, _ := anyName.get("ping", nil); code != 404 {
			t.Errorf("connector %.20q: %d, want 404", name, code)
		}
	}
}

func TestConnectorsAreApart(t *testing.T) {
	c := open(t, indexer.Settings{})
	c.must(c.add(page("1", "http://a/1", "one")...))
	c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"7"}, "PAPI_sync": {"true"}}))
	c.name = "web2"
	if n := c.count(); n != "0" {
		t.Errorf("%s documents in the other connector", n)
	}
	if v := c.must(c.get("get_checkpoint", nil)); v != "" {
		t.Errorf("checkpoint %q in the other connector", v)
	}
	c.must(c.post("delete_documents", one("PAPI_uri", "http://a/1")))
	c.sync()
	c.name = "web"
	if n := c.count(); n != "1" {
		t.Errorf("%s documents after the other connector's delete, want 1", n)
	}
}

func TestPendingMemoryIsBounded(t *testing.T) {
	c := open(t, indexer.Settings{MaxPendingBytes: 100_000})
	text := strings.Repeat("word ", 2000) // 10 kB
	for i := range 25 {
		c.must(c.add(page("1", "http://a/"+strconv.Itoa(i), text)...))
	}
	if n := c.count(); n != "20" { // twice ten, and five are pending
		t.Errorf("%s documents synced by themselves, want 20", n)
	}
	c.must(c.post("set_checkpoint", one("PAPI_checkpoint", "1")))
	if v := c.must(c.get("get_checkpoint", nil)); v != "" {
		t.Errorf("checkpoint %q without a sync", v)
	}
}

func TestCloseSyncsAndReopenRemembers(t *testing.T) {
	dir := t.TempDir()
	c, _, stop := start(t, dir, indexer.Settings{})
	c.readSession()
	c.must(c.add(page("1", "http://a/1", "x")...))
	c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"9"}}))
	stop()
	c, server, _ := start(t, dir, indexer.Settings{})
	c.readSession()
	if v := c.must(c.get("get_checkpoint", nil)); v != "9" {
		t.Errorf("checkpoint %q after a clean stop", v)
	}
	if n, err := server.Count(); n != 1 || err != nil {
		t.Errorf("count %d %v", n, err)
	}
	if serial := c.must(c.post("set_checkpoint", one("PAPI_checkpoint", "10"))); serial != "1" {
		t.Errorf("serial %s after a clean stop", serial)
	}
}

func TestRequestLargerThanTheLimit(t *testing.T) {
	c := open(t, indexer.Settings{MaxRequestBytes: 1 << 20})
	big := page("1", "http://a/1", strings.Repeat("x", 8<<20))
	if code, body := c.add(big...); code != 400 || !strings.Contains(body, "larger") {
		t.Errorf("with a length: %d %s", code, body)
	}
	contentType, body := form(t, big...)
	stream := struct{ *bytes.Reader }{bytes.NewReader(body)} // no length known: sent in chunks
	code, answer, _ := c.do(http.MethodPost, c.url("add_documents", nil), contentType, stream)
	if code != 400 || !strings.Contains(answer, "larger") {
		t.Errorf("in chunks: %d %s", code, answer)
	}
	c.must(c.add(page("1", "http://a/1", strings.Repeat("x", 1<<19))...))
}

func TestLockedIndexNamesTheWayOut(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, indexer.Settings{})
	_, err := indexer.Open(dir, indexer.Settings{}, nil)
	if err == nil || !strings.Contains(err.Error(), "open in another process") || !strings.Contains(err.Error(), dir) {
		t.Errorf("second Open: %v", err)
	}
}

func TestTooManyConnectors(t *testing.T) {
	c := open(t, indexer.Settings{})
	for i := range 100 {
		c.name = "c" + strconv.Itoa(i)
		c.sync()
	}
	c.name = "more"
	if code, body := c.post("sync", nil); code != 400 || !strings.Contains(body, "100 connectors") {
		t.Errorf("connector 101: %d %s", code, body)
	}
	c.name = "c5"
	c.sync()
}

func TestCommandsAfterCloseFail(t *testing.T) {
	server, err := indexer.Open(t.TempDir(), indexer.Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server.Handler())
	defer listener.Close()
	c := newClient(t, listener.URL)
	c.readSession()
	c.must(c.add(page("1", "http://a/1", "x")...))
	if err := errors.Join(server.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"count_synced_entries", "enumerate_synced_entries", "get_documents_status"} {
		if code, body := c.get(command, one("PAPI_uri", "http://a/1")); code != 500 {
			t.Errorf("%s: %d %s", command, code, body)
		}
	}
	if code, body := c.add(page("1", "http://a/1", "x")...); code != 500 {
		t.Errorf("add: %d %s", code, body)
	}
	if _, err := server.URIs("web"); err == nil {
		t.Error("URIs of a closed server")
	}
	if _, err := server.Count(); err == nil {
		t.Error("Count of a closed server")
	}
	if code, _, _ := c.do(http.MethodGet, c.address+"/?q=x", "", nil); code != 500 {
		t.Errorf("page: %d", code)
	}
}
