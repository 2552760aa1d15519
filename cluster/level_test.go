package cluster_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/entry"
)

// written is the level of the last entry in the log of the first partition.
func (f *farm) written() uint8 {
	f.Helper()
	from, to := cluster.Folder("log/p00/")
	var v cluster.View
	f.until("there is an entry that is not trimmed", time.Minute, func() (there bool) {
		var err error
		if v, err = f.engine.List(f.Context(), from, to, 10_000); err != nil {
			f.Fatal(err)
		}
		return len(v.Keys) > 0
	})
	e, err := entry.Decode(v.Keys[len(v.Keys)-1].Value, 255)
	if err != nil {
		f.Fatal(err)
	}
	return e.Level
}

func (f *farm) wantLevel(want uint8, when string) {
	f.Helper()
	time.Sleep(time.Minute)
	if s, wrote := f.state(), f.written(); s.Level != want || wrote != want {
		f.Errorf("%s: the cluster is at level %d, and writes %d; want %d", when, s.Level, wrote, want)
	}
}

// refused starts a node, and wants it to end by its level.
func (f *farm) refused(name, what string) {
	f.Helper()
	f.run(name)
	if err := <-f.node(name).ended; !errors.Is(err, cluster.ErrLevel) {
		f.Errorf("%s: %v", what, err)
	}
	f.locked(func() { f.nodes[name].runs = false })
}

// TestRollingUpgrade: nodes are replaced by those of a new version one after the other, while all goes on. The new ones write what the old ones read, until
// there are no old ones any more.
func TestRollingUpgrade(t *testing.T) {
	old, later := cluster.Levels{Oldest: 1, Newest: 1}, cluster.Levels{Oldest: 1, Newest: 2}
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 6, 2)
		f.pace = time.Second
		names := []string{"n1", "n2", "n3"}
		for _, name := range names {
			f.node(name).levels = old
		}
		f.run(names...)
		owned, copies := even(3, 6), even(3, 12)
		f.settles(owned, copies)
		f.wantLevel(1, "all nodes are old")
		for _, name := range names {
			f.wantLevel(1, name+" is to be replaced")
			f.stop(name)
			f.node(name).levels = later
			f.run(name)
			f.settles(owned, copies)
		}
		f.wantLevel(2, "all nodes are new")

		f.stop("n2")
		f.node("n2").levels = old
		f.refused("n2", "an old node comes back")
		f.node("n2").levels = later
		f.run("n2")
		f.settles(owned, copies)
		f.compare()
	})
}

// TestOldNodeKeepsLevel: a node of an old version that is away, and has copies, or that joins, keeps the level down until it is replaced or gone.
func TestOldNodeKeepsLevel(t *testing.T) {
	old, later := cluster.Levels{Oldest: 1, Newest: 1}, cluster.Levels{Oldest: 1, Newest: 3}
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 6, 2)
		f.times.Gone = 10 * time.Minute
		f.pace = time.Second
		f.node("n1").levels, f.node("n2").levels, f.node("n3").levels = old, later, old
		f.run("n1", "n3")
		f.settles(map[string]int{"n1": 3, "n3": 3}, map[string]int{"n1": 6, "n3": 6})
		f.stop("n1")
		f.node("n1").levels = later
		f.run("n1", "n2")
		f.settles(map[string]int{"n1": 2, "n2": 2, "n3": 2}, map[string]int{"n1": 4, "n2": 4, "n3": 4})
		f.kill("n3", 0)
		f.until("the others have what it had", time.Minute, func() bool { return len(f.owners()) == 6 })
		f.wantLevel(1, "an old node that has copies is away")
		f.settles(map[string]int{"n1": 3, "n2": 3}, map[string]int{"n1": 6, "n2": 6}) // it is gone for good
		f.wantLevel(3, "it has none any more")
		f.refused("n3", "it comes back")
		f.compare()
	})
}

// TestLevelOfOnePartition: a cluster of one partition is raised by its owner; a version that knows later levels alone is refused before.
func TestLevelOfOnePartition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 1, 2)
		f.pace = time.Second
		f.node("n1").levels, f.node("n2").levels = cluster.Levels{Oldest: 1, Newest: 2}, cluster.Levels{Oldest: 2, Newest: 2}
		f.refused("n2", "a version that knows level 2 alone, in a cluster at 1")
		f.run("n1")
		f.wantLevel(2, "its only node knows 2")
		f.stop("n1")
	})
}

func TestUpgrading(t *testing.T) {
	s := cluster.State{Level: 1, Nodes: []cluster.NodeState{{Node: "n1", Level: 1}, {Node: "n2", Level: 1}}}
	for _, want := range []string{"", "level 1, until the version of n2 runs on n1, too", "level 1: all nodes know a later one, and go over to it"} {
		if got := s.Upgrading(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		s.Nodes[0].Level, s.Nodes[1].Level = s.Nodes[1].Level, 2
	}
}

// TestLettersHaveItems: letters bring documents once no node is left that cannot read such ones, and from the beginning in a cluster of this version.
func TestLettersHaveItems(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFarm(t, 2, 2)
		f.pace = time.Second
		has := func(want bool, when string) {
			t.Helper()
			time.Sleep(time.Minute)
			if got, err := cluster.LettersHaveItems(t.Context(), f.engine); got != want || err != nil {
				t.Errorf("%s: %v, %v", when, got, err)
			}
		}
		f.node("n1").levels = cluster.Levels{Oldest: 1, Newest: 1}
		f.run("n1", "n2")
		has(false, "a node of the version before")
		f.stop("n1")
		has(false, "it is away")
		f.node("n1").levels = cluster.Levels{}
		f.run("n1")
		has(true, "it is upgraded")
	})
	e := clustertest.NewMemory()
	if _, err := cluster.Found(t.Context(), e, cluster.Founding{Seat: cluster.Seat{Node: "n1", Store: "s1"}, Partitions: 2, Level: entry.Newest}); err != nil {
		t.Fatal(err)
	}
	if got, err := cluster.LettersHaveItems(t.Context(), e); !got || err != nil {
		t.Errorf("a new cluster: %v, %v", got, err)
	}
}
