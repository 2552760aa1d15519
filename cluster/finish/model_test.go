package finish_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/finish"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// letter is a link on its way.
type letter struct {
	from, to int
	number   uint64
}

// partition is what its log has: it survives its owner.
type partition struct {
	epoch   int64
	owner   *process // nil: nobody
	waiting int      // URLs, those in flight too
	letters []letter // that have not arrived as far as the partition knows
	last    uint64   // number of the last letter
	had     map[int]uint64
	seq     uint64 // letters that arrived
}

func (p *partition) idle() bool { return p.waiting == 0 && len(p.letters) == 0 }

// world is a crawl over partitions whose pages have links to others, in a bubble. mu guards all of it; each look at a process's own
// partitions takes time between them, as in a real one.
type world struct {
	*testing.T
	engine *clustertest.Memory
	mu     sync.Mutex
	random *rand.Rand
	parts  []*partition
	left   int // pages that may still have links
	nodes  []*process
	ended  int
	late   int // ends that were too early
	// chain has one URL lead to the next, so that almost all is idle almost always.
	chain bool
	// blind hides what arrived, as a protocol would that compares nothing.
	blind bool
	// stages are one or two; what is found at the beginning of the second is work like any other.
	stages int
}

// process is a node that runs.
type process struct {
	*world
	name   string
	line   *clustertest.Line
	cancel context.CancelFunc
	ctx    context.Context
	all    sync.WaitGroup
	second bool // it is in the second stage
}

func (w *world) n(most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(most)
}

func (w *world) chance(p float64) bool { return float64(w.n(1000)) < p*1000 }

func (p *process) pause(most time.Duration) {
	t := time.NewTimer(time.Duration(p.n(int(most/time.Microsecond))+1) * time.Microsecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.ctx.Done():
	}
}

// mine are the partitions that the process owns.
func (p *process) mine() (all []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, part := range p.parts {
		if part.owner == p && p.ctx.Err() == nil {
			all = append(all, i)
		}
	}
	return all
}

// change is a step of a partition's log: only its owner takes it.
func (p *process) change(i int, step func(*partition)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if part := p.parts[i]; part.owner == p && p.ctx.Err() == nil {
		step(part)
	}
}

// crawl visits pages and delivers letters until the process ends.
func (p *process) crawl() {
	for p.ctx.Err() == nil {
		for _, i := range p.mine() {
			if p.chance(0.5) {
				p.pause(300 * time.Millisecond) // the fetch
				p.change(i, func(part *partition) { p.visit(i, part) })
			} else {
				p.deliver(i)
			}
		}
		p.pause(200 * time.Millisecond)
	}
}

// visit is a page with links. p.mu is held.
func (p *process) visit(i int, part *partition) {
	if part.waiting == 0 {
		return
	}
	part.waiting--
	links := p.random.IntN(3)
	if p.chain {
		links = 1
	}
	for range links {
		if p.left == 0 {
			return
		}
		p.left--
		to := p.random.IntN(len(p.parts))
		if to == i {
			part.waiting++
			continue
		}
		part.last++
		part.letters = append(part.letters, letter{i, to, part.last})
	}
}

// deliver sends what waits, in order. Each may get lost, come late, or twice, and so may what the receiver says.
func (p *process) deliver(i int) {
	var post []letter
	p.change(i, func(part *partition) { post = slices.Clone(part.letters) })
	for _, l := range post {
		arrives := func() (stored bool) {
			p.mu.Lock()
			defer p.mu.Unlock()
			to := p.parts[l.to]
			if to.owner == nil || to.owner.ctx.Err() != nil {
				return false
			}
			if l.number > to.had[l.from] {
				to.had[l.from] = l.number
				to.waiting++
				to.seq++
			}
			return true
		}
		if p.chance(0.1) {
			time.AfterFunc(time.Duration(p.n(10_000))*time.Millisecond, func() { arrives() }) // once more, and late
		}
		if p.pause(2 * time.Second); p.chance(0.2) || !arrives() {
			return
		}
		if p.pause(2 * time.Second); p.chance(0.2) { // the answer is lost
			return
		}
		p.change(i, func(part *partition) {
			part.letters = slices.DeleteFunc(part.letters, func(o letter) bool { return o == l })
		})
	}
}

// idle is how the process looks at its partitions: one after the other.
func (p *process) idle(_ context.Context, stage int) (parts []finish.Part, idle bool, err error) {
	if stage == 1 && !p.second {
		for _, i := range p.mine() {
			p.change(i, func(part *partition) { part.waiting++ })
		}
		p.second = true
		return nil, false, nil
	}
	idle = true
	for _, i := range p.mine() {
		p.change(i, func(part *partition) {
			one := finish.Part{Partition: cluster.Partition(i), Epoch: part.epoch, Seq: part.seq}
			if p.blind {
				one.Seq = 0
			}
			parts = append(parts, one)
		})
		p.pause(700 * time.Millisecond)
		p.change(i, func(part *partition) { idle = idle && part.idle() })
	}
	return parts, idle, nil
}

func (w *world) start(name string, seed uint64) *process {
	p := &process{world: w, name: name, line: clustertest.NewLine(w.engine, seed)}
	p.line.Set(clustertest.Faults{Delay: 700 * time.Millisecond, Lost: 0.1, Late: 0.1, Repeat: 0.1, Busy: 0.05, Few: true})
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.all.Go(p.crawl)
	p.all.Go(func() {
		rate := 0.85 + float64(w.n(30))/100
		n := finish.Node{Name: name, Of: "crawling", Engine: p.line, Clock: clustertest.NewClock(rate), Times: cluster.DefaultTimes(), Idle: p.idle, Stages: w.stages}
		_, err := n.Await(p.ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case errors.Is(err, context.Canceled):
		case err != nil:
			w.Errorf("%s: %v", name, err)
		default:
			w.ended++
			if i := slices.IndexFunc(w.parts, func(p *partition) bool { return !p.idle() }); i >= 0 {
				w.late++
			}
		}
	})
	return p
}

// give makes a process the owner of a partition, nil: nobody.
func (w *world) give(i int, to *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := `{"node":"","store":"","session":"","claim":"","released":true}`
	if to != nil {
		text = fmt.Sprintf(`{"node":%q,"store":"s","session":"1","claim":"c"}`, to.name)
	}
	out, err := w.engine.Commit(context.Background(), cluster.Step{Then: []cluster.Write{{Key: fmt.Sprintf("own/p%02d", i), Value: []byte(text)}}})
	if err != nil || !out.Taken {
		w.Errorf("%v", err)
	}
	w.parts[i].owner, w.parts[i].epoch = to, int64(out.Revision)
}

// kill ends a process, whose partitions others get a while later.
func (w *world) kill(n int) {
	dead := w.nodes[n]
	dead.cancel()
	dead.all.Wait()
	for i := range w.parts {
		if w.ownerOf(i) != dead {
			continue
		}
		if w.chance(0.5) {
			w.give(i, nil)
		}
		time.Sleep(time.Duration(w.n(2000)) * time.Millisecond)
		w.give(i, w.nodes[(n+1+w.n(len(w.nodes)-1))%len(w.nodes)])
	}
	w.nodes[n] = w.start(dead.name, uint64(w.n(1<<30))) //nolint:gosec // not negative
}

func (w *world) ownerOf(i int) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.parts[i].owner
}

func (w *world) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended > 0
}

func (w *world) done() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.parts, func(p *partition) bool { return !p.idle() })
}

// run lets a crawl begin, go through moves and deaths, and end.
func run(t *testing.T, seed uint64, blind bool) (early int) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 72))
		w := &world{T: t, engine: clustertest.NewMemory(), random: random, left: 200, blind: blind, chain: random.IntN(2) == 0, stages: 1 + random.IntN(2)}
		partitions := 3 + w.n(6)
		if _, err := cluster.Found(t.Context(), w.engine, cluster.Founding{Seat: cluster.Seat{Node: "n0", Store: "s"}, Partitions: partitions}); err != nil {
			t.Fatal(err)
		}
		for range partitions {
			w.parts = append(w.parts, &partition{had: map[int]uint64{}})
		}
		w.parts[0].waiting = 1 + w.n(2)
		for n := range 2 + w.n(2) {
			w.nodes = append(w.nodes, w.start(fmt.Sprint("n", n), uint64(w.n(1<<30)))) //nolint:gosec // not negative
		}
		for i := range w.parts {
			w.give(i, w.nodes[w.n(len(w.nodes))])
		}
		var quiet time.Time
		for began := time.Now(); !w.over(); {
			time.Sleep(time.Duration(w.n(8000)) * time.Millisecond)
			switch since := time.Since(began); {
			case since > time.Hour:
				t.Errorf("seed %d: it does not end", seed)
				w.ended++
			case since > 3*time.Minute: // all is well from now on
				if !w.done() { // the second stage may have begun
					quiet = time.Time{}
				} else if quiet.IsZero() {
					quiet = time.Now()
				}
				if !quiet.IsZero() && time.Since(quiet) > 5*time.Minute {
					t.Errorf("seed %d: it does not end, though nothing is left to do since %v", seed, time.Since(quiet))
					w.ended++
				}
			case w.chance(0.2):
				w.kill(w.n(len(w.nodes)))
			case w.chance(0.5):
				w.give(w.n(len(w.parts)), w.nodes[w.n(len(w.nodes))])
			}
		}
		time.Sleep(20 * time.Second) // the others hear of it
		for _, p := range w.nodes {
			p.cancel()
			p.all.Wait()
		}
		time.Sleep(2 * time.Minute) // what comes late has come
		early = w.late
	})
	return early
}

// TestModel: never too early, and it does end.
func TestModel(t *testing.T) {
	seed, runs := seeded.Seed(t), 12
	if seeded.Long() {
		runs = 2000
	}
	for i := range runs {
		if early := run(t, seed+uint64(i), false); early > 0 || t.Failed() {
			t.Fatalf("SEXTANT_SEED=%d: %d nodes ended though there was work", seed+uint64(i), early)
		}
	}
}

// TestModelSees: the model finds an end that is too early, if what arrived is not looked at.
func TestModelSees(t *testing.T) {
	seed := seeded.Seed(t)
	for i := range uint64(400) {
		if run(t, seed+i, true) > 0 {
			t.Logf("seen in schedule %d", i+1)
			return
		}
	}
	t.Error("no end was too early: the model would see no fault")
}
