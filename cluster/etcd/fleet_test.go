package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
)

// What a page comes to in the log, as one of 20 links packs at most; how long a store gathers pages for a step if the one before had so many, and how
// many make one.
const (
	pageBytes   = 400
	gatherFor   = 10 * time.Millisecond
	gatherLeast = 4
	gatherMost  = 1024
)

// fleet is a cluster on a real etcd whose nodes have no stores: a copy remembers its place alone, and whoever leads one appends what does not pack.
// The mutex guards what its nodes have.
type fleet struct {
	*testing.T
	servers []*testetcd.Server
	engine  *Engine
	meta    cluster.Meta
	times   cluster.Times
	perS    atomic.Int64 // pages a second, in all partitions together

	mu      sync.Mutex
	copies  map[string]map[cluster.Partition]*forgetful
	nodes   map[string]simulated
	made    int             // copies
	appends []time.Duration // how long each took, and the pages of all, since they were asked for
	pages   int
}

// simulated is a node that runs.
type simulated struct {
	line *clustertest.Line
	stop func()
}

// forgetful is a Copy that remembers its place alone.
type forgetful struct {
	*fleet
	store  string
	random *rand.ChaCha8
	at     atomic.Pointer[entry.Position]
}

func (f *forgetful) Applied() entry.Position { return *f.at.Load() }

func (f *forgetful) Apply(_ context.Context, _ []byte, behind entry.Position) error {
	f.at.Store(&behind)
	return nil
}

func (f *forgetful) Sync(context.Context) (entry.Position, error) { return f.Applied(), nil }

// Lead appends as a store does: a step has all that came while the one before was on its way.
func (f *forgetful) Lead(ctx context.Context, l *cluster.Lead) error {
	step, due, since, last := make([]byte, gatherMost*pageBytes), 0.0, time.Now(), 0
	for {
		next := 100 * time.Millisecond
		if perS := float64(f.perS.Load()) / float64(f.meta.Partitions); perS > 0 {
			next = time.Duration((1 - due) / perS * float64(time.Second))
		}
		if last >= gatherLeast {
			next = gatherFor
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.Leaving():
			return nil
		case <-time.After(time.Until(since.Add(next))):
		}
		due += time.Since(since).Seconds() * float64(f.perS.Load()) / float64(f.meta.Partitions)
		since, last = time.Now(), min(gatherMost, int(due))
		if last == 0 {
			continue
		}
		due -= float64(last)
		_, _ = f.random.Read(step[:last*pageBytes]) // never fails
		behind, err := l.Append(ctx, step[:last*pageBytes])
		if err != nil {
			return err
		}
		f.at.Store(&behind)
		f.mu.Lock()
		f.appends, f.pages = append(f.appends, time.Since(since)), f.pages+last
		f.mu.Unlock()
	}
}

// newFleet has a cluster, with all copies at its first node, n0.
func newFleet(t *testing.T, partitions int) *fleet {
	t.Helper()
	f := &fleet{T: t, servers: testetcd.Start(t, 3), times: cluster.DefaultTimes(), copies: map[string]map[cluster.Partition]*forgetful{}, nodes: map[string]simulated{}}
	f.engine = open(t, "", f.servers...)
	founding := cluster.Founding{Seat: cluster.Seat{Node: "n0", Store: "s0"}, Partitions: partitions}
	if partitions > 1 {
		founding.Replicas = cluster.MinReplicas
	}
	eventually(t, "founded", func(ctx context.Context) bool {
		var err error
		f.meta, err = cluster.Found(ctx, f.engine, founding)
		return err == nil
	})
	return f
}

// genesis gives a node the empty copy of a partition.
func (f *fleet) genesis(node, store string, p cluster.Partition) {
	f.Helper()
	at, err := f.meta.Genesis(p, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.put(node, store, p, at)
}

func (f *fleet) put(node, store string, p cluster.Partition, at entry.Position) {
	c := &forgetful{fleet: f, store: store, random: rand.NewChaCha8([32]byte{byte(p), byte(len(node))})} //nolint:gosec // it fits
	c.at.Store(&at)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.copies[node] == nil {
		f.copies[node] = map[cluster.Partition]*forgetful{}
	}
	f.copies[node][p] = c
}

// name is that of a node.
func (f *fleet) name(n int) string { return fmt.Sprint("n", n) }

// start starts the nodes from and up to but not including to.
func (f *fleet) start(from, to int) {
	f.Helper()
	for n := from; n < to; n++ {
		name := f.name(n)
		for p := range cluster.Partition(f.meta.Partitions) {
			if n == 0 || f.meta.Partitions == 1 {
				f.genesis(name, fmt.Sprint("s", n), p)
			}
		}
		line := clustertest.NewLine(open(f.T, "", f.servers...), 1)
		f.nodes[name] = simulated{line, serve(f.T, line, name, f.times, part{f, name})}
	}
}

// kill ends a node that says nothing any more.
func (f *fleet) kill(n int) {
	one := f.nodes[f.name(n)]
	one.line.Set(clustertest.Faults{Dead: true})
	one.stop()
	delete(f.nodes, f.name(n))
}

func (f *fleet) end() {
	for _, one := range f.nodes {
		one.stop()
	}
}

// part is a node's part in a fleet.
type part struct {
	*fleet
	node string
}

// Open implements cluster.Copies.
func (p part) Open(_ context.Context, of cluster.Partition) (o cluster.Opened, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.copies[p.node][of]
	if c == nil {
		return o, cluster.ErrNoCopy
	}
	o.MemberSettings = cluster.MemberSettings{Partition: of, Store: c.store, Copy: c}
	o.Close = func() error { return nil }
	return o, nil
}

// Make implements cluster.Copies.
func (p part) Make(_ context.Context, of cluster.Partition, from cluster.Addresses) error {
	p.mu.Lock()
	p.made++
	at, store := p.copies[from.Peer][of].Applied(), fmt.Sprintf("%s %s %d", p.node, of, p.made)
	p.mu.Unlock()
	p.put(p.node, store, of, at)
	return nil
}

// Discard implements cluster.Copies.
func (p part) Discard(of cluster.Partition) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.copies[p.node], of)
	return nil
}

// quiet waits until nothing has changed for long, in a stand that will do. It says how long it took until the last change, how many copies were made,
// and how many partitions have another owner.
func (f *fleet) quiet(long time.Duration, will func(stands) bool) (took time.Duration, copies, moves int) {
	f.Helper()
	began, before := time.Now(), f.look()
	f.mu.Lock()
	copies = f.made
	f.mu.Unlock()
	last, changed := before, began
	for ; !will(last) || time.Since(changed) < long; time.Sleep(200 * time.Millisecond) {
		if now := f.look(); !slices.EqualFunc(now, last, sameStand) {
			last, changed = now, time.Now()
		}
		if time.Since(began) > 15*time.Minute {
			f.Fatalf("not quiet after 15 minutes: %+v", last)
		}
	}
	f.mu.Lock()
	copies = f.made - copies
	f.mu.Unlock()
	for i := range last {
		if last[i].Owner.Node != before[i].Owner.Node {
			moves++
		}
	}
	return changed.Sub(began), copies, moves
}

// stands are the partitions as they stand.
type stands []cluster.PartitionState

func sameStand(a, b cluster.PartitionState) bool {
	return a.Owner == b.Owner && a.Released == b.Released && a.Epoch == b.Epoch && slices.Equal(a.InSync, b.InSync) && slices.Equal(a.Members, b.Members)
}

func (s stands) owned() map[string]int {
	n := map[string]int{}
	for _, p := range s {
		if !p.Released {
			n[p.Owner.Node]++
		}
	}
	return n
}

// even reports whether the nodes that run own equally many partitions, with two copies of each.
func (f *fleet) even(s stands) bool {
	owned, n := s.owned(), len(f.nodes)
	for _, p := range s {
		if len(p.InSync) != min(2, n) || owned[p.Owner.Node] > (len(s)+n-1)/n {
			return false
		}
	}
	return len(owned) == min(n, len(s))
}

func (f *fleet) look() (s stands) {
	f.Helper()
	eventually(f.T, "the cluster is looked at", func(ctx context.Context) bool {
		state, err := cluster.Glance(ctx, f.engine, nil)
		if err == nil {
			s = state.States
		}
		return err == nil
	})
	return s
}

// load is how a fleet fared for a while: what etcd did a second, how many pages were appended, and how long an append took.
type load struct {
	testetcd.Load
	pages    float64
	p50, p99 time.Duration
}

func (l load) String() string {
	return fmt.Sprintf("%5.0f pages/s: %4.0f steps and %4.0f questions/s, %5.2f MB/s in and %5.2f out, %.2f cores of etcd; an append takes %.1f ms, p99 %.1f",
		l.pages, l.Steps, l.Questions, l.Received/1e6, l.Sent/1e6, l.CPU.Seconds(), l.p50.Seconds()*1000, l.p99.Seconds()*1000)
}

// load appends so many pages a second, and measures once that has gone on for some seconds.
func (f *fleet) load(perS int64, during time.Duration) (l load) {
	f.Helper()
	f.perS.Store(perS)
	time.Sleep(5 * time.Second)
	f.taken()
	before, began := testetcd.Measure(f, f.servers), time.Now()
	time.Sleep(during)
	l.Load = testetcd.Measure(f, f.servers).Since(before)
	all, pages := f.taken()
	l.pages = float64(pages) / time.Since(began).Seconds()
	if slices.Sort(all); len(all) > 0 {
		l.p50, l.p99 = all[len(all)/2], all[len(all)*99/100]
	}
	return l
}

// taken are the times of the appends since it was asked last, and how many pages they were.
func (f *fleet) taken() (times []time.Duration, pages int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	times, pages = f.appends, f.pages
	f.appends, f.pages = nil, 0
	return times, pages
}
