// Package node makes a process a node of a cluster: it lets a copy of the store follow the log,
// and lead, with whatever crawls on it, while this node holds the claim.
//
// Goroutines: Run has one for the cluster's node beside the one that it is called on, and those of cluster.Node.Serve; while
// a copy leads there is another that bounds how long last changes may take. Each ends before what started it
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
	// Dir is that of the copy, or where there are several partitions the folder of the copies: see StoreDir.
	Dir   string
	Store badgerstore.Options
	Log   *slog.Logger
	Clock cluster.Clock // cluster.SystemClock, except in tests
	Times cluster.Times // cluster.DefaultTimes, except in tests
	// Lead crawls until ctx ends, or a.Leaving is closed, and returns when nothing acts any more. The Store is closed
	// afterwards. ctx ends when the node is to stop, when the claim is lost, and when the log or the disk
	// has refused a change. It is called for each partition that this node comes to lead, for several at once.
	Lead func(ctx context.Context, a *Active) error
	// Unfit, if not nil, says why this node must not lead, "" if it may. Lead returns when that changes.
	Unfit func() string
	// Watch, if not nil, gets each member of the node before it runs, to ask how it stands; one of the same partition replaces
	// the one before.
	Watch func(*cluster.Member)
	// Others are the other nodes, of which copies and bodies of documents are asked. Needed where there are several partitions; Store.Elsewhere
	// does not count then.
	Others *Elsewhere
}

// Active is a copy that leads.
type Active struct {
	Partition int
	Store     *badgerstore.Store
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
	partition cluster.Partition
	clock     cluster.Clock
	lead      func(context.Context, *Active) error
	seen      func() cluster.Revision
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
	err = r.lead(ctx, &Active{int(r.partition), store, l, r.Replica})
	if why := context.Cause(ctx); why != nil {
		err = why // what Lead says follows from it
	}
	if closed := store.Close(); closed != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = closed
	}
	return err
}

// Run lets copies follow their logs and lead while this node holds their claims, until ctx ends, which is no
// error. It returns an error for what only a person can end. In a cluster of one partition there has to be a copy in Dir; where there are
// several, Run makes the copies that the map of the cluster gives to this node, and takes those away that it no longer does.
func Run(ctx context.Context, s Settings) error {
	// Before the others see a sign of life: they would hand partitions over to a node that cannot open its copies.
	if err := s.Store.Room(existing(s.Dir)); err != nil {
		return fmt.Errorf("node %s: %w", s.Name, err)
	}
	if badgerstore.Exists(s.Dir) {
		return runOne(ctx, s)
	}
	meta, err := cluster.MetaOf(ctx, s.Engine)
	switch {
	case err == nil && meta.Partitions == 1:
		return runOne(ctx, s)
	case err != nil && !errors.Is(err, cluster.ErrNoCluster):
		return fmt.Errorf("node %s: %w", s.Name, err)
	}
	return runMany(ctx, s, meta)
}

// runOne is Run for the only partition.
func runOne(ctx context.Context, s Settings) (err error) {
	copied, err := s.openCopy(ctx, s.Dir, s.Store)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	self := copied.Membership()
	joined, err := cluster.Join(ctx, s.Engine, cluster.NodeSettings{
		Name: s.Name, Clock: s.Clock, Times: s.Times, Log: s.Log, Addresses: s.Addresses,
		Known: cluster.Meta{Cluster: self.Cluster, Incarnation: self.Incarnation, Partitions: self.Partitions},
		Seen:  cluster.Revision(self.Seen),
		Unfit: s.Unfit,
	})
	if err != nil {
		return fmt.Errorf("node %s: %w", s.Name, err)
	}
	member, err := joined.Member(cluster.MemberSettings{Store: self.Store, Copy: &replica{copied, 0, s.Clock, s.Lead, joined.Seen}})
	if err != nil {
		return fmt.Errorf("node %s: %w", s.Name, err)
	}
	if s.Watch != nil {
		s.Watch(member)
	}
	err = joined.RunWith(ctx, member.Run)
	copied.Saw(int64(joined.Seen()))
	return err
}

// Join makes a copy in dir from what another node's Snapshot wrote. It may claim once it has caught up.
func Join(ctx context.Context, meta cluster.Meta, dir string, from io.Reader, o badgerstore.Options) error {
	_, err := badgerstore.Rebuild(ctx, dir, from, memberOf(meta, cluster.NewID().String()), o)
	return err
}

func memberOf(m cluster.Meta, store string) badgerstore.Membership {
	return badgerstore.Membership{Cluster: m.Cluster, Incarnation: m.Incarnation, Partitions: m.Partitions, Store: store}
}
