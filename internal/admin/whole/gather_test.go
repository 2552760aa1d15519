package whole

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// shelf is the store of a node: URLs in memory, and links and what is left of URLs as a test says.
type shelf struct {
	*storetest.Memory
	links map[weburl.Key][]weburl.Key
	gone  map[weburl.Key]scheduler.Gone
}

func (s shelf) Outlinks(_ context.Context, from weburl.Key, fn func(weburl.Key, scheduler.LinkPrints) error) error {
	return inOrder(s.links, from, func(k weburl.Key, to []weburl.Key) error {
		var prints scheduler.LinkPrints
		for _, one := range to {
			prints = prints.AppendPrint(one)
		}
		return fn(k, prints)
	})
}

func (s shelf) Gone(_ context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error {
	return inOrder(s.gone, from, fn)
}

func (shelf) Orders(context.Context, push.Selection, func(push.Listed) error) error { return nil }

func inOrder[T any](m map[weburl.Key]T, from weburl.Key, fn func(weburl.Key, T) error) error {
	var keys []weburl.Key
	for k := range m {
		if k.Compare(from) >= 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, weburl.Key.Compare)
	for _, k := range keys {
		if err := fn(k, m[k]); err != nil {
			return err
		}
	}
	return nil
}

func urlOf(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// shelves are stores of nodes, with some URLs each, and one that has all.
func shelves(t testing.TB, nodes, urls int) (parts []shelf, all shelf) {
	t.Helper()
	empty := func() shelf {
		return shelf{storetest.NewMemory(), map[weburl.Key][]weburl.Key{}, map[weburl.Key]scheduler.Gone{}}
	}
	all = empty()
	for range nodes {
		parts = append(parts, empty())
	}
	for i := range urls {
		u, next := urlOf(t, fmt.Sprintf("http://h%d.test/", i)), urlOf(t, fmt.Sprintf("http://h%d.test/", i+1))
		for _, s := range []shelf{parts[i%nodes], all} {
			if _, _, err := s.Add(t.Context(), []scheduler.Link{{URL: u, Fifo: scheduler.Index}}, false); err != nil {
				t.Fatal(err)
			}
			s.links[u.Key()] = []weburl.Key{next.Key()}
			if i%3 == 0 {
				s.gone[next.Key()] = scheduler.Gone{URL: next.String(), Status: 404}
			}
		}
	}
	return parts, all
}

type ofParts struct{ nodes []Node }

func (o ofParts) Others(context.Context) ([]Node, error)        { return o.nodes, nil }
func (o ofParts) Owner(context.Context, string) (string, error) { return "", nil }

// nodeOf answers from a store, through what between does to its words.
func nodeOf(name string, s report.Store, between func([]byte) []byte) Node {
	return Node{Name: name, Ask: func(ctx context.Context, q *Question) (io.ReadCloser, error) {
		var out bytes.Buffer
		out.WriteString("{\"status\":200}\n")
		if err := WriteStore(ctx, &out, s, q.Body); err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(between(out.Bytes()))), nil
	}}
}

func asIs(b []byte) []byte { return b }

func gatherOf(t testing.TB, own report.Store, nodes ...Node) *Gathered {
	t.Helper()
	g, err := (&Server{Name: "n0", Cluster: ofParts{nodes}}).Gather(t.Context(), own, "a", Asker{Role: "reader"})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// seen is all that walks and look-ups give.
func seen(t testing.TB, s report.Store, urls int) string {
	t.Helper()
	var out strings.Builder
	ctx := t.Context()
	err := errors.Join(
		scheduler.Walk(ctx, s, weburl.Key{}, func(*scheduler.Record) bool { return true }, func(batch []scheduler.KeyedRecord) error {
			for _, r := range batch {
				fmt.Fprintln(&out, r.Key, r.Record.URL, r.Record.Host)
			}
			return nil
		}),
		s.Outlinks(ctx, weburl.Key{1}, func(k weburl.Key, l scheduler.LinkPrints) error {
			fmt.Fprintf(&out, "%s %x\n", k, []byte(l))
			return nil
		}),
		s.Gone(ctx, weburl.Key{}, func(k weburl.Key, g scheduler.Gone) error {
			fmt.Fprintln(&out, k, g.URL, g.Status)
			return nil
		}),
	)
	for i := range urls + 2 {
		u := urlOf(t, fmt.Sprintf("http://h%d.test/", i))
		r, errOf := s.Lookup(ctx, u.Key())
		left, errLeft := report.GoneOf(ctx, s, u.Key())
		fmt.Fprintln(&out, r.URL, errors.Is(errOf, scheduler.ErrNotFound), left.URL)
		err = errors.Join(err, errLeft)
	}
	n, errCounts := s.Counts(ctx)
	if err = errors.Join(err, errCounts); err != nil {
		t.Fatal(err)
	}
	return out.String() + fmt.Sprint(n.Known, n.Hosts, n.Pending)
}

// TestGather: the store of all nodes has what one store would have, in its order, with and without a word on what is looked up next.
func TestGather(t *testing.T) {
	const urls = 2500 // several frames
	parts, all := shelves(t, 3, urls)
	g := gatherOf(t, parts[0], nodeOf("n1", parts[1], asIs), nodeOf("n2", parts[2], asIs))
	var keys []weburl.Key
	for i := range urls {
		keys = append(keys, urlOf(t, fmt.Sprintf("http://h%d.test/", i)).Key())
	}
	if err := g.Know(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	if got, want := seen(t, g, urls), seen(t, all, urls); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	h := http.Header{}
	if g.Tell(h); h.Get(Missing) != "" {
		t.Errorf("%q is missing", h.Get(Missing))
	}
	enough := errors.New("enough")
	if err := g.Outlinks(t.Context(), weburl.Key{}, func(weburl.Key, scheduler.LinkPrints) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a reader that has enough: %v", err)
	}
	if err := g.Inspect(t.Context(), scheduler.Filter{Status: 404}, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a filter that nodes do not know: %v", err)
	}
}

// TestGatherWithoutOne: a node that says too little, or garbage, is left out as a whole from then on, and named; once the answer has begun it is an error.
func TestGatherWithoutOne(t *testing.T) {
	const urls = 30
	for name, spoil := range map[string]func([]byte) []byte{
		"nothing":      func([]byte) []byte { return nil },
		"it breaks":    func(b []byte) []byte { return b[:len(b)-3] },
		"no end":       func(b []byte) []byte { return b[:bytes.IndexByte(b, '\n')+1] },
		"a huge frame": func(b []byte) []byte { return append(b[:bytes.IndexByte(b, '\n')+1], 0x7f, 0, 0, 0) },
		"an empty one": func(b []byte) []byte { return append(b[:bytes.IndexByte(b, '\n')+1], 0, 0, 0, 0) },
		"a refusal":    func([]byte) []byte { return []byte("{\"status\":503}\n{\"detail\":\"busy\"}") },
		"garbage":      func(b []byte) []byte { return append(b[:bytes.IndexByte(b, '\n')+1], 0, 0, 0, 3, 'x', 'y', 'z') },
	} {
		parts, _ := shelves(t, 2, urls)
		g := gatherOf(t, parts[0], nodeOf("bad", parts[1], spoil))
		n := 0
		if err := g.Outlinks(t.Context(), weburl.Key{}, func(weburl.Key, scheduler.LinkPrints) error { n++; return nil }); err != nil || n < urls/2 {
			t.Errorf("%s: %d pages, %v", name, n, err)
		}
		if _, err := g.Counts(t.Context()); err != nil || len(g.others) != 0 {
			t.Errorf("%s: it is asked again, %v", name, err)
		}
		h := http.Header{}
		if g.Tell(h); !strings.HasPrefix(h.Get(Missing), "bad: ") {
			t.Errorf("%s: missing %q", name, h.Get(Missing))
		}
		g = gatherOf(t, parts[0], nodeOf("bad", parts[1], spoil))
		g.Tell(http.Header{})
		if err := g.Outlinks(t.Context(), weburl.Key{}, func(weburl.Key, scheduler.LinkPrints) error { return nil }); err == nil || !strings.Contains(err.Error(), "node bad got lost") {
			t.Errorf("%s, once the answer has begun: %v", name, err)
		}
	}
	parts, _ := shelves(t, 2, urls)
	if err := WriteStore(t.Context(), io.Discard, parts[0], []byte(`{"what":"all"}`)); err == nil {
		t.Error("a question that nobody knows is answered")
	}
}

// TestGatherOutOfOrder: a node whose keys go back is left out.
func TestGatherOutOfOrder(t *testing.T) {
	var out bytes.Buffer
	w := &rowWriter{to: &out}
	for _, k := range []weburl.Key{{9}, {3}, {5}} {
		w.add(row{Key: k}, 0)
	}
	w.add(row{End: true}, 0)
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	parts, _ := shelves(t, 1, 3)
	g := gatherOf(t, parts[0], Node{Name: "bad", Ask: func(context.Context, *Question) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("{\"status\":200}\n" + out.String())), nil
	}})
	if err := g.Gone(t.Context(), weburl.Key{}, func(weburl.Key, scheduler.Gone) error { return nil }); err != nil || len(g.missing) != 1 {
		t.Errorf("%v, %d missing", err, len(g.missing))
	}
}

// FuzzFrames: whatever a node says, reading it ends, and gives rows or says that the node failed.
func FuzzFrames(f *testing.F) {
	parts, _ := shelves(f, 1, 4)
	for _, what := range []string{askRecords, askLinks, askGone, askCounts} {
		var out bytes.Buffer
		question, err := json.Marshal(storeQuestion{What: what})
		if err == nil {
			err = WriteStore(f.Context(), &out, parts[0], question)
		}
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Add([]byte{0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		frames := frames{part: &part{node: "n", body: bufio.NewReader(bytes.NewReader(b))}}
		n := 0
		for frames.next() != nil {
			if n++; n > len(b) {
				t.Fatalf("%d rows of %d bytes", n, len(b))
			}
		}
		if frames.err == nil && len(frames.rows) > 0 && n == 0 && len(b) < 4 {
			t.Error("nothing was read, and nothing is wrong")
		}
	})
}

// TestGatherForgets: what is looked up one by one is not kept for ever.
func TestGatherForgets(t *testing.T) {
	parts, _ := shelves(t, 2, 4)
	g := gatherOf(t, parts[0], nodeOf("n1", parts[1], asIs))
	keys := make([]weburl.Key, maxKnown)
	for i := range keys {
		keys[i] = weburl.Key{byte(i), byte(i >> 8), byte(i >> 16), 1}
	}
	if err := g.Know(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	if n := len(g.known); n != maxKnown {
		t.Errorf("%d URLs are kept, want %d", n, maxKnown)
	}
	for _, raw := range []string{"http://h1.test/", "http://h2.test/"} {
		if r, err := g.Lookup(t.Context(), urlOf(t, raw).Key()); err != nil || r.URL != raw {
			t.Errorf("%s: %+v, %v", raw, r, err)
		}
	}
	if n := len(g.known); n > 2 {
		t.Errorf("%d URLs are kept later", n)
	}
}
