package etcd

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
)

// rack has the disks of the nodes of a cluster of several partitions.
type rack struct {
	mu    sync.Mutex
	disks map[string]map[cluster.Partition]*clustertest.Disk
}

// shelf is one node's part of it.
type shelf struct {
	*rack
	node string
}

func (s shelf) Open(_ context.Context, p cluster.Partition) (o cluster.Opened, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.disks[s.node][p]
	if d == nil {
		return o, cluster.ErrNoCopy
	}
	o.MemberSettings = cluster.MemberSettings{Partition: p, Store: d.Store, Copy: &clustertest.Copy{Disk: d, Write: untilLeaving}}
	o.Close = func() error { return nil }
	return o, nil
}

func untilLeaving(ctx context.Context, l *cluster.Lead, add func([]byte) error) error {
	if err := add([]byte(strconv.FormatInt(l.Epoch(), 10))); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.Leaving():
		return nil
	}
}

func (s shelf) Make(_ context.Context, p cluster.Partition, from cluster.Addresses) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disks[s.node][p] = s.disks[from.Peer][p].Copied(s.node + " " + p.String())
	return nil
}

func (s shelf) Discard(p cluster.Partition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.disks[s.node], p)
	return nil
}

// serve lets a node live until stop.
func serve(t *testing.T, e cluster.Engine, name string, times cluster.Times, c cluster.Copies) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	n, err := cluster.Join(ctx, e, cluster.NodeSettings{
		Name: name, Times: times, Log: slog.New(slog.DiscardHandler), Addresses: cluster.Addresses{Peer: name},
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	alive, end := context.WithCancel(context.Background())
	served, ran := make(chan error, 1), make(chan error, 1)
	go func() { served <- n.Serve(ctx, c, nil) }()
	go func() { ran <- n.Run(alive) }()
	return sync.OnceFunc(func() {
		cancel()
		err := <-served
		end()
		if err := errors.Join(err, <-ran); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}

// TestMapOnEtcd: a map of as many partitions as there can be is read and written by steps that etcd takes: a second node gets copies, and is
// handed a partition. SEXTANT_LONG_MAP waits until it has half of them, and says what that took.
func TestMapOnEtcd(t *testing.T) {
	t.Parallel()
	servers := testetcd.Start(t, 1)
	e := open(t, "", servers...)
	var meta cluster.Meta
	eventually(t, "founded", func(ctx context.Context) bool {
		var err error
		meta, err = cluster.Found(ctx, e, cluster.Founding{Seat: cluster.Seat{Node: "n1", Store: "s1"}, Partitions: cluster.MaxPartitions, Replicas: 2})
		return err == nil
	})
	r := &rack{disks: map[string]map[cluster.Partition]*clustertest.Disk{"n1": {}, "n2": {}}}
	for p := range cluster.Partition(meta.Partitions) {
		at, err := meta.Genesis(p, 1)
		if err != nil {
			t.Fatal(err)
		}
		r.disks["n1"][p] = clustertest.NewDisk("s1", at)
	}
	began, want := time.Now(), 1
	if os.Getenv("SEXTANT_LONG_MAP") != "" {
		want = cluster.MaxPartitions / 2
	}
	stop1 := serve(t, open(t, "", servers...), "n1", cluster.DefaultTimes(), shelf{r, "n1"})
	stop2 := serve(t, open(t, "", servers...), "n2", cluster.DefaultTimes(), shelf{r, "n2"})
	defer stop1()
	defer stop2()
	eventually(t, "handed over", func(ctx context.Context) bool {
		s, err := cluster.Glance(ctx, e, nil)
		if err != nil {
			return false
		}
		owns := 0
		for _, p := range s.States {
			if p.Owner.Node == "n2" && !p.Released {
				owns++
			}
		}
		return owns >= want
	})
	t.Logf("%d handed over after %v", want, time.Since(began))
	stop2()
	stop1()
	// A recovery writes the most at once.
	if _, err := cluster.Recover(t.Context(), e, meta.Cluster, cluster.Founding{Seat: cluster.Seat{Node: "n1", Store: "s1"}, Partitions: meta.Partitions}); err != nil {
		t.Error(err)
	}
}
