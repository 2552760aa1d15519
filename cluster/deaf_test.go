package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
)

// TestDeafOwnerGivesUp: an owner that beats and cannot append gives the partition to a node that can, and
// follows it.
func TestDeafOwnerGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, d := newWorld(t, 1)
		defer w.stopAll()
		a := w.start("n1", 1, d)
		w.until("active", 10*time.Second, a.is(cluster.Active))
		b := w.start("n2", 2, d.Copied("s2"))
		w.until("in the set", time.Minute, b.inSync(w))
		a.send(w, 5)
		a.line.Set(clustertest.Faults{Narrow: true})
		a.work <- []byte("in doubt")
		w.until("the other leads", time.Minute, b.is(cluster.Active))
		b.send(w, 5)
		w.until("it follows", time.Minute, a.is(cluster.Standby))
		w.equal(a.disk, b.disk)
		if a.acked() != 5 {
			t.Errorf("%d steps are acknowledged, want 5", a.acked())
		}
		a.line.Set(clustertest.Faults{})
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		w.until("it leads again", time.Minute, a.is(cluster.Active))
		if a.err != nil && !errors.Is(a.err, context.Canceled) {
			t.Errorf("it has ended: %v", a.err)
		}
	})
}

// TestOneWay: whatever lets a node that owns partitions be heard, or hear, and not both, for as long as it lasts each partition goes on somewhere, at one
// node at a time, and nothing is lost; when it is over all is as before.
func TestOneWay(t *testing.T) {
	for _, way := range []struct {
		name   string
		faults clustertest.Faults
	}{
		{"it is heard, and hears nothing", clustertest.Faults{OneWay: true}},
		{"it hears, and is not heard", clustertest.Faults{Mute: true}},
		{"its signs arrive, its log does not", clustertest.Faults{Narrow: true}},
	} {
		t.Run(way.name, func(t *testing.T) {
			inCopies(t, func(t *testing.T, replicas int) {
				f := newFarm(t, 6, replicas)
				owned, copies := even(3, 6), even(3, 6*replicas)
				f.pace = 700 * time.Millisecond
				f.run("n1", "n2", "n3")
				f.settles(owned, copies)
				f.node("n1").line.Set(way.faults)
				f.goesOn(2*time.Minute, 50*time.Second)
				if n := f.owned()["n1"]; n != 0 {
					t.Errorf("it owns %d partitions", n)
				}
				f.node("n1").line.Set(clustertest.Faults{})
				f.settles(owned, copies)
				f.compare()
			})
		})
	}
}

// TestListsInPieces: an engine that gives the keys of a list one after the other, as etcd's does after a slow answer, has nobody taken for lost.
func TestListsInPieces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 6, 2)
		owned, copies := even(3, 6), even(3, 12)
		f.run("n1", "n2", "n3")
		f.settles(owned, copies)
		f.clear()
		for _, n := range f.nodes {
			n.line.Set(clustertest.Faults{Few: true})
		}
		time.Sleep(5 * time.Minute)
		f.settles(owned, copies)
		if led, copied := f.cost(); led > 0 || copied > 0 {
			t.Errorf("partitions were led %d times anew, and copied %d times: want none", led, copied)
		}
		f.compare()
	})
}
