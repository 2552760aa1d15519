package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/placement"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// farm is a cluster of several partitions, whose nodes have the copies that the map gives to them.
type farm struct {
	*world
	partitions int

	mu     sync.Mutex
	nodes  map[string]*farmer
	stores int
	acked  map[cluster.Partition][]string
	led    []cluster.Partition // each time that one was led, since cleared
	copied int                 // copies that were made, since cleared
	slow   time.Duration       // how long a hand-over takes
	making time.Duration       // how long a copy takes
	pace   time.Duration       // between two steps
	faults []string
}

// farmer is one node, with its disk.
type farmer struct {
	*farm
	name   string
	line   *clustertest.Line
	disks  map[cluster.Partition]*clustertest.Disk
	full   bool
	apart  bool           // no other node gets an answer of it, nor it one of them
	bad    bool           // it must not own partitions
	levels cluster.Levels // of its version; zero: this one's
	leads  map[cluster.Partition]*cluster.Lead
	member map[cluster.Partition]*cluster.Member
	cancel context.CancelFunc
	ended  chan error
	runs   bool
}

func newFarm(t testing.TB, partitions, replicas int) *farm {
	t.Helper()
	w, _ := newWorld(t, partitions)
	f := &farm{world: w, partitions: partitions, nodes: map[string]*farmer{}, acked: map[cluster.Partition][]string{}, making: 100 * time.Millisecond, pace: 5 * time.Second}
	f.times.Gone = 2 * time.Minute
	t.Cleanup(func() { // after a failure
		for name, n := range f.nodes {
			if n.runs {
				f.kill(name, 0)
			}
		}
	})
	if replicas != cluster.MinReplicas {
		f.aim(func(a *placement.Aim) { a.Replicas = replicas })
	}
	n := f.node("n1")
	for p := range cluster.Partition(partitions) {
		n.disks[p] = w.disk("s1", p)
	}
	return f
}

func (f *farm) aim(change func(*placement.Aim)) {
	f.Helper()
	if _, err := cluster.ChangeAim(f.Context(), f.engine, change); err != nil {
		f.Fatal(err)
	}
}

func (f *farm) node(name string) *farmer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes[name] == nil {
		f.nodes[name] = &farmer{farm: f, name: name, disks: map[cluster.Partition]*clustertest.Disk{}}
	}
	return f.nodes[name]
}

// run starts nodes; they run until they are stopped or killed, at the latest until the test ends.
func (f *farm) run(names ...string) {
	for i, name := range names {
		n := f.node(name)
		ctx, cancel := context.WithCancel(context.Background())
		f.mu.Lock()
		n.line, n.cancel, n.ended, n.runs = clustertest.NewLine(f.engine, uint64(i)), cancel, make(chan error, 1), true
		n.leads, n.member = map[cluster.Partition]*cluster.Lead{}, map[cluster.Partition]*cluster.Member{}
		f.mu.Unlock()
		go func() { n.ended <- n.live(ctx) }()
	}
}

func (n *farmer) live(ctx context.Context) error {
	var node *cluster.Node
	for err := cluster.ErrUnavailable; err != nil; {
		if ctx.Err() != nil {
			return nil
		}
		node, err = cluster.Join(ctx, n.line, cluster.NodeSettings{
			Name: n.name, Clock: clustertest.NewClock(1), Times: n.times, Log: n.log, Known: n.meta, Addresses: cluster.Addresses{Peer: n.name}, Unfit: n.isUnfit, Levels: n.levels,
		})
		if err != nil && !errors.Is(err, cluster.ErrUnavailable) && ctx.Err() == nil {
			return err
		}
	}
	return node.RunWith(ctx, func(ctx context.Context) error {
		return node.Serve(ctx, n, func(m *cluster.Member) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.member[m.Partition()] = m
		})
	})
}

// Open implements cluster.Copies.
func (n *farmer) Open(_ context.Context, p cluster.Partition) (cluster.Opened, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.disks[p]
	if d == nil {
		return cluster.Opened{}, cluster.ErrNoCopy
	}
	c := &clustertest.Copy{Disk: d, Write: func(ctx context.Context, l *cluster.Lead, add func([]byte) error) error {
		return n.write(ctx, p, l, add)
	}}
	return cluster.Opened{MemberSettings: cluster.MemberSettings{Partition: p, Store: d.Store, Copy: c}, Close: func() error { return nil }}, nil
}

// Make implements cluster.Copies.
func (n *farmer) Make(ctx context.Context, p cluster.Partition, from cluster.Addresses) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(n.making):
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	owner := n.nodes[from.Peer]
	switch {
	case n.full:
		return clustertest.ErrDisk
	case n.apart || owner.apart:
		return errors.New("no answer")
	case !owner.runs || owner.leads[p] == nil:
		return errors.New("it does not lead")
	}
	n.stores++
	n.copied++
	n.disks[p] = owner.disks[p].Copied(fmt.Sprintf("s%d of %s", n.stores, n.name))
	return nil
}

// Discard implements cluster.Copies.
func (n *farmer) Discard(p cluster.Partition) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.disks, p)
	return nil
}

// write appends a step now and then, until it has to hand over, or the claim is over.
func (n *farmer) write(ctx context.Context, p cluster.Partition, l *cluster.Lead, add func([]byte) error) error {
	n.mu.Lock()
	n.leads[p] = l
	n.led = append(n.led, p)
	slow, pace := n.slow, n.pace
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.leads, p)
	}()
	for i := 0; ; i++ {
		step := fmt.Sprintf("%s %s %d %d", n.name, p, l.Epoch(), i)
		if err := add([]byte(step)); err != nil {
			return err
		}
		n.mu.Lock()
		n.acked[p] = append(n.acked[p], step)
		bad := n.bad
		n.mu.Unlock()
		if bad {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.Leaving(): // what is in flight takes its time
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(slow):
				return nil
			}
		case <-time.After(pace):
		}
	}
}

// stop ends nodes in order.
func (f *farm) stop(names ...string) {
	f.Helper()
	for _, name := range names {
		n := f.node(name)
		n.cancel()
		if err := <-n.ended; err != nil {
			f.Errorf("%s: %v", name, err)
		}
		f.locked(func() { n.runs = false })
	}
}

// kill ends a node as kill -9 does; its disks keep some of what was not synced.
func (f *farm) kill(name string, kept int) {
	n := f.node(name)
	n.line.Set(clustertest.Faults{Dead: true})
	n.cancel()
	if err := <-n.ended; err != nil {
		f.Logf("%s: %v", name, err) // it could not say goodbye
	}
	f.locked(func() {
		n.runs = false
		for _, d := range n.disks {
			d.Crash(kept)
		}
	})
}

func (f *farm) stopAll() {
	for name, n := range f.nodes {
		if n.runs {
			f.stop(name)
		}
	}
}

func (f *farm) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// owners are who may act for each partition, as the nodes themselves believe.
func (f *farm) owners() map[cluster.Partition]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[cluster.Partition]string{}
	for name, n := range f.nodes {
		for p, l := range n.leads {
			if !n.runs || !l.May() {
				continue
			}
			if other := all[p]; other != "" {
				f.faults = append(f.faults, fmt.Sprintf("%s: %s and %s may act at once", p, other, name))
			}
			all[p] = name
		}
	}
	return all
}

// owned is how many partitions each node owns.
func (f *farm) owned() map[string]int {
	count := map[string]int{}
	for _, name := range f.owners() {
		count[name]++
	}
	return count
}

// goesOn watches for so long that each partition is written to all the time, give or take.
func (f *farm) goesOn(long, most time.Duration) {
	f.Helper()
	last, at, worst := map[cluster.Partition]int{}, map[cluster.Partition]time.Time{}, map[cluster.Partition]time.Duration{}
	for began := time.Now(); time.Since(began) < long; time.Sleep(100 * time.Millisecond) {
		f.owners()
		f.locked(func() {
			for p := range cluster.Partition(f.partitions) {
				if n := len(f.acked[p]); n != last[p] || at[p].IsZero() {
					last[p], at[p] = n, time.Now()
				}
				worst[p] = max(worst[p], time.Since(at[p]))
			}
		})
	}
	f.Logf("the longest rests: %v; owned %v", worst, f.owned())
	for p, rest := range worst {
		if rest > most {
			f.Errorf("%s rested for %v, want at most %v", p, rest, most)
		}
	}
}

func (f *farm) state() *cluster.State {
	f.Helper()
	s, err := cluster.Glance(f.Context(), f.engine, nil)
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// copies is how many copies each node has in sync.
func (f *farm) copies() map[string]int {
	f.Helper()
	count := map[string]int{}
	for _, p := range f.state().States {
		for _, seat := range p.InSync {
			count[seat.Node]++
		}
	}
	return count
}

// settles waits until so many partitions are owned, and copies in sync, by each node.
func (f *farm) settles(owned, copies map[string]int) time.Duration {
	f.Helper()
	began := time.Now()
	for !maps.Equal(f.owned(), owned) || !maps.Equal(f.copies(), copies) {
		if time.Since(began) > 20*time.Minute {
			for _, p := range f.state().States {
				f.Logf("%s: %s released %t, in sync %v, map %v", p.Partition, p.Owner.Node, p.Released, p.InSync, p.Members)
			}
			f.Fatalf("owned %v, copies %v, want %v and %v", f.owned(), f.copies(), owned, copies)
		}
		time.Sleep(time.Second)
	}
	return time.Since(began)
}

// clear forgets what was led and copied so far.
func (f *farm) clear() {
	f.locked(func() { f.led, f.copied = nil, 0 })
}

// cost is what was led and copied since.
func (f *farm) cost() (led, copied int) {
	f.locked(func() { led, copied = len(f.led), f.copied })
	return led, copied
}

// compare stops all, and wants the copies of each set to have all that was acknowledged, in the order of each claim, once.
func (f *farm) compare() {
	f.Helper()
	f.stopAll()
	state := f.state() // those that ran last may have moved something
	for _, s := range state.States {
		var longest []clustertest.Step
		for _, seat := range s.InSync {
			d := f.node(seat.Node).disks[s.Partition]
			if d == nil || d.Store != seat.Store {
				f.Errorf("%s: %s has not the copy that is in the set", s.Partition, seat.Node)
				continue
			}
			steps := d.Steps()
			for i := range min(len(steps), len(longest)) {
				if string(steps[i].Bytes) != string(longest[i].Bytes) {
					f.Errorf("%s: copies differ at %d: %q and %q", s.Partition, i, steps[i].Bytes, longest[i].Bytes)
					break
				}
			}
			if len(steps) > len(longest) {
				longest = steps
			}
		}
		last, place := map[string]int{}, map[string]int{}
		for i, step := range longest {
			place[string(step.Bytes)] = i
		}
		if len(place) != len(longest) {
			f.Errorf("%s: a step stands twice", s.Partition)
		}
		for _, a := range f.acked[s.Partition] {
			at, there := place[a]
			// One that was cut off may hear late of what it appended, when another one has gone on: a later step of it tells.
			claim := a[:strings.LastIndex(a, " ")]
			if before, known := last[claim]; !there || known && at <= before {
				f.Errorf("%s: %q was acknowledged, and is lost or out of order; in sync %v", s.Partition, a, s.InSync)
				break
			}
			last[claim] = at
		}
	}
	for _, fault := range f.faults {
		f.Error(fault)
	}
}

// TestGrow: nodes that join get copies, then partitions, and nothing else moves; one that is drained, or lost, hands over.
func TestGrow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 24, 2)
		f.run("n1")
		f.settles(map[string]int{"n1": 24}, map[string]int{"n1": 24})
		for _, step := range []struct {
			name          string
			do            func()
			owned, copies map[string]int
			led, copied   int
		}{
			{"n2 joins", func() { f.run("n2") }, map[string]int{"n1": 12, "n2": 12}, map[string]int{"n1": 24, "n2": 24}, 12, 24},
			{"n3 joins", func() { f.run("n3") }, even(3, 24), map[string]int{"n1": 16, "n2": 16, "n3": 16}, 8, 16},
			{"n2 is drained", func() { f.aim(func(a *placement.Aim) { a.Drained = []string{"n2"} }) },
				map[string]int{"n1": 12, "n3": 12}, map[string]int{"n1": 16, "n2": 16, "n3": 16}, 8, 0},
			{"n2 is away for a while", func() {
				f.stop("n2")
				time.Sleep(f.times.Gone / 2)
				f.run("n2")
				time.Sleep(10 * time.Second)
			}, map[string]int{"n1": 12, "n3": 12}, map[string]int{"n1": 16, "n2": 16, "n3": 16}, 0, 0},
			{"n2 is taken back", func() { f.aim(func(a *placement.Aim) { a.Drained = nil }) },
				even(3, 24), map[string]int{"n1": 16, "n2": 16, "n3": 16}, 8, 0},
			{"n3 is killed", func() { f.kill("n3", 3) }, map[string]int{"n1": 12, "n2": 12}, map[string]int{"n1": 24, "n2": 24}, 8, 16},
		} {
			f.clear()
			step.do()
			took := f.settles(step.owned, step.copies)
			time.Sleep(20 * time.Second) // nothing moves any more
			f.settles(step.owned, step.copies)
			led, copied := f.cost()
			t.Logf("%s: %v, %d times led, %d copies", step.name, took, led, copied)
			if led < step.led || led > step.led+2 || copied != step.copied {
				t.Errorf("%s: %d times led, %d copies, want %d, %d", step.name, led, copied, step.led, step.copied)
			}
		}
		f.compare()
	})
}

// TestReplicas: with three copies on three nodes two nodes may die in turn.
func TestReplicas(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 24, 3)
		f.run("n1", "n2", "n3")
		all := map[string]int{"n1": 24, "n2": 24, "n3": 24}
		f.settles(even(3, 24), all)
		f.kill("n1", 0)
		f.settles(map[string]int{"n2": 12, "n3": 12}, all)
		f.kill("n2", 5)
		f.settles(map[string]int{"n3": 24}, all)
		f.run("n1", "n2")
		f.settles(even(3, 24), all)
		f.compare()
	})
}

// TestTakenOverTogether: what a node had that dies goes on after one silence, whoever of the others takes over what.
func TestTakenOverTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 24, 3)
		for _, name := range []string{"n1", "n2", "n3"} { // which look at different moments
			f.run(name)
			time.Sleep(f.times.Beat / 3)
		}
		all := map[string]int{"n1": 24, "n2": 24, "n3": 24}
		f.settles(even(3, 24), all)
		began := time.Now()
		f.kill("n1", 0)
		f.until("the others have all", time.Minute, func() bool { n := f.owned(); return n["n2"]+n["n3"] == 24 })
		if took, want := time.Since(began), f.times.Silence+4*f.times.Beat; took > want {
			t.Errorf("it took %v, want at most %v", took, want)
		}
	})
}

// TestWithoutLeader: the node that writes the map dies; all goes on, and another one writes it.
func TestWithoutLeader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 6, 2)
		f.run("n1", "n2", "n3")
		f.settles(even(3, 6), even(3, 12))
		leader := f.state().Leader
		f.kill(leader, 0)
		f.run(leader)
		f.until("another one leads", time.Minute, func() bool { l := f.state().Leader; return l != leader || len(f.owned()) == 3 })
		f.settles(even(3, 6), even(3, 12))
		f.compare()
	})
}

// TestOldLeader: a leader that was cut off, and believes that it leads, changes nothing.
func TestOldLeader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 6, 2)
		f.run("n1", "n2")
		f.settles(map[string]int{"n1": 3, "n2": 3}, map[string]int{"n1": 6, "n2": 6})
		old := f.state().Leader
		other := map[string]string{"n1": "n2", "n2": "n1"}[old]
		// Every step of it arrives half a minute late.
		f.node(old).line.Set(clustertest.Faults{Delay: 30 * time.Second, Timeout: time.Minute})
		f.until("the other one leads", 2*time.Minute, func() bool { return f.state().Leader == other })
		f.run("n3")
		f.node(old).line.Set(clustertest.Faults{})
		f.settles(even(3, 6), even(3, 12))
		if l := f.state().Leader; l != other {
			t.Errorf("%s leads, want %s", l, other)
		}
		f.compare()
	})
}

// TestHandOverTakesLong: a hand-over whose requests do not end is ended, in order.
func TestHandOverTakesLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 2, 2)
		f.slow = time.Hour
		f.run("n1", "n2")
		f.settles(map[string]int{"n1": 1, "n2": 1}, map[string]int{"n1": 2, "n2": 2})
		f.compare()
	})
}

// TestRestlessFarm: nodes die, one or all, with their disks or not, are cut off, heard or hear alone, are drained, stopped and started at random, also in the middle of moves, where
// there are two copies of each partition, and three.
func TestRestlessFarm(t *testing.T) {
	runs, rounds := 2, 15
	if seeded.Long() {
		runs, rounds = 20, 40
	}
	random := seeded.Rand(t)
	for run := range runs {
		seed, replicas := random.Uint64(), 2+run%2
		bubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 70))
			f := newFarm(t, 6, replicas)
			copies := even(3, 6*replicas)
			f.slow, f.making, f.pace = 2*time.Second, 3*time.Second, 700*time.Millisecond
			names := []string{"n1", "n2", "n3"}
			f.run(names...)
			f.settles(even(3, 6), copies)
			for range rounds {
				f.trouble(r, names[r.IntN(3)])
				for range r.IntN(100) {
					time.Sleep(100 * time.Millisecond)
					f.owners()
				}
			}
			f.aim(func(a *placement.Aim) { a.Drained, a.Leaving = nil, nil })
			for _, name := range names {
				f.locked(func() { f.nodes[name].apart = false })
				if n := f.node(name); !n.runs {
					f.run(name)
				} else {
					n.line.Set(clustertest.Faults{})
				}
			}
			f.settles(even(3, 6), copies)
			f.compare()
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// trouble does one thing to a node; it comes back before the next one.
func (f *farm) trouble(r *rand.Rand, name string) {
	for other, n := range f.nodes {
		if !n.runs {
			f.run(other)
		}
	}
	n := f.node(name)
	f.locked(func() { n.apart = false })
	switch r.IntN(13) {
	case 7: // its disk is lost, too
		if !f.needed(name) {
			f.kill(name, 0)
			f.locked(func() { clear(n.disks) })
		}
	case 8:
		for other := range f.nodes {
			f.kill(other, r.IntN(9))
		}
	case 0, 1:
		f.kill(name, r.IntN(9))
	case 2:
		f.stop(name)
	case 3:
		n.line.Set(clustertest.Faults{Cut: true})
		time.Sleep(time.Duration(r.IntN(9000)) * time.Millisecond)
		n.line.Set(clustertest.Faults{})
	case 9:
		n.line.Set(clustertest.Faults{OneWay: true})
	case 10:
		n.line.Set(clustertest.Faults{Mute: true})
	case 11:
		n.line.Set(clustertest.Faults{Narrow: true})
	case 12:
		f.locked(func() { n.apart = true })
	case 4:
		n.line.Set(clustertest.Faults{Delay: 400 * time.Millisecond, Lost: .1, Late: .1, Repeat: .2})
	case 5:
		f.aim(func(a *placement.Aim) { a.Drained, a.Leaving = []string{name}, nil })
	default:
		f.aim(func(a *placement.Aim) { a.Drained, a.Leaving = nil, []string{name} })
	}
}

// needed reports whether a node has a copy of something that is in sync nowhere else.
func (f *farm) needed(name string) bool {
	f.Helper()
	return slices.ContainsFunc(f.state().States, func(p cluster.PartitionState) bool {
		return !slices.ContainsFunc(p.InSync, func(s cluster.Seat) bool {
			d := f.nodes[s.Node].disks[p.Partition]
			return s.Node != name && d != nil && d.Store == s.Store
		})
	})
}

// TestAim: what people want is refused where there is one partition, and by an engine without a cluster.
func TestAim(t *testing.T) {
	w, _ := newWorld(t, 1)
	if _, err := cluster.ChangeAim(t.Context(), w.engine, func(*placement.Aim) {}); !errors.Is(err, cluster.ErrOnePartition) || !strings.Contains(err.Error(), "cluster release") {
		t.Errorf("one partition: %v", err)
	}
	if _, err := cluster.ChangeAim(t.Context(), clustertest.NewMemory(), func(*placement.Aim) {}); !errors.Is(err, cluster.ErrNoCluster) {
		t.Errorf("no cluster: %v", err)
	}
	w, _ = newWorld(t, 4)
	a, err := cluster.ChangeAim(t.Context(), w.engine, func(a *placement.Aim) { a.Drained = []string{"n2", "n1"} })
	if err != nil || !slices.Equal(a.Drained, []string{"n1", "n2"}) || a.Replicas != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	if s, err := cluster.Glance(t.Context(), w.engine, nil); err != nil || !s.Aim.IsDrained("n1") {
		t.Errorf("%+v, %v", s, err)
	}
}
