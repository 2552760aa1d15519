package cluster_test

import (
	"testing"
	"time"
)

// TestUnfitNodes: a node that must not own partitions hands over what it has, and is given none until it may again.
func TestUnfitNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 6, 3)
		f.run("n1", "n2", "n3")
		all := map[string]int{"n1": 6, "n2": 6, "n3": 6}
		f.settles(map[string]int{"n1": 2, "n2": 2, "n3": 2}, all)
		f.unfit(true, "n2")
		f.settles(map[string]int{"n1": 3, "n3": 3}, all)
		f.unfit(true, "n3")
		f.settles(map[string]int{"n1": 6}, all)
		f.clear()
		time.Sleep(5 * time.Minute)
		if led, copied := f.cost(); led != 0 || copied != 0 {
			t.Errorf("nodes that must not own anything: %d times led, %d copies", led, copied)
		}
		f.unfit(true, "n1") // nobody may
		f.settles(map[string]int{}, all)
		f.unfit(false, "n3")
		f.settles(map[string]int{"n3": 6}, all)
		f.unfit(false, "n1", "n2")
		f.settles(map[string]int{"n1": 2, "n2": 2, "n3": 2}, all)
		f.compare()
	})
}

// TestUnfitFromTheStart: a node that starts and must not own anything has copies made, and waits; nothing waits for it.
func TestUnfitFromTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 6, 2)
		f.node("n2").bad = true
		f.run("n1", "n2")
		f.settles(map[string]int{"n1": 6}, map[string]int{"n1": 6, "n2": 6})
		f.clear()
		time.Sleep(5 * time.Minute)
		if led, _ := f.cost(); led != 0 {
			t.Errorf("%d hand-overs to a node that must not own anything", led)
		}
		f.kill("n1", 0)
		time.Sleep(time.Minute)
		f.unfit(false, "n2")
		f.settles(map[string]int{"n2": 6}, map[string]int{"n1": 6, "n2": 6})
		f.run("n1")
		f.settles(map[string]int{"n1": 3, "n2": 3}, map[string]int{"n1": 6, "n2": 6})
		f.compare()
	})
}

// TestHeirDies: who has given a partition up for another node takes it back soon, if that one dies and its copy is lost, whether or not it comes back.
func TestHeirDies(t *testing.T) {
	for name, back := range map[string]bool{"for good": false, "and comes back": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFarm(t, 2, 2)
				f.slow = time.Second
				f.run("n1", "n2")
				f.until("one is to be handed over", 10*time.Minute, func() bool { return f.leaves("n1") })
				f.kill("n2", 0)
				f.locked(func() { clear(f.nodes["n2"].disks) })
				f.until("it is given up", time.Minute, func() bool { return f.owned()["n1"] == 1 })
				began := time.Now()
				if back {
					f.run("n2")
				}
				f.until("somebody has it again", 10*time.Minute, func() bool { return len(f.owners()) == 2 })
				if took, want := time.Since(began), f.times.Silence+4*f.times.Beat; took > want {
					t.Errorf("it took %v, want at most %v", took, want)
				}
				if !back {
					f.run("n2")
				}
				f.settles(map[string]int{"n1": 1, "n2": 1}, map[string]int{"n1": 2, "n2": 2})
				f.compare()
			})
		})
	}
}

// leaves reports whether a node is to hand a partition over.
func (f *farm) leaves(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.nodes[name].leads {
		select {
		case <-l.Leaving():
			return true
		default:
		}
	}
	return false
}

// unfit says whether nodes must not own partitions.
func (f *farm) unfit(bad bool, names ...string) {
	f.locked(func() {
		for _, name := range names {
			f.nodes[name].bad = bad
		}
	})
}

// isUnfit is cluster.NodeSettings.Unfit.
func (n *farmer) isUnfit() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bad {
		return "it cannot use the configuration"
	}
	return ""
}
