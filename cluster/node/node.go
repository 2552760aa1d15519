// Package node makes a process a node of a cluster: it lets a copy of the store follow the log,
// and lead, with whatever crawls on it, while this node holds the claim.
//
// Goroutines: Run has one for the cluster's node beside the one that it is called on; while
// the copy leads there is another that bounds how long last changes may take. Each ends before what started it
// returns. There is no lock.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// lastWords is how long the last changes may take when a node is to stop: the claim is then
// given up without them, and another node takes over after a silence.
const lastWords = 20 * time.Second

// Settings are what Run needs.
type Settings struct {
	Name string // of the node
	// Addresses are told to the other nodes.
	Addresses cluster.Addresses
	Engine    cluster.Engine
	Dir       string // of the copy, see Found and badgerstore.Rebuild
	Store     badgerstore.Options
	Log       *slog.Logger
	Clock     cluster.Clock // cluster.SystemClock, except in tests
	Times     cluster.Times // cluster.DefaultTimes, except in tests
	// Lead crawls until ctx ends, and returns when nothing acts any more. The Store is closed
	// afterwards. ctx ends when the node is to stop, when the claim is lost, and when the log or the disk
	// has refused a change.
	Lead func(ctx context.Context, a *Active) error
	// Unfit, if not nil, says why this node must not lead, "" if it may. Lead returns when that changes.
	Unfit func() string
	// Watch, if not nil, gets the node's member once, to ask how it stands.
	Watch func(*cluster.Member)
}

// Active is a copy that leads.
type Active struct {
	Store *badgerstore.Store
	// Lead says whether this node may ask anything of a site or an indexer: each request asks
	// Acting before it begins, and May before it connects. Only the Store appends.
	*cluster.Lead

	replica *badgerstore.Replica
}

// Snapshot writes the copy to w, for Join. Keep the log from before until the new copy is in the
// in-sync set: else it may find the log trimmed.
func (a *Active) Snapshot(ctx context.Context, w io.Writer) error { return a.replica.Snapshot(ctx, w) }

// replica is the copy as the cluster sees it.
type replica struct {
	*badgerstore.Replica
	clock cluster.Clock
	lead  func(context.Context, *Active) error
	seen  func() cluster.Revision
}

// Sync implements cluster.Copy. How far the engine was goes to the disk, too, so that one that was set back is noticed by a node that starts.
func (r *replica) Sync(ctx context.Context) (entry.Position, error) {
	r.Saw(int64(r.seen()))
	return r.Replica.Sync(ctx)
}

// Lead implements cluster.Copy.
func (r *replica) Lead(ctx context.Context, l *cluster.Lead) error {
	ctx, end := context.WithCancelCause(ctx)
	appends, stop := context.WithCancel(context.WithoutCancel(ctx))
	var last sync.WaitGroup
	last.Go(func() {
		<-ctx.Done()
		_ = r.clock.Sleep(appends, lastWords) // or until the store is closed
		stop()
	})
	defer func() {
		end(nil)
		stop()
		last.Wait()
	}()
	store, err := r.Promote(appends, l, func(err error) { end(err) })
	if err != nil {
		return err
	}
	err = r.lead(ctx, &Active{store, l, r.Replica})
	if why := context.Cause(ctx); why != nil {
		err = why // what Lead says follows from it
	}
	if closed := store.Close(); closed != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = closed
	}
	return err
}

// Run lets the copy follow the log and lead while it holds the claim, until ctx ends, which is no
// error. It returns an error for what only a person can end.
func Run(ctx context.Context, s Settings) (err error) {
	copied, err := badgerstore.OpenReplica(s.Dir, s.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	self := copied.Membership()
	joined, err := cluster.Join(ctx, s.Engine, cluster.NodeSettings{
		Name: s.Name, Clock: s.Clock, Times: s.Times, Log: s.Log, Addresses: s.Addresses,
		Known: cluster.Meta{Cluster: self.Cluster, Incarnation: self.Incarnation, Partitions: self.Partitions},
		Seen:  cluster.Revision(self.Seen),
	})
	if err != nil {
		return fmt.Errorf("node %s: %w", s.Name, err)
	}
	member, err := joined.Member(cluster.MemberSettings{Store: self.Store, Copy: &replica{copied, s.Clock, s.Lead, joined.Seen}, Unfit: s.Unfit})
	if err != nil {
		return fmt.Errorf("node %s: %w", s.Name, err)
	}
	if s.Watch != nil {
		s.Watch(member)
	}
	// The member ends first: until then it may append, and release the claim.
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	ctx, fail := context.WithCancel(ctx)
	defer fail()
	ended := make(chan error, 1)
	go func() {
		defer fail()
		ended <- joined.Run(alive)
	}()
	err = member.Run(ctx)
	stop()
	err = errors.Join(err, <-ended)
	copied.Saw(int64(joined.Seen()))
	return err
}

// Recover begins a cluster anew from the copy in dir, see cluster.Recover. The copy keeps all that it has.
func Recover(ctx context.Context, e cluster.Engine, name, dir string, o badgerstore.Options) (cluster.Meta, error) {
	copied, err := badgerstore.OpenReplica(dir, o)
	if err == nil {
		err = copied.Close()
	}
	if err != nil {
		return cluster.Meta{}, err
	}
	self, at, err := badgerstore.MembershipOf(dir)
	if err != nil {
		return cluster.Meta{}, err
	}
	meta, err := cluster.Recover(ctx, e, self.Cluster, cluster.Founding{
		Seat: cluster.Seat{Node: name, Store: self.Store}, Partitions: self.Partitions, Seqs: map[cluster.Partition]uint64{0: at.Seq},
	})
	if err != nil {
		return meta, err
	}
	if at, err = meta.Genesis(0, at.Seq); err != nil {
		return meta, err
	}
	self.Incarnation, self.Partitions, self.Seen = meta.Incarnation, meta.Partitions, 0
	return meta, badgerstore.Reenlist(dir, self, at)
}

// Join makes a copy in dir from what another node's Snapshot wrote. It may claim once it has caught up.
func Join(ctx context.Context, meta cluster.Meta, dir string, from io.Reader, o badgerstore.Options) error {
	_, err := badgerstore.Rebuild(ctx, dir, from, memberOf(meta, cluster.NewID().String()), o)
	return err
}

func memberOf(m cluster.Meta, store string) badgerstore.Membership {
	return badgerstore.Membership{Cluster: m.Cluster, Incarnation: m.Incarnation, Partitions: m.Partitions, Store: store}
}
