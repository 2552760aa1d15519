package letters

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "correct horse battery staple, 32+"

func token(t *testing.T) peer.Token {
	t.Helper()
	k, err := peer.ParseToken(secret)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// serve starts a node that answers other nodes, and returns its address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	config, err := peer.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(peer.Guard(token(t), h))
	s.TLS = config
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func lines(t *testing.T) *peer.Lines {
	l := &peer.Lines{Client: &peer.Client{Token: token(t)}}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func post() scheduler.Post {
	l := storetest.Link("http://h.test/a?b=c", scheduler.Follow)
	l.Depth, l.Hops, l.Shift, l.Alias, l.Referrer, l.FoundAt = 7, 2, -3, "http://x.test/", "http://y.test/", time.Unix(1e9, 5).UTC()
	return scheduler.Post{From: 3, After: 10, Letters: []scheduler.Letter{
		{Seq: 11, Link: l, Depths: true},
		{Seq: 15, Note: &scheduler.Note{Name: "robots/http://h.test", Value: []byte("x")}},
		{Seq: 1 << 60, Note: &scheduler.Note{Name: "robots/http://h.test"}},
	}}
}

func TestQuestion(t *testing.T) {
	want := post()
	b, err := encode(23, want)
	if err != nil {
		t.Fatal(err)
	}
	to, got, err := decode(b)
	if err != nil || to != 23 || !reflect.DeepEqual(got, want) {
		t.Errorf("to %d, %+v, %v; want %+v", to, got, err, want)
	}
	for _, n := range []uint64{0, 1, math.MaxUint64} {
		if got, err := decodeAnswer(encodeAnswer(n)); got != n || err != nil {
			t.Errorf("%d, %v; want %d", got, err, n)
		}
	}
	for name, bad := range map[string][]byte{
		"nothing": nil, "another version": {2, 1}, "the version alone": {1}, "no number": {1, 0x80}, "more": append(encodeAnswer(1), 0),
	} {
		if n, err := decodeAnswer(bad); err == nil {
			t.Errorf("an answer with %s gives %d", name, n)
		}
		if to, _, err := decode(bad); err == nil && name != "the version alone" {
			t.Errorf("a question with %s is for %d", name, to)
		}
	}
	if _, err := encode(1, scheduler.Post{Letters: make([]scheduler.Letter, lettersMost+1)}); err == nil {
		t.Error("too many letters are sent")
	}
	long := scheduler.Post{Letters: []scheduler.Letter{{Seq: 1, Note: &scheduler.Note{Name: "x", Value: make([]byte, plainMost)}}}}
	if _, err := encode(1, long); err == nil {
		t.Error("letters that are too long are sent")
	}
}

// TestBomb: what unpacks to more than letters may be is not unpacked.
func TestBomb(t *testing.T) {
	pack, _ := packers()
	bomb := pack.EncodeAll(make([]byte, plainMost+1), []byte{version})
	if _, _, err := decode(bomb); err == nil || len(bomb) > 1<<16 {
		t.Errorf("a bomb of %d bytes: %v", len(bomb), err)
	}
}

func FuzzQuestion(f *testing.F) {
	pack, unpack := packers()
	good, err := encode(1, post())
	if err != nil {
		f.Fatal(err)
	}
	plain, err := unpack.DecodeAll(good[1:], nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add([]byte{1, 2, 0, 0})
	f.Fuzz(func(t *testing.T, plain []byte) {
		to, p, err := decode(pack.EncodeAll(plain, []byte{version}))
		if err != nil {
			return
		}
		again, err := encode(to, p)
		if err != nil {
			t.Fatal(err)
		}
		to2, p2, err := decode(again)
		if err != nil || to2 != to || !reflect.DeepEqual(p, p2) {
			t.Errorf("%d %+v becomes %d %+v: %v", to, p, to2, p2, err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add(encodeAnswer(300))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := decodeAnswer(b); err == nil {
			if again, err := decodeAnswer(encodeAnswer(n)); again != n || err != nil {
				t.Errorf("%d becomes %d: %v", n, again, err)
			}
		}
	})
}

// pair is two nodes, of which the first has the even partitions.
type pair struct {
	stores    [2]*partitioned.Store
	addresses [2]string
	asked     [2]atomic.Int32
	owner     [4]atomic.Int32 // as carriers know it; -1: nobody
}

func newPair(t *testing.T) *pair {
	p := &pair{}
	for i := range p.owner {
		p.owner[i].Store(int32(i % 2)) //nolint:gosec // it is small
	}
	for n := range p.stores {
		h := Handler(func() Receiver { return p.stores[n] }, slog.New(slog.DiscardHandler))
		p.addresses[n] = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.asked[n].Add(1)
			h.ServeHTTP(w, r)
		}))
	}
	for n := range p.stores {
		carrier := &Carrier{Lines: lines(t), Owner: func(i int) (string, <-chan struct{}) {
			at := p.owner[i].Load()
			if at < 0 {
				return "", nil
			}
			return p.addresses[at], nil
		}}
		s, err := partitioned.New(partitioned.Options{Partitions: len(p.owner), Values: storetest.NewMemory(), Carrier: carrier})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		for i := n; i < len(p.owner); i += 2 {
			if err := s.Adopt(i, storetest.NewMemory()); err != nil {
				t.Fatal(err)
			}
		}
		p.stores[n] = s
	}
	return p
}

// page completes one at the first node with links to all partitions, and returns the links by partition.
func (p *pair) page(t *testing.T, path string, n int) (links [4][]scheduler.Link) {
	t.Helper()
	var from scheduler.Link
	for i := 0; ; i++ {
		from = storetest.Link(fmt.Sprintf("http://from%d.test/%s", i, path), scheduler.Follow)
		if partitioned.Of(from.URL.Host(), 4) == 0 {
			break
		}
	}
	c := scheduler.Completion{}
	for i := range n {
		l := storetest.Link(fmt.Sprintf("http://h%d.test/%s", i, path), scheduler.Follow)
		to := partitioned.Of(l.URL.Host(), 4)
		links[to] = append(links[to], l)
		c.Links = append(c.Links, l)
	}
	s := p.stores[0]
	if _, _, err := s.Add(t.Context(), []scheduler.Link{from}, false); err != nil {
		t.Fatal(err)
	}
	q, err := s.Queue(t.Context(), scheduler.Place{Source: scheduler.Follow, Host: from.URL.HostKey()}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	u := q[len(q)-1]
	c.Key, c.Seq, c.Next, c.Taken = u.Key, u.Seq, u.Record, scheduler.Place{Source: u.Record.Source, Host: u.Record.Host}
	c.Next.State = scheduler.AtRest
	if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
		t.Fatal(err)
	}
	return links
}

// await waits until a node knows links.
func (p *pair) await(t *testing.T, n int, links []scheduler.Link) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(links) > 0 {
		if _, err := p.stores[n].Lookup(ctx, links[0].URL.Key()); err == nil {
			links = links[1:]
			continue
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not arrive", links[0].URL)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// swept waits until no letters are left at the first node.
func (p *pair) swept(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		piles, err := p.stores[0].Piles(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(piles) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestLinksTravel: links to the other node's partitions arrive there, and wait while nobody is known to own theirs, or the
// one that is asked does not.
func TestLinksTravel(t *testing.T) {
	p := newPair(t)
	links := p.page(t, "a", 100)
	p.await(t, 1, slices.Concat(links[1], links[3]))
	p.await(t, 0, slices.Concat(links[0], links[2]))

	p.swept(t)           // what has arrived is removed a moment later
	p.owner[1].Store(-1) // nobody is known
	p.owner[3].Store(0)  // the one that asks is taken for the owner
	asked := p.asked[0].Load()
	links = p.page(t, "b", 100)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for p.asked[0].Load() == asked && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	piles, err := p.stores[0].Piles(t.Context())
	if err != nil || int(piles[1].Count) != len(links[1]) || int(piles[3].Count) != len(links[3]) {
		t.Errorf("%v wait, %v; want %d and %d", piles, err, len(links[1]), len(links[3]))
	}
	p.owner[1].Store(1)
	p.owner[3].Store(1)
	p.await(t, 1, slices.Concat(links[1], links[3]))
}

// TestMoved: a node that is asked and cut off is not waited for when another one has taken over.
func TestMoved(t *testing.T) {
	asked, end := make(chan struct{}), make(chan struct{})
	address := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-end
	}))
	defer close(end)
	moved := make(chan struct{})
	c := &Carrier{Lines: lines(t), Owner: func(int) (string, <-chan struct{}) { return address, moved }}
	go func() {
		<-asked
		close(moved)
	}()
	if _, err := c.Carry(t.Context(), 1, scheduler.Post{From: 0}); !errors.Is(err, scheduler.ErrElsewhere) {
		t.Errorf("an owner that does not answer: %v", err)
	}
}

// TestWrongLetters: letters that are not the partition's, that come again, or that are garbage, change nothing.
func TestWrongLetters(t *testing.T) {
	p := newPair(t)
	links := p.page(t, "a", 100)
	p.await(t, 1, slices.Concat(links[1], links[3]))
	l := lines(t)
	carrier := &Carrier{Lines: l, Owner: func(int) (string, <-chan struct{}) { return p.addresses[1], nil }}
	known := func() uint64 {
		c, err := p.stores[1].Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c.Known
	}
	before := known()
	at := func(to int, path string) scheduler.Link {
		for i := 0; ; i++ {
			n := storetest.Link(fmt.Sprintf("http://z%d.test/%s", i, path), scheduler.Follow)
			if partitioned.Of(n.URL.Host(), 4) == to {
				return n
			}
		}
	}
	is, err := carrier.Carry(t.Context(), 1, scheduler.Post{From: 0})
	if err != nil || is.Arrived == 0 {
		t.Fatalf("%+v, %v", is, err)
	}
	_, err = carrier.Carry(t.Context(), 1, scheduler.Post{From: 0, After: is.Arrived, Letters: []scheduler.Letter{{Seq: is.Arrived + 1, Link: at(3, "x")}}})
	if !errors.Is(err, peer.ErrDeclined) || !strings.Contains(err.Error(), "is not in it") {
		t.Errorf("a letter of another partition: %v", err)
	}
	again, err := carrier.Carry(t.Context(), 1, scheduler.Post{From: 0, Letters: []scheduler.Letter{{Seq: 1, Link: at(1, "old")}}})
	if err != nil || again.Arrived != is.Arrived {
		t.Errorf("a letter that comes again: %+v, %v", again, err)
	}
	ahead, err := carrier.Carry(t.Context(), 1, scheduler.Post{From: 0, After: is.Arrived + 5, Letters: []scheduler.Letter{{Seq: is.Arrived + 6, Link: at(1, "new")}}})
	if err != nil || ahead.Arrived != is.Arrived {
		t.Errorf("letters before which some are missing: %+v, %v", ahead, err)
	}
	for to, from := range map[int]int{99: 0, 1: 99, 3: 3} {
		if _, err := carrier.Carry(t.Context(), to, scheduler.Post{From: from}); !errors.Is(err, peer.ErrDeclined) {
			t.Errorf("letters from %d to %d: %v", from, to, err)
		}
	}
	if _, err := carrier.Carry(t.Context(), 2, scheduler.Post{From: 1}); !errors.Is(err, scheduler.ErrElsewhere) {
		t.Errorf("letters for a partition that the node does not own: %v", err)
	}
	for name, garbage := range map[string][]byte{"nothing": nil, "no zstd": []byte("\x01garbage"), "another version": {9}} {
		if _, err := l.Ask(t.Context(), p.addresses[1], Path, garbage, 10); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if known() != before {
		t.Errorf("%d URLs are known, want %d", known(), before)
	}
}

// TestWrongAnswers: a node that answers more than it should, or garbage, has delivered nothing.
func TestWrongAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing": "", "too much": strings.Repeat("\x01", answerMost+1), "a huge answer": strings.Repeat("x", 1<<20), "another version": "\x02\x01", "garbage": "\x01\xff",
	} {
		address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		c := &Carrier{Lines: lines(t), Owner: func(int) (string, <-chan struct{}) { return address, nil }}
		if is, err := c.Carry(t.Context(), 1, post()); err == nil {
			t.Errorf("%s: %+v", name, is)
		}
	}
}
