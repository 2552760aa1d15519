package copies

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func leaseOf(t *testing.T, raw string) *scheduler.Lease {
	t.Helper()
	u := parsed(t, raw)
	return &scheduler.Lease{URL: u, Key: u.Key()}
}

// records is a Store that calls reading after each look-up.
type records struct {
	Store
	known   map[weburl.Key]scheduler.Record
	reading func()
}

func (s *records) Lookup(_ context.Context, k weburl.Key) (scheduler.Record, error) {
	r, ok := s.known[k]
	s.reading()
	if !ok {
		return r, scheduler.ErrNotFound
	}
	return r, nil
}

// TestStoreIsReadWithoutTheMutex: all workers ask one Detector, so none may make the others
// wait for the store. What changes while it is read is seen all the same.
func TestStoreIsReadWithoutTheMutex(t *testing.T) {
	of, page := leaseOf(t, "http://h/original"), leaseOf(t, "http://h/copy")
	is := &Content{hash: [16]byte{1}}
	for _, changes := range []bool{false, true} {
		store := &records{known: map[weburl.Key]scheduler.Record{of.Key: {URL: of.URL.String(), Indexed: true, Hash: is.hash}}}
		d := New(store, nil, nil)
		d.hold(is.fingerprint(), of.Key)
		reads := 0
		store.reading = func() {
			if !d.mu.TryLock() {
				t.Fatal("the store is read under the mutex of all workers")
			}
			d.mu.Unlock()
			if reads++; reads == 1 && changes {
				store.known[of.Key] = scheduler.Record{URL: of.URL.String(), Indexed: true, Hash: [16]byte{2}}
				d.settled(of)
			}
		}
		got, why, err := d.Original(t.Context(), page, &Content{hash: is.hash})
		if err != nil {
			t.Fatal(err)
		}
		if found := got != nil; found == changes || found != (why == scheduler.ReasonCopy) {
			t.Errorf("the original changed meanwhile: %v; found %v, %v", changes, got, why)
		}
	}
}

// TestLoadedInFlight: a copy whose record is read while it is fetched again, and is one
// still, is known when its original goes.
func TestLoadedInFlight(t *testing.T) {
	of, page := parsed(t, "http://h/original"), leaseOf(t, "http://h/copy")
	own := &Content{hash: [16]byte{1}, copyOf: of.Key()}
	page.Record = scheduler.Record{URL: page.URL.String(), DuplicateOf: of.String(), Reason: scheduler.ReasonCopy, Hash: own.hash}
	for _, goes := range []bool{false, true} {
		d := New(storetest.NewMemory(), nil, nil)
		d.inFlight[page.Key] = own
		d.inFlight[of.Key()] = &Content{hash: own.hash}
		if orphan, err := d.load(t.Context(), page.Key, &page.Record); orphan || err != nil {
			t.Fatalf("an orphan: %v, error %v", orphan, err)
		}
		if goes {
			own.copyOf = weburl.Key{}
		}
		d.settled(page)
		want := []weburl.Key{page.Key}
		if goes {
			want = nil
		}
		if diff := cmp.Diff(want, d.take(of.Key())); diff != "" {
			t.Errorf("it is no copy any more: %v: copies (-want +got):\n%s", goes, diff)
		}
	}
}

// BenchmarkDuplicate is what the comparison of one page costs beside what is indexed.
func BenchmarkDuplicate(b *testing.B) {
	d := New(storetest.NewMemory(), nil, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		d.hold(r.Uint64(), weburl.Key{byte(i), byte(i >> 8), byte(i >> 16)})
	}
	for b.Loop() {
		if _, _, err := d.Original(context.Background(), &scheduler.Lease{}, &Content{Simhash: r.Uint64() | 1}); err != nil {
			b.Fatal(err)
		}
	}
}
