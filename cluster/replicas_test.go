package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
)

// inCopies runs a test with two copies of each partition, and with three.
func inCopies(t *testing.T, test func(t *testing.T, replicas int)) {
	t.Helper()
	for _, replicas := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d copies", replicas), func(t *testing.T) {
			bubble(t, func(t *testing.T) { test(t, replicas) })
		})
	}
}

// even is what each of n nodes has of so many.
func even(nodes, all int) map[string]int {
	each := map[string]int{}
	for i := range nodes {
		each[fmt.Sprintf("n%d", i+1)] = all / nodes
	}
	return each
}

// grown is a farm of 12 partitions whose nodes, n1 to so many, share partitions and copies. No copy is made anew for one that is away.
func grown(t *testing.T, replicas, nodes int) *farm {
	t.Helper()
	f := newFarm(t, 12, replicas)
	f.times.Gone, f.times.Lag = 24*time.Hour, time.Minute
	for i := range nodes {
		f.run(fmt.Sprintf("n%d", i+1))
	}
	f.settles(even(nodes, 12), even(nodes, 12*replicas))
	return f
}

// TestReceiverFull: a node whose disk is full gets what it has room for; nobody loses a copy for its sake.
func TestReceiverFull(t *testing.T) {
	inCopies(t, func(t *testing.T, replicas int) {
		f := grown(t, replicas, replicas)
		late := fmt.Sprintf("n%d", replicas+1)
		f.node(late).full = true
		f.run(late)
		for range 100 {
			time.Sleep(5 * time.Second)
			for _, p := range f.state().States {
				if len(p.InSync) < replicas {
					t.Fatalf("%s: in sync %v", p.Partition, p.InSync)
				}
			}
		}
		f.settles(even(replicas, 12), even(replicas, 12*replicas))
		f.locked(func() { f.nodes[late].full = false })
		f.settles(even(replicas+1, 12), even(replicas+1, 12*replicas))
		f.compare()
	})
}

// TestDiskReplaced: a node that comes back with an empty disk is given its copies again.
func TestDiskReplaced(t *testing.T) {
	inCopies(t, func(t *testing.T, replicas int) {
		f := grown(t, replicas, replicas)
		f.kill("n2", 0)
		f.locked(func() { clear(f.nodes["n2"].disks) })
		f.clear()
		f.run("n2")
		f.settles(even(replicas, 12), even(replicas, 12*replicas))
		if _, copied := f.cost(); copied != 12 {
			t.Errorf("%d copies were made, want 12", copied)
		}
		f.compare()
	})
}

// TestDiskReplacedSlowly: until the copies of a node that comes back with an empty disk are there, nothing is handed over to it, however long they take: its
// place in the in-sync set was that of the old disk.
func TestDiskReplacedSlowly(t *testing.T) {
	inCopies(t, func(t *testing.T, replicas int) {
		nodes := replicas + 1
		f := grown(t, replicas, nodes)
		copies, last := even(nodes, 12*replicas), fmt.Sprintf("n%d", nodes)
		f.kill(last, 0)
		f.until("the others own all", time.Minute, func() bool { n := f.owned(); return n[last] == 0 && len(f.owners()) == 12 })
		f.locked(func() {
			clear(f.nodes[last].disks)
			f.making = 20 * time.Second
		})
		f.clear()
		f.run(last)
		f.settles(even(nodes, 12), copies)
		if led, copied := f.cost(); copied != copies[last] || led > 2*12/nodes {
			t.Errorf("%d copies were made, want %d; %d times a partition was led, want %d to twice that", copied, copies[last], led, 12/nodes)
		}
		f.compare()
	})
}

// TestAwayTooLong: the log goes on without a node that is cut off for longer than it is kept. When that one is back it owns nothing by the copies that it has: it
// gets them anew.
func TestAwayTooLong(t *testing.T) {
	inCopies(t, func(t *testing.T, replicas int) {
		nodes := replicas + 1
		f := grown(t, replicas, nodes)
		last := fmt.Sprintf("n%d", nodes)
		f.node(last).line.Set(clustertest.Faults{Cut: true})
		time.Sleep(2 * f.times.Lag)
		if out, owners := f.copies()[last], len(f.owners()); out != 0 || owners != 12 {
			t.Errorf("it is in %d sets, and %d of 12 partitions are owned", out, owners)
		}
		f.goesOn(30*time.Second, 20*time.Second)
		f.clear()
		f.node(last).line.Set(clustertest.Faults{})
		f.settles(even(nodes, 12), even(nodes, 12*replicas))
		if _, copied := f.cost(); copied != 12*replicas/nodes {
			t.Errorf("%d copies were made, want %d", copied, 12*replicas/nodes)
		}
		f.compare()
	})
}

// TestEngineNearlyFull: while the engine has no room for the log, each node keeps what it owns and appends nothing; then all goes on.
func TestEngineNearlyFull(t *testing.T) {
	inCopies(t, func(t *testing.T, replicas int) {
		f := grown(t, replicas, 3)
		if _, err := f.engine.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "else", Value: noise(1 << 20)}}}); err != nil {
			t.Fatal(err)
		}
		f.clear()
		appended := func() (n int) {
			f.locked(func() {
				for _, acked := range f.acked {
					n += len(acked)
				}
			})
			return n
		}
		f.engine.SetQuota(2 << 20)
		time.Sleep(2 * f.times.Sync)
		before := appended()
		time.Sleep(time.Minute)
		if n := appended(); n > before {
			t.Errorf("%d steps were appended", n-before)
		}
		f.settles(even(3, 12), even(3, 12*replicas))
		f.engine.SetQuota(1 << 30)
		f.goesOn(30*time.Second, 20*time.Second)
		if led, copied := f.cost(); led > 0 || copied > 0 {
			t.Errorf("partitions were led %d times anew, and copied %d times: want none", led, copied)
		}
		f.compare()
	})
}
