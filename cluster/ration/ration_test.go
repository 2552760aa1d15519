package ration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/ration"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const partitions = 8

// world is some nodes that come to own partitions, in a bubble. mu guards what they may use.
type world struct {
	*testing.T
	engine *clustertest.Memory
	random *rand.Rand
	times  cluster.Times
	fast   float64 // speed of the fastest clock beside the slowest

	mu    sync.Mutex
	parts map[string]float64
	most  float64
}

type process struct {
	name string
	line *clustertest.Line
	stop func()
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{T: t, engine: clustertest.NewMemory(), random: rand.New(rand.NewPCG(seed, 72)), parts: map[string]float64{}, fast: 1.35, times: cluster.DefaultTimes()}
	if _, err := cluster.Found(t.Context(), w.engine, cluster.Founding{Seat: cluster.Seat{Node: "n0", Store: "s"}, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	return w
}

// start lets a node have its ration.
func (w *world) start(name string) *process {
	p := &process{name: name, line: clustertest.NewLine(w.engine, w.random.Uint64())}
	ctx, cancel := context.WithCancel(context.Background())
	n := ration.Node{Name: name, Engine: p.line, Times: w.times, Clock: clustertest.NewClock(1 + w.random.Float64()*(w.fast-1))}
	n.Set = func(part float64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.parts[name] = part
		sum := 0.0
		for _, p := range w.parts {
			sum += p
		}
		w.most = max(w.most, sum)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := n.Run(ctx); err != nil {
			w.Errorf("%s: %v", name, err)
		}
	})
	p.stop = func() { cancel(); all.Wait() }
	return p
}

func (w *world) give(partition int, node string) {
	text := fmt.Sprintf(`{"node":%q,"store":"s"}`, node)
	if _, err := w.engine.Commit(context.Background(), cluster.Step{Then: []cluster.Write{{Key: fmt.Sprintf("own/p%02d", partition), Value: []byte(text)}}}); err != nil {
		w.Error(err)
	}
}

// sum is what all may use.
func (w *world) sum() (sum float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parts {
		sum += p
	}
	return sum
}

// run is a time of changes: of owners, of lines, of processes. It gives the most that all could use at once.
func run(t *testing.T, seed uint64, silence time.Duration) (most float64) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed)
		w.times.Silence = silence
		nodes := make([]*process, 3+w.random.IntN(3))
		for i := range nodes {
			nodes[i] = w.start(fmt.Sprint("n", i))
		}
		for range 60 {
			time.Sleep(time.Duration(w.random.IntN(4000)) * time.Millisecond)
			p := w.random.IntN(len(nodes))
			switch w.random.IntN(6) {
			case 0, 1:
				for range 1 + w.random.IntN(partitions) {
					w.give(w.random.IntN(partitions), nodes[w.random.IntN(1+p)].name)
				}
			case 2:
				nodes[p].line.Set(clustertest.Faults{Delay: 700 * time.Millisecond, Lost: 0.3, Late: 0.3, Repeat: 0.3})
			case 3:
				nodes[p].line.Set(clustertest.Faults{Cut: true})
			case 4:
				nodes[p].line.Set(clustertest.Faults{})
			default:
				nodes[p].stop()
				nodes[p] = w.start(nodes[p].name)
			}
		}
		for _, p := range nodes {
			p.line.Set(clustertest.Faults{})
		}
		for i := range partitions {
			w.give(i, nodes[i%2].name)
		}
		time.Sleep(30 * time.Second)
		if sum := w.sum(); sum != 1 {
			t.Errorf("seed %d: when all is well %v of the limit is used: %v", seed, sum, w.parts)
		}
		for _, p := range nodes {
			p.stop()
		}
		if sum := w.sum(); sum != 0 {
			t.Errorf("seed %d: %v is left when nobody runs", seed, sum)
		}
		time.Sleep(2 * time.Minute) // what comes late has come
		most = w.most
	})
	return most
}

// TestModel: all together never use more than the limit, and all of it when all is well.
func TestModel(t *testing.T) {
	seed, runs := seeded.Seed(t), uint64(8)
	if seeded.Long() {
		runs = 3000
	}
	for i := range runs {
		if most := run(t, seed+i, cluster.DefaultTimes().Silence); most > 1.000001 || t.Failed() {
			t.Fatalf("SEXTANT_SEED=%d: %v of the limit could be used at once", seed+i, most)
		}
	}
}

// TestModelSees: where a larger part counts before the smaller ones of others must, the limit is exceeded, and the model sees it.
func TestModelSees(t *testing.T) {
	seed := seeded.Seed(t)
	for i := range uint64(300) {
		if run(t, seed+i, cluster.DefaultTimes().Right/10) > 1.000001 {
			t.Logf("seen in schedule %d", i+1)
			return
		}
	}
	t.Error("the limit was never exceeded: the model would see no fault")
}

// TestOneNode: a node that is alone has the whole limit soon, and keeps it over moves of partitions.
func TestOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.fast = 1
		p := w.start("n0")
		defer p.stop()
		for i := range partitions {
			w.give(i, "n0")
		}
		time.Sleep(3 * time.Second)
		if sum := w.sum(); sum != 0 {
			t.Errorf("%v after 3 s", sum)
		}
		time.Sleep(6 * time.Second)
		if sum := w.sum(); sum != 1 {
			t.Errorf("%v after 9 s", sum)
		}
		q := w.start("n1")
		defer q.stop()
		time.Sleep(time.Second)
		for i := range partitions / 2 {
			w.give(i, "n1")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(9 * time.Second)
		if w.mu.Lock(); w.parts["n0"] != 0.5 || w.parts["n1"] != 0.5 {
			t.Errorf("%v, want a half for each", w.parts)
		}
		w.mu.Unlock()
	})
}
