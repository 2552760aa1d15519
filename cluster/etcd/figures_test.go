package etcd

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/internal/testing/clusterfigures"
)

// TestFigureEngine: how large three etcd get at 4,000 pages a second of one partition for ten minutes, with two nodes that have copies.
func TestFigureEngine(t *testing.T) {
	clusterfigures.Asked(t, "engine")
	f := newFleet(t, 1)
	f.start(0, 2)
	defer f.end()
	f.quiet(10*time.Second, f.even)
	f.grows(4000, clusterfigures.Number(t, "SEXTANT_CLUSTER_MINUTES", 10))
}

// TestFigureLog: what three etcd need for 12,000 pages a second of three nodes, which own 24 partitions.
func TestFigureLog(t *testing.T) {
	clusterfigures.Asked(t, "log")
	f := newFleet(t, cluster.MaxPartitions)
	f.start(0, 3)
	defer f.end()
	took, copies, moves := f.quiet(10*time.Second, f.even)
	t.Logf("three nodes share 24 partitions after %.0f s: %d copies, %d moves", took.Seconds(), copies, moves)
	t.Log("FIGURE log, idle:", f.load(0, 20*time.Second))
	all := f.grows(12000, clusterfigures.Number(t, "SEXTANT_CLUSTER_MINUTES", 2))
	if l := all[len(all)-1]; l.CPU >= time.Second || l.p99 >= 100*time.Millisecond || l.pages < 11500 {
		t.Errorf("%v: want under a core, and under 100 ms", l)
	}
}

// grows measures a load minute by minute, and what is in etcd's files.
func (f *fleet) grows(perS int64, minutes int) (all []load) {
	f.Helper()
	var file, used int64
	for range minutes {
		l := f.load(perS, time.Minute-5*time.Second)
		u, err := f.engine.Usage(f.Context())
		if err != nil {
			f.Log(err)
		}
		file, used = max(file, u.File), max(used, u.InUse)
		f.Logf("%v; file %d MiB, %d MiB in use", l, u.File>>20, u.InUse>>20)
		all = append(all, l)
	}
	f.Logf("FIGURE log of %d partitions, last minute: %v; file of %d MiB at most, %d MiB in use at most", f.meta.Partitions, all[len(all)-1], file>>20, used>>20)
	return all
}

// TestFigureTen: how a cluster of so many nodes as SEXTANT_CLUSTER_NODES says, or of 3, 6 and 10, stands its last one, 12,000 pages a second,
// and the death of a node.
func TestFigureTen(t *testing.T) {
	clusterfigures.Asked(t, "ten")
	sizes := []int{3, 6, 10}
	if s := os.Getenv("SEXTANT_CLUSTER_NODES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 2 {
			t.Fatalf("SEXTANT_CLUSTER_NODES=%s: write a number, from 2 on", s)
		}
		sizes = []int{n}
	}
	for _, n := range sizes {
		t.Run(strconv.Itoa(n), func(t *testing.T) { figureTen(t, n) })
	}
}

func figureTen(t *testing.T, n int) {
	const calm = 15 * time.Second
	f := newFleet(t, cluster.MaxPartitions)
	defer f.end()
	f.start(0, n-1)
	took, copies, moves := f.quiet(calm, f.even)
	t.Logf("FIGURE %d nodes that start at once: quiet after %.0f s, %d copies, %d moves", n-1, took.Seconds(), copies, moves)
	f.start(n-1, n)
	took, copies, moves = f.quiet(calm, f.even)
	t.Logf("FIGURE node %d of %d joins: quiet after %.0f s, %d copies, %d moves", n, n, took.Seconds(), copies, moves)
	if owned := 24 / n; moves > owned+1 {
		t.Errorf("%d partitions moved to a node that is to have %d", moves, owned)
	}
	t.Logf("FIGURE %d nodes, idle: %v", n, f.load(0, 20*time.Second))
	t.Logf("FIGURE %d nodes, busy: %v", n, f.load(12000, 30*time.Second))
	had := f.look().owned()[f.name(n-1)]
	killed := time.Now()
	f.kill(n - 1)
	for f.look().owned()[f.name(n-1)] > 0 {
		if time.Since(killed) > time.Minute {
			t.Fatalf("after a minute: %v", f.look().owned())
		}
	}
	over := time.Since(killed)
	took, copies, moves = f.quiet(calm, func(stands) bool { return true })
	t.Logf("FIGURE one of %d nodes is killed under that load: its %d partitions are taken over after %.1f s, quiet after %.0f s, %d copies, %d moves", n, had, over.Seconds(), took.Seconds(), copies, moves)
	if had == 0 || over > 10*time.Second {
		t.Errorf("%d partitions were taken over after %v, want some, within 10 s", had, over)
	}
}
