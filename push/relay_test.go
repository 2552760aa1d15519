package push_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeTarget is an indexer in memory, with what is pushed and what is safe.
type fakeTarget struct {
	name string
	took time.Duration // each call takes so long

	mu          sync.Mutex
	pushErr     error
	checkErr    error
	lost        bool // the next call gives ErrRewind
	late        bool // answers even if the context ended
	now, safe   pushtest.Index
	batches     [][]push.Entry
	times       []time.Time // of calls to Push
	checkpoints []uint64
	closed      bool
}

func newFake(name string) *fakeTarget {
	return &fakeTarget{name: name, now: pushtest.Index{}, safe: pushtest.Index{}}
}

func (f *fakeTarget) set(change func(*fakeTarget)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// restart loses what is not safe.
func (f *fakeTarget) restart() {
	f.set(func(f *fakeTarget) { f.now, f.lost = maps.Clone(f.safe), true })
}

func (f *fakeTarget) Name() string { return f.name }

func (f *fakeTarget) answer(ctx context.Context, scripted error) error {
	switch {
	case ctx.Err() != nil && !f.late:
		return ctx.Err()
	case scripted != nil:
		return scripted
	case f.lost:
		f.lost = false
		return fmt.Errorf("session changed: %w", push.ErrRewind)
	}
	return nil
}

func (f *fakeTarget) Push(ctx context.Context, es []push.Entry) ([]push.Refusal, error) {
	time.Sleep(f.took)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times = append(f.times, time.Now())
	if err := f.answer(ctx, f.pushErr); err != nil {
		return nil, err
	}
	f.batches = append(f.batches, append([]push.Entry(nil), es...))
	var refused []push.Refusal
	for _, e := range es {
		switch {
		case strings.Contains(e.URL, "bad") && e.Op == push.Add, strings.Contains(e.URL, "undeletable") && e.Op == push.Delete:
			refused = append(refused, push.Refusal{Seq: e.Seq, Words: "bad document"})
		case e.Op == push.Delete:
			delete(f.now, e.URL)
		default:
			text, err := pushtest.TextOf(e.Body)
			if err != nil {
				return nil, err
			}
			f.now[e.URL] = text
		}
	}
	return refused, nil
}

func (f *fakeTarget) Checkpoint(ctx context.Context, seq uint64) error {
	time.Sleep(f.took)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.answer(ctx, f.checkErr); err != nil {
		return err
	}
	f.checkpoints = append(f.checkpoints, seq)
	f.safe = maps.Clone(f.now)
	return nil
}

func (f *fakeTarget) Close() error {
	f.set(func(f *fakeTarget) { f.closed = true })
	return nil
}

func (f *fakeTarget) sizes() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var n []int
	for _, b := range f.batches {
		n = append(n, len(b))
	}
	return n
}

// calls are the times of the calls to Push.
func (f *fakeTarget) calls() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.times)
}

func (f *fakeTarget) checkpointed() []uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.checkpoints)
}

var quiet = slog.New(slog.DiscardHandler)

// start runs a relay in the bubble until the test ends.
func start(t *testing.T, o push.Outbox, targets ...push.TargetSettings) *push.Relay {
	t.Helper()
	r, err := push.NewRelay(o, targets, quiet)
	if err != nil {
		t.Fatal(err)
	}
	runs(t, r)
	return r
}

func runs(t *testing.T, r *push.Relay) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func drained(t *testing.T, r *push.Relay) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := r.Drained(ctx); err != nil {
		t.Fatalf("Drained: %v; %+v", err, r.Status())
	}
}

func fill(o *pushtest.Outbox, n int) {
	for i := range n {
		o.PutDocument("", fmt.Sprintf("http://h/%d", i), "text")
	}
}

func TestRelayDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a, b := pushtest.NewOutbox(), newFake("a"), newFake("b")
		fill(o, 25)
		o.PutDeletion("http://h/3")
		r := start(t, o, push.TargetSettings{Target: a, BatchCount: 10}, push.TargetSettings{Target: b})
		begun := time.Now()
		drained(t, r)
		if d := time.Since(begun); d != 0 {
			t.Errorf("draining waited for %s", d)
		}
		want := pushtest.Index{}
		for i := range 25 {
			if i != 3 {
				want[fmt.Sprintf("http://h/%d", i)] = "text"
			}
		}
		for _, f := range []*fakeTarget{a, b} {
			if diff := cmp.Diff(want, f.safe); diff != "" {
				t.Errorf("%s (-want +got):\n%s", f.name, diff)
			}
		}
		if diff := cmp.Diff([]int{10, 10, 5}, a.sizes()); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		if n := o.Len(); n != 0 {
			t.Errorf("%d entries are left", n)
		}
		for _, s := range r.Status() {
			want := push.TargetStatus{Name: s.Name, Cursor: 26, Pushed: 26, Adds: 24, Bytes: s.Bytes, Deletions: 1}
			if s.Bytes < 24 {
				t.Errorf("%d bytes are counted of 24 documents", s.Bytes)
			}
			if diff := cmp.Diff(want, s); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		}
	})
}

func TestRelayBatchAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		start(t, o, push.TargetSettings{Target: a, BatchCount: 3, BatchAge: 10 * time.Second, CheckpointAge: time.Minute})
		put := func(url string) { o.PutDocument("", url, "x"); synctest.Wait() }
		put("http://h/1")
		time.Sleep(6 * time.Second)
		put("http://h/2")
		time.Sleep(4*time.Second - 1)
		synctest.Wait()
		if n := a.sizes(); n != nil {
			t.Fatalf("pushed %v before the batch had its age", n)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if diff := cmp.Diff([]int{2}, a.sizes()); diff != "" {
			t.Fatal("a batch of full age (-want +got):\n", diff)
		}
		put("http://h/3")
		put("http://h/4")
		put("http://h/5")
		if diff := cmp.Diff([]int{2, 3}, a.sizes()); diff != "" {
			t.Fatal("a full batch does not wait (-want +got):\n", diff)
		}
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if len(a.checkpointed()) != 0 {
			t.Fatal("checkpoint before its age")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if diff := cmp.Diff([]uint64{5}, a.checkpointed()); diff != "" {
			t.Fatal("checkpoint (-want +got):\n", diff)
		}
	})
}

func TestRelayBatchBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		for i := range 4 {
			o.PutDocument("", fmt.Sprintf("http://h/%d", i), strings.Repeat("x", 1000))
		}
		o.PutDocument("", "http://h/long", strings.Repeat("x", 10_000))
		o.PutDocument("", "http://h/last", "")
		drained(t, start(t, o, push.TargetSettings{Target: a, BatchBytes: 2000}))
		if diff := cmp.Diff([]int{2, 2, 1, 1}, a.sizes()); diff != "" {
			t.Error("batches (-want +got):\n", diff)
		}
	})
}

func TestRelayCheckpointEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		fill(o, 100)
		drained(t, start(t, o, push.TargetSettings{Target: a, BatchCount: 10, CheckpointEvery: 30}))
		if diff := cmp.Diff([]uint64{30, 60, 90, 100}, a.checkpoints); diff != "" {
			t.Error("checkpoints (-want +got):\n", diff)
		}
	})
}

// A target that is down is tried at growing intervals, and stops no other.
func TestRelayBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, down, up := pushtest.NewOutbox(), newFake("down"), newFake("up")
		down.pushErr = errors.New("connection refused")
		fill(o, 10)
		begun := time.Now()
		r := start(t, o, push.TargetSettings{Target: down, BatchAge: 1}, push.TargetSettings{Target: up})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(up.safe) != 10 {
			t.Errorf("the target that is up has %d documents safely, want 10", len(up.safe))
		}
		down.mu.Lock()
		calls := down.times
		down.mu.Unlock()
		for i := 1; i < len(calls); i++ {
			limit := min(time.Second<<min(i-1, 10), time.Minute)
			if gap := calls[i].Sub(calls[i-1]); gap < limit/2 || gap > limit+1 {
				t.Errorf("pause %d is %s, want %s to %s", i, gap, limit/2, limit)
			}
		}
		s := r.Status()[0]
		if !strings.Contains(s.LastError, "connection refused") || s.DownSince.Sub(begun) > time.Second || s.DownSince.IsZero() {
			t.Errorf("status of a target that is down: %+v", s)
		}
		o.PutDeletion("http://h/0") // replaces what waits
		down.set(func(f *fakeTarget) { f.pushErr = nil })
		drained(t, r)
		if _, stale := down.safe["http://h/0"]; stale || len(down.safe) != 9 {
			t.Errorf("after it is up again it has %v", down.safe)
		}
		if n := down.sizes(); len(n) != 1 || n[0] != 10 {
			t.Errorf("batches %v: the replaced document was pushed too", n)
		}
		if s := r.Status()[0]; !s.DownSince.IsZero() || s.LastError == "" {
			t.Errorf("status after recovery: %+v", s)
		}
	})
}

// As long as checkpoints fail, pushes that succeed in between do not shorten the
// pauses.
func TestRelayBackoffOfCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		a.checkErr = fmt.Errorf("always: %w", push.ErrRewind)
		fill(o, 10)
		r := start(t, o, push.TargetSettings{Target: a, BatchAge: 1, CheckpointAge: 1})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(a.sizes()); n < 10 || n > 30 {
			t.Errorf("pushed %d times in 10 minutes of failing checkpoints", n)
		}
		if s := r.Status()[0]; s.DownSince.IsZero() || s.Cursor != 0 {
			t.Errorf("status %+v", s)
		}
		a.set(func(f *fakeTarget) { f.checkErr = nil })
		drained(t, r)
		if len(a.safe) != 10 {
			t.Errorf("%d documents are safe, want 10", len(a.safe))
		}
	})
}

// unsafe is an outbox that does not store the cursor while it is failing.
type unsafe struct {
	*pushtest.Outbox
	failing atomic.Bool
}

func (o *unsafe) Safe(ctx context.Context, target string, seq uint64) error {
	if o.failing.Load() {
		return errors.New("the disk is full")
	}
	return o.Outbox.Safe(ctx, target, seq)
}

// TestRelayCannotStoreCursor: as long as the cursor cannot be stored, pushes that succeed in between prove no recovery.
func TestRelayCannotStoreCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := &unsafe{Outbox: pushtest.NewOutbox()}, newFake("a")
		o.failing.Store(true)
		r := start(t, o, push.TargetSettings{Target: a, BatchAge: 1, CheckpointAge: time.Hour})
		o.PutDocument("", "http://h/first", "text")
		done := r.Flush()
		time.Sleep(time.Second)
		done()
		for i := range 99 {
			time.Sleep(time.Second)
			o.PutDocument("", fmt.Sprint("http://h/", i), "text")
			synctest.Wait()
			if s := r.Status()[0]; s.DownSince.IsZero() {
				t.Fatalf("after document %d the target has recovered: %+v", i, s)
			}
		}
		o.failing.Store(false)
		drained(t, r)
		if s := r.Status()[0]; !s.DownSince.IsZero() || len(a.safe) != 100 {
			t.Errorf("at the end: %+v, %d documents are safe", s, len(a.safe))
		}
	})
}

func TestRelayRewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		fill(o, 10)
		r := start(t, o, push.TargetSettings{Target: a, CheckpointAge: time.Hour})
		drained(t, r)
		o.PutDocument("", "http://h/10", "text")
		o.PutDeletion("http://h/0")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(a.now) != 10 || len(a.safe) != 10 {
			t.Fatalf("%d documents pushed and %d safe", len(a.now), len(a.safe))
		}
		a.restart()
		o.PutDocument("", "http://h/11", "text")
		drained(t, r)
		if _, there := a.safe["http://h/0"]; there || len(a.safe) != 11 {
			t.Errorf("safe after the restart: %v", a.safe)
		}
		if s := r.Status()[0]; s.Rewinds != 1 || s.Cursor != 13 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestRelayDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a, b := pushtest.NewOutbox(), newFake("a"), newFake("b")
		fill(o, 3)
		o.PutDocument("", "http://h/bad", "x")
		fill(o, 5)
		r := start(t, o, push.TargetSettings{Target: a, BatchCount: 2}, push.TargetSettings{Target: b})
		drained(t, r)
		for _, f := range []*fakeTarget{a, b} {
			dead := o.Dead(f.name)
			if len(dead) != 1 || dead[0].URL != "http://h/bad" || dead[0].Words != "bad document" || dead[0].At.IsZero() {
				t.Errorf("dead letters of %s: %+v", f.name, dead)
			}
			if len(f.safe) != 5 {
				t.Errorf("%s has %d documents, want 5", f.name, len(f.safe))
			}
		}
		if s := r.Status()[0]; s.Refused != 1 || s.Adds != 5 || s.Cursor != 9 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestRelaySourceFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, all, news := pushtest.NewOutbox(), newFake("all"), newFake("news")
		source := "news"
		r := start(t, o, push.TargetSettings{Target: all}, push.TargetSettings{Target: news, Source: &source})
		for i := range 50 {
			o.PutDocument([]string{"news", "", "wiki"}[i%3], fmt.Sprintf("http://h/%d", i), "x")
		}
		drained(t, r)
		if len(all.safe) != 50 || len(news.safe) != 17 {
			t.Errorf("all has %d, news %d; want 50 and 17", len(all.safe), len(news.safe))
		}
		o.PutDeletion("http://h/0")
		moved := pushtest.DocumentEntry(push.Document{URL: "http://h/3", Source: "wiki", Text: "moved"})
		moved.Moved = true
		o.Put(moved)
		for range 10 { // none for news: its cursor must still move
			o.PutDocument("wiki", "http://h/w", "x")
		}
		drained(t, r)
		if len(news.safe) != 15 {
			t.Errorf("news has %d documents, want 15", len(news.safe))
		}
		if all.safe["http://h/3"] != "moved" {
			t.Errorf("the moved document is %q elsewhere", all.safe["http://h/3"])
		}
		if n := o.Len(); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}

// Documents that are deletions for a target stay in memory for its dead letters: their
// bodies count.
func TestRelayBatchBytesOfMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a, source := pushtest.NewOutbox(), newFake("a"), "news"
		for i := range 5 {
			e := pushtest.DocumentEntry(push.Document{URL: fmt.Sprintf("http://h/%d", i), Source: "wiki", Text: strings.Repeat("x", 1000)})
			e.Moved = true
			o.Put(e)
		}
		drained(t, start(t, o, push.TargetSettings{Target: a, Source: &source, BatchBytes: 2000}))
		if diff := cmp.Diff([]int{2, 2, 1}, a.sizes()); diff != "" {
			t.Error("batches (-want +got):\n", diff)
		}
	})
}

// Skipped entries alone ask nothing of the target, not even a checkpoint.
func TestRelayAllSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		source := "none"
		fill(o, 1000)
		a.pushErr, a.checkErr = errors.New("down"), errors.New("down")
		drained(t, start(t, o, push.TargetSettings{Target: a, Source: &source, BatchCount: 10}))
		if len(a.times) != 0 || o.Len() != 0 {
			t.Errorf("%d calls, %d entries left", len(a.times), o.Len())
		}
	})
}

func TestRelayOutboxFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		r := start(t, o, push.TargetSettings{Target: a})
		drained(t, r)
		o.Fail(errors.New("disk full"))
		fill(o, 10)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if s := r.Status()[0]; !strings.Contains(s.LastError, "disk full") {
			t.Errorf("status %+v", s)
		}
		o.Fail(nil)
		drained(t, r)
		if len(a.safe) != 10 {
			t.Errorf("%d documents, want 10", len(a.safe))
		}
	})
}

// slowOutbox answers with what was there a second ago.
type slowOutbox struct{ *pushtest.Outbox }

func (o slowOutbox) Entries(ctx context.Context, after uint64, n, maxBytes int) ([]push.Entry, error) {
	es, err := o.Outbox.Entries(ctx, after, n, maxBytes)
	time.Sleep(time.Second)
	return es, err
}

// An empty read that began before an entry came does not count as drained.
func TestRelayDrainedIsNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		r := start(t, slowOutbox{o}, push.TargetSettings{Target: a})
		synctest.Wait() // in Entries
		fill(o, 1)
		drained(t, r)
		if len(a.safe) != 1 {
			t.Error("drained before the entry was safe")
		}
	})
}

func TestRelayDrainedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		a.pushErr = errors.New("down")
		fill(o, 1)
		r, err := push.NewRelay(o, []push.TargetSettings{{Target: a}}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		short, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := r.Drained(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drained of a target that is down: %v", err)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- r.Drained(t.Context()) }()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, push.ErrStopped) {
			t.Errorf("Drained when the relay stops: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if !a.closed {
			t.Error("the target was not closed")
		}
		if err := r.Run(t.Context()); err == nil {
			t.Error("a second Run was not refused")
		}
	})
}

// What was pushed is made safe on the way out, unless the indexer lost it at the
// same moment.
func TestRelayStop(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o, a := pushtest.NewOutbox(), newFake("a")
			a.took = time.Second
			fill(o, 30)
			r, err := push.NewRelay(o, []push.TargetSettings{{Target: a, BatchCount: 10}}, quiet)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			time.Sleep(1500 * time.Millisecond) // in the second Push
			if lost {
				a.restart()
				a.set(func(f *fakeTarget) { f.late = true })
			}
			synctest.Wait()
			cancel()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			cursor, err := o.Cursor(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if int(cursor) > len(a.safe) {
				t.Errorf("lost %t: the cursor says %d, safe are %d", lost, cursor, len(a.safe))
			}
			if !lost && cursor != 10 {
				t.Errorf("cursor %d after stopping, want 10", cursor)
			}
		})
	}
}

func TestNewRelayRefuses(t *testing.T) {
	tests := map[string][]push.TargetSettings{
		"no name":         {{Target: newFake("")}},
		"same name":       {{Target: newFake("a")}, {Target: newFake("a")}},
		"negative limits": {{Target: newFake("a"), BatchCount: -1}},
	}
	for name, targets := range tests {
		if _, err := push.NewRelay(pushtest.NewOutbox(), targets, quiet); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMemoryOutbox(t *testing.T) {
	pushtest.TestOutbox(t, func(t *testing.T) pushtest.Opened {
		o := pushtest.NewOutbox()
		return pushtest.Opened{
			Outbox: o,
			Put:    func(e push.Entry) { o.Put(e) },
			Dead:   o.Dead,
			Reopen: func() push.Outbox { return o },
		}
	})
}
