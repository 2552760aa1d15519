package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
)

// TestPartitionsShareOneStep: what a node appends to all its partitions at once is one step of the engine, and one partition
// that was claimed by another does not hold up the rest.
func TestPartitionsShareOneStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const partitions = cluster.MaxPartitions
		w, _ := newWorld(t, partitions)
		line := clustertest.NewLine(w.engine, 1)
		node, err := cluster.Join(t.Context(), line, cluster.NodeSettings{Name: "n1", Clock: clustertest.NewClock(1), Times: w.times, Log: w.log})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var g sync.WaitGroup
		defer g.Wait()
		defer cancel()
		var mu sync.Mutex
		leads := map[cluster.Partition]*cluster.Lead{}
		disks := make([]*clustertest.Disk, partitions)
		for p := range cluster.Partition(partitions) {
			disks[p] = w.disk("s1", p)
			m, err := node.Member(cluster.MemberSettings{Partition: p, Store: "s1", Copy: &clustertest.Copy{Disk: disks[p],
				Write: func(ctx context.Context, l *cluster.Lead, _ func([]byte) error) error {
					mu.Lock()
					leads[p] = l
					mu.Unlock()
					<-ctx.Done()
					return ctx.Err()
				}}})
			if err != nil {
				t.Fatal(err)
			}
			g.Go(func() {
				if err := m.Run(ctx); err != nil {
					t.Errorf("%v: %v", p, err)
				}
			})
		}
		g.Go(func() {
			if err := node.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		w.until("all lead", time.Minute, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(leads) == partitions
		})
		// The first append keeps the writer busy; what comes meanwhile goes together.
		line.Set(clustertest.Faults{Delay: 300 * time.Millisecond})
		appendAll := func(round int) (failed []cluster.Partition) {
			var each sync.WaitGroup
			for p, l := range leads {
				each.Go(func() {
					if _, err := l.Append(ctx, fmt.Appendf(nil, "round %d", round)); err != nil {
						mu.Lock()
						failed = append(failed, p)
						mu.Unlock()
					}
				})
			}
			each.Wait()
			return failed
		}
		before := w.engine.Steps()
		for round := range 10 {
			if failed := appendAll(round); failed != nil {
				t.Fatalf("round %d: %v failed", round, failed)
			}
		}
		// Beats and chores are steps too; 240 appends one by one would be far more than these.
		if took := w.engine.Steps() - before; took > 100 {
			t.Errorf("10 rounds of %d partitions took %d steps", partitions, took)
		}
		// Somebody else claims partition 7.
		own, err := w.engine.Read(ctx, "own/p07")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.Commit(ctx, cluster.Step{Then: []cluster.Write{{Key: "own/p07", Value: own.Keys[0].Value}}}); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		seven := leads[7]
		mu.Unlock()
		failed := appendAll(10)
		if fmt.Sprint(failed) != "[p07]" {
			t.Errorf("%v failed, want p07 alone", failed)
		}
		if seven.May() || !leads[8].May() {
			t.Errorf("p07 may act: %v, p08: %v", seven.May(), leads[8].May())
		}
	})
}
