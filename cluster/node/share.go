package node

// share.go: how a node gives its copy to another one, in the form of badgerstore's Snapshot. A timer ends what is kept for it.

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// copyPath is where a node that leads gives its copy.
const copyPath = "/v1/copy"

// ReleasePath is where the node that leads is asked to hand over to another one.
const ReleasePath = "/v1/release"

// ErrFollows says that a node was asked for what only the one that leads can do.
var ErrFollows = errors.New("this node does not lead")

// keepFor is how long the log is kept for a copy after it was sent: as long as it may take to be opened
// and to join the in-sync set.
const keepFor = 5 * time.Minute

// Handler answers the other nodes, behind peer.Guard. active is what leads here now, nil if
// nothing does.
func Handler(active func() *Active, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+copyPath, func(w http.ResponseWriter, r *http.Request) {
		a := active()
		if a == nil {
			http.NotFound(w, r) // another one leads
			return
		}
		release := a.Keep()
		defer time.AfterFunc(keepFor, release)
		log.Info("another node makes a copy of the store", "address", r.RemoteAddr)
		if err := a.Snapshot(r.Context(), w); err != nil {
			log.Warn("another node did not get its copy", "address", r.RemoteAddr, "error", err)
			panic(http.ErrAbortHandler) // so that it sees that its copy was cut short
		}
	})
	withBackup(mux, active, log)
	return mux
}

// Fetch makes a copy in dir from the node that leads, whichever of the addresses it is. It is a
// member of the cluster from then on, and has to be started within minutes.
func Fetch(ctx context.Context, c *peer.Client, addresses []string, meta cluster.Meta, dir string, o badgerstore.Options) error {
	all := errors.New("no node gave its copy")
	for _, address := range addresses {
		from, err := c.Get(ctx, address, copyPath)
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
