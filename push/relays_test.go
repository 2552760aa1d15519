package push_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

// crowded counts how many requests to all of its kind are under way.
type crowded struct {
	*fakeTarget
	now, most *atomic.Int32
}

func (c *crowded) begin() (end func()) {
	n := c.now.Add(1)
	for {
		most := c.most.Load()
		if n <= most || c.most.CompareAndSwap(most, n) {
			return func() { c.now.Add(-1) }
		}
	}
}

func (c *crowded) Push(ctx context.Context, es []push.Entry) ([]push.Refusal, error) {
	defer c.begin()()
	return c.fakeTarget.Push(ctx, es)
}

func (c *crowded) Checkpoint(ctx context.Context, seq uint64) error {
	defer c.begin()()
	return c.fakeTarget.Checkpoint(ctx, seq)
}

// relayed is Relays at work, and the targets and outboxes of its relays.
type relayed struct {
	t *testing.T
	*push.Relays
	turns     *push.Turns
	now, most atomic.Int32
	outboxes  []*pushtest.Outbox
	targets   []*crowded
}

func inRelays(t *testing.T, n int, test func(r *relayed)) {
	synctest.Test(t, func(t *testing.T) {
		r := &relayed{t: t, Relays: push.NewRelays(quiet), turns: push.NewTurns(2)}
		for range n {
			o := pushtest.NewOutbox()
			fill(o, 10)
			r.outboxes = append(r.outboxes, o)
			r.targets = append(r.targets, &crowded{newFake("a"), &r.now, &r.most})
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		test(r)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (r *relayed) add(n int) {
	r.t.Helper()
	relay, err := push.NewRelay(r.outboxes[n], []push.TargetSettings{{Target: r.targets[n], BatchCount: 2, BatchAge: time.Hour, CheckpointAge: time.Hour}}, quiet)
	if err != nil {
		r.t.Fatal(err)
	}
	relay.Sharing(r.turns)
	if err := r.Add(n, relay); err != nil {
		r.t.Fatal(err)
	}
}

func (r *relayed) drain() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Hour)
	defer cancel()
	if err := r.Drained(ctx); err != nil {
		r.t.Fatalf("Drained: %v; %+v", err, r.Status())
	}
}

// TestRelaysAreOne: several relays drain and count as one, and only so many of their requests to a target are under way
// at once.
func TestRelaysAreOne(t *testing.T) {
	inRelays(t, 5, func(r *relayed) {
		r.drain() // there is none
		for n := range r.targets {
			r.targets[n].took = time.Second
			r.add(n)
		}
		r.drain()
		for n, target := range r.targets {
			if len(target.safe) != 10 {
				t.Errorf("target %d has %d documents, want 10", n, len(target.safe))
			}
		}
		if most := r.most.Load(); most != 2 {
			t.Errorf("%d requests at once, want 2", most)
		}
		s, times := r.Status(), r.Times()
		if len(s) != 1 || s[0].Name != "a" || s[0].Adds != 50 || s[0].Unsafe != 0 {
			t.Errorf("%+v, want 50 additions", s)
		}
		if len(times) != 1 || times[0].Push.Count != 25 || times[0].Push.Sum < 25*time.Second {
			t.Errorf("%+v, want 25 batches", times)
		}
	})
}

// TestRelaysComeAndGo: a relay that is removed asks for nothing any more when that is said, its counts stay, and it may
// come again; who waits for all to be drained waits for one that comes meanwhile.
func TestRelaysComeAndGo(t *testing.T) {
	inRelays(t, 2, func(r *relayed) {
		r.targets[0].took = time.Second
		r.add(0)
		time.Sleep(500 * time.Millisecond)
		if r.now.Load() != 1 {
			t.Fatal("nothing is being pushed")
		}
		if err := r.Remove(0); err != nil {
			t.Error(err)
		}
		if n := r.now.Load(); n != 0 || !r.targets[0].closed {
			t.Errorf("%d requests are under way after Remove, closed: %v", n, r.targets[0].closed)
		}
		if err := r.Remove(0); err != nil {
			t.Error(err)
		}
		kept := r.Status()[0].Adds
		r.add(0)
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.drain()
		}()
		time.Sleep(1500 * time.Millisecond)
		r.targets[1].took = time.Minute
		r.add(1)
		<-done
		if len(r.targets[0].safe) != 10 || len(r.targets[1].safe) != 10 {
			t.Errorf("%d and %d documents are safe, want 10 each", len(r.targets[0].safe), len(r.targets[1].safe))
		}
		if n := r.Status()[0].Adds; n < 20 || n > 20+kept {
			t.Errorf("%d additions, and %d before Remove", n, kept)
		}
		relay, err := push.NewRelay(r.outboxes[1], []push.TargetSettings{{Target: newFake("b")}}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Add(1, relay); err == nil {
			t.Error("two relays have one number")
		}
	})
}
