package node

// found.go: what a founding will be is stored beside the store before it is tried, as JSON, until it is done.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// intent is a founding that was begun: a second try goes on with it, since the first may have come through.
type intent struct {
	cluster.Meta
	Store string `json:"store"`
}

func intentPath(dir string) string { return filepath.Clean(dir) + ".founding" }

// Found makes a cluster of one partition in an engine that has none, with the store in dir, a new one if there is
// none, as its first copy. The store is from then on opened by Run alone. If it fails it is as if it had not been tried, or
// another try ends it: a store that was there is as it was.
func Found(ctx context.Context, e cluster.Engine, name, dir string, o badgerstore.Options) (cluster.Meta, error) {
	return FoundDivided(ctx, e, name, dir, 1, 0, o)
}

// FoundDivided is Found for a number of partitions, of each of which there should be so many copies. With several the stores are new.
func FoundDivided(ctx context.Context, e cluster.Engine, name, dir string, partitions, replicas int, o badgerstore.Options) (cluster.Meta, error) {
	f := cluster.Founding{Seat: cluster.Seat{Node: name}, Partitions: partitions, Replicas: replicas, Level: entry.Newest}
	if badgerstore.IsReplica(dir) {
		return cluster.Meta{}, fmt.Errorf("%w: the store %s is a copy in one: start it as a node, or name another directory", cluster.ErrFounded, dir)
	}
	if badgerstore.Exists(dir) && partitions != 1 {
		return cluster.Meta{}, fmt.Errorf("%w: %s: a store is not divided: begin with one partition, or name another directory", errStore, dir)
	}
	if err := e.Check(ctx); err != nil {
		return cluster.Meta{}, err
	}
	if err := f.Check(); err != nil {
		return cluster.Meta{}, err
	}
	fresh, err := openAll(dir, partitions, o)
	if err != nil {
		return cluster.Meta{}, err
	}
	in, err := begin(dir, partitions)
	if err != nil {
		return cluster.Meta{}, err
	}
	f.Seat.Store, f.Meta = in.Store, in.Meta
	meta, err := cluster.Found(ctx, e, f)
	if err != nil {
		return meta, undo(err, dir, fresh)
	}
	for p := range cluster.Partition(partitions) {
		if err := enlist(StoreDir(dir, partitions, p), meta, p, in.Store, o); err != nil {
			return meta, fmt.Errorf("the cluster is made, this node's store is not its first copy yet: %w: run sextant cluster init again", err)
		}
	}
	return meta, os.Remove(intentPath(dir))
}

// errStore says that there is a store where there must be none.
var errStore = errors.New("there is a store")

// openAll opens the stores, or makes them: whatever keeps them from being opened is found before there is a cluster. Those of a founding that was
// begun may be copies already. fresh says that nobody has put anything into them.
func openAll(dir string, partitions int, o badgerstore.Options) (fresh bool, err error) {
	fresh = partitions > 1 || !badgerstore.Exists(dir)
	_, err = os.Stat(intentPath(dir))
	begun := err == nil
	for p := range cluster.Partition(partitions) {
		at := StoreDir(dir, partitions, p)
		switch {
		case badgerstore.IsReplica(at) && begun:
			continue
		case badgerstore.IsReplica(at):
			return false, fmt.Errorf("%w: the store %s is a copy in one: start it as a node, or name another directory", cluster.ErrFounded, at)
		case partitions > 1 && badgerstore.Exists(at):
			fresh = fresh && begun
		case partitions > 1:
			if err := os.MkdirAll(dir, 0o750); err != nil {
				return false, err
			}
		}
		store, err := badgerstore.Open(at, o)
		if err == nil {
			err = store.Close()
		}
		if err != nil {
			return false, err
		}
	}
	return fresh, nil
}

// enlist makes the store in dir the first copy of a partition, if it is not that already.
func enlist(dir string, meta cluster.Meta, p cluster.Partition, store string, o badgerstore.Options) error {
	if badgerstore.IsReplica(dir) {
		return nil
	}
	at, err := meta.Genesis(p, 1)
	if err != nil {
		return err
	}
	return badgerstore.Enlist(dir, memberOf(meta, store), at, o)
}

// begin returns the founding that was begun, or begins one.
func begin(dir string, partitions int) (in intent, err error) {
	path := intentPath(dir)
	text, err := os.ReadFile(path)
	if err == nil && json.Unmarshal(text, &in) == nil && in.Store != "" {
		if in.Partitions != partitions {
			return in, fmt.Errorf("a founding with %d partitions was begun, and may have come through: run cluster init with --partitions %d", in.Partitions, in.Partitions)
		}
		return in, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return in, err
	}
	in = intent{
		Meta:  cluster.Meta{Cluster: cluster.NewID().String(), Incarnation: cluster.NewID().String(), Partitions: partitions},
		Store: cluster.NewID().String(),
	}
	if text, err = json.Marshal(in); err != nil {
		return in, err
	}
	return in, os.WriteFile(path, text, 0o600)
}

// undo takes back what a founding that failed has left here, unless the engine may have taken it.
func undo(why error, dir string, fresh bool) error {
	if !errors.Is(why, cluster.ErrFounded) && !errors.Is(why, cluster.ErrRefused) {
		return fmt.Errorf("%w: run sextant cluster init again, it goes on where this one ended", why)
	}
	why = errors.Join(why, os.Remove(intentPath(dir)))
	if fresh { // nobody has put anything into it
		why = errors.Join(why, os.RemoveAll(dir))
	}
	return why
}
