package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/partitioned/union"
)

// offline.go: stores are read that no service has open: the one of a crawl, or the copies of a cluster's partitions that a node left on its disk.

// errParts says that a folder has partitions of a cluster, which no command may change, or take for an empty crawl.
var errParts = errors.New("it has copies of partitions of a cluster")

// partsIn are the partitions that have a store in a folder.
func partsIn(dir string) (all []cluster.Partition) {
	for p := range cluster.Partition(cluster.MaxPartitions) {
		if badgerstore.Exists(node.StoreDir(dir, cluster.MaxPartitions, p)) {
			all = append(all, p)
		}
	}
	return all
}

// hasParts reports whether there are copies of partitions in a folder.
func hasParts(dir string) bool { return len(partsIn(dir)) > 0 }

// HoldsStore reports whether a folder has a store, or those of partitions.
func HoldsStore(dir string) bool { return badgerstore.Exists(dir) || hasParts(dir) }

// openOffline opens the store in a home: of partitions all that are there, to read them.
func openOffline(ctx context.Context, h Home, o badgerstore.Options) (Store, error) {
	here := partsIn(h.Store())
	if len(here) == 0 {
		s, err := openPatiently(ctx, h.Store(), o)
		return single{s}, err
	}
	if !o.ReadOnly {
		return nil, fmt.Errorf("%s: %w, and what is changed here would be missing in the others: start this node and say it again, or ask another one that runs", h.Store(), errParts)
	}
	return readParts(ctx, h.Store(), here, o)
}

// readParts opens partitions to read them, and says of what they are.
func readParts(ctx context.Context, dir string, here []cluster.Partition, o badgerstore.Options) (Store, error) {
	number, err := partitionsOf(dir, here)
	if err != nil {
		return nil, err
	}
	all, err := partitioned.New(partitioned.Options{Partitions: number, Values: offlineValues{dir: filepath.Join(dir, valuesFolder)}, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(here))
	for i, p := range here {
		names[i] = p.String()
		one, err := openPatiently(ctx, node.StoreDir(dir, number, p), o)
		if err == nil {
			err = all.Adopt(int(p), one)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("partition %s: %w", p, err), all.Close())
		}
	}
	if o.Logger != nil {
		o.Logger.Warn("this is what the node's own copies of partitions say as they lie on its disk; a node that runs answers for the whole crawl",
			"partitions", fmt.Sprintf("%d of %d", len(here), number), "here", strings.Join(names, " "))
	}
	return union.Store{Store: all}, nil
}

// OfCopies reports whether a store that was opened to be read is made of a node's copies of partitions: it may be behind, and lack what others have.
func OfCopies(s Store) bool {
	_, is := s.(union.Store)
	return is
}

// partitionsOf is how many partitions the crawl has of which these are some.
func partitionsOf(dir string, here []cluster.Partition) (int, error) {
	number := 0
	for _, p := range here {
		at := node.StoreDir(dir, cluster.MaxPartitions, p)
		if !badgerstore.IsReplica(at) {
			continue
		}
		m, _, err := badgerstore.MembershipOf(at)
		switch {
		case err != nil:
			return 0, err
		case number != 0 && number != m.Partitions:
			return 0, fmt.Errorf("%s: the crawl of %s has %d partitions, that of the copies beside it %d: move away what does not belong there", dir, p, m.Partitions, number)
		}
		number = m.Partitions
	}
	if number == 0 {
		return restoredParts(dir, here)
	}
	return number, nil
}

// offlineValues are what a node keeps of a crawl beside the stores. What is one for all nodes lies in the engine, and is not asked.
type offlineValues struct{ dir string }

// Value implements scheduler.Values.
func (v offlineValues) Value(_ context.Context, name string) ([]byte, error) {
	value, err := os.ReadFile(valuePath(v.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return value, err
}

// SetValue implements scheduler.Values.
func (v offlineValues) SetValue(context.Context, string, []byte) error { return errParts }

// ReadStore is WithStore for a store that must not change.
func ReadStore(ctx context.Context, h Home, log *slog.Logger, fn func(context.Context, Store) error) error {
	return WithStore(ctx, h, badgerstore.Options{ReadOnly: true, Logger: log}, fn)
}

// WithKnownStore is WithStore for a store that must exist.
func WithKnownStore(ctx context.Context, h Home, o badgerstore.Options, fn func(context.Context, Store) error) error {
	if !HoldsStore(h.Store()) {
		return fmt.Errorf("%s holds no store: nothing was crawled there yet, or --data names another directory", h.Dir)
	}
	return WithStore(ctx, h, o, fn)
}

// WithStore opens a store, calls fn, and closes it. Partitions of a cluster can only be read.
func WithStore(ctx context.Context, h Home, o badgerstore.Options, fn func(context.Context, Store) error) (err error) {
	store, err := openOffline(ctx, h, o)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
	}()
	return fn(ctx, store)
}
