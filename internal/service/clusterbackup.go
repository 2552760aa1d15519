package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/config"
)

// The files of a cluster's backup. The manifest is written last: where it is the backup is whole.
const (
	manifestFile = "manifest.json"
	storeFile    = "store.backup"
)

// Manifest says what a cluster's backup holds, as JSON in its folder.
type Manifest struct {
	Format      int       `json:"format"` // 1: one partition, 2: several
	Cluster     string    `json:"cluster"`
	Incarnation string    `json:"incarnation"`
	Begun       time.Time `json:"begun"`
	Backed
	// Configuration is what was in force when the store was written; its text lies beside it.
	Configuration shared.Version `json:"configuration"`
	// Files are the SHA-256 of the files that the configuration names, as they were on Node, or that of the first partition, "" of one that was not there, see shared.Said. The backup does
	// not hold them, and no secrets.
	Files map[string]string `json:"files"`
	// Parts are the partitions, by number, and Values what the nodes have in common beside them, by name; of one partition there are none.
	Parts  []Backed          `json:"partitions,omitempty"`
	Values map[string][]byte `json:"values,omitempty"`
}

// Backed is the backup of a store.
type Backed struct {
	Node string `json:"node,omitempty"` // that wrote it
	// Entry is that of the log up to which the store is at least: what was acknowledged before is in it.
	Entry uint64 `json:"entry,omitempty"`
	// Bytes are the store's, and Sum their SHA-256.
	Bytes int64  `json:"bytes"`
	Sum   string `json:"sha256,omitempty"`
	// URLs and Orders are how many are in it, where that was counted.
	URLs   uint64 `json:"urls,omitempty"`
	Orders uint64 `json:"orders,omitempty"`
}

// BackupCluster has the nodes that crawl write their stores, and puts them into a new folder, with the configuration in force and a manifest.
func BackupCluster(ctx context.Context, e cluster.Engine, t peer.Token, dir string) (m Manifest, err error) {
	state, err := ObserveCluster(ctx, e)
	if err != nil {
		return m, err
	}
	if err := whoWrites(state.State); err != nil {
		return m, err
	}
	if err := os.Mkdir(dir, 0o750); errors.Is(err, fs.ErrExist) {
		return m, fmt.Errorf("%s is there already: name a new folder", dir)
	} else if err != nil {
		return m, err
	}
	m = Manifest{Format: 1, Cluster: state.Cluster, Incarnation: state.Incarnation, Begun: time.Now().UTC()}
	client := &peer.Client{Token: t}
	if state.Partitions > 1 {
		err = m.fillParts(ctx, e, client, state.State, dir)
	} else {
		m.Backed, err = backUp(ctx, client, state.State, 0, filepath.Join(dir, storeFile))
	}
	if err == nil {
		err = m.finish(ctx, e, dir)
	}
	if err != nil {
		return m, errors.Join(err, os.RemoveAll(dir))
	}
	return m, nil
}

// whoWrites wants an owner of each partition: it writes the backup.
func whoWrites(s *cluster.State) error {
	for i := range s.States {
		p := &s.States[i]
		switch owner := p.Owner.Node; {
		case !p.Released && s.Alive(owner):
		case s.Partitions == 1:
			return fmt.Errorf("no node crawls now (%s did last), and the one that crawls writes the backup: sextant cluster status", owner)
		default:
			return fmt.Errorf("no node crawls partition %s now (%s did last), and the one that crawls it writes its backup: sextant cluster status", p.Partition, owner)
		}
	}
	return nil
}

// backUp has the owner of a partition write its store into a new file.
func backUp(ctx context.Context, c *peer.Client, s *cluster.State, p cluster.Partition, path string) (b Backed, err error) {
	b.Node = s.States[p].Owner.Node
	address := ""
	for _, n := range s.Nodes {
		if n.Node == b.Node {
			address = n.Peer
		}
	}
	sum := sha256.New()
	err = writeFile(path, func(w io.Writer) (err error) {
		b.Entry, b.Bytes, err = node.Backup(ctx, c, address, p, io.MultiWriter(w, sum))
		return err
	})
	b.Sum = hex.EncodeToString(sum.Sum(nil))
	switch {
	case err == nil:
	case s.Partitions > 1:
		err = fmt.Errorf("partition %s, of %s: %w", p, b.Node, err)
	default:
		err = fmt.Errorf("%s: %w", b.Node, err)
	}
	return b, err
}

// finish writes the configuration in force, and the manifest, behind which nothing comes.
func (m *Manifest) finish(ctx context.Context, e cluster.Engine, dir string) error {
	version, text, err := shared.Active(ctx, e)
	if err != nil {
		return err
	}
	m.Configuration = version
	o, err := shared.Look(ctx, e)
	if err != nil {
		return err
	}
	wrote := m.Node
	if len(m.Parts) > 0 {
		wrote = m.Parts[0].Node
	}
	if said := o.Of(wrote); said != nil && said.Version == version.Number {
		m.Files = said.Files
	}
	return m.write(dir, text)
}

// write writes the configuration, and then the manifest.
func (m *Manifest) write(dir string, text []byte) (err error) {
	if m.Configuration.Number > 0 || text != nil {
		err = writeFile(filepath.Join(dir, config.FileName), func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, manifestFile), func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "\t")
		return out.Encode(m)
	})
}

// writeFile makes a file that others may not read, and has it on disk when it returns.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// readManifest reads what a backup in a folder says of itself, and looks whether its configuration is as it was.
func readManifest(path string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(path, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s is no backup of a cluster, or not a whole one: it has no %s", path, manifestFile)
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%s: %w", filepath.Join(path, manifestFile), err)
	}
	switch {
	case m.Format < 1 || m.Format > 2:
		return m, fmt.Errorf("%s has format %d, and this version of the program reads 1 and 2: take a newer one", filepath.Join(path, manifestFile), m.Format)
	case (m.Format == 2) != (len(m.Parts) > 1) || len(m.Parts) > cluster.MaxPartitions:
		return m, fmt.Errorf("%s has %d partitions, which is no backup of format %d: it was altered", filepath.Join(path, manifestFile), len(m.Parts), m.Format)
	}
	return m, m.checkText(filepath.Join(path, config.FileName))
}

// read gives fn the backup of a store, and wants all of it to be as its manifest says.
func (b *Backed) read(path string, fn func(io.Reader) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.Size() != b.Bytes {
		return fmt.Errorf("%s has %d bytes, and its manifest says %d: it was cut short, or is of another backup", path, info.Size(), b.Bytes)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if b.Sum != "" && hex.EncodeToString(sum.Sum(nil)) != b.Sum {
		return fmt.Errorf("%s has another checksum than its manifest says: it was altered, or is of another backup", path)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return fn(f)
}

// checkText wants the configuration of a backup as it was in force. A backup of a cluster that had none has an empty one.
func (m *Manifest) checkText(path string) error {
	if m.Configuration.Number == 0 {
		return nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing: the configuration that was in force belongs to the backup; to restore the store alone, name %s", path, filepath.Join(filepath.Dir(path), storeFile))
	case err != nil:
		return err
	case digestOf(text) != m.Configuration.Sum:
		return fmt.Errorf("%s is not the configuration that was in force: its manifest has another checksum; put back the file of the backup, and edit a copy of it; to restore the store alone, name %s", path, filepath.Join(filepath.Dir(path), storeFile))
	}
	return nil
}
