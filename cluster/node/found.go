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
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// intent is a founding that was begun: a second try goes on with it, since the first may have come through.
type intent struct {
	cluster.Meta
	Store string `json:"store"`
}

func intentPath(dir string) string { return filepath.Clean(dir) + ".founding" }

// Found makes a cluster in an engine that has none, with the store in dir, a new one if there is
// none, as its first copy. The store is from then on opened by Run alone. If it fails it is as if it had not been tried, or
// another try ends it: a store that was there is as it was.
func Found(ctx context.Context, e cluster.Engine, name, dir string, o badgerstore.Options) (cluster.Meta, error) {
	if badgerstore.IsReplica(dir) {
		return cluster.Meta{}, fmt.Errorf("%w: the store %s is a copy in one: start it as a node, or name another directory", cluster.ErrFounded, dir)
	}
	if err := e.Check(ctx); err != nil {
		return cluster.Meta{}, err
	}
	fresh := !badgerstore.Exists(dir)
	// Whatever keeps the store from being opened is found before there is a cluster.
	store, err := badgerstore.Open(dir, o)
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		return cluster.Meta{}, err
	}
	in, err := begin(dir)
	if err != nil {
		return cluster.Meta{}, err
	}
	meta, err := cluster.Found(ctx, e, cluster.Founding{Seat: cluster.Seat{Node: name, Store: in.Store}, Partitions: in.Partitions, Meta: in.Meta})
	if err != nil {
		return meta, undo(err, dir, fresh)
	}
	at, err := meta.Genesis(0, 1)
	if err != nil {
		return meta, err
	}
	if err := badgerstore.Enlist(dir, memberOf(meta, in.Store), at, o); err != nil {
		return meta, fmt.Errorf("the cluster is made, this node's store is not its first copy yet: %w: run sextant cluster init again", err)
	}
	return meta, os.Remove(intentPath(dir))
}

// begin returns the founding that was begun, or begins one.
func begin(dir string) (in intent, err error) {
	path := intentPath(dir)
	text, err := os.ReadFile(path)
	if err == nil && json.Unmarshal(text, &in) == nil && in.Store != "" {
		return in, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return in, err
	}
	in = intent{
		Meta:  cluster.Meta{Cluster: cluster.NewID().String(), Incarnation: cluster.NewID().String(), Partitions: 1},
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
