package node

// share.go: how a node gives its copy to another one, in the form of badgerstore's Snapshot. A timer ends what is kept for it.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// copyPath is where a node that leads gives its copy.
const copyPath = "/v1/copy"

// partitionField names a partition in a request; without it the first one is meant.
const partitionField = "partition"

// ReleasePath is where the node that leads is asked to hand over to another one.
const ReleasePath = "/v1/release"

// ErrFollows says that a node was asked for what only the one that leads can do.
var ErrFollows = errors.New("this node does not lead")

// keepFor is how long the log is kept for a copy after it was sent: as long as it may take to be opened
// and to join the in-sync set.
const keepFor = 5 * time.Minute

// partitionOf is the partition that a request names, the first one if it names none; an answer is sent if that is none.
func partitionOf(w http.ResponseWriter, r *http.Request) (p cluster.Partition, ok bool) {
	text := r.FormValue(partitionField)
	if text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= cluster.MaxPartitions {
		http.Error(w, fmt.Sprintf("%s=%.20q: write a number from 0 to %d", partitionField, text, cluster.MaxPartitions-1), http.StatusBadRequest)
		return 0, false
	}
	return cluster.Partition(n), true
}

// PathOf is a path that names a partition.
func PathOf(path string, p cluster.Partition) string {
	return path + "?" + partitionField + "=" + strconv.Itoa(int(p))
}

// asked is what leads of the partition that a request names; nil if nothing does, and then an answer is sent.
func asked(w http.ResponseWriter, r *http.Request, active func(cluster.Partition) *Active) *Active {
	p, ok := partitionOf(w, r)
	if !ok {
		return nil
	}
	a := active(p)
	if a == nil {
		http.NotFound(w, r) // another one leads
	}
	return a
}

// Handler answers the other nodes, behind peer.Guard. active is what leads here of a partition now, nil if
// nothing does.
func Handler(active func(cluster.Partition) *Active, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+copyPath, func(w http.ResponseWriter, r *http.Request) {
		a := asked(w, r, active)
		if a == nil {
			return
		}
		release := a.Keep()
		defer time.AfterFunc(keepFor, release)
		log.Info("another node makes a copy of the store", "address", r.RemoteAddr, "partition", a.Partition)
		if err := a.Snapshot(r.Context(), w); err != nil {
			log.Warn("another node did not get its copy", "address", r.RemoteAddr, "error", err)
			peer.Cut(w, r, err)
		}
	})
	withBackup(mux, active, log)
	return mux
}

// Fetch makes a copy of the only partition in dir from the node that leads, whichever of the addresses it is. It is a
// member of the cluster from then on, and has to be started within minutes.
func Fetch(ctx context.Context, c *peer.Client, addresses []string, meta cluster.Meta, dir string, o badgerstore.Options) error {
	return FetchPartition(ctx, c, addresses, meta, 0, dir, o)
}

// FetchPartition is Fetch for one of several partitions.
func FetchPartition(ctx context.Context, c *peer.Client, addresses []string, meta cluster.Meta, p cluster.Partition, dir string, o badgerstore.Options) error {
	all := errors.New("no node gave its copy")
	for _, address := range addresses {
		from, err := c.Get(ctx, address, PathOf(copyPath, p))
		if err == nil {
			err = errors.Join(Join(ctx, meta, dir, from, o), from.Close())
			if err == nil {
				return nil
			}
		}
		all = errors.Join(all, err)
	}
	return all
}
