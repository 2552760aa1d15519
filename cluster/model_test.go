package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// model is what the world must keep, fed by acknowledgements alone.
type model struct {
	*world
	random *rand.Rand

	mu     sync.Mutex
	acked  []string
	acting map[string]context.Context // by process: the work that its right lets it do
	faults []string
	stats  struct{ kills, cuts, epochs, acts, pauses, rebuilt int }
	epochs map[int64]string
}

// chaos is what a run of the model may do.
type chaos struct {
	times  cluster.Times
	rates  [3]float64
	rounds int
}

func (m *model) wrong(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.faults) < 5 {
		m.faults = append(m.faults, fmt.Sprintf(format, args...))
	}
}

// writer is a leader: it appends steps with names of their own, and works while it may.
func (m *model) writer(p *process) func(ctx context.Context, l *cluster.Lead, add func([]byte) error) error {
	return func(ctx context.Context, l *cluster.Lead, add func([]byte) error) error {
		m.mu.Lock()
		if before := m.epochs[l.Epoch()]; before != "" {
			m.faults = append(m.faults, fmt.Sprintf("epoch %d was given to %s and to %s", l.Epoch(), before, p.name))
		}
		m.epochs[l.Epoch()] = p.name
		m.stats.epochs++
		m.mu.Unlock()
		p.led(l)
		defer p.led(nil)
		var g sync.WaitGroup
		defer g.Wait()
		g.Go(func() { m.act(ctx, p, l) })
		for i := 0; ; i++ {
			step := fmt.Sprintf("%s %d %d", p.name, l.Epoch(), i)
			if i%7 == 3 {
				step += strings.Repeat(" long", 1000)
			}
			if err := add([]byte(step)); err != nil {
				return err
			}
			m.mu.Lock()
			m.acked = append(m.acked, step)
			m.mu.Unlock()
			if err := p.clock.Sleep(ctx, 60*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

// act is a request to a site after the other, each as long as the right lets it be.
func (m *model) act(ctx context.Context, p *process, l *cluster.Lead) {
	for ctx.Err() == nil {
		acting, cancel, err := l.Acting(ctx)
		if err != nil {
			return
		}
		if l.May() {
			m.mu.Lock()
			m.acting[p.name] = acting
			m.stats.acts++
			m.mu.Unlock()
			_ = p.clock.Sleep(acting, 700*time.Millisecond)
			m.mu.Lock()
			if errors.Is(context.Cause(acting), cluster.ErrPaused) {
				m.stats.pauses++
			}
			delete(m.acting, p.name)
			m.mu.Unlock()
		}
		cancel()
	}
}

// watch looks, many times a second of the world's time, at who may act and who does.
func (m *model) watch(ctx context.Context, running func() []*process) {
	for ctx.Err() == nil {
		var may []string
		for _, p := range running() {
			if p.may() {
				may = append(may, p.name)
			}
		}
		if len(may) > 1 {
			m.wrong("two nodes may act at once: %v", may)
		}
		m.mu.Lock()
		var act []string
		for name, work := range m.acting {
			if work.Err() == nil {
				act = append(act, name)
			}
		}
		m.mu.Unlock()
		if len(act) > 1 {
			m.wrong("two nodes act at once: %v", act)
		}
		time.Sleep(13 * time.Millisecond)
	}
}

// run lets three nodes live through rounds of trouble, heals everything, and compares what is left.
func (c chaos) run(t *testing.T, seed uint64) *model {
	w, d := newWorld(t, 1)
	w.times = c.times
	m := &model{world: w, random: rand.New(rand.NewPCG(seed, 38)), acting: map[string]context.Context{}, epochs: map[int64]string{}}
	var mu sync.Mutex
	nodes := make([]*process, 3)
	disks := []*clustertest.Disk{d, d.Copied("s2"), d.Copied("s3")}
	start := func(i int) {
		p := w.start(fmt.Sprintf("n%d", i+1), m.random.Uint64(), disks[i], rate(c.rates[i]), func(p *process) { p.copy.Write = m.writer(p) })
		mu.Lock()
		nodes[i] = p
		mu.Unlock()
	}
	running := func() (all []*process) {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range nodes {
			if p != nil {
				all = append(all, p)
			}
		}
		return all
	}
	// rebuild gives each node that the log was trimmed beyond a copy of another's store, as another seat.
	rebuild := func() {
		for i, p := range nodes {
			if !ended(p) || !errors.Is(p.err, cluster.ErrRebuild) {
				continue
			}
			m.stats.rebuilt++
			from := disks[(i+1)%3]
			if other := disks[(i+2)%3]; other.At().Seq > from.At().Seq {
				from = other
			}
			disks[i] = from.Copied(fmt.Sprintf("%s again %d", p.name, m.stats.rebuilt))
			start(i)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var g sync.WaitGroup
	for i := range nodes {
		start(i)
	}
	g.Go(func() { m.watch(ctx, running) })
	for range c.rounds {
		time.Sleep(time.Duration(m.random.Int64N(int64(6 * time.Second))))
		i := m.random.IntN(3)
		p := nodes[i]
		switch m.random.IntN(8) {
		case 0, 1: // kill -9, and start again some time later
			m.stats.kills++
			mu.Lock()
			nodes[i] = nil
			mu.Unlock()
			m.mu.Lock()
			delete(m.acting, p.name)
			m.mu.Unlock()
			p.kill(m.random.IntN(50))
			m.mu.Lock()
			delete(m.acting, p.name)
			m.mu.Unlock()
			time.Sleep(time.Duration(m.random.Int64N(int64(8 * time.Second))))
			start(i)
		case 2: // in order
			mu.Lock()
			nodes[i] = nil
			mu.Unlock()
			if err := p.stop(); err != nil && !errors.Is(err, cluster.ErrRebuild) {
				m.wrong("%s: %v", p.name, err)
			}
			start(i)
		case 3, 4:
			m.stats.cuts++
			p.line.Set(clustertest.Faults{Cut: true})
		case 5:
			m.stats.cuts++
			p.line.Set(clustertest.Faults{OneWay: true})
		case 6:
			p.line.Set(clustertest.Faults{Delay: 400 * time.Millisecond, Lost: .2, Late: .1, Repeat: .2, Busy: .05})
		default:
			p.line.Set(clustertest.Faults{Delay: 3 * time.Second, Lost: .1, Timeout: 2 * time.Second})
		}
		if m.random.IntN(2) == 0 {
			nodes[m.random.IntN(3)].line.Set(clustertest.Faults{})
		}
		rebuild()
	}
	for _, p := range running() {
		p.line.Set(clustertest.Faults{})
	}
	time.Sleep(time.Minute)
	rebuild()
	m.settle(running())
	cancel()
	g.Wait()
	w.stopAll()
	m.compare(disks)
	return m
}

// settle waits until somebody has led for a while.
func (m *model) settle(nodes []*process) {
	m.until("somebody leads again", 2*time.Minute, func() bool {
		for _, p := range nodes {
			if p.may() {
				return true
			}
		}
		return false
	})
	time.Sleep(90 * time.Second) // what was repeated has arrived; all have joined again
	for _, p := range nodes {
		if ended(p) {
			m.wrong("%s ended: %v", p.name, p.err)
		}
		if err := p.stop(); err != nil {
			m.wrong("%s: %v", p.name, err)
		}
	}
}

// compare: every step that was acknowledged stands in the longest copy, once, in order; every
// other copy is the beginning of it.
func (m *model) compare(disks []*clustertest.Disk) {
	longest := disks[0]
	for _, d := range disks {
		if d.At().Seq > longest.At().Seq {
			longest = d
		}
	}
	place, all := map[string]int{}, longest.Steps()
	for i, s := range all {
		if before, twice := place[string(s.Bytes)]; twice {
			m.wrong("%.40q stands at %d and %d", s.Bytes, before, i)
		}
		place[string(s.Bytes)] = i
	}
	last := -1
	for _, a := range m.acked {
		at, there := place[a]
		if !there || at <= last {
			m.wrong("%.40q was acknowledged, and is lost or out of order: at %d behind %d", a, at, last)
		}
		last = max(last, at)
	}
	for _, d := range disks {
		steps := d.Steps()
		for i, s := range steps {
			if l := all[i]; s.Behind != l.Behind || !bytes.Equal(s.Bytes, l.Bytes) {
				m.wrong("%s: step %d is %.40q, and %.40q in %s", d.Store, i, s.Bytes, l.Bytes, longest.Store)
				break
			}
		}
		if len(all)-len(steps) > 300 {
			m.wrong("%s has %d steps, %s %d: it no longer follows", d.Store, len(steps), longest.Store, len(all))
		}
	}
}

// TestModel: random schedules of kills, cuts, delays, lost, late and repeated steps, on clocks that run apart as far as
// the rules allow. Never do two act, no acknowledged step is lost, all copies are equal.
func TestModel(t *testing.T) {
	runs := 6
	switch {
	case seeded.Long():
		runs = 500
	case testing.Short():
		runs = 2
	}
	r := seeded.Rand(t)
	var kills, cuts, epochs, acts, acked, pauses, rebuilt int
	for i := range runs {
		seed := r.Uint64()
		c := chaos{times: cluster.DefaultTimes(), rounds: 25}
		for n := range c.rates {
			c.rates[n] = .85 + .3*r.Float64()
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := c.run(t, seed)
				for _, f := range m.faults {
					t.Errorf("seed %d: %s", seed, f)
				}
				kills, cuts, epochs, acts = kills+m.stats.kills, cuts+m.stats.cuts, epochs+m.stats.epochs, acts+m.stats.acts
				acked, pauses, rebuilt = acked+len(m.acked), pauses+m.stats.pauses, rebuilt+m.stats.rebuilt
			})
		})
	}
	t.Logf("%d runs: %d kills, %d cuts, %d epochs, %d requests, %d of them cut short, %d steps acknowledged, %d rebuilds", runs, kills, cuts, epochs, acts, pauses, acked, rebuilt)
	if epochs < 2*runs || pauses == 0 || acked < 200*runs {
		t.Error("too little happened to prove anything")
	}
}

// TestModelSeesTwoActing: with clocks further apart than the rules allow two do act, and the model
// says so. Without this its silence would prove nothing.
func TestModelSeesTwoActing(t *testing.T) {
	r := seeded.Rand(t)
	for range 30 {
		seed, found := r.Uint64(), false
		c := chaos{times: cluster.DefaultTimes(), rates: [3]float64{.4, 1, 1.6}, rounds: 25}
		bubble(t, func(t *testing.T) {
			for _, f := range c.run(t, seed).faults {
				found = found || strings.HasPrefix(f, "two nodes")
			}
		})
		if found {
			return
		}
	}
	t.Error("two owners at once were never seen")
}
