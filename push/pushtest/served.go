package pushtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// One test pushes in a goroutine, so that it can cancel the push, and waits for it.

// Served is a receiver on a socket, with functions that open a target for it.
type Served struct {
	Address string // scheme, host and port
	// Open returns a target for the receiver, or for a Gate before it. The URL in the settings has no path yet.
	Open func(t testing.TB, s wire.Settings) push.Target
	// Safe kills the receiver, starts it again and returns its contents; Read returns the same without killing it.
	Safe, Read func() Index
	// Single: a request has one document, so that 413 is a refusal.
	Single bool
	// Kill ends the receiver at once and starts it again at its address.
	Kill func()
}

// Bad is contained in the URLs of documents that the suite's receivers refuse permanently.
const Bad = "/bad"

// TestServed is the suite for targets over HTTP, against receivers that are strict and refuse documents with Bad in
// their URL: TestTarget, each failure alone, and all of them at random. receiver returns an empty one for each test.
func TestServed(t *testing.T, receiver func(t *testing.T) Served) {
	t.Run("as any target", func(t *testing.T) {
		TestTarget(t, func(t *testing.T) OpenedTarget {
			r := receiver(t)
			target := r.Open(t, wire.Settings{URL: r.Address})
			return OpenedTarget{Target: target, Safe: r.Read, Reopen: func() push.Target {
				if err := target.Close(); err != nil {
					t.Fatal(err)
				}
				target = r.Open(t, wire.Settings{URL: r.Address})
				return target
			}}
		})
	})
	t.Run("refusals", func(t *testing.T) { testRefusals(t, receiver(t)) })
	t.Run("failures", func(t *testing.T) { testFailures(t, receiver(t)) })
	t.Run("errors of the target", func(t *testing.T) { testTargetErrors(t, receiver(t)) })
	t.Run("redirect", func(t *testing.T) { testRedirect(t, receiver(t)) })
	t.Run("time-out", func(t *testing.T) { testTimeOut(t, receiver(t)) })
	t.Run("model", func(t *testing.T) {
		seeds := uint64(2)
		if os.Getenv("SEXTANT_KILLS") != "" {
			seeds = 20
		}
		for seed := range seeds {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { testModel(t, receiver(t), seed) })
		}
	})
}

// quick returns settings with short waits.
func quick(address string) wire.Settings {
	return wire.Settings{URL: address, RetryWait: time.Millisecond, RetryWaitMax: 20 * time.Millisecond, Retries: 3}
}

// testRefusals checks that bad documents, and only these, are refused with a message, wherever they are in a batch.
func testRefusals(t *testing.T, r Served) {
	target := r.Open(t, quick(r.Address))
	defer target.Close()
	want := Index{}
	var entries []push.Entry
	for i := range 40 {
		url := fmt.Sprintf("http://h/%d", i)
		if i%13 == 5 || i == 0 || i == 39 {
			entries = append(entries, Doc(url+Bad, "x"))
			continue
		}
		entries, want[url] = append(entries, Doc(url, "text")), "text"
	}
	refused, err := target.Push(t.Context(), Numbered(1, entries...))
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for _, r := range refused {
		seqs = append(seqs, r.Seq)
		if !strings.Contains(r.Words, "bad") {
			t.Errorf("%d was refused with the words %q, which do not say why", r.Seq, r.Words)
		}
	}
	if diff := cmp.Diff([]uint64{1, 6, 19, 32, 40}, seqs); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	OpenedTarget{Target: target, Safe: r.Safe}.checkpoint(t, 40, want)
}

// testFailures checks that the target completes failed requests through its own retries.
func testFailures(t *testing.T, r Served) {
	g := NewGate(t, r.Address, r.Kill)
	n := 0
	for name, faults := range map[string][]Fault{
		"500":                {{Status: 500}, {Status: 502}, {Status: 504}},
		"503 with words":     {{Status: 503, Header: "Retry-After: 0", Body: "busy"}},
		"429 Retry-After":    {{Status: 429, Header: "Retry-After: 9999"}}, // bounded by RetryWaitMax
		"413 halves":         {{Status: 413}},
		"lost answers":       {{LoseAnswer: true}, {LoseAnswer: true}},
		"answers cut off":    {{}, {CutAnswer: true}},
		"connections cut":    {{Cut: true}, {Cut: true}, {Cut: true}},
		"all kinds in a row": {{Cut: true}, {Status: 503}, {LoseAnswer: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if r.Single && faults[0].Status == 413 {
				t.Skip("a request has one document")
			}
			target := r.Open(t, quick(g.URL))
			defer target.Close()
			n++
			entries := Numbered(uint64(n*100), Doc("http://h/a", name), Del("http://h/b"), Doc("http://h/b", name), Doc("http://h/c", name), Del("http://h/c"))
			g.Next(faults...)
			pushAgain(t, target, entries)
			if g.Left() > 0 {
				t.Errorf("%d faults were not met", g.Left())
			}
			if diff := cmp.Diff(Index{"http://h/a": name, "http://h/b": name}, r.Safe()); diff != "" {
				t.Errorf("safe (-want +got):\n%s", diff)
			}
		})
	}
}

// pushAgain pushes and makes safe as the relay does, and repeats both after an error.
func pushAgain(t *testing.T, target push.Target, entries []push.Entry) {
	t.Helper()
	for range 10 {
		refused, err := target.Push(t.Context(), entries)
		if len(refused) > 0 {
			t.Fatalf("refused: %v", refused)
		}
		if err == nil {
			err = target.Checkpoint(t.Context(), entries[len(entries)-1].Seq)
		}
		if err == nil {
			return
		}
		t.Log(err)
	}
	t.Fatal("it does not get through")
}

// testTargetErrors checks that errors which no document causes fail the whole target, with a helpful message, without a
// refusal and without useless retries.
func testTargetErrors(t *testing.T, r Served) {
	g := NewGate(t, r.Address, r.Kill)
	for name, tt := range map[string]struct {
		fault Fault
		words string
	}{
		"401":           {Fault{Status: 401}, "check the user and password"},
		"403":           {Fault{Status: 403}, "lacks permission"},
		"404":           {Fault{Status: 404, Body: "no such thing"}, "no such thing"},
		"garbage":       {Fault{Status: 200, Body: "{<html>\x00\xff"}, ""},
		"garbage array": {Fault{Status: 200, Body: "[]"}, ""},
		"endless":       {Fault{Status: 200, Body: "{" + strings.Repeat("x", 16<<20)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			target := r.Open(t, quick(g.URL))
			defer target.Close()
			g.Next(slices.Repeat([]Fault{tt.fault}, 20)...)
			refused, err := target.Push(t.Context(), Numbered(1, Doc("http://h/a", "x"), Doc("http://h/b", "x")))
			if tt.words == "" && err == nil && len(refused) == 0 {
				err = target.Checkpoint(t.Context(), 2) // some are content with any 2xx
			}
			switch {
			case tt.words == "" && err == nil && len(refused) == 0:
			case err == nil || len(refused) > 0 || !strings.Contains(err.Error(), tt.words) || len(err.Error()) > 1000:
				t.Errorf("refused %v, error %v", refused, err)
			case tt.words != "" && g.Requests() > 4:
				t.Errorf("%d requests", g.Requests())
			}
		})
	}
}

// testRedirect checks that credentials are not sent to the target of a redirect.
func testRedirect(t *testing.T, r Served) {
	g, elsewhere := NewGate(t, r.Address, nil), NewGate(t, r.Address, nil)
	for _, status := range []int{301, 302, 307, 308} {
		s := quick(g.URL)
		s.User = "ann"
		target := r.Open(t, s)
		g.Next(slices.Repeat([]Fault{{Status: status, Header: "Location: " + elsewhere.URL + "/"}}, 5)...)
		_, err := target.Push(t.Context(), Numbered(1, Doc("http://h/a", "x")))
		if err == nil || !strings.Contains(err.Error(), "a redirect: write the address") {
			t.Errorf("%d: %v", status, err)
		}
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := elsewhere.Requests(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// testTimeOut checks that the target abandons a server that sends nothing, and that the end of the context ends a call
// at once.
func testTimeOut(t *testing.T, r Served) {
	g := NewGate(t, r.Address, nil)
	s := quick(g.URL)
	s.Timeout, s.Retries = 20*time.Millisecond, 1
	target := r.Open(t, s)
	defer target.Close()
	g.Next(slices.Repeat([]Fault{{Stall: true}}, 10)...)
	if _, err := target.Push(t.Context(), Numbered(1, Doc("http://h/a", "x"))); err == nil || !strings.Contains(err.Error(), "sent nothing for 20ms") {
		t.Errorf("error %v", err)
	}
	s.Timeout = time.Hour
	patient := r.Open(t, s)
	defer patient.Close()
	g.Next(slices.Repeat([]Fault{{Stall: true}}, 10)...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := patient.Push(ctx, Numbered(1, Doc("http://h/a", "x")))
		done <- err
	}()
	for g.Requests() == 0 {
		time.Sleep(time.Millisecond) // real sockets: there is no bubble to wait in
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// model performs random actions of a crawl, a relay, an indexer and a network.
type model struct {
	t      *testing.T
	rnd    *rand.Rand
	outbox *Outbox
	want   Index
	bad    map[string]bool // the newest order is one that is refused
}

// testModel checks that, whatever fails and whenever the receiver is killed, it finally has stored the newest order of
// each URL safely, except for documents that it refuses.
func testModel(t *testing.T, r Served, seed uint64) {
	m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), outbox: NewOutbox(), want: Index{}, bad: map[string]bool{}} //nolint:gosec // a test that can be repeated
	g := NewGate(t, r.Address, r.Kill)
	target := r.Open(t, quick(g.URL))
	defer func() { _ = target.Close() }()
	name := target.Name()
	if err := m.outbox.Open(t.Context(), []string{name}); err != nil {
		t.Fatal(err)
	}
	sent := uint64(0)
	for step := range 40 {
		for range m.rnd.IntN(12) {
			m.order()
		}
		g.Next(m.faults(step)...)
		if m.rnd.IntN(10) == 0 { // the crawler starts again
			_ = target.Close()
			target, sent = r.Open(t, quick(g.URL)), m.cursor(name)
		}
		sent = m.relay(target, sent, m.rnd.IntN(3) == 0)
	}
	g.Next()
	for tries := 0; m.outbox.Len() > 0; tries++ {
		if sent = m.relay(target, sent, true); tries > 50 {
			t.Fatalf("%d entries do not get through", m.outbox.Len())
		}
	}
	m.check(name, r.Safe())
}

func (m *model) cursor(name string) uint64 {
	c, err := m.outbox.Cursor(m.t.Context(), name)
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

// relay pushes one batch after sent, and may make the sent orders safe.
func (m *model) relay(target push.Target, sent uint64, checkpoint bool) uint64 {
	fail := func(err error) uint64 {
		if errors.Is(err, push.ErrRewind) {
			return m.cursor(target.Name())
		}
		return sent
	}
	batch, err := m.outbox.Entries(m.t.Context(), sent, 1+m.rnd.IntN(40), 1<<20)
	if err != nil {
		m.t.Fatal(err)
	}
	refused, err := target.Push(m.t.Context(), batch)
	if err != nil {
		return fail(err)
	}
	for _, r := range refused {
		i := slices.IndexFunc(batch, func(e push.Entry) bool { return e.Seq == r.Seq })
		if i < 0 {
			m.t.Fatalf("refused %d, which was not pushed", r.Seq)
		}
		if err := m.outbox.AddDead(m.t.Context(), target.Name(), batch[i], r.Words, time.Now()); err != nil {
			m.t.Fatal(err)
		}
	}
	if len(batch) > 0 {
		sent = batch[len(batch)-1].Seq
	}
	if !checkpoint {
		return sent
	}
	if err := target.Checkpoint(m.t.Context(), sent); err != nil {
		return fail(err)
	}
	if err := m.outbox.Safe(m.t.Context(), target.Name(), sent); err != nil {
		m.t.Fatal(err)
	}
	return sent
}

func (m *model) order() {
	url := fmt.Sprintf("http://h/%d", m.rnd.IntN(30))
	if m.rnd.IntN(15) == 0 {
		url += Bad
	}
	delete(m.want, url)
	delete(m.bad, url)
	if m.rnd.IntN(3) == 0 {
		m.outbox.PutDeletion(url)
		return
	}
	text := fmt.Sprint("version ", m.rnd.Uint64())
	m.outbox.PutDocument("", url, text)
	if strings.Contains(url, Bad) {
		m.bad[url] = true
	} else {
		m.want[url] = text
	}
}

// faults returns no fault in most steps, and a kill in some.
func (m *model) faults(step int) []Fault {
	kinds := []Fault{
		{Status: 500}, {Status: 503, Header: "Retry-After: 0"}, {LoseAnswer: true}, {CutAnswer: true}, {Cut: true}, {Status: 401}, {},
	}
	if step%10 == 9 {
		kinds = []Fault{{Kill: true}}
	}
	var out []Fault
	for range m.rnd.IntN(5) {
		out = append(out, kinds[m.rnd.IntN(len(kinds))])
		if out[len(out)-1].Kill {
			break
		}
	}
	return out
}

func (m *model) check(name string, got Index) {
	if diff := cmp.Diff(m.want, got); diff != "" {
		m.t.Errorf("the receiver's documents (-want +got):\n%s", diff)
	}
	dead := map[string]bool{}
	for _, d := range m.outbox.Dead(name) {
		dead[d.URL] = true
	}
	if !maps.Equal(dead, m.bad) {
		m.t.Errorf("dead letters %v, want %v", dead, m.bad)
	}
}
