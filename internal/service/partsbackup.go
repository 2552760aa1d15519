package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
)

// partFile is the backup of a partition.
func partFile(dir string, p cluster.Partition) string {
	return filepath.Join(dir, p.String()+".backup")
}

// fillParts has the owners of several partitions write them, one after the other. Meanwhile no partition may change its owner, and all of them keep the
// links to others: so a link is in the backup of the one that it comes from, or in that of the one that it is for.
func (m *Manifest) fillParts(ctx context.Context, e cluster.Engine, c *peer.Client, s *cluster.State, dir string) (err error) {
	m.Format, m.Parts = 2, make([]Backed, s.Partitions)
	if m.Values, err = sharedValues(ctx, e); err != nil {
		return err
	}
	keep := keeping{client: c, nodes: ownersOf(s), names: map[string]string{}}
	err = keep.during(ctx, func(ctx context.Context) error {
		for p := range cluster.Partition(s.Partitions) {
			if m.Parts[p], err = backUpPart(ctx, e, c, s, p, partFile(dir, p)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range m.Parts {
		m.Bytes += m.Parts[i].Bytes
	}
	return sameOwners(ctx, e, s)
}

// sameOwners wants each partition to be owned under the same claim as before.
func sameOwners(ctx context.Context, e cluster.Engine, before *cluster.State) error {
	now, err := cluster.Owners(ctx, e)
	if err != nil {
		return err
	}
	for i := range before.States {
		if o := &now.Owners[i]; o.Epoch != before.States[i].Epoch || o.Released {
			return fmt.Errorf("partition %s went from %s to another node meanwhile: try again", o.Partition, before.States[i].Owner.Node)
		}
	}
	return nil
}

// takesIn is how long a backup waits for a node to crawl a partition that it has claimed, takeInPause how long before it asks again.
const (
	takesIn     = 30 * time.Second
	takeInPause = 200 * time.Millisecond
)

// backUpPart is backUp for one of several partitions. A node that has claimed it may need a moment to take it in; one that is about to hand it over does
// not have it any more, either, and that is told.
func backUpPart(ctx context.Context, e cluster.Engine, c *peer.Client, s *cluster.State, p cluster.Partition, path string) (Backed, error) {
	for until := time.Now().Add(takesIn); ; {
		b, err := backUp(ctx, c, s, p, path)
		if !errors.Is(err, peer.ErrMissing) {
			return b, err
		}
		if err := sameOwners(ctx, e, s); err != nil {
			return b, err
		}
		if time.Now().After(until) {
			return b, fmt.Errorf("%s has claimed partition %s and does not crawl it: sextant cluster status says why", b.Node, p)
		}
		if err := errors.Join(os.Remove(path), (cluster.SystemClock{}).Sleep(ctx, takeInPause)); err != nil {
			return b, err
		}
	}
}

// ownersOf are the nodes that own partitions.
func ownersOf(s *cluster.State) (all []cluster.NodeState) {
	owns := owning(s)
	for _, n := range s.Nodes {
		if owns[n.Node] > 0 {
			all = append(all, n)
		}
	}
	return all
}

// owning is how many partitions each node owns.
func owning(s *cluster.State) map[string]int {
	n := map[string]int{}
	for i := range s.States {
		if p := &s.States[i]; !p.Released {
			n[p.Owner.Node]++
		}
	}
	return n
}

// sharedValues are those of a crawl of several partitions that its nodes have in common. A word that was given to a version of the
// configuration is not for another cluster, which counts anew.
func sharedValues(ctx context.Context, e cluster.Engine) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range partitioned.SharedNames() {
		var value []byte
		_, err := shared.Value(ctx, e, valueName(name), &value)
		if err != nil {
			return nil, err
		}
		if len(value) > 0 && name != wordName {
			all[name] = value
		}
	}
	return all, nil
}

// restoredName is the file beside the stores of partitions that were restored, until a cluster is made of them.
const restoredName = "RESTORED"

// restoredFile is what it holds, as JSON.
type restoredFile struct {
	Partitions int               `json:"partitions"`
	Values     map[string][]byte `json:"values,omitempty"`
}

// RestoreBackup makes the store of a home, or the stores of all partitions, from the folder of a cluster's backup. Where it fails nothing is left of them.
func RestoreBackup(ctx context.Context, from string, h Home, log *slog.Logger) (sum badgerstore.BackupReport, err error) {
	m, err := readManifest(from)
	if err != nil {
		return sum, err
	}
	o := badgerstore.Options{Logger: log}
	if m.Format == 1 {
		return sum, m.read(filepath.Join(from, storeFile), func(r io.Reader) error {
			sum, err = badgerstore.Restore(ctx, h.Store(), r, o)
			return err
		})
	}
	part := filepath.Clean(h.Store()) + ".restoring"
	if err := os.MkdirAll(h.Dir, 0o750); err != nil {
		return sum, err
	}
	if err := os.Mkdir(part, 0o700); errors.Is(err, fs.ErrExist) {
		return sum, fmt.Errorf("%s is there, from a restore that runs or was killed: wait for it, or remove that directory", part)
	} else if err != nil {
		return sum, err
	}
	if sum, err = m.restoreParts(ctx, from, part, o); err == nil {
		err = publish(part, h.Store())
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(part))
	}
	return sum, err
}

// restoreParts makes the stores of all partitions in a folder.
func (m *Manifest) restoreParts(ctx context.Context, from, dir string, o badgerstore.Options) (sum badgerstore.BackupReport, err error) {
	for i := range m.Parts {
		p := cluster.Partition(i)
		err := m.Parts[i].read(partFile(from, p), func(r io.Reader) error {
			report, err := badgerstore.Restore(ctx, node.StoreDir(dir, len(m.Parts), p), r, o)
			sum.URLs += report.URLs
			sum.Orders += report.Orders
			sum.Faults += report.Faults
			return err
		})
		if err != nil {
			return sum, fmt.Errorf("partition %s: %w", p, err)
		}
	}
	text, err := json.Marshal(restoredFile{len(m.Parts), m.Values})
	if err != nil {
		return sum, err
	}
	return sum, writeFile(filepath.Join(dir, restoredName), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// publish gives a folder its name, which nothing may have that is not empty.
func publish(part, dir string) error {
	if err := badgerfiles.SyncDir(part); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(part, dir); err != nil {
		return err
	}
	return badgerfiles.SyncDir(filepath.Dir(dir))
}

// readRestored is what was restored into a folder, of which no cluster was made yet; it has no partitions if it was not, and the error is nil.
func readRestored(dir string) (r restoredFile, err error) {
	text, err := os.ReadFile(filepath.Join(dir, restoredName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", filepath.Join(dir, restoredName), err)
	}
	return r, nil
}

// restoredParts is how many partitions were restored, all of which have to be here.
func restoredParts(dir string, here []cluster.Partition) (int, error) {
	r, err := readRestored(dir)
	switch {
	case err != nil:
		return 0, err
	case r.Partitions == 0:
		return 0, fmt.Errorf("%s: its partitions are no copies of a cluster, and there is no file %s of a restore: restore the backup again", dir, restoredName)
	case r.Partitions != len(here):
		return 0, fmt.Errorf("%s: %d of the %d partitions that were restored are here: restore the backup again", dir, len(here), r.Partitions)
	}
	return r.Partitions, nil
}

// tellRestored stores in a new cluster what its nodes have in common, as the backup had it. What is each node's own, of a crawl that was divided, is the
// first one's.
func tellRestored(ctx context.Context, e cluster.Engine, dir string) error {
	r, err := readRestored(dir)
	if err != nil || r.Partitions == 0 {
		return err
	}
	v := &values{engine: e, times: cluster.DefaultTimes(), dir: filepath.Join(dir, valuesFolder)}
	for name, value := range r.Values {
		if !partitioned.Shared(name) {
			if err := v.write(v.path(name), value); err != nil {
				return err
			}
			continue
		}
		err := v.patiently(ctx, func() error {
			at, err := shared.Value(ctx, e, valueName(name), new([]byte))
			if err == nil {
				err = shared.SetValue(ctx, e, valueName(name), at, value)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("the cluster is made, %q of the backup is not in it: %w", name, err)
		}
	}
	return os.Remove(filepath.Join(dir, restoredName))
}
