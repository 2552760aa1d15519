package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Run has a goroutine for each target (delivery.go) and waits for all of them; its own
// spreads the outbox's signal. Relay.mu guards whether Run was called, and who waits in
// Drained.

// Defaults of TargetSettings.
const (
	DefaultBatchCount      = 500
	DefaultBatchBytes      = 8 << 20
	DefaultBatchAge        = time.Second
	DefaultCheckpointEvery = 5000
	DefaultCheckpointAge   = 5 * time.Second
)

// ErrStopped is returned by Drained when the relay no longer runs.
var ErrStopped = errors.New("the relay has stopped")

// TargetSettings are the settings for feeding one target. Zero numbers mean the defaults.
type TargetSettings struct {
	// Kind is the target's protocol, for metrics; it may be empty.
	Kind string
	// Target is closed when Run returns.
	Target Target
	// Source, if not nil, restricts the target to the documents of one source (which may be "", the unnamed one).
	// Deletions of all sources reach it, and so does the deletion of a document that moved to another source.
	Source *string
	// BatchCount is the maximum number of entries of one Push.
	BatchCount int
	// BatchBytes closes a batch when its bodies reach it; the last entry of a
	// batch may pass it.
	BatchBytes int
	// BatchAge is the time for which the first entry of a batch waits for others.
	BatchAge time.Duration
	// CheckpointEvery is the maximum number of pushed entries that are not safe yet, and CheckpointAge the maximum age of
	// one.
	CheckpointEvery int
	CheckpointAge   time.Duration
}

// TargetStatus is the state of a target, for the operator. Counts are since start.
type TargetStatus struct {
	Name      string
	Cursor    uint64 // all entries up to it are safe
	Pushed    uint64 // all entries up to it were pushed or skipped
	Unsafe    int    // entries between the two
	Adds      uint64 // accepted by the indexer, including repetitions
	Bytes     uint64 // of the documents that it accepted
	Deletions uint64
	Refused   uint64 // became dead letters
	Rewinds   uint64 // times that the indexer lost unsafe orders
	LastError string // stays after recovery
	// DownSince is the time of the first of the current consecutive failures, or zero.
	DownSince time.Time
}

// Relay empties an outbox into targets. Each target is served by its own
// goroutine and has its own cursor, so one that is down holds up no other.
type Relay struct {
	outbox     Outbox
	log        *slog.Logger
	deliveries []*delivery
	claim      Claim
	done       chan struct{} // closed when Run returns

	mu       sync.Mutex
	started  bool
	draining int           // callers in Drained
	settled  chan struct{} // closed and replaced when a delivery becomes idle
}

// NewRelay checks the settings; targets must have different, non-empty names.
func NewRelay(outbox Outbox, targets []TargetSettings, log *slog.Logger) (*Relay, error) {
	r := &Relay{outbox: outbox, log: log, done: make(chan struct{}), settled: make(chan struct{})}
	seen := make(map[string]bool, len(targets))
	for _, s := range targets {
		name := s.Target.Name()
		if name == "" {
			return nil, errors.New("a push target has no name: its cursor is stored under the name; set one")
		}
		if seen[name] {
			return nil, fmt.Errorf("two push targets are named %q: rename one", name)
		}
		seen[name] = true
		if err := s.setDefaults(); err != nil {
			return nil, fmt.Errorf("push target %q: %w", name, err)
		}
		r.deliveries = append(r.deliveries, newDelivery(r, name, s))
	}
	return r, nil
}

func (s *TargetSettings) setDefaults() error {
	if s.BatchCount < 0 || s.BatchBytes < 0 || s.BatchAge < 0 || s.CheckpointEvery < 0 || s.CheckpointAge < 0 {
		return errors.New("batch and checkpoint limits must be 0 (the default) or more")
	}
	orDefault(&s.BatchCount, DefaultBatchCount)
	orDefault(&s.BatchBytes, DefaultBatchBytes)
	orDefault(&s.BatchAge, DefaultBatchAge)
	orDefault(&s.CheckpointEvery, DefaultCheckpointEvery)
	orDefault(&s.CheckpointAge, DefaultCheckpointAge)
	return nil
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// Run relays until ctx ends. Then it makes pushed entries safe if the target still responds, closes the targets and
// returns. It must be called only once. The end of ctx is not an error; Run returns errors of opening the outbox and of
// closing a target. Failures of targets are retried, logged and in Status.
func (r *Relay) Run(ctx context.Context) (err error) {
	r.mu.Lock()
	again := r.started
	r.started = true
	r.mu.Unlock()
	if again {
		return errors.New("the relay already ran")
	}
	defer close(r.done)
	defer func() { err = errors.Join(err, r.closeTargets()) }()

	names := make([]string, len(r.deliveries))
	for i, d := range r.deliveries {
		names[i] = d.name
	}
	if err := r.outbox.Open(ctx, names); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("opening the outbox for its targets: %w", err)
	}
	var wg sync.WaitGroup
	for _, d := range r.deliveries {
		wg.Go(func() { d.run(ctx) })
	}
	r.spread(ctx)
	wg.Wait()
	return nil
}

// spread passes the outbox's one signal on to all deliveries until ctx ends.
func (r *Relay) spread(ctx context.Context) {
	changed := r.outbox.Changed()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-changed:
			if !ok {
				changed = nil
			}
			r.mu.Lock()
			r.wakeAll()
			r.mu.Unlock()
		}
	}
}

// wakeAll makes every delivery look at the outbox again. The caller holds r.mu.
func (r *Relay) wakeAll() {
	for _, d := range r.deliveries {
		d.looks++
		d.idle = false
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

func (r *Relay) closeTargets() error {
	var errs []error
	for _, d := range r.deliveries {
		if err := d.target.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing push target %q: %w", d.name, err))
		}
	}
	return errors.Join(errs...)
}

// Flush keeps batches and checkpoints from waiting for their age until the returned
// function is called, once: for a caller that waits for the outbox to become shorter.
func (r *Relay) Flush() (done func()) {
	r.mu.Lock()
	r.draining++
	r.wakeAll()
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.draining--
		r.mu.Unlock()
	}
}

// Drained blocks until every target has stored all orders of the outbox safely. While it waits, batches and checkpoints
// do not wait for their age. A target that is down keeps it waiting until ctx ends. It returns ErrStopped if Run
// returns first. Any number of callers may wait.
func (r *Relay) Drained(ctx context.Context) error {
	defer r.Flush()()
	for {
		r.mu.Lock()
		idle := r.allIdle()
		settled := r.settled
		r.mu.Unlock()
		if idle {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.done:
			return ErrStopped
		case <-settled:
		}
	}
}

func (r *Relay) allIdle() bool {
	return !slices.ContainsFunc(r.deliveries, func(d *delivery) bool { return !d.idle })
}

// Status returns a snapshot of all targets, in the order of NewRelay.
func (r *Relay) Status() []TargetStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]TargetStatus, len(r.deliveries))
	for i, d := range r.deliveries {
		all[i] = d.status
	}
	return all
}
