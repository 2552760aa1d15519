package badgerstore

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
)

// The file REPLICA makes a store a copy of a cluster's. It is JSON, see replicaFile.

const replicaName = "REPLICA"

// ErrReplica says that a store is one of several copies, and changes only by their log.
var ErrReplica = errors.New("it is a copy in a cluster")

// Membership is what a copy remembers of the cluster that it belongs to.
type Membership struct {
	Cluster     string `json:"cluster"`
	Incarnation string `json:"incarnation"`
	Partitions  int    `json:"partitions"`
	Store       string `json:"store"` // drawn when the copy was made
	// Founder says that the cluster was made from this store: bodies from before are here.
	Founder bool `json:"founder,omitempty"`
	// Seen is the highest revision of the engine that was seen, 0 if none is remembered: an engine that is below it was set back.
	Seen int64 `json:"engine_revision,omitempty"`
}

// replicaFile is what the file holds: besides, up to where the copy is safe on the disk.
type replicaFile struct {
	Membership
	Seq  uint64 `json:"seq"`
	Size uint64 `json:"size"`
	Hash string `json:"hash"`
}

// IsReplica reports whether dir holds a copy of a cluster's store.
func IsReplica(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, replicaName))
	return err == nil
}

// notReplicated refuses to write to a copy without its log.
func notReplicated(dir string, o Options) error {
	if o.ReadOnly || !IsReplica(dir) {
		return nil
	}
	return fmt.Errorf("store %s: %w (file %s), and what is changed here would be missing in the others: start it as a node of that cluster", dir, ErrReplica, replicaName)
}

// MembershipOf is what the copy in dir remembers of its cluster, and up to where it is safe. Nothing is opened.
func MembershipOf(dir string) (Membership, entry.Position, error) { return readMembership(dir) }

func readMembership(dir string) (m Membership, at entry.Position, err error) {
	b, err := os.ReadFile(filepath.Join(dir, replicaName))
	if errors.Is(err, fs.ErrNotExist) {
		return m, at, fmt.Errorf("store %s: %w: it is in no cluster (no file %s): sextant cluster init makes one", dir, fs.ErrNotExist, replicaName)
	}
	if err != nil {
		return m, at, fmt.Errorf("store: %w", err)
	}
	var f replicaFile
	if err = json.Unmarshal(b, &f); err == nil && (f.Cluster == "" || f.Incarnation == "" || f.Store == "" || f.Partitions < 1 || f.Seq == 0) {
		err = errors.New("something is missing in it")
	}
	hash, hashErr := hex.DecodeString(f.Hash)
	if err == nil && (hashErr != nil || len(hash) != len(at.Hash)) {
		err = errors.New("its hash is not 64 hexadecimal digits")
	}
	if err != nil {
		return m, at, fmt.Errorf("store %s: %w: file %s: %w; make this copy again from another node", dir, scheduler.ErrDamaged, replicaName, err)
	}
	return f.Membership, entry.Position{Seq: f.Seq, Size: f.Size, Hash: entry.Hash(hash)}, nil
}

// writeMembership stores the file durably, or leaves the one before.
func writeMembership(dir string, m Membership, at entry.Position) error {
	b, err := json.Marshal(replicaFile{m, at.Seq, at.Size, at.Hash.String()})
	if err != nil {
		return err
	}
	name := filepath.Join(dir, replicaName)
	if err = writeSynced(name+".new", b); err == nil {
		err = os.Rename(name+".new", name)
	}
	if err == nil {
		err = badgerfiles.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

func writeSynced(name string, b []byte) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err = f.Write(b); err != nil {
		return err
	}
	return f.Sync()
}

// Reenlist has the copy in dir, which is closed, go on from another place in the log of a cluster that was recovered from it.
func Reenlist(dir string, m Membership, at entry.Position) error { return writeMembership(dir, m, at) }

// Enlist makes the store in dir, a new one if there is none, the first copy of a cluster. From then on it
// is opened by OpenReplica alone. at is the log's beginning: cluster.Meta.Genesis.
func Enlist(dir string, m Membership, at entry.Position, o Options) error {
	m.Founder = true
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return writeMembership(dir, m, at)
}
