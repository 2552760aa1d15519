package badgerstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// follower is a cluster.Copy that hands its Store to a test while it leads.
type follower struct {
	*Replica
	leads  chan *Store // the Store, when it leads
	closed chan struct{}
}

func (f *follower) Lead(ctx context.Context, l *cluster.Lead) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err := f.Promote(context.WithoutCancel(ctx), l, func(err error) { cancel(err) })
	if err != nil {
		return err
	}
	f.leads <- s
	<-f.closed
	return ctx.Err()
}

// member is a Store that is one of a cluster, alone in it.
type member struct {
	verified
	f    *follower
	stop context.CancelFunc
	done chan error
}

// Close closes the Store, and ends the member of the cluster.
func (m *member) Close() error {
	if m.closed {
		return m.Store.Close()
	}
	err := m.verified.Close()
	m.stop()
	close(m.f.closed)
	return errors.Join(err, <-m.done, m.f.Close())
}

// replicated opens stores that are each the only copy in a cluster of their own.
func replicated(o Options) storetest.Opener {
	engines := map[string]*clustertest.Memory{}
	return func(t *testing.T, dir string) storetest.Store {
		t.Helper()
		if engines[dir] == nil {
			engines[dir] = clustertest.NewMemory()
			founded(t, engines[dir], dir, o)
		}
		r, err := OpenReplica(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		m := &member{f: &follower{Replica: r, leads: make(chan *Store, 1), closed: make(chan struct{})}, done: make(chan error, 2)}
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		m.stop = stop
		node, err := cluster.Join(ctx, engines[dir], cluster.NodeSettings{Name: "n1", Clock: cluster.SystemClock{}, Times: patient(), Log: discard()})
		if err != nil {
			t.Fatal(err)
		}
		part, err := node.Member(cluster.MemberSettings{Store: r.Membership().Store, Copy: m.f})
		if err != nil {
			t.Fatal(err)
		}
		nodes, stopNode := context.WithCancel(context.WithoutCancel(ctx))
		ended := make(chan error, 1)
		go func() { ended <- node.Run(nodes) }()
		go func() {
			err := part.Run(ctx)
			stopNode()
			m.done <- errors.Join(err, <-ended)
		}()
		select {
		case s := <-m.f.leads:
			m.verified = verified{s, t}
		case err := <-m.done:
			t.Fatal(err)
		}
		return m
	}
}

// patient are times by which a member that is alone never gives up, however slow the machine.
func patient() cluster.Times {
	times := cluster.DefaultTimes()
	times.Right, times.Silence = time.Hour, 2*time.Hour
	return times
}

// founded makes a store the first copy of a cluster.
func founded(t *testing.T, e cluster.Engine, dir string, o Options) cluster.Meta {
	t.Helper()
	id := cluster.NewID().String()
	meta, err := cluster.Found(t.Context(), e, cluster.Founding{Seat: cluster.Seat{Node: "n1", Store: id}, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	at, err := meta.Genesis(0, 1)
	if err == nil {
		err = Enlist(dir, Membership{Cluster: meta.Cluster, Incarnation: meta.Incarnation, Partitions: 1, Store: id}, at, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return meta
}

func TestConformanceReplicated(t *testing.T) {
	storetest.Run(t, replicated(Options{MinFree: -1}))
}

func TestModelReplicated(t *testing.T) {
	storetest.Model(t, replicated(Options{MemtableBytes: MinMemtableBytes, MinFree: -1}))
}
