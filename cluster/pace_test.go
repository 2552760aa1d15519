package cluster_test

import (
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
)

// TestStepsTogether: a node with many partitions appends for all of them in one step, and none more often than Times.Step, however small and
// scattered what they append is. None of them waits for longer than that.
func TestStepsTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const long = 10 * time.Second
		f := newFarm(t, cluster.MaxPartitions, 2)
		f.pace = 7 * time.Millisecond
		f.run("n1")
		f.settles(map[string]int{"n1": cluster.MaxPartitions}, map[string]int{"n1": cluster.MaxPartitions})
		acknowledged := func() (n int) {
			f.locked(func() {
				for _, steps := range f.acked {
					n += len(steps)
				}
			})
			return n
		}
		steps, before := f.engine.Steps(), acknowledged()
		time.Sleep(long)
		steps, appended := f.engine.Steps()-steps, acknowledged()-before
		others := 2*int(long/f.times.Beat) + 3*cluster.MaxPartitions*int(long/f.times.Sync) // beats, copies that are safe, trims
		if most := int(long/f.times.Step) + others; steps > most {
			t.Errorf("%d steps of the engine in %v, want at most %d", steps, long, most)
		}
		if least := cluster.MaxPartitions * int(long/(f.times.Step+f.pace)) * 9 / 10; appended < least {
			t.Errorf("%d appends in %v, want at least %d", appended, long, least)
		}
		f.compare()
	})
}

// TestFollowedSeldom: a copy does not look at the log for each step, and still has all of it in the end.
func TestFollowedSeldom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		const steps, pause = 1000, 10 * time.Millisecond
		before, began := w.engine.Reads(), time.Now()
		for range steps {
			a.work <- []byte("a step")
			time.Sleep(pause)
		}
		took := time.Since(began)
		// A look reads twice; the owner, and what is done each beat and each sync, add a few.
		if reads, most := w.engine.Reads()-before, 2*int(took/w.times.Follow)+12*int(took/w.times.Beat); reads > most {
			t.Errorf("%d reads in %v, for %d steps: want at most %d", reads, took, steps, most)
		}
		w.equal(a.disk, b.disk)
		w.stopAll()
	})
}
