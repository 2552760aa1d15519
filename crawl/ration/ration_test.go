package ration_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl/ration"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

const (
	right   = 3500 * time.Millisecond
	silence = 5 * time.Second
	tick    = 10 * time.Millisecond
	beat    = 500 * time.Millisecond
)

// world is some processes, and the table that all of them read and replace. Its time goes on by ticks.
type world struct {
	random    *rand.Rand
	now       time.Duration
	table     ration.Table
	crawling  []string // what the table should name
	processes []*process
	silence   time.Duration
	most      float64 // that all could use at once
}

// process asks for the table again and again, by a clock of its own.
type process struct {
	of     *world
	ration ration.Ration
	rate   float64       // of its clock
	cut    bool          // nothing that it asks arrives
	late   time.Duration // the longest that a question, or its answer, takes
	frozen time.Duration // until when it does nothing, though what it began goes on
	next   time.Duration // when it asks again
	asked  *question
	writes []write
}

// question is under way: the table is read at one moment, and arrives at a later one.
type question struct {
	sent, read, arrives time.Duration // sent by the process's clock
	table               *ration.Table // nil: not read yet
}

// write replaces a table at some moment, if it is still the one with the number.
type write struct {
	at     time.Duration
	number int64
	names  []string
}

func newWorld(seed uint64, processes int, fast float64) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 72)), silence: silence}
	for i := range processes {
		w.processes = append(w.processes, nil)
		w.restart(i, fast)
	}
	return w
}

// restart begins a process anew, with a clock that is up to fast times as fast as the slowest.
func (w *world) restart(i int, fast float64) {
	p := &process{of: w, rate: 1 + w.random.Float64()*(fast-1), next: w.now}
	p.ration = ration.Ration{Name: fmt.Sprint("n", i), Right: right, Silence: w.silence}
	w.processes[i] = p
}

func (p *process) clock() time.Duration {
	return time.Hour + time.Duration(float64(p.of.now)*p.rate)
}

func (p *process) delay() time.Duration {
	return time.Duration(p.of.random.Int64N(int64(p.late + tick)))
}

func (p *process) step() {
	w := p.of
	p.writes = slices.DeleteFunc(p.writes, func(n write) bool {
		if n.at <= w.now && n.number == w.table.Number {
			w.table = ration.Table{Number: n.number + 1, Names: n.names}
		}
		return n.at <= w.now
	})
	if q := p.asked; q != nil && q.table == nil && w.now >= q.read {
		t := w.table
		q.table = &t
	}
	if w.now < p.frozen {
		return
	}
	if q := p.asked; q != nil && q.table != nil && w.now >= q.arrives && !p.cut {
		p.asked, p.next = nil, w.now+beat
		p.ration.Saw(*q.table, q.sent, p.clock())
		if (q.table.Number == 0 || p.ration.MayReplace(p.clock())) && !slices.Equal(q.table.Names, w.crawling) {
			p.writes = append(p.writes, write{w.now + p.delay(), q.table.Number, w.crawling})
		}
	}
	if p.asked == nil && w.now >= p.next {
		read := w.now + p.delay()
		p.asked = &question{sent: p.clock(), read: read, arrives: read + p.delay()}
	}
}

// sum is what all may use.
func (w *world) sum() (sum float64) {
	for _, p := range w.processes {
		sum += p.ration.Part(p.clock())
	}
	return sum
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	for end := w.now + d; w.now < end; w.now += tick {
		for _, p := range w.processes {
			p.step()
		}
		w.most = max(w.most, w.sum())
	}
}

// crawl draws which processes are to have a ration.
func (w *world) crawl() {
	var names []string
	for _, p := range w.processes {
		if w.random.IntN(2) == 0 {
			names = append(names, p.ration.Name)
		}
	}
	if len(names) > 0 {
		w.crawling = names
	}
}

// change is something that happens to a process.
func (w *world) change(fast float64) {
	i := w.random.IntN(len(w.processes))
	switch p := w.processes[i]; w.random.IntN(7) {
	case 0, 1:
		w.crawl()
	case 2:
		p.late = 1500 * time.Millisecond
	case 3:
		p.cut = true
	case 4:
		p.late, p.cut = 0, false
	case 5:
		p.frozen = w.now + time.Duration(w.random.IntN(12000))*time.Millisecond
	default:
		w.restart(i, fast)
	}
}

// run is a time of changes. It returns the most that all could use at once.
func run(t *testing.T, seed uint64, silence time.Duration) float64 {
	const fast = 1.35
	w := newWorld(seed, 0, fast)
	w.silence = silence
	for i := range 3 + w.random.IntN(3) {
		w.processes = append(w.processes, nil)
		w.restart(i, fast)
	}
	w.crawl()
	for range 60 {
		w.pass(time.Duration(w.random.IntN(4000)) * time.Millisecond)
		w.change(fast)
	}
	for _, p := range w.processes {
		p.late, p.cut, p.frozen = 0, false, 0
	}
	w.crawling = []string{"n0", "n1"}
	w.pass(30 * time.Second)
	if sum := w.sum(); sum != 1 {
		t.Errorf("seed %d: when all is well %v of the limit is used", seed, sum)
	}
	for _, p := range w.processes {
		p.cut = true
	}
	w.pass(right + tick)
	if sum := w.sum(); sum != 0 {
		t.Errorf("seed %d: %v is left when nobody can read the table", seed, sum)
	}
	return w.most
}

// TestModel: all together never use more than the limit, and all of it when all is well.
func TestModel(t *testing.T) {
	seed, runs := seeded.Seed(t), uint64(20)
	if seeded.Long() {
		runs = 3000
	}
	for i := range runs {
		if most := run(t, seed+i, silence); most > 1.000001 || t.Failed() {
			t.Fatalf("SEXTANT_SEED=%d: %v of the limit could be used at once", seed+i, most)
		}
	}
}

// TestModelSees: where a larger part counts before the smaller ones of others must, the limit is exceeded, and the
// model sees it.
func TestModelSees(t *testing.T) {
	seed := seeded.Seed(t)
	for i := range uint64(300) {
		if run(t, seed+i, right/10) > 1.000001 {
			t.Logf("seen in schedule %d", i+1)
			return
		}
	}
	t.Error("the limit was never exceeded: the model would see no fault")
}

// TestOneProcess: a process that is alone has the whole limit soon, and gives half of it to another one at once.
func TestOneProcess(t *testing.T) {
	w := newWorld(1, 2, 1)
	w.processes[1].cut = true
	w.crawling = []string{"n0"}
	w.pass(silence)
	if sum := w.sum(); sum != 0 {
		t.Errorf("%v after %v", sum, silence)
	}
	w.pass(3 * time.Second)
	if sum := w.sum(); sum != 1 {
		t.Errorf("%v after %v", sum, w.now)
	}
	w.processes[1].cut, w.crawling = false, []string{"n0", "n1"}
	w.pass(2 * time.Second)
	if one, other := w.processes[0], w.processes[1]; one.ration.Part(one.clock()) != 0.5 || other.ration.Part(other.clock()) != 0 {
		t.Errorf("%v and %v at first, want a half and nothing", one.ration.Part(one.clock()), other.ration.Part(other.clock()))
	}
	w.pass(silence)
	if one, other := w.processes[0], w.processes[1]; one.ration.Part(one.clock()) != 0.5 || other.ration.Part(other.clock()) != 0.5 {
		t.Errorf("%v and %v in the end, want a half each", one.ration.Part(one.clock()), other.ration.Part(other.clock()))
	}
}
