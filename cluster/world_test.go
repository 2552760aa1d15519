package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
)

// world is a cluster of processes in a bubble, around one engine.
type world struct {
	testing.TB
	engine *clustertest.Memory
	meta   cluster.Meta
	times  cluster.Times
	log    *slog.Logger
	all    []*process
}

func newWorld(t testing.TB, partitions int) (*world, *clustertest.Disk) {
	t.Helper()
	w := &world{TB: t, engine: clustertest.NewMemory(), times: cluster.DefaultTimes(), log: slog.New(slog.DiscardHandler)}
	var err error
	w.meta, err = cluster.Found(t.Context(), w.engine, cluster.Founding{Seat: cluster.Seat{Node: "n1", Store: "s1"}, Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	return w, w.disk("s1", 0)
}

func (w *world) disk(store string, p cluster.Partition) *clustertest.Disk {
	w.Helper()
	at, err := w.meta.Genesis(p, 1)
	if err != nil {
		w.Fatal(err)
	}
	return clustertest.NewDisk(store, at)
}

// process is one node with its member of partition 0, as one process of the program.
type process struct {
	name   string
	line   *clustertest.Line
	clock  *clustertest.Clock
	disk   *clustertest.Disk
	copy   *clustertest.Copy
	node   *cluster.Node
	member *cluster.Member
	cancel context.CancelFunc
	ended  chan struct{}
	err    error

	mu   sync.Mutex
	lead *cluster.Lead
	acks [][]byte
	work chan []byte // steps to append while it leads
}

type option func(*process)

func rate(r float64) option        { return func(p *process) { p.clock.Rate = r } }
func ahead(d time.Duration) option { return func(p *process) { p.clock.Ahead = d } }

// start starts a process; it runs until stop or kill, at the latest until the test ends.
func (w *world) start(name string, seed uint64, d *clustertest.Disk, options ...option) *process {
	w.Helper()
	p := &process{name: name, disk: d, line: clustertest.NewLine(w.engine, seed), clock: clustertest.NewClock(1), work: make(chan []byte), ended: make(chan struct{})}
	p.copy = &clustertest.Copy{Disk: d, Write: p.write}
	for _, o := range options {
		o(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	w.all = append(w.all, p)
	go func() {
		defer close(p.ended)
		p.err = p.run(ctx, w)
	}()
	return p
}

func (p *process) run(ctx context.Context, w *world) error {
	node, err := cluster.Join(ctx, p.line, cluster.NodeSettings{Name: p.name, Clock: p.clock, Times: w.times, Log: w.log, Known: w.meta})
	if err != nil {
		return err
	}
	member, err := node.Member(cluster.MemberSettings{Store: p.disk.Store, Copy: p.copy, MaxBehind: 64 << 10})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.node, p.member = node, member
	p.mu.Unlock()
	return node.RunWith(ctx, member.Run)
}

// write appends what the test sends, until the claim is over.
func (p *process) write(ctx context.Context, l *cluster.Lead, add func([]byte) error) error {
	p.led(l)
	defer p.led(nil)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case step := <-p.work:
			if err := add(step); err != nil {
				return err
			}
			p.mu.Lock()
			p.acks = append(p.acks, step)
			p.mu.Unlock()
		}
	}
}

func (p *process) led(l *cluster.Lead) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lead = l
}

// may reports whether the process may ask sites for anything now.
func (p *process) may() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lead != nil && p.lead.May()
}

func (p *process) acknowledged() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.acks)
}

func (p *process) acked() int { return len(p.acknowledged()) }

func (p *process) standing() cluster.Standing {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.member == nil {
		return cluster.Standing{}
	}
	return p.member.Standing()
}

// stop ends the process in order.
func (p *process) stop() error {
	p.cancel()
	<-p.ended
	return p.err
}

// kill ends it as kill -9 does: nothing that it wanted to say is heard. kept is how many steps
// that were not synced its disk keeps.
func (p *process) kill(kept int) {
	p.line.Set(clustertest.Faults{Dead: true})
	_ = p.stop() // it could not say goodbye
	p.disk.Crash(kept)
}

// stopAll ends what still runs.
func (w *world) stopAll() {
	for _, p := range w.all {
		p.cancel()
	}
	for _, p := range w.all {
		<-p.ended
	}
}

// until waits, in the bubble's time, for what must come.
func (w *world) until(what string, limit time.Duration, is func() bool) time.Duration {
	w.Helper()
	start := time.Now()
	for !is() {
		if time.Since(start) > limit {
			for _, p := range w.all {
				w.Logf("%s: %+v, err %v", p.name, p.standing(), p.err)
			}
			w.Fatalf("%s: not after %v", what, limit)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(start)
}

func (p *process) is(r cluster.Role) func() bool {
	return func() bool { return p.standing().Role == r && (r != cluster.Active || p.may()) }
}

func (p *process) inSync(w *world) func() bool {
	return func() bool {
		v, err := w.engine.Read(context.Background(), "set/p00")
		return err == nil && bytes.Contains(v.Keys[0].Value, []byte(`"`+p.disk.Store+`"`))
	}
}

// send has a leader append n steps.
func (p *process) send(w *world, n int) {
	w.Helper()
	for i := range n {
		select {
		case p.work <- fmt.Appendf(nil, "%s step %d", p.name, i):
		case <-time.After(time.Minute):
			w.Fatalf("%s takes no step: %+v", p.name, p.standing())
		}
	}
	want := n
	w.until("acknowledged", time.Minute, func() bool { return p.acked() >= want })
}

func (w *world) equal(a, b *clustertest.Disk) {
	w.Helper()
	w.until("copies are equal", time.Minute, func() bool { return a.At() == b.At() })
	if diff := clustertest.Equal(a, b); diff != "" {
		w.Error(diff)
	}
}

// pair starts an owner and a standby, both in the set.
func pair(t *testing.T, options ...option) (w *world, a, b *process) {
	t.Helper()
	w, d := newWorld(t, 1)
	a = w.start("n1", 1, d)
	w.until("active", 10*time.Second, a.is(cluster.Active))
	b = w.start("n2", 2, d.Copied("s2"), options...)
	w.until("in the set", time.Minute, b.inSync(w))
	return w, a, b
}

// bubble runs a test in synctest.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
