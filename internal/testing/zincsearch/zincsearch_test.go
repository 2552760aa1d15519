// Package zincsearch pushes to a ZincSearch server. It is a separate module, so that the program does not depend on
// that of the server: run go test in this folder.
package zincsearch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/elastic"
	"github.com/sextant-crawler/sextant/push/wire"
)

// serve starts a server in another process, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.CommandContext(t.Context(), program)
	server.Dir = dir
	server.Env = append(os.Environ(), "ZINC_DATA_PATH="+filepath.Join(dir, "data"), "GIN_MODE=release",
		"ZINC_FIRST_ADMIN_USER=admin", "ZINC_FIRST_ADMIN_PASSWORD=admin", "ZINC_WAL_SYNC_INTERVAL=10ms")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "127.0.0.1:") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://" + lines.Text()
		}
	}
	t.Fatal("the server has not started")
	return ""
}

// withIndex adds the index to the actions of deletions: without it ZincSearch fails.
type withIndex struct{ next http.RoundTripper }

func (w withIndex) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.ReplaceAll(body, []byte(`{"delete":{`), []byte(`{"delete":{"_index":"web",`))
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return w.next.RoundTrip(r)
}

func open(t *testing.T, address string, transport http.RoundTripper) *elastic.Target {
	t.Helper()
	target, err := elastic.New(elastic.Settings{
		Index: "web", Fields: wire.Names{"meta:acl_allow": "acl_allow"}, Limits: wire.Limits{Requests: 2},
		Server: wire.Settings{URL: address + "/es", Retries: -1, RetryWait: time.Millisecond, Transport: transport},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return target
}

func add(seq uint64, d push.Document) push.Entry {
	body, err := d.Encode()
	if err != nil {
		panic(err) // the time is that of a test
	}
	return push.Entry{Seq: seq, Op: push.Add, URL: d.URL, Body: body}
}

// found waits until a query finds the documents with these URLs, which are sorted.
func found(t *testing.T, address, query string, want []string) {
	t.Helper()
	var urls []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		body := strings.NewReader(`{"size":100,"query":` + query + `}`)
		r, err := http.Post(address+"/es/web/_search", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Hits struct {
				Hits []struct {
					Source struct{ URL string } `json:"_source"`
				}
			}
		}
		err = json.NewDecoder(r.Body).Decode(&answer)
		_ = r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		urls = nil
		for _, h := range answer.Hits.Hits {
			urls = append(urls, h.Source.URL)
		}
		if slices.Sort(urls); slices.Equal(urls, want) {
			return
		}
		time.Sleep(20 * time.Millisecond) // documents become searchable when the server's log is written
	}
	t.Errorf("%s finds %q, want %q", query, urls, want)
}

// TestZincSearch: documents are found in a server of others, replaced and deleted; an order that it does not take is
// refused with its error, and keeps no other back.
func TestZincSearch(t *testing.T) {
	address := serve(t)
	target := open(t, address, withIndex{http.DefaultTransport})
	odd := push.Document{
		URL: "http://h/odd?a=\"b\"&c=<d>", Title: "İ\u2028\x00\xff", Text: "odd \U0001F600 " + strings.Repeat("x", 40_000),
		Metas: map[string][]string{
			"": {"empty"}, "a.b": {"c"}, "a": {"d"}, "_id": {"1"}, "@timestamp": {"never"}, "deep.er.name": {""},
		},
	}
	entries := []push.Entry{
		add(1, push.Document{URL: "http://h/a", Title: "A", Text: "low tide", Metas: map[string][]string{"acl_allow": {"hr"}}}),
		add(2, push.Document{
			URL: "http://h/b", Title: "B", Text: "high tide", Metas: map[string][]string{"acl_allow": {"staff"}},
		}),
		add(3, odd),
		add(4, push.Document{URL: "http://h/large", Text: strings.Repeat("tide ", 300_000)}),
		add(5, push.Document{URL: "http://h/chunks", Text: "c", Chunks: []push.Chunk{{Headings: []string{"H"}, Text: "ebb"}}}),
		add(6, push.Document{URL: "http://h/a", Title: "A", Text: "spring flood"}),
	}
	refused, err := target.Push(t.Context(), entries)
	if err != nil || len(refused) != 1 || refused[0].Seq != 4 || !strings.Contains(refused[0].Words, "token too long") {
		t.Fatalf("refused %+v, %v", refused, err)
	}
	for query, want := range map[string][]string{
		`{"match":{"text":"tide"}}`: {"http://h/b"}, `{"match":{"text":"flood"}}`: {"http://h/a"},
		`{"match":{"text":"odd"}}`: {odd.URL},
		`{"bool":{"must":{"match_all":{}},"filter":{"term":{"acl_allow":"staff"}}}}`: {"http://h/b"},
	} {
		found(t, address, query, want)
	}
	refused, err = target.Push(t.Context(), []push.Entry{
		{Seq: 7, Op: push.Delete, URL: "http://h/b"}, {Seq: 8, Op: push.Delete, URL: "http://h/never"},
		add(9, push.Document{URL: "http://h/d", Text: "neap tide"}),
	})
	if err != nil || len(refused) != 0 {
		t.Fatalf("refused %+v, %v", refused, err)
	}
	found(t, address, `{"match_all":{}}`, []string{"http://h/a", "http://h/chunks", "http://h/d", odd.URL})
}

// TestDeletionWithoutIndex: a deletion as Elasticsearch defines it makes ZincSearch fail. The target counts as down, and
// nothing is lost.
func TestDeletionWithoutIndex(t *testing.T) {
	target := open(t, serve(t), nil)
	refused, err := target.Push(t.Context(), []push.Entry{{Seq: 1, Op: push.Delete, URL: "http://h/a"}})
	if err == nil || len(refused) != 0 {
		t.Errorf("refused %+v, %v", refused, err)
	}
}
