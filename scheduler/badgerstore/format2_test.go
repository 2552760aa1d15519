package badgerstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
)

// oldOrder and oldPlace are as format 2 wrote them.
func oldOrder(o *record.Order, body string) []byte {
	b := appendString([]byte{1, byte(o.Op)}, o.URL)
	return append(appendString(b, o.Source), body...)
}

func oldPlace(p record.OrderPlace) []byte {
	b := binary.AppendUvarint([]byte{1, p.Kind}, p.Seq)
	return binary.AppendUvarint(b, p.Size)
}

// makeFormat2 makes a closed store as the program wrote it when bodies lay in Badger.
func makeFormat2(t *testing.T) (dir string, bodies map[string]string) {
	t.Helper()
	dir = t.TempDir()
	b := newSegmentBench(t, dir, "x")
	for i := range 8 {
		b.crawl(pageURL(i), document(long(fmt.Sprint("body ", i))))
	}
	b.crawl("http://a.test/held", deletion(true), indexed)
	e, err := b.o.Entries(t.Context(), 0, 1, 0)
	b.must(err)
	b.must(b.o.Bury(t.Context(), "x", e[0], "bad", time.Unix(5, 0)))
	bodies = b.bodies()
	old := map[string][]byte{}
	b.must(b.s.viewBodies(t.Context(), func(txn *badger.Txn, r *segments.Reader) error {
		return b.s.walk(t.Context(), txn, nil, nil, false, func(item *badger.Item) error {
			key := item.KeyCopy(nil)
			v, err := copyValue(item)
			b.must(err)
			switch key[0] {
			case record.KindOrder, record.KindHeld, record.KindDead:
				o, err := orderIn(key, v)
				b.must(err)
				body, _, err := r.Body(&o)
				b.must(err)
				old[string(key)] = oldOrder(&o, string(body))
				if key[0] == record.KindHeld {
					k := parse(t, o.URL).Key()
					old[string(record.WaitingKey(k))] = oldPlace(record.OrderPlace{Kind: record.KindHeld, Seq: 9, Size: uint64(len(body))})
					rec, err := b.s.lookup(txn, k)
					b.must(err)
					rec.Deletion = scheduler.NoDeletion
					old[string(record.URLKey(k))] = record.Append(nil, &rec)
				}
				if key[0] == record.KindDead {
					d, err := record.DecodeDead(v)
					b.must(err)
					head := appendString(appendTime(binary.AppendUvarint([]byte{1}, d.Seq), d.At), d.Words)
					old[string(key)] = append(head, old[string(key)]...)
				}
			case record.KindWaiting:
				p, err := record.DecodeOrderPlace(v)
				b.must(err)
				old[string(key)] = oldPlace(p)
			case record.KindSegment, record.KindDeletion, record.KindDocs:
				old[string(key)] = nil
			}
			return nil
		})
	}))
	closeStore(t, b.s)
	b.must(os.Remove(filepath.Join(dir, badgerfiles.ClosedName)))
	db, err := badger.Open(badgerOptions(dir, Options{Logger: discard(), MemtableBytes: MinMemtableBytes}))
	b.must(err)
	c := *b.s.committed.Load()
	c.Segment, c.SegmentEnd, c.Clean = 0, 0, true
	b.must(db.Update(func(txn *badger.Txn) error {
		for k, v := range old {
			if v == nil {
				b.must(txn.Delete([]byte(k)))
				continue
			}
			b.must(txn.Set([]byte(k), v))
		}
		encoded := c.Encode()
		b.must(txn.Set(record.CountersKey(), encoded[:len(encoded)-3]))
		return txn.Set(record.FormatKey(), []byte{2})
	}))
	b.must(db.Close())
	for _, n := range segmentFiles(t, dir) {
		b.must(os.Remove(filepath.Join(dir, segments.Name(n))))
	}
	return dir, bodies
}

// The orders of a store of format 2 are read as they are; what comes new goes to segments.
func TestFormat2(t *testing.T) {
	dir, bodies := makeFormat2(t)
	o := smallSegments
	o.ReadOnly = true
	if _, err := Open(dir, o); !errors.Is(err, scheduler.ErrUpgrade) {
		t.Fatalf("Open for reading: %v, want ErrUpgrade", err)
	}
	backup := backupOf(t, dir)
	restored := filepath.Join(t.TempDir(), "restored")
	if r, err := Restore(t.Context(), restored, backup, smallSegments); err != nil || r.Faults > 0 {
		t.Fatalf("Restore: %+v, %v", r, err)
	}
	for _, dir := range []string{dir, restored} {
		b := newSegmentBench(t, dir, "x")
		if got := b.bodies(); !maps.Equal(got, bodies) {
			t.Errorf("bodies %q, want %q", got, bodies)
		}
		b.crawl(pageURL(3), document(long("new 3")))
		b.crawl(pageURL(9), document(long("new 9")))
		if n, err := b.s.RetryDead(t.Context(), push.Selection{}); err != nil || n != 1 {
			t.Errorf("RetryDead: %d, %v", n, err)
		}
		if n, err := release(t.Context(), b.s, heldAlone); err != nil || n != 1 {
			t.Errorf("release: %d, %v", n, err)
		}
		want := maps.Clone(bodies)
		want[pageURL(3)], want[pageURL(9)], want["http://a.test/held"] = "new 3", "new 9", "gone"
		if got := b.bodies(); !maps.Equal(got, want) {
			t.Errorf("bodies %q, want %q", got, want)
		}
		b.wantSegments(1)
		b.wantCounts(scheduler.OutboxCounts{Waiting: 10})
		mustVerify(t, b.s)
		b.must(b.o.Safe(t.Context(), "x", 100))
		b.wantCounts(scheduler.OutboxCounts{})
		mustVerify(t, b.s)
		closeStore(t, b.s)
		if s := openStore(t, dir, smallSegments); !s.ClosedCleanly() {
			t.Error("not closed cleanly")
		} else {
			closeStore(t, s)
		}
	}
}

// backupOf backs up a store of an older format as its program did.
func backupOf(t *testing.T, dir string) *bytes.Buffer {
	t.Helper()
	db, err := badger.Open(badgerOptions(dir, Options{Logger: discard(), MemtableBytes: MinMemtableBytes}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	s := &Store{db: db, dir: dir, log: discard(), closing: closing{quit: make(chan struct{})}, segments: segments.New(dir, discard(), segments.DefaultBytes, 0)}
	if err := s.segments.Open(map[uint64]record.Segment{}, 0, 0, true); err != nil {
		t.Fatal(err)
	}
	var backup bytes.Buffer
	if _, err := s.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	return &backup
}

// A backup holds the bodies, wherever they lie.
func TestBackupOfSegments(t *testing.T) {
	b := newSegmentBench(t, t.TempDir(), "x")
	for i := range 20 {
		b.crawl(pageURL(i%15), document(long(fmt.Sprint("body ", i))))
	}
	e, err := b.o.Entries(t.Context(), 0, 1, 0)
	b.must(err)
	b.must(b.o.Bury(t.Context(), "x", e[0], "bad", time.Unix(5, 0)))
	var backup bytes.Buffer
	if _, err := b.s.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	want := b.bodies()
	closeStore(t, b.s)
	dir := filepath.Join(t.TempDir(), "restored")
	if r, err := Restore(t.Context(), dir, &backup, smallSegments); err != nil || r.Faults > 0 {
		t.Fatalf("Restore: %+v, %v", r, err)
	}
	b = newSegmentBench(t, dir, "x")
	if got := b.bodies(); !maps.Equal(got, want) {
		t.Errorf("bodies %q, want %q", got, want)
	}
	if n, err := b.s.RetryDead(t.Context(), push.Selection{}); err != nil || n != 1 {
		t.Errorf("RetryDead: %d, %v", n, err)
	}
	mustVerify(t, b.s)
	closeStore(t, b.s)
}

// appendString and appendTime write as all formats do.
func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTime(b []byte, t time.Time) []byte {
	return binary.AppendUvarint(binary.AppendVarint(b, t.Unix()), uint64(t.Nanosecond()))
}
