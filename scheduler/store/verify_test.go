package store

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// fill makes a store with a key of each kind: a waiting, a timed and a resting URL, an
// orders that wait, three that are pending, one dead.
func fill(t *testing.T) *Store {
	t.Helper()
	b := bench{T: t, s: openStore(t, t.TempDir(), Options{Durability: OS, MemtableBytes: MinMemtableBytes})}
	b.o = b.s.Outbox()
	b.open("x", "y")
	_, _, err := b.s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://waits.test/")}, false)
	b.must(err)
	b.crawl("http://timed.test/", document("doc"), func(c *scheduler.Completion) {
		c.Next.State, c.Next.NextAt = scheduler.Timed, time.Unix(1000, 0)
		c.Host = &scheduler.HostState{Origin: "http://timed.test", Errors: 1}
	})
	b.crawl("http://replaced.test/", pendingText("new"))
	b.crawl("http://rests.test/", document("dead"))
	b.addDead("x", 3, "http://rests.test/")
	b.crawl("http://deleted.test/", pendingDeletion(0), indexed)
	b.crawl("http://deleted.test/edit", pendingDeletion(5), indexed)
	return b.s
}

func TestVerify(t *testing.T) {
	s := fill(t)
	want := Report{URLs: 6, Queued: 1, Timed: 1, Hosts: 5, Orders: 5, Dead: 1}
	if got := mustVerify(t, s); got != want {
		t.Errorf("report %+v, want %+v", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Verify(ctx, func(Fault) {}); err == nil {
		t.Error("no error although the context has ended")
	}
}

// TestVerifyFindsEachLostKey removes each key of the store in turn: each must be missed.
func TestVerifyFindsEachLostKey(t *testing.T) {
	// No other key tells of these: a host state, and format and counters, which Open reads.
	free := map[byte]bool{record.KindHost: true, 'f': true, 'm': true}
	s := fill(t)
	var keys, values [][]byte
	if err := s.view(t.Context(), func(view kv.View) error {
		return s.walk(t.Context(), view, nil, nil, true, func(key, value []byte) error {
			keys, values = append(keys, bytes.Clone(key)), append(values, append([]byte{}, value...))
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	kinds := map[byte]bool{}
	for i, key := range keys {
		kinds[key[0]] = true
		if free[key[0]] {
			continue
		}
		put(t, s, key, nil)
		if faults := faultsOf(t, s); len(faults) == 0 && key[0] != record.KindCursor {
			t.Errorf("key %q is lost, and no fault is found", key)
		} else if key[0] == record.KindCursor && strings.HasSuffix(string(key), "x") && len(faults) == 0 {
			t.Errorf("cursor %q is lost, its dead letter stays, and no fault is found", key)
		}
		put(t, s, key, values[i])
	}
	for _, kind := range []byte("uqptohwyzbjkdcfmn") {
		if !kinds[kind] {
			t.Errorf("the store has no key of kind %c", kind)
		}
	}
	mustVerify(t, s)
}

// put changes a key behind the store's back; a nil value removes it.
func put(t *testing.T, s *Store, key, value []byte) {
	t.Helper()
	if err := s.kv.Commit(func(yield func(key, value []byte) bool) { yield(key, value) }); err != nil {
		t.Fatal(err)
	}
}

func faultsOf(t *testing.T, s *Store) []string {
	t.Helper()
	var faults []string
	r, err := s.Verify(t.Context(), func(f Fault) { faults = append(faults, f.URL+" "+f.Words) })
	if err != nil {
		t.Fatal(err)
	}
	if int(r.Faults) != len(faults) {
		t.Errorf("report has %d faults, %d were told", r.Faults, len(faults))
	}
	return faults
}

func TestVerifyFindsWrongKeys(t *testing.T) {
	key := func(url string) weburl.Key { return parse(t, url).Key() }
	rewrite := func(t *testing.T, s *Store, url string, change func(*scheduler.Record)) {
		t.Helper()
		rec, err := s.Lookup(t.Context(), key(url))
		if err != nil {
			t.Fatal(err)
		}
		change(&rec)
		put(t, s, record.URLKey(key(url)), record.Append(nil, &rec, nil))
	}
	host := parse(t, "http://waits.test/").HostKey()
	order := (&record.Order{URL: "http://rests.test/", Body: []byte("x")}).Append(nil)
	for name, c := range map[string]struct {
		hurt func(t *testing.T, s *Store)
		want string // in a fault
	}{
		"second queue entry": {func(t *testing.T, s *Store) {
			k := key("http://waits.test/")
			put(t, s, record.QueueKey(scheduler.Place{Source: scheduler.Follow, Host: host}, 32), chunkOf(32, k))
		}, "http://waits.test/ is number 32 of source 4, but not according to its record"},
		"queue entry of a resting URL": {func(t *testing.T, s *Store) {
			k := key("http://rests.test/")
			put(t, s, record.QueueKey(scheduler.Place{Source: scheduler.Index, Host: host}, 32), chunkOf(32, key("http://waits.test/"), k))
		}, "http://rests.test/ is number 33"},
		"queue number not given out": {func(t *testing.T, s *Store) {
			k := key("http://waits.test/")
			put(t, s, record.QueueKey(scheduler.Place{Source: scheduler.Index, Host: host}, 4000), chunkOf(4001, k))
		}, "4001 is above the highest"},
		"place of another URL": {func(t *testing.T, s *Store) {
			k := key("http://rests.test/")
			put(t, s, record.QueueKey(scheduler.Place{Source: scheduler.Index, Host: host}, 32), chunkOf(32, k))
		}, "http://waits.test/ is pending in source 2 as number 32, but another URL"},
		"key between two chunks": {func(t *testing.T, s *Store) {
			k := record.QueueKey(scheduler.Place{Source: scheduler.Index, Host: host}, 32)
			k[len(k)-1]++
			put(t, s, k, chunkOf(32, key("http://waits.test/")))
		}, "no chunk of a queue begins with this number"},
		"chunk that is cut": {func(t *testing.T, s *Store) {
			put(t, s, record.QueueKey(scheduler.Place{Source: scheduler.Index, Host: host}, 32), chunkOf(32, key("http://waits.test/"))[:7])
		}, "wrong length"},
		"waiting URL that is said to be done": {func(t *testing.T, s *Store) {
			done, _ := record.Done(nil).With(32, nil)
			put(t, s, record.PlaceKey(scheduler.Place{Source: scheduler.Index, Host: host}), record.Queue{Count: 1, Floor: 32, Done: done}.Append(nil))
		}, "http://waits.test/ is pending in source 2 as number 32, but is not in that queue"},
		"done of no chunk": {func(t *testing.T, s *Store) {
			done, _ := record.Done(nil).With(65, nil)
			put(t, s, record.PlaceKey(scheduler.Place{Source: scheduler.Index, Host: host}), record.Queue{Count: 1, Floor: 32, Done: done}.Append(nil))
		}, "marks URLs from number 64 on as done, but they never existed"},
		"two times": {func(t *testing.T, s *Store) {
			put(t, s, record.TimedKey(time.Unix(2000, 0), key("http://timed.test/")), []byte{})
		}, "http://timed.test/ is in the list of due times at 1970-01-01T00:33:20Z"},
		"timed URL that waits": {func(t *testing.T, s *Store) {
			put(t, s, record.TimedKey(time.Unix(2000, 0), key("http://waits.test/")), []byte{})
		}, "http://waits.test/ is in the list of due times"},
		"record under another key": {func(t *testing.T, s *Store) {
			rewrite(t, s, "http://rests.test/", func(rec *scheduler.Record) { rec.URL = "http://rests.test/other" })
		}, "http://rests.test/other the record is stored under another"},
		"record of no URL": {func(t *testing.T, s *Store) {
			rewrite(t, s, "http://rests.test/", func(rec *scheduler.Record) { rec.URL = "rests" })
		}, "cannot be parsed"},
		"record of another host": {func(t *testing.T, s *Store) {
			rewrite(t, s, "http://rests.test/", func(rec *scheduler.Record) { rec.Host = host })
		}, "http://rests.test/ the record names another host"},
		"record is garbage": {func(t *testing.T, s *Store) {
			put(t, s, record.URLKey(key("http://rests.test/")), []byte{1, 2, 3})
		}, "the value ends too early"},
		"counter": {func(t *testing.T, s *Store) {
			n := *s.committed.Load()
			n.Class[scheduler.OK]++
			put(t, s, record.CountersKey(), n.Encode())
		}, `counter "of class 1" is 6, but there are 5`},
		"counter of a source": {func(t *testing.T, s *Store) {
			n := *s.committed.Load()
			n.Pending[scheduler.User]++
			put(t, s, record.CountersKey(), n.Encode())
		}, `counter "waiting in source 0" is 1, but there are 0`},
		"second order": {func(t *testing.T, s *Store) {
			put(t, s, record.OrderKey(record.KindOrder, 2, key("http://rests.test/")), order)
		}, "http://rests.test/ order 2 is not the one that the URL's entry"},
		"order of another URL": {func(t *testing.T, s *Store) {
			put(t, s, record.OrderKey(record.KindOrder, 3, key("http://replaced.test/")), order)
		}, "http://rests.test/ order 3 is stored under another URL's key"},
		"order below all cursors": {func(t *testing.T, s *Store) {
			put(t, s, record.CursorKey("x"), record.EncodeSeq(1))
			put(t, s, record.CursorKey("y"), record.EncodeSeq(2))
		}, "http://timed.test/ order 1 is still pending, but all targets are past it"},
		"cursor above all orders": {func(t *testing.T, s *Store) {
			put(t, s, record.CursorKey("x"), record.EncodeSeq(50))
		}, `cursor of target "x" is 50`},
		"dead letter of nobody": {func(t *testing.T, s *Store) {
			put(t, s, record.DeadKey("z", key("http://rests.test/")), (&record.Dead{Order: record.Order{URL: "http://rests.test/"}, Seq: 1}).Encode())
		}, `http://rests.test/ a dead letter belongs to the unknown target "z"`},
		"dead letter of another URL": {func(t *testing.T, s *Store) {
			put(t, s, record.DeadKey("x", key("http://replaced.test/")), (&record.Dead{Order: record.Order{URL: "http://rests.test/"}, Seq: 1}).Encode())
		}, "http://rests.test/ a dead letter is stored under another"},
		"origin of another host": {func(t *testing.T, s *Store) {
			put(t, s, record.OriginKey(host), []byte("http://other.test"))
		}, "origin http://other.test"},
		"host state is garbage": {func(t *testing.T, s *Store) {
			put(t, s, record.HostKey(host), []byte{9})
		}, "value has version 9"},
		"state of a queue with a wrong count": {func(t *testing.T, s *Store) {
			put(t, s, record.PlaceKey(scheduler.Place{Source: scheduler.Index, Host: host}), record.Queue{Count: 2, Floor: 32}.Append(nil))
		}, "counts 2 pending URLs, but there are 1"},
		"state of a queue with a floor too high": {func(t *testing.T, s *Store) {
			put(t, s, record.PlaceKey(scheduler.Place{Source: scheduler.Index, Host: host}), record.Queue{Count: 1, Floor: 33}.Append(nil))
		}, "has no pending URL below 33, but number 32 is pending"},
		"state of no queue": {func(t *testing.T, s *Store) {
			put(t, s, record.PlaceKey(scheduler.Place{Source: scheduler.User, Host: host}), record.Queue{Count: 1, Floor: 1}.Append(nil))
		}, "has a state, but no pending URL"},
		"note of a removal that was not": {func(t *testing.T, s *Store) {
			put(t, s, record.RemovalKey(9, key("http://rests.test/")), []byte{})
		}, "note of removal 9 is above"},
		"segment of nothing": {func(t *testing.T, s *Store) {
			put(t, s, record.SegmentKey(5), record.Segment{Entries: 1, Live: 2, Size: 3}.Append(nil))
		}, "segment 5 has the counts 1 bodies in use"},
		"segment with another count": {func(t *testing.T, s *Store) {
			put(t, s, record.SegmentKey(1), record.Segment{Entries: 7, Live: 2, Size: 3}.Append(nil))
		}, "segment 1 has the counts 7 bodies"},
		"body beyond its segment": {func(t *testing.T, s *Store) {
			put(t, s, record.SegmentKey(1), record.Segment{Entries: 1, Live: 1}.Append(nil))
		}, "which ends at 0"},
		"counter of pending losses": {func(t *testing.T, s *Store) {
			n := *s.committed.Load()
			n.Pends++
			put(t, s, record.CountersKey(), n.Encode())
		}, `counter "pending losses" is 4, but there are 3`},
		"counter of small hosts": {func(t *testing.T, s *Store) {
			n := *s.committed.Load()
			n.Pooled--
			put(t, s, record.CountersKey(), n.Encode())
		}, `counter "documents of small hosts" is 4, but there are 5`},
		"deletion without a word in the record": {func(t *testing.T, s *Store) {
			rewrite(t, s, "http://deleted.test/", func(rec *scheduler.Record) { rec.LossPending = false })
		}, `http://deleted.test/ loss 4 is pending, but not according to the record of its URL`},
		"deletion in a record alone": {func(t *testing.T, s *Store) {
			rewrite(t, s, "http://rests.test/", func(rec *scheduler.Record) { rec.LossPending = true })
		}, "http://rests.test/ its record has a pending loss, but none is stored"},
		"deletion in another group": {func(t *testing.T, s *Store) {
			k := key("http://deleted.test/")
			o := record.Order{Op: push.Delete, URL: "http://deleted.test/", Body: []byte("gone")}
			p := record.PendingPlace(host, 0).Numbered(4, &o)
			put(t, s, p.Key(k), o.Append(nil))
			put(t, s, record.DeletionKey(k), p.Append(nil))
		}, "http://deleted.test/ loss 4 is pending in the group of another host"},
		"deletion among the orders that wait": {func(t *testing.T, s *Store) {
			put(t, s, record.WaitingKey(key("http://replaced.test/")), record.PendingPlace(host, 0).Numbered(2, &record.Order{}).Append(nil))
		}, "it names an order in state 'y'"},
		"documents of a host with a wrong count": {func(t *testing.T, s *Store) {
			put(t, s, record.DocumentsKey(host), record.Documents{Count: 7}.Append(nil))
		}, "has the counts 7 documents and 0 lost, but there are 0 and 0"},
		"lost documents of a host": {func(t *testing.T, s *Store) {
			rewrite(t, s, "http://waits.test/", func(rec *scheduler.Record) { rec.LostAt = time.Unix(1e9, 0) })
		}, "has 0 documents and lost 1, but no record of them"},
		"body of a pending loss": {func(t *testing.T, s *Store) {
			put(t, s, record.SegmentKey(1), record.Segment{Entries: 3, Live: 7, Size: 4}.Append(nil))
		}, "http://replaced.test/ order 2 has its body up to byte 6 of segment 1, which ends at 4"},
		"sample of what is no document": {func(t *testing.T, s *Store) {
			put(t, s, record.DocumentsKey(host), record.Documents{Count: 7}.Offer(key("http://waits.test/")).Append(nil))
		}, "http://waits.test/ is in the document sample"},
		"sample out of order": {func(t *testing.T, s *Store) {
			put(t, s, record.DocumentsKey(host), record.Documents{Count: 7, Sample: make([]byte, 2*record.KeyLen)}.Append(nil))
		}, "a sample out of order"},
		"key too long": {func(t *testing.T, s *Store) {
			put(t, s, append(record.TimedKey(time.Unix(1, 0), key("http://timed.test/")), 1), []byte{})
		}, "wrong length"},
	} {
		t.Run(name, func(t *testing.T) {
			s := fill(t)
			c.hurt(t, s)
			faults := strings.Join(faultsOf(t, s), "\n")
			if !strings.Contains(faults, c.want) {
				t.Errorf("no fault says %q, but:\n%s", c.want, faults)
			}
		})
	}
}

// TestVerifyFingerprints: a file that holds a URL which is not known would lose links.
func TestVerifyFingerprints(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, quick)
	links := crawled(t, s, 20, 5)
	closeStore(t, s)
	s = settled(t, openStore(t, dir, quick))
	if faults := faultsOf(t, s); len(faults) != 0 {
		t.Fatalf("faults of a good store: %q", faults)
	}
	for _, l := range links[:2] { // as if it had been removed without a word
		s.known.set.Load().Add(l.URL.Key())
	}
	s.known.changes++
	closeStore(t, s)
	for _, readOnly := range []bool{true, false} {
		s = openStore(t, dir, Options{Durability: OS, ReadOnly: readOnly})
		if faults := strings.Join(faultsOf(t, s), "\n"); !strings.Contains(faults, "2 of 17 fingerprints belong to no known URL, or to one that is gone") {
			t.Errorf("read-only %t: faults %q", readOnly, faults)
		}
		closeStore(t, s)
	}
}
