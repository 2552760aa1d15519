package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"

	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/cluster/placement"
)

// Errors of founding and joining a cluster.
var (
	ErrFounded   = errors.New("there is a cluster already")
	ErrNoCluster = errors.New("there is no cluster")
	ErrStranger  = errors.New("this store belongs to another cluster, or to this one before a recovery")
)

// Founding is what a cluster begins with: one seat, whose store is what everybody else copies.
type Founding struct {
	Seat       Seat
	Partitions int
	// Seqs are where the logs of a recovery go on, by partition: what the founder's store
	// has applied. A partition that is not named begins at 1.
	Seqs map[Partition]uint64
	// Stores are the ids of the founder's copies where they differ from Seat's.
	Stores map[Partition]string
	// Replicas is how many copies there should be of each partition, where there are several; 0: MinReplicas.
	Replicas int
	// Level is the one that the cluster begins at, see Levels; 0: 1.
	Level uint8
	// Meta, if not zero, is what an earlier try of Found may have made: then there is such a cluster, or it is made.
	Meta Meta
}

func nodeName() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`) }

// Check says what is wrong in it.
func (f Founding) Check() error {
	if !nodeName().MatchString(f.Seat.Node) {
		return fmt.Errorf("node %q: a name has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit", f.Seat.Node)
	}
	if f.Partitions < 1 || f.Partitions > MaxPartitions {
		return fmt.Errorf("%d partitions: write 1 to %d", f.Partitions, MaxPartitions)
	}
	if f.Replicas != 0 && (f.Partitions == 1 || f.Replicas < MinReplicas || f.Replicas > MaxReplicas) {
		return fmt.Errorf("%d copies of each of %d partitions: write %d or %d where there are several partitions; of one, each node has a copy", f.Replicas, f.Partitions, MinReplicas, MaxReplicas)
	}
	return nil
}

// NewID draws an id, for a store, a claim or an incarnation.
func NewID() entry.ID {
	var id entry.ID
	rand.Read(id[:]) // never fails: the standard library ends the process instead
	return id
}

// Found makes a cluster in an engine that has none. ErrFounded if there is one. Every other key
// under the engine's prefix makes it refuse too: two clusters never share one. A founding whose answer was lost is
// tried again until it is decided.
func Found(ctx context.Context, e Engine, f Founding) (Meta, error) {
	if err := f.Check(); err != nil {
		return Meta{}, err
	}
	if f.Seat.Store == "" {
		return Meta{}, errors.New("a founder needs the id of its store")
	}
	meta := f.Meta
	if meta == (Meta{}) {
		meta = Meta{Cluster: NewID().String(), Incarnation: NewID().String(), Partitions: f.Partitions}
	}
	there, err := e.List(ctx, "", "~", 1)
	if err != nil {
		return Meta{}, err
	}
	if len(there.Keys) > 0 {
		v, err := e.Read(ctx, metaKey)
		if err != nil {
			return Meta{}, err
		}
		var m Meta
		if v.Keys[0].Revision != 0 && read(v.Keys[0], &m) == nil && m == f.Meta {
			return m, nil
		}
		return Meta{}, fmt.Errorf("%w: key %s exists: use another prefix, or sextant cluster recover", ErrFounded, there.Keys[0].Key)
	}
	var aim []Write
	if f.Replicas != 0 {
		aim = append(aim, Put(aimKey, placement.Aim{Replicas: f.Replicas}))
	}
	return settle(ctx, e, meta, 0, f, aim)
}

// Recover begins a new incarnation from one copy, when the engine has lost its log, or when
// nobody who may claim is left. Everything that other nodes hold is void: they rebuild. It
// is for a person to decide, with all nodes stopped; a node that still runs is fenced by it. cluster is the id that
// the founder's store remembers.
func Recover(ctx context.Context, e Engine, cluster string, f Founding) (Meta, error) {
	if err := f.Check(); err != nil {
		return Meta{}, err
	}
	v, err := e.Read(ctx, metaKey, levelKey)
	if err != nil {
		return Meta{}, err
	}
	level, err := levelOf(v.Keys[1])
	if err != nil {
		return Meta{}, err
	}
	f.Level = max(f.Level, level)
	if at := v.Keys[0]; at.Revision != 0 {
		var m Meta
		if err := read(at, &m); err != nil {
			return Meta{}, err
		}
		if m.Cluster != cluster {
			return Meta{}, fmt.Errorf("%w: the engine holds cluster %s, the store is of %s", ErrStranger, m.Cluster, cluster)
		}
		f.Partitions = m.Partitions
	}
	var old []Write
	for _, prefix := range []string{"beat/", "done/", "log/"} {
		from, to := Folder(prefix)
		old = append(old, Write{Key: from, To: to, Remove: true})
	}
	return settle(ctx, e, Meta{Cluster: cluster, Incarnation: NewID().String(), Partitions: f.Partitions}, v.Keys[0].Revision, f, old)
}

// settle writes a new incarnation over the meta of the revision.
func settle(ctx context.Context, e Engine, m Meta, over Revision, f Founding, writes []Write) (Meta, error) {
	incarnation, err := m.incarnation()
	if err != nil {
		return Meta{}, err
	}
	writes = append(writes, Put(metaKey, m))
	if f.Level > 1 {
		writes = append(writes, Put(levelKey, leveled{f.Level}))
	}
	for p := range Partition(f.Partitions) {
		at, seat := entry.Genesis(incarnation, int(p), f.Seqs[p]), f.Seat
		if store := f.Stores[p]; store != "" {
			seat.Store = store
		}
		writes = append(writes,
			Put(headKey(p), placeOf(at)),
			Put(firstKey(p), first{at.Seq + 1}),
			Put(setKey(p), syncSet{Seats: []Seat{seat}}),
			Put(ownKey(p), ownership{Seat: seat, Released: true, Why: founded}))
	}
	for {
		out, err := e.Commit(ctx, Step{If: []Condition{{metaKey, over}}, Then: writes})
		switch {
		case err == nil && out.Taken:
			return m, nil
		case err == nil:
			var there Meta
			if err := read(out.Found[0], &there); err == nil && there == m {
				return m, nil // by a first try whose answer was lost
			}
			return Meta{}, fmt.Errorf("%w: somebody else made or recovered it at this moment", ErrFounded)
		case errors.Is(err, ErrRefused) || ctx.Err() != nil:
			return Meta{}, err
		}
		if err := (SystemClock{}).Sleep(ctx, DefaultTimes().Retry); err != nil {
			return Meta{}, err
		}
	}
}
