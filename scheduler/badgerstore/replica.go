package badgerstore

// replica.go: Replica.mu guards the position and what Sync has made safe; Sync takes it while the
// store leads. Everything else is of the one goroutine that lets the replica follow and lead.

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
)

// Replica is a store as one of several copies, each of which applies the same steps of a log in
// the same order. It follows the log by Apply; with Promote it becomes a Store that writes
// to the log. It is a cluster.Copy, all but Lead.
//
// Between two syncs nothing is synced: the log has it. A copy that was not closed may lack
// any of that, so it goes on from where Sync last was, and applies again what it may have already. Steps
// are new values of keys and removals, so the same steps end in the same contents.
type Replica struct {
	files
	options Options
	self    Membership

	mu      sync.Mutex
	at      entry.Position // behind the last step
	seen    int64          // Membership.Seen, as it is now
	syncing sync.Mutex     // held by a Sync; it guards synced and kept
	synced  entry.Position
	kept    int64 // of seen
}

// seenOften is how many revisions of the engine may be seen before that is kept although no step was applied: about a minute's.
const seenOften = 100

// OpenReplica opens the copy in dir, which must be one: see Enlist and Rebuild. Of o, Durability
// and ReadOnly do not count.
func OpenReplica(dir string, o Options) (*Replica, error) {
	o.Durability, o.ReadOnly = OS, false
	if !Exists(dir) {
		return nil, fmt.Errorf("store %s: %w: a copy is made by sextant cluster init or from another node", dir, fs.ErrNotExist)
	}
	self, at, err := readMembership(dir)
	if err != nil {
		return nil, err
	}
	f, err := openFiles(dir, &o)
	if err != nil {
		return nil, err
	}
	r := &Replica{files: f, options: o, self: self, at: at, synced: at, seen: self.Seen, kept: self.Seen}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return r, nil
}

// open looks at the format, and removes what the store has that does not follow the log.
func (r *Replica) open() error {
	s := newStore(r.files, r.options)
	_, from, err := s.readMeta()
	if err != nil {
		return err
	}
	if from != format {
		return fmt.Errorf("store %s: %w: it has format %d, this program writes %d; a copy is not upgraded: make it again from another node", r.dir, scheduler.ErrFormat, from, format)
	}
	if err := r.forgetLocal(); err != nil {
		return err
	}
	// What is stored beyond the last sync may lack something: it does not count.
	return r.db.Update(func(txn *badger.Txn) error { return txn.Set(record.PositionKey(), encodePosition(r.at)) })
}

// Membership is what the copy remembers of its cluster.
func (r *Replica) Membership() Membership { return r.self }

// Applied is the position behind the last step that is applied. Any goroutine may ask.
func (r *Replica) Applied() entry.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

func (r *Replica) moved(to entry.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = to
}

// Saw notes the highest revision of the engine that was seen, for Sync and Close to keep. Any goroutine may call it.
func (r *Replica) Saw(revision int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = max(r.seen, revision)
}

// Apply applies a step. It is not called while a Store leads.
func (r *Replica) Apply(ctx context.Context, step []byte, behind entry.Position) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.options.disk().roomIn(r.dir, r.options.MinFree); err != nil {
		return err
	}
	return r.store(step, behind)
}

// store puts a step into Badger. One that its owner's transactions hold and this copy's do not is
// stored in parts: if the process dies between them, they are stored again.
func (r *Replica) store(step []byte, behind entry.Position) error {
	w := inParts{db: r.db}
	defer w.discard()
	var gone []uint64
	err := record.EachEdit(step, func(key, value []byte) error {
		if key[0] == record.KindSegment && value == nil && len(key) == record.SegmentKeyLen {
			n, _ := record.DecodeSeq(key[1:])
			gone = append(gone, n)
		}
		return w.put(key, value)
	})
	if err == nil {
		err = w.put(record.PositionKey(), encodePosition(behind))
	}
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		return fmt.Errorf("store %s: the step behind entry %d of the log: %w", r.dir, behind.Seq, err)
	}
	r.moved(behind)
	for _, n := range gone { // if it stays, the next time that this copy leads removes it
		_ = os.Remove(filepath.Join(r.dir, segments.Name(n)))
	}
	return nil
}

// forgetLocal removes the fingerprints' file and its notes: while the copy follows, nobody keeps them.
func (r *Replica) forgetLocal() error {
	if err := os.Remove(filepath.Join(r.dir, knownFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	w := inParts{db: r.db}
	defer w.discard()
	txn := r.db.NewTransaction(false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{record.KindRemoval}})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if err := w.put(it.Item().KeyCopy(nil), nil); err != nil {
			return err
		}
	}
	if err := w.put(record.SavedKey(), nil); err != nil {
		return err
	}
	return w.commit()
}

// Sync makes what is applied safe from a power cut, and says how far that reaches. It may be called while
// a Store leads. Badger's own sync takes in the newest memtable alone, so all files are
// synced by their names; one that is gone meanwhile has become a table, which was synced.
func (r *Replica) Sync(ctx context.Context) (entry.Position, error) {
	return r.sync(ctx, seenOften)
}

// sync is Sync; if no step was applied the engine's revision is kept if it is so many further.
func (r *Replica) sync(ctx context.Context, often int64) (entry.Position, error) {
	r.syncing.Lock()
	defer r.syncing.Unlock()
	r.mu.Lock()
	at, self := r.at, r.self
	self.Seen = r.seen
	r.mu.Unlock()
	if at == r.synced && self.Seen-r.kept < often {
		return at, ctx.Err()
	}
	if at != r.synced {
		if err := r.syncFiles(ctx); err != nil {
			return at, err
		}
	}
	if err := writeMembership(r.dir, self, at); err != nil {
		return at, err
	}
	r.synced, r.kept = at, self.Seen
	return at, nil
}

func (r *Replica) syncFiles(ctx context.Context) error {
	for _, pattern := range []string{"*.vlog", "*.mem", "*" + segments.Ext} {
		names, err := filepath.Glob(filepath.Join(r.dir, pattern))
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := syncFile(name); err != nil {
				return fmt.Errorf("store: %w", err)
			}
		}
	}
	if err := badgerfiles.SyncDir(r.dir); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Promote makes the copy a Store that appends each batch to the log before it stores it, until
// that is closed; the copy follows again then. failed is called once, from a goroutine of the Store, when the
// log or the disk has refused a batch: the Store takes no changes any more, and is to be closed. ctx is that of the
// appends: it must live until the Store is closed, or Close fails. The Store's ClosedCleanly says
// whether the owner before released the log in order.
func (r *Replica) Promote(ctx context.Context, log Log, failed func(error)) (*Store, error) {
	o := r.options
	o.FirstOrder = uint64(max(0, time.Now().UnixMicro()))
	s := newStore(r.files, o)
	s.lead = &leading{replica: r, ctx: ctx, log: log, failed: failed}
	s.segments.Copied(r.self.tag(), r.self.Founder)
	if err := s.start(); err != nil {
		return nil, err
	}
	return s, nil
}

// resume lets the copy follow again after a Store was closed.
func (r *Replica) resume() error { return r.forgetLocal() }

// Close makes everything safe and closes the copy. No Store leads any more.
func (r *Replica) Close() error {
	_, err := r.sync(context.Background(), 1)
	err = errors.Join(err, r.db.Close())
	if err == nil {
		err = badgerfiles.MarkClosed(r.dir)
	}
	if err = errors.Join(err, unlock(r.lock)); err != nil {
		return fmt.Errorf("store %s: %w", r.dir, err)
	}
	return nil
}

// tag names the copy in the numbers of its segments. Two copies may have the same by chance, one in
// 16 million: then a body that is asked of the wrong one does not fit its checksum.
func (m Membership) tag() uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.Store)) // never fails
	return max(1, h.Sum32()&segments.MaxTag)
}

// inParts is a transaction that is committed in parts where it would be too big.
type inParts struct {
	db  *badger.DB
	txn *badger.Txn
}

func (w *inParts) put(key, value []byte) error {
	if w.txn == nil {
		w.txn = w.db.NewTransaction(true)
	}
	err := change(w.txn, key, value)
	if !errors.Is(err, badger.ErrTxnTooBig) {
		return err
	}
	if err := w.commit(); err != nil {
		return err
	}
	w.txn = w.db.NewTransaction(true)
	return change(w.txn, key, value)
}

func (w *inParts) commit() error {
	if w.txn == nil {
		return nil
	}
	err := w.txn.Commit()
	w.txn = nil
	return err
}

func (w *inParts) discard() {
	if w.txn != nil {
		w.txn.Discard()
	}
}
