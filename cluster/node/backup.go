package node

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
)

// backup.go: how a node that leads writes a backup for somebody who has the token: eight bytes, big-endian, the number of the log's entry that is
// applied when it begins, and the backup of badgerstore.

const backupPath = "/v1/backup"

// withBackup answers at backupPath, too.
func withBackup(mux *http.ServeMux, active func(cluster.Partition) *Active, log *slog.Logger) {
	mux.HandleFunc("GET "+backupPath, func(w http.ResponseWriter, r *http.Request) {
		a := asked(w, r, active)
		if a == nil {
			return
		}
		log.Info("a backup of the cluster begins", "address", r.RemoteAddr)
		_, err := w.Write(binary.BigEndian.AppendUint64(nil, a.replica.Applied().Seq))
		if err == nil {
			_, err = a.Store.Backup(r.Context(), w)
		}
		if err != nil {
			log.Warn("a backup of the cluster was not finished", "address", r.RemoteAddr, "error", err)
			peer.Cut(w, r, err)
		}
	})
}

// Backup writes the backup of a partition, whose leader is at an address, to w. It is at least of the entry.
func Backup(ctx context.Context, c *peer.Client, address string, p cluster.Partition, w io.Writer) (entry uint64, bytes int64, err error) {
	from, err := c.Get(ctx, address, PathOf(backupPath, p))
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = from.Close() }()
	var head [8]byte
	buffered := bufio.NewReader(from)
	if _, err := io.ReadFull(buffered, head[:]); err != nil {
		return 0, 0, fmt.Errorf("the backup: %w", err)
	}
	bytes, err = io.Copy(w, buffered)
	return binary.BigEndian.Uint64(head[:]), bytes, err
}
