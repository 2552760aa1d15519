package elastic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/wire"
)

// kept is an index that fails requests of some numbers, once for each, after they took effect.
type kept struct {
	documents map[string]map[string]any
	requests  int
	fails     int
	largest   int
}

func (k *kept) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.requests++
	body, _ := io.ReadAll(r.Body)
	k.largest = max(k.largest, len(body))
	var answer any
	if strings.HasSuffix(r.URL.Path, "/_mget") {
		answer = k.get(body)
	} else {
		answer = k.bulk(string(body))
	}
	if k.requests == k.fails {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (k *kept) get(body []byte) any {
	var asked struct{ IDs []string }
	_ = json.Unmarshal(body, &asked)
	var docs []map[string]any
	for _, id := range asked.IDs {
		d, found := k.documents[id]
		got := map[string]any{"_id": id, "found": found}
		if found {
			got["_source"] = map[string]any{chunkCount: d[chunkCount]}
		}
		docs = append(docs, got)
	}
	return map[string]any{"docs": docs}
}

func (k *kept) bulk(body string) any {
	items := []any{}
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		var action map[string]struct {
			ID string `json:"_id"`
		}
		_ = json.Unmarshal(lines.Bytes(), &action)
		if a, ok := action["delete"]; ok {
			delete(k.documents, a.ID)
			items = append(items, map[string]any{"delete": map[string]any{"status": 404}})
			continue
		}
		lines.Scan()
		var d map[string]any
		_ = json.Unmarshal(lines.Bytes(), &d)
		k.documents[action["index"].ID] = d
		items = append(items, map[string]any{"index": map[string]any{"status": 200}})
	}
	return map[string]any{"errors": false, "items": items}
}

// pageOf is a page with n chunks, with permissions.
func pageOf(url string, n int) push.Entry {
	d := push.Document{URL: url, Title: "T", Text: "whole", Metas: map[string][]string{push.MetaAllow: {"hr"}}}
	for i := range n {
		d.Chunks = append(d.Chunks, push.Chunk{
			Headings: []string{"A", fmt.Sprint("B", i)}, Anchor: fmt.Sprint("b ", i), Text: fmt.Sprint("text ", i),
		})
	}
	return pushtest.DocumentEntry(d)
}

func openKept(t *testing.T, k *kept, limits wire.Limits) *Target {
	t.Helper()
	srv := httptest.NewServer(k)
	t.Cleanup(srv.Close)
	target, err := New(Settings{
		Index: "web", ChunkDocuments: true, Fields: wire.Names{"meta:acl_allow": "acl_allow"}, Limits: limits,
		Server: wire.Settings{URL: srv.URL, RetryWait: time.Millisecond, RetryWaitMax: time.Millisecond, Retries: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return target
}

// TestChunkDocuments: each chunk is a document with the fields of its page, above all its permissions.
func TestChunkDocuments(t *testing.T) {
	k := &kept{documents: map[string]map[string]any{}}
	target := openKept(t, k, wire.Limits{})
	refused, err := target.Push(t.Context(), pushtest.Numbered(7, pageOf("http://h/a", 2)))
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	for id, want := range map[string]map[string]any{
		ID("http://h/a"): {
			"url": "http://h/a", "title": "T", "text": "whole", "acl_allow": []any{"hr"}, "depth": 0.0, "chunk_count": 2.0,
		},
		ChunkID("http://h/a", 1): {
			"url": "http://h/a#b%201", "page": "http://h/a", "title": "T", "text": "text 1", "acl_allow": []any{"hr"},
			"depth": 0.0, "headings": []any{"A", "B1"}, "anchor": "b 1",
		},
	} {
		if d := cmp.Diff(want, k.documents[id]); d != "" {
			t.Errorf("%s (-want +got):\n%s", id, d)
		}
	}
}

// TestFormsStayWithTheirPage: the content of a page, which a Field made a meta, is not repeated in its chunks.
func TestFormsStayWithTheirPage(t *testing.T) {
	k := &kept{documents: map[string]map[string]any{}}
	form := strings.Repeat("x", 16<<10+1)
	entry := pushtest.DocumentEntry(push.Document{URL: "http://h/a", Chunks: []push.Chunk{{Text: "a"}},
		Metas: map[string][]string{"body": {form}, push.MetaAllow: slices.Repeat([]string{form[:1024]}, 20)}})
	if _, err := openKept(t, k, wire.Limits{}).Push(t.Context(), pushtest.Numbered(1, entry)); err != nil {
		t.Fatal(err)
	}
	page, chunk := k.documents[ID("http://h/a")], k.documents[ChunkID("http://h/a", 0)]
	if page["metas"] == nil || chunk["metas"] != nil || len(chunk["acl_allow"].([]any)) != 20 {
		t.Errorf("page %v, chunk %v", page, chunk)
	}
}

// TestChunksFollowTheirPage: chunks are replaced and deleted with the page, whichever request fails meanwhile, and
// though another order takes the place of one that failed.
func TestChunksFollowTheirPage(t *testing.T) {
	sizes := []int{3, 1, 5, 0, 2, -1}
	for fails := range 20 {
		k := &kept{documents: map[string]map[string]any{}, fails: fails}
		target := openKept(t, k, wire.Limits{Bytes: 400})
		for i, n := range sizes {
			entry := pageOf("http://h/a", max(n, 0))
			if n < 0 {
				entry = pushtest.Del("http://h/a")
			}
			_, err := target.Push(t.Context(), pushtest.Numbered(uint64(i+1), entry))
			if err != nil && i < len(sizes)-1 {
				continue // a newer order takes its place
			}
			if err != nil {
				if _, err = target.Push(t.Context(), pushtest.Numbered(uint64(i+1), entry)); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{}
			if n >= 0 {
				want = append(want, ID("http://h/a"))
			}
			for c := range n {
				want = append(want, ChunkID("http://h/a", c))
			}
			got := slices.AppendSeq([]string{}, maps.Keys(k.documents))
			slices.Sort(want)
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("request %d fails, order %d (-want +got):\n%s", fails, i, d)
			}
		}
		if k.largest > 600 {
			t.Errorf("a request has %d bytes", k.largest)
		}
	}
}

// TestNoChunks: without chunks there is no other request.
func TestNoChunks(t *testing.T) {
	s := &scripted{answers: []string{items(201, 201, 200)}}
	target := open(t, s, nil)
	if _, err := target.Push(t.Context(), three()); err != nil || len(s.bodies) != 1 || len(s.other) != 0 {
		t.Errorf("%v: %d requests, others %q", err, len(s.bodies), s.other)
	}
}
