package node

// stores.go: the copies of several partitions, each in a folder of its own. stores has no lock but that of rooms: cluster.Node.Serve calls it for
// one partition at a time each.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// StoreDir is where the copy of a partition lies, if dir is where the only one lies in a cluster of one partition.
func StoreDir(dir string, partitions int, p cluster.Partition) string {
	if partitions == 1 {
		return dir
	}
	return filepath.Join(dir, p.String())
}

// discarded is behind the name of a copy that is being removed.
const discarded = ".discarded"

// stores are the copies of a node. They implement cluster.Copies.
type stores struct {
	*Settings
	meta    cluster.Meta
	joined  *cluster.Node
	numbers func() uint64
	rooms   *rooms
}

// rooms is whether there is room for the copies that are open to lead. The mutex guards them.
type rooms struct {
	clock cluster.Clock
	often time.Duration // it looks that often at most
	log   *slog.Logger

	mu     sync.Mutex
	open   map[cluster.Partition]*badgerstore.Replica
	looked time.Duration
	full   string
}

// has notes a copy that is open, or, if r is nil, none any more.
func (m *rooms) has(p cluster.Partition, r *badgerstore.Replica) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.open, p); r != nil {
		m.open[p] = r
	}
}

// unfit says why this node must not lead, "" if it may: it would be handed partitions whose first change fails, and end, and so again each
// time that it is started.
func (m *rooms) unfit() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, words := m.clock.Now(), ""
	if m.looked != 0 && now-m.looked < m.often {
		return m.full
	}
	m.looked = now
	for _, r := range m.open {
		if err := r.Room(); err != nil {
			words = err.Error()
			break
		}
	}
	if (words == "") != (m.full == "") {
		if words == "" {
			m.log.Info("there is room on the disk again: this node may own partitions")
		} else {
			m.log.Error("this node takes no partitions over: there is too little room on its disk", "error", words)
		}
	}
	m.full = words
	return words
}

// existing is a directory, or the first one above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// runMany is Run where there are several partitions, or no cluster at all. meta is what the engine holds.
func runMany(ctx context.Context, s Settings, meta cluster.Meta) error {
	if s.Others == nil {
		return errors.New("a node of a cluster of several partitions has to know how to ask the other nodes")
	}
	known, seen, err := remembered(s.Dir, meta)
	if err != nil {
		return err
	}
	room := &rooms{clock: s.Clock, often: s.Times.Beat / 2, open: map[cluster.Partition]*badgerstore.Replica{}, log: s.Log}
	unfit := func() string {
		if s.Unfit != nil {
			if why := s.Unfit(); why != "" {
				return why
			}
		}
		return room.unfit()
	}
	joined, err := cluster.Join(ctx, s.Engine, cluster.NodeSettings{
		Name: s.Name, Clock: s.Clock, Times: s.Times, Log: s.Log, Addresses: s.Addresses, Known: known, Seen: cluster.Revision(seen), Unfit: unfit,
	})
	if err != nil {
		return fmt.Errorf("node %s: %w", s.Name, err)
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return err
	}
	c := &stores{&s, joined.Meta(), joined, numbers(s.Store.FirstOrder), room}
	return joined.RunWith(ctx, func(ctx context.Context) error { return joined.Serve(ctx, c, s.Watch) })
}

// numbers gives numbers that rise, to all stores of a process.
func numbers(first uint64) func() uint64 {
	var last atomic.Uint64
	last.Store(first)
	return func() uint64 { return last.Add(1) }
}

// present is a copy that is on the disk.
type present struct {
	dir  string
	self badgerstore.Membership
	at   entry.Position
}

// presentIn are the copies of partitions in a folder.
func presentIn(dir string) (map[cluster.Partition]present, error) {
	all := map[cluster.Partition]present{}
	for p := range cluster.Partition(cluster.MaxPartitions) {
		at := filepath.Join(dir, p.String())
		if !badgerstore.Exists(at) {
			continue
		}
		c := present{dir: at}
		var err error
		if c.self, c.at, err = badgerstore.MembershipOf(at); err != nil {
			return nil, err
		}
		all[p] = c
	}
	return all, nil
}

// anyOf is the membership of the first of some copies.
func anyOf(all map[cluster.Partition]present) (m badgerstore.Membership) {
	for p := range cluster.Partition(cluster.MaxPartitions) {
		if c, there := all[p]; there {
			return c.self
		}
	}
	return m
}

// remembered is what the copies in a folder say of their cluster, for Join to compare. Those of an earlier incarnation of it are void, and say
// nothing.
func remembered(dir string, meta cluster.Meta) (known cluster.Meta, seen int64, err error) {
	all, err := presentIn(dir)
	if err != nil {
		return known, 0, err
	}
	for _, c := range all {
		of := cluster.Meta{Cluster: c.self.Cluster, Incarnation: c.self.Incarnation, Partitions: c.self.Partitions}
		switch {
		case of == meta:
			known, seen = of, max(seen, c.self.Seen)
		case meta == (cluster.Meta{}) || of.Cluster != meta.Cluster:
			return of, 0, nil // Join says what that means
		}
	}
	return known, seen, nil
}

// lockPause is how long a node waits before it tries again to open a copy that a command reads.
const lockPause = 100 * time.Millisecond

// openCopy opens the copy in a folder. A command that reads it, as status does before its node answers, is waited for: a node that ended
// because somebody looked would give up what else it has.
func (s *Settings) openCopy(ctx context.Context, dir string, o badgerstore.Options) (*badgerstore.Replica, error) {
	for told := false; ; told = true {
		copied, err := badgerstore.OpenReplica(dir, o)
		if !errors.Is(err, scheduler.ErrLocked) {
			return copied, err
		}
		if !told {
			s.Log.Warn("a command reads a copy: this node waits until that has ended", "store", dir)
		}
		if err := s.Clock.Sleep(ctx, lockPause); err != nil {
			return nil, err
		}
	}
}

// Open implements cluster.Copies. A copy that a recovery has made void is none.
func (s *stores) Open(ctx context.Context, p cluster.Partition) (o cluster.Opened, err error) {
	dir := s.dir(p)
	if err := os.RemoveAll(dir + discarded); err != nil { // what a kill has left of it
		return o, err
	}
	if !badgerstore.Exists(dir) {
		return o, cluster.ErrNoCopy
	}
	copied, err := s.openCopy(ctx, dir, s.options(p))
	if err != nil {
		return o, err
	}
	self := copied.Membership()
	if self.Incarnation != s.meta.Incarnation {
		s.Log.Warn("a copy is taken away: the cluster was recovered from another one", "partition", p.String())
		return o, errors.Join(copied.Close(), s.Discard(p), cluster.ErrNoCopy)
	}
	s.rooms.has(p, copied)
	return cluster.Opened{
		MemberSettings: cluster.MemberSettings{
			Partition: p, Store: self.Store, Copy: &replica{copied, p, s.Clock, s.Lead, s.joined.Seen},
		},
		Close: func() error {
			s.rooms.has(p, nil)
			copied.Saw(int64(s.joined.Seen()))
			return copied.Close()
		},
	}, nil
}

func (s *stores) dir(p cluster.Partition) string { return StoreDir(s.Dir, s.meta.Partitions, p) }

// options are those of one partition's store.
func (s *stores) options(p cluster.Partition) badgerstore.Options {
	o := s.Store
	o.Numbers, o.Elsewhere = s.numbers, s.Others.of(p)
	if o.Logger != nil {
		o.Logger = o.Logger.With("partition", p.String())
	}
	return o
}

// Make implements cluster.Copies.
func (s *stores) Make(ctx context.Context, p cluster.Partition, from cluster.Addresses) error {
	dir := s.dir(p)
	if half, ok := badgerstore.HalfRestored(dir); ok { // a kill has left it
		if err := os.RemoveAll(half); err != nil {
			return err
		}
	}
	s.Log.Info("a copy of a partition is made from another node's", "partition", p.String(), "from", from.Peer)
	return FetchPartition(ctx, s.Others.Client, []string{from.Peer}, s.meta, p, dir, s.options(p))
}

// Discard implements cluster.Copies.
func (s *stores) Discard(p cluster.Partition) error {
	dir := s.dir(p)
	if err := os.Rename(dir, dir+discarded); err != nil { // so that what a kill leaves of it is no copy
		return err
	}
	return os.RemoveAll(dir + discarded)
}
