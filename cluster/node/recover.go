package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// Recover begins a cluster anew from the copies in dir, see cluster.Recover. They keep all that they have. Where there are several partitions,
// there has to be a copy of each.
func Recover(ctx context.Context, e cluster.Engine, name, dir string, o badgerstore.Options) (cluster.Meta, error) {
	copies, err := copiesIn(dir)
	if err != nil {
		return cluster.Meta{}, err
	}
	first := copies[0]
	f := cluster.Founding{
		Seat: cluster.Seat{Node: name, Store: first.self.Store}, Partitions: first.self.Partitions, Level: entry.Newest,
		Seqs: map[cluster.Partition]uint64{}, Stores: map[cluster.Partition]string{},
	}
	for p, c := range copies {
		r, err := badgerstore.OpenReplica(c.dir, o) // whatever keeps it from being opened is found before the cluster is another
		if err == nil {
			err = r.Close()
		}
		if err == nil {
			copies[p].self, c.at, err = badgerstore.MembershipOf(c.dir)
		}
		if err != nil {
			return cluster.Meta{}, err
		}
		f.Seqs[cluster.Partition(p)], f.Stores[cluster.Partition(p)] = c.at.Seq, c.self.Store
	}
	meta, err := cluster.Recover(ctx, e, first.self.Cluster, f)
	if err != nil {
		return meta, err
	}
	for p, c := range copies {
		at, err := meta.Genesis(cluster.Partition(p), f.Seqs[cluster.Partition(p)])
		if err != nil {
			return meta, err
		}
		c.self.Incarnation, c.self.Partitions, c.self.Seen = meta.Incarnation, meta.Partitions, 0
		if err := badgerstore.Reenlist(c.dir, c.self, at); err != nil {
			return meta, err
		}
	}
	return meta, nil
}

// copiesIn are the copies of all partitions of the cluster to which those in dir belong.
func copiesIn(dir string) ([]present, error) {
	if badgerstore.Exists(dir) {
		self, at, err := badgerstore.MembershipOf(dir)
		return []present{{dir: dir, self: self, at: at}}, err
	}
	all, err := presentIn(dir)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		_, _, err := badgerstore.MembershipOf(dir)
		return nil, err
	}
	var missing []string
	var copies []present
	for p := range cluster.Partition(anyOf(all).Partitions) {
		c, there := all[p]
		if !there {
			missing = append(missing, p.String())
		}
		if there && c.self.Cluster != anyOf(all).Cluster {
			return nil, fmt.Errorf("%w: %s is of another cluster than the copies beside it: move it away", cluster.ErrStranger, c.dir)
		}
		copies = append(copies, c)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: %s in %s: with all nodes stopped, copy these folders from the other nodes' data directories, each from the node whose file REPLICA in it has the highest seq",
			errMissing, strings.Join(missing, ", "), dir)
	}
	return copies, nil
}

// errMissing says that a recovery lacks partitions.
var errMissing = errors.New("this node has no copy of some partitions")
