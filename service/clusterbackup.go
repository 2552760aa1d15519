package service

import (
	"context"
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
	Format      int       `json:"format"` // 1
	Cluster     string    `json:"cluster"`
	Incarnation string    `json:"incarnation"`
	Node        string    `json:"node"` // that wrote it
	Begun       time.Time `json:"begun"`
	// Entry is that of the log up to which the store is at least: what was acknowledged before is in it.
	Entry uint64 `json:"entry"`
	// Bytes are the store's.
	Bytes int64 `json:"bytes"`
	// Configuration is what was in force when the store was written; its text lies beside it.
	Configuration shared.Version `json:"configuration"`
	// Files are the SHA-256 of the files that the configuration names, as they were on Node, "" of one that was not there, see shared.Said. The backup does
	// not hold them, and no secrets.
	Files map[string]string `json:"files"`
}

// BackupCluster has the node that crawls write its store, and puts it into a new folder, with the configuration in force and a manifest.
func BackupCluster(ctx context.Context, e cluster.Engine, t peer.Token, dir string) (m Manifest, err error) {
	state, err := ObserveCluster(ctx, e)
	if err != nil {
		return m, err
	}
	if state.Partitions > 1 {
		return m, errors.New("this cluster has several partitions, of which there is no backup in one yet")
	}
	owner := state.States[0].Owner.Node
	if state.States[0].Released || !state.Alive(owner) {
		return m, fmt.Errorf("no node crawls now (%s did last), and the one that crawls writes the backup: sextant cluster status", owner)
	}
	if err := os.Mkdir(dir, 0o750); errors.Is(err, fs.ErrExist) {
		return m, fmt.Errorf("%s is there already: name a new folder", dir)
	} else if err != nil {
		return m, err
	}
	m = Manifest{Format: 1, Cluster: state.Cluster, Incarnation: state.Incarnation, Node: owner, Begun: time.Now().UTC()}
	for _, n := range state.Nodes {
		if n.Node == owner {
			err = m.fill(ctx, e, &peer.Client{Token: t}, n.Peer, dir)
		}
	}
	if err != nil {
		return m, errors.Join(fmt.Errorf("%s: %w", owner, err), os.RemoveAll(dir))
	}
	return m, nil
}

// fill writes the files of a backup that the node at an address makes.
func (m *Manifest) fill(ctx context.Context, e cluster.Engine, c *peer.Client, address, dir string) error {
	version, text, err := shared.Active(ctx, e)
	if err != nil {
		return err
	}
	m.Configuration = version
	o, err := shared.Look(ctx, e)
	if err != nil {
		return err
	}
	if said := o.Of(m.Node); said != nil && said.Version == version.Number {
		m.Files = said.Files
	}
	err = writeFile(filepath.Join(dir, storeFile), func(w io.Writer) (err error) {
		m.Entry, m.Bytes, err = node.Backup(ctx, c, address, 0, w)
		return err
	})
	if err == nil {
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

// StoreOfBackup is the file to restore from: path itself, or that of a cluster's backup in the folder path, if it is whole.
func StoreOfBackup(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, err
	}
	text, err := os.ReadFile(filepath.Join(path, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is no backup of a cluster, or not a whole one: it has no %s", path, manifestFile)
	}
	if err != nil {
		return "", err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Join(path, manifestFile), err)
	}
	if m.Format != 1 {
		return "", fmt.Errorf("%s has format %d, and this version of the program reads 1: take a newer one", filepath.Join(path, manifestFile), m.Format)
	}
	if err := m.checkText(filepath.Join(path, config.FileName)); err != nil {
		return "", err
	}
	store := filepath.Join(path, storeFile)
	if info, err = os.Stat(store); err == nil && info.Size() != m.Bytes {
		err = fmt.Errorf("%s has %d bytes, and its manifest says %d: it was cut short", store, info.Size(), m.Bytes)
	}
	return store, err
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
