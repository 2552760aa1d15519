package clustertest

// line.go: the way of one node to the engine. Line.mu guards its faults and its random
// numbers; every goroutine of the node takes it.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
)

// Faults are what a line does to its calls; the chances are between 0 and 1. The zero value is a perfect line.
type Faults struct {
	Cut     bool          // nothing arrives, in either direction
	OneWay  bool          // what is sent arrives, and no answer comes back
	Mute    bool          // nothing that is sent arrives; what was waited for before does come
	Few     bool          // lists come a key at a time
	Narrow  bool          // only small steps arrive: none that appends to a log
	Dead    bool          // as Cut, and at once: the process was killed
	Delay   time.Duration // the longest time that a call takes each way
	Lost    float64       // chance that an answer is lost
	Late    float64       // chance that a step arrives after the caller has given up, or not at all
	Repeat  float64       // chance that a step arrives a second time, up to a minute later
	Busy    float64       // chance that a step is refused
	Timeout time.Duration // when a caller gives up; 0: 1 s
}

// Line is an Engine that reaches another one over a line with faults. Its time is that of the
// test's bubble: use it in testing/synctest.
type Line struct {
	cluster.Engine
	mu     sync.Mutex
	faults Faults
	random *rand.Rand
}

// NewLine makes a perfect line. seed decides what its chances give.
func NewLine(e cluster.Engine, seed uint64) *Line {
	return &Line{Engine: e, random: rand.New(rand.NewPCG(seed, 18))}
}

// Set replaces the faults.
func (l *Line) Set(f Faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = f
}

// fate is what becomes of one call.
type fate struct {
	Faults
	there, back, repeat time.Duration
	lost, late, busy    bool
}

func (l *Line) fate() fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := fate{Faults: l.faults}
	if f.Timeout == 0 {
		f.Timeout = time.Second
	}
	if f.Delay > 0 {
		f.there, f.back = time.Duration(l.random.Int64N(int64(f.Delay))), time.Duration(l.random.Int64N(int64(f.Delay)))
	}
	chance := func(p float64) bool { return p > 0 && l.random.Float64() < p }
	f.lost, f.late, f.busy = f.OneWay || chance(f.Lost), chance(f.Late), chance(f.Busy)
	if chance(f.Repeat) {
		f.repeat = time.Duration(l.random.Int64N(int64(time.Minute)))
	}
	return f
}

// sleep waits, and reports whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Commit takes a step, or not, or later, or twice.
func (l *Line) Commit(ctx context.Context, s cluster.Step) (cluster.Outcome, error) {
	f := l.fate()
	f.Cut = f.Cut || f.Mute || f.Narrow && slices.ContainsFunc(s.Then, func(w cluster.Write) bool { return strings.HasPrefix(w.Key, "log/") && !w.Remove })
	doubt := func(left time.Duration) (cluster.Outcome, error) {
		sleep(ctx, left)
		return cluster.Outcome{}, cluster.ErrInDoubt
	}
	again := func(after time.Duration) {
		time.AfterFunc(after, func() { _, _ = l.Engine.Commit(context.Background(), s) })
	}
	switch {
	case f.Dead:
		return doubt(time.Millisecond)
	case f.Cut:
		return doubt(f.Timeout)
	case f.busy:
		return cluster.Outcome{}, cluster.ErrBusy
	case f.late:
		again(f.Timeout + 5*f.there)
		return doubt(f.Timeout)
	case f.there >= f.Timeout:
		again(f.there)
		return doubt(f.Timeout)
	case !sleep(ctx, f.there):
		return cluster.Outcome{}, fmt.Errorf("%w: %w", cluster.ErrInDoubt, ctx.Err())
	}
	if f.repeat > 0 {
		again(f.repeat)
	}
	out, err := l.Engine.Commit(ctx, s)
	if f.lost || f.there+f.back >= f.Timeout || l.fate().Cut {
		return doubt(f.Timeout - f.there)
	}
	if !sleep(ctx, f.back) {
		return cluster.Outcome{}, fmt.Errorf("%w: %w", cluster.ErrInDoubt, ctx.Err())
	}
	return out, err
}

// ask is a call that changes nothing.
func ask[T any](ctx context.Context, l *Line, call func() (T, error)) (none T, err error) {
	f := l.fate()
	lost := func(left time.Duration) (T, error) {
		sleep(ctx, left)
		return none, cluster.ErrUnavailable
	}
	switch {
	case f.Dead:
		return lost(time.Millisecond)
	case f.Cut || f.Mute || f.lost || f.there+f.back >= f.Timeout:
		return lost(f.Timeout)
	case !sleep(ctx, f.there):
		return none, fmt.Errorf("%w: %w", cluster.ErrUnavailable, ctx.Err())
	}
	answer, err := call()
	if !sleep(ctx, f.back) {
		return none, fmt.Errorf("%w: %w", cluster.ErrUnavailable, ctx.Err())
	}
	return answer, err
}

// Check asks over the line.
func (l *Line) Check(ctx context.Context) error {
	_, err := ask(ctx, l, func() (struct{}, error) { return struct{}{}, l.Engine.Check(ctx) })
	return err
}

// Read asks over the line.
func (l *Line) Read(ctx context.Context, keys ...string) (cluster.View, error) {
	return ask(ctx, l, func() (cluster.View, error) { return l.Engine.Read(ctx, keys...) })
}

// List asks over the line.
func (l *Line) List(ctx context.Context, from, to string, limit int) (cluster.View, error) {
	if l.fate().Few {
		limit = 1
	}
	return ask(ctx, l, func() (cluster.View, error) { return l.Engine.List(ctx, from, to, limit) })
}

// Usage asks over the line.
func (l *Line) Usage(ctx context.Context) (cluster.Usage, error) {
	return ask(ctx, l, func() (cluster.Usage, error) { return l.Engine.Usage(ctx) })
}

// Wait is not heard over a line that is cut or loses answers.
func (l *Line) Wait(ctx context.Context, key string, after cluster.Revision) error {
	if f := l.fate(); f.Cut || f.Dead || f.lost {
		<-ctx.Done()
		return cluster.ErrUnavailable
	}
	return l.Engine.Wait(ctx, key, after)
}

// Compact is sent over the line.
func (l *Line) Compact(ctx context.Context) error {
	_, err := ask(ctx, l, func() (struct{}, error) { return struct{}{}, l.Engine.Compact(ctx) })
	return err
}

// Close ends the use of the line, not of the engine behind it.
func (l *Line) Close() error {
	l.Set(Faults{Dead: true})
	return nil
}
