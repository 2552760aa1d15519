package push

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// Each relay of Relays runs in a goroutine, which Remove and Run wait for. Relays.mu guards which there are. The
// channels of Turns have as many places as requests may be under way.

// Turns bound how many requests to each target are under way at once, of several relays that feed it.
type Turns struct {
	most int

	mu sync.Mutex
	of map[string]chan struct{}
}

// NewTurns returns turns for this many concurrent requests to a target.
func NewTurns(most int) *Turns {
	return &Turns{most: max(most, 1), of: map[string]chan struct{}{}}
}

// begin waits for a turn at a target, or until ctx ends.
func (t *Turns) begin(ctx context.Context, target string) (end func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	t.mu.Lock()
	places := t.of[target]
	if places == nil {
		places = make(chan struct{}, t.most)
		t.of[target] = places
	}
	t.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Sharing makes the relay wait for its turn before each request to a target. It must be called before Run.
func (r *Relay) Sharing(t *Turns) { r.turns = t }

// Relays are the relays of the outboxes of a crawl's parts, which come and go. To its callers it is one relay.
type Relays struct {
	log *slog.Logger

	mu      sync.Mutex
	running map[int]*running
	urging  int           // callers of Urge
	changed chan struct{} // closed and replaced when a relay comes or goes
	closed  bool
	gone    totals // of relays that were removed
}

// running is a relay at work.
type running struct {
	*Relay
	stop  context.CancelFunc
	ended chan struct{}
	err   error  // once ended is closed
	calm  func() // ends the effect of Urge; nil without one
}

// NewRelays makes an empty set of relays.
func NewRelays(log *slog.Logger) *Relays {
	return &Relays{log: log, running: map[int]*running{}, changed: make(chan struct{})}
}

var errRelay = errors.New("the relay is there already, or none may be added any more")

// Add starts a relay, under a number that is free.
func (r *Relays) Add(number int, relay *Relay) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.running[number] != nil {
		return errors.Join(errRelay, relay.closeTargets())
	}
	ctx, stop := context.WithCancel(context.Background())
	n := &running{Relay: relay, stop: stop, ended: make(chan struct{})}
	if r.urging > 0 {
		n.calm = relay.Urge()
	}
	r.running[number] = n
	r.change()
	go func() {
		defer close(n.ended)
		if n.err = relay.Run(ctx); n.err != nil {
			r.log.Error("nothing is pushed out of a part", "part", number, "error", n.err)
		}
	}()
	return nil
}

// Remove stops a relay, and returns when its last request has ended.
func (r *Relays) Remove(number int) error {
	r.mu.Lock()
	n := r.running[number]
	r.mu.Unlock()
	if n == nil {
		return nil
	}
	n.stop()
	<-n.ended
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[number] == n {
		delete(r.running, number)
		r.gone.add(n.Relay, false)
		r.change()
	}
	return n.err
}

// change wakes the callers that wait for a relay to come or go. The mutex is held.
func (r *Relays) change() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Run waits until ctx ends, and stops all relays.
func (r *Relays) Run(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	r.closed = true
	var all []int
	for number, n := range r.running {
		n.stop()
		all = append(all, number)
	}
	r.mu.Unlock()
	var err error
	for _, number := range all {
		err = errors.Join(err, r.Remove(number))
	}
	return err
}

// Urge is Relay.Urge for all, also those that come meanwhile.
func (r *Relays) Urge() (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.urging++; r.urging == 1 {
		for _, n := range r.running {
			n.calm = n.Urge()
		}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.urging--; r.urging > 0 {
			return
		}
		for _, n := range r.running {
			n.calm()
			n.calm = nil
		}
	}
}

// Drained is Relay.Drained for all that are there at the moment when nothing waits.
func (r *Relays) Drained(ctx context.Context) error {
	defer r.Urge()()
	for {
		all, changed := r.present()
		for _, n := range all {
			err := n.Drained(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				continue
			}
			select { // it was removed, or failed
			case <-changed:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if r.idle(changed) {
			return nil
		}
	}
}

func (r *Relays) present() (all []*running, changed chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(r.running)) {
		all = append(all, r.running[number])
	}
	return all, r.changed
}

// idle reports whether nothing waits in any, and none has come or gone.
func (r *Relays) idle(changed chan struct{}) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.running {
		n.mu.Lock()
		idle := n.allIdle()
		n.mu.Unlock()
		if !idle {
			return false
		}
	}
	return r.changed == changed
}

// Status returns the status of each target, over all relays: counts are added, including those of former relays.
func (r *Relays) Status() []TargetStatus {
	all := r.totals()
	out := make([]TargetStatus, len(all.list))
	for i, t := range all.list {
		out[i] = t.TargetStatus
	}
	return out
}

// Times returns the times of each target, in the order of Status.
func (r *Relays) Times() []Times {
	all := r.totals()
	out := make([]Times, len(all.list))
	for i, t := range all.list {
		out[i] = t.Times
	}
	return out
}

func (r *Relays) totals() totals {
	r.mu.Lock()
	sum := r.gone.clone()
	r.mu.Unlock()
	all, _ := r.present()
	for _, n := range all {
		sum.add(n.Relay, true)
	}
	return sum
}

// totals are the relays' results by target, in the order of first use.
type totals struct{ list []total }

type total struct {
	TargetStatus
	Times
}

func (t *totals) clone() totals { return totals{slices.Clone(t.list)} }

// add adds a relay's counts and, if it runs, its state.
func (t *totals) add(r *Relay, works bool) {
	times := r.Times()
	for i, s := range r.Status() {
		at := slices.IndexFunc(t.list, func(n total) bool { return n.Name == s.Name })
		if at < 0 {
			at = len(t.list)
			t.list = append(t.list, total{TargetStatus{Name: s.Name}, Times{Kind: times[i].Kind}})
		}
		n := &t.list[at]
		n.Adds += s.Adds
		n.Bytes += s.Bytes
		n.Deletions += s.Deletions
		n.Refused += s.Refused
		n.Rewinds += s.Rewinds
		n.LastError = cmp.Or(s.LastError, n.LastError)
		n.Push.Add(times[i].Push)
		n.Checkpoint.Add(times[i].Checkpoint)
		n.Failures += times[i].Failures
		if !works {
			continue
		}
		n.Cursor, n.Pushed = max(n.Cursor, s.Cursor), max(n.Pushed, s.Pushed)
		n.Unsafe += s.Unsafe
		if !s.DownSince.IsZero() {
			n.DownSince = sooner(n.DownSince, s.DownSince)
		}
	}
}
