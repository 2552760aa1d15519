package divide

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/backupfile"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	testParts = 3
	testHosts = 20
)

func open(t *testing.T, dir string) *badgerstore.Store {
	t.Helper()
	s, err := badgerstore.Open(dir, badgerstore.Options{Durability: badgerstore.OS, MemtableBytes: badgerstore.MinMemtableBytes, MinFree: -1, NoCompaction: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func link(host, page int) scheduler.Link {
	www := ""
	if host%3 == 0 && page%2 == 0 {
		www = "www."
	}
	return storetest.Link(fmt.Sprintf("http://%sh%d.test/%d", www, host, page), scheduler.Index)
}

// next takes the first URL of the queue that a link is in.
func next(t *testing.T, s *badgerstore.Store, l scheduler.Link) (scheduler.WaitingURL, scheduler.Place) {
	t.Helper()
	at := scheduler.Place{Source: l.Fifo, Host: l.URL.HostKey()}
	q, err := s.Queue(t.Context(), at, 0, 1)
	if err != nil || len(q) != 1 {
		t.Fatal(l.URL, q, err)
	}
	return q[0], at
}

// filled is a store in which there is something of everything: what waits, is timed, at rest and gone, orders, deletions that rest and are held, dead
// letters, and values of all kinds.
func filled(t *testing.T) *badgerstore.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "store"))
	if err := s.Outbox().Open(t.Context(), []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	for host := range testHosts {
		for page := range 8 {
			l := link(host, page)
			if _, _, err := s.Add(t.Context(), []scheduler.Link{l}, false); err != nil {
				t.Fatal(err)
			}
			if page < 7 {
				complete(t, s, l, page)
			}
		}
	}
	entries, err := s.Outbox().Entries(t.Context(), 0, 3, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := s.Outbox().Bury(t.Context(), "a", e, "refused", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	root := link(4, 1).URL.Key()
	for name, value := range map[string]string{
		"robots/http://h5.test": "robots", "crawl.frame." + fmt.Sprintf("%x", link(6, 1).URL.HostKey()): "frame",
		"crawl.xml." + fmt.Sprintf("%x", root[:]): "items", "crawl.roots": string(root[:]), "moved-sites": "{}", "crawl.traps": "traps", "crawl.rounds": "1",
	} {
		if err := s.SetValue(t.Context(), name, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// complete ends a visit in one of several ways.
func complete(t *testing.T, s *badgerstore.Store, l scheduler.Link, way int) {
	t.Helper()
	w, at := next(t, s, l)
	r := w.Record
	r.State, r.Class, r.Indexed = scheduler.AtRest, scheduler.OK, true
	c := scheduler.Completion{Key: w.Key, Seq: w.Seq, Taken: at, Order: &scheduler.Order{Body: []byte(`{"url":"` + r.URL + `"}`)}}
	switch way {
	case 1:
		r.State, r.NextAt = scheduler.Timed, time.Now().Add(time.Hour)
	case 2, 3, 5:
		c.Order = &scheduler.Order{Op: scheduler.OrderDelete, Deletion: scheduler.DeletionResting, Reason: scheduler.ReasonNotFound}
		switch way {
		case 3:
			c.Order.Deletion = scheduler.DeletionHeld
		case 5:
			c.Order.Edit = 7
		}
		r.Deletion = c.Order.Deletion
	case 4:
		r.Indexed, c.Order, c.Host = false, nil, &scheduler.HostState{Origin: r.Origin, Errors: 2}
	case 6:
		c.Order, c.Forget = &scheduler.Order{Op: scheduler.OrderDelete}, true
		c.Gone = &scheduler.Gone{URL: r.URL, At: time.Now(), Since: time.Now(), Words: "not found"}
	}
	c.Next = r
	if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
		t.Fatal(l.URL, way, err)
	}
}

// keysOf are all keys of a backup with their values.
func keysOf(t *testing.T, b []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for r := backupfile.NewReader(bytes.NewReader(b)); ; {
		k, v, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[string(k)] = string(v)
	}
}

func backup(t *testing.T, s *badgerstore.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.Backup(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func divided(t *testing.T, b []byte, n int) (parts [][]byte, of []Part, values map[string][]byte) {
	t.Helper()
	buffers, to := make([]bytes.Buffer, n), make([]io.Writer, n)
	for i := range buffers {
		to[i] = &buffers[i]
	}
	of, values, err := Backup(t.Context(), bytes.NewReader(b), to)
	if err != nil {
		t.Fatal(err)
	}
	for i := range buffers {
		parts = append(parts, buffers[i].Bytes())
	}
	return parts, of, values
}

// TestBackup: every key of a store is in the backup of exactly one partition, which is the one that its host gives; each of them is restored without a
// fault, and knows what the store knew of it.
func TestBackup(t *testing.T) {
	whole := backup(t, filled(t))
	parts, of, values := divided(t, whole, testParts)
	if !slices.Equal(slices.Sorted(maps.Keys(values)), []string{"crawl.traps", "moved-sites"}) {
		t.Errorf("values of the whole crawl: %q", values)
	}
	left := keysOf(t, whole)
	maps.DeleteFunc(left, func(k, _ string) bool {
		return k[0] == 'g' || k[0] == 'f' || k[0] == 'm' || k[0] == 'c' || k == "vcrawl.roots" || k == "vcrawl.traps" || k == "vmoved-sites" || k == "vcrawl.rounds"
	})
	kinds := map[byte]int{}
	for i, p := range parts {
		for k, v := range keysOf(t, p) {
			kinds[k[0]]++
			if k[0] == 'f' || k[0] == 'm' || k[0] == 'c' {
				continue
			}
			if k == fmt.Sprintf("vcrawl.roots.%d", i) && v != "" {
				continue
			}
			if was, there := left[k]; !there || was != v {
				t.Errorf("partition %d has %q, which is in another one, too, or was not there or another value", i, k)
			}
			delete(left, k)
			if k[0] == record.KindOrigin && partitioned.ByOrigin(v, testParts) != i {
				t.Errorf("host %s is in partition %d", v, i)
			}
		}
		restored(t, p, of[i], i)
	}
	if len(left) > 0 {
		t.Errorf("these keys are nowhere: %q", slices.Collect(maps.Keys(left)))
	}
	for _, kind := range []byte("bcdefhjkmopqtuvwxyz") {
		if kinds[kind] == 0 {
			t.Errorf("no key of kind %c was tried", kind)
		}
	}
}

// restored wants a partition that is restored to be without a fault.
func restored(t *testing.T, b []byte, of Part, number int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	report, err := badgerstore.Restore(t.Context(), dir, bytes.NewReader(b), badgerstore.Options{})
	if err != nil || report.Faults > 0 || report.URLs != of.URLs || report.Orders != of.Orders || report.Bytes != of.Bytes {
		t.Errorf("partition %d: %+v, %+v, %v", number, report, of, err)
	}
	s := open(t, dir)
	if _, err := s.Verify(t.Context(), func(f badgerstore.Fault) { t.Errorf("partition %d: %s: %s", number, f.URL, f.Words) }); err != nil {
		t.Error(err)
	}
	err = s.Inspect(t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		if u, err := weburl.Parse(r.URL); err != nil || partitioned.Of(u.Host(), testParts) != number {
			t.Errorf("%s is in partition %d, %v", r.URL, number, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRefused: what is no backup of a whole crawl by this version is not divided.
func TestRefused(t *testing.T) {
	whole := backup(t, filled(t))
	to := []io.Writer{io.Discard, io.Discard}
	for name, c := range map[string]struct {
		from []byte
		want error
	}{
		"cut":     {whole[:len(whole)-1], scheduler.ErrDamaged},
		"altered": {append(append(slices.Clone(whole[:len(whole)/2]), whole[len(whole)/2]^1), whole[len(whole)/2+1:]...), scheduler.ErrDamaged},
		"old":     {with(t, whole, string(record.FormatKey()), "\x04"), ErrOld},
		"letters": {with(t, whole, string(record.PilesKey()), "x"), ErrParted},
		"judged":  {with(t, whole, "vcrawl.judged.0", "x"), ErrParted},
		"counts":  {without(t, whole, "u"), scheduler.ErrDamaged},
	} {
		if _, _, err := Backup(t.Context(), bytes.NewReader(c.from), to); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, _, err := Backup(ended, bytes.NewReader(whole), to); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// with is a backup with another value of a key, and without one without those of a kind that no order needs.
func with(t *testing.T, b []byte, key, value string) []byte {
	t.Helper()
	all := keysOf(t, b)
	all[key] = value
	return written(t, all)
}

func without(t *testing.T, b []byte, kind string) []byte {
	t.Helper()
	all := keysOf(t, b)
	maps.DeleteFunc(all, func(k, _ string) bool { return k[:1] == kind })
	maps.DeleteFunc(all, func(k, _ string) bool { return !bytes.ContainsAny([]byte(k[:1]), "fmow") })
	return written(t, all)
}

func written(t *testing.T, all map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := backupfile.NewWriter(&out)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if err := w.Add([]byte(k), []byte(all[k])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(uint64(len(all))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestIndex: keys with the same first eight bytes are told apart.
func TestIndex(t *testing.T) {
	var x index
	keys := []weburl.Key{{1, 15: 1}, {2, 15: 1}, {2, 15: 2}, {2, 15: 3}, {3}}
	for i, k := range keys {
		x.add(k, uint8(i)) //nolint:gosec // there are few
	}
	for i, k := range keys {
		if part, known := x.find(k); !known || int(part) != i {
			t.Errorf("%x: %d, %t", k, part, known)
		}
	}
	if x.has(weburl.Key{4}) {
		t.Error("a key that was not added")
	}
}
