package union

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	testParts = 3
	testPages = 12
)

// filled is a store of three partitions whose pages are all documents that wait for an indexer, and link to each other.
func filled(t *testing.T) Store {
	t.Helper()
	dir := t.TempDir() // which is removed once the stores are closed
	p, err := partitioned.New(partitioned.Options{Partitions: testParts, Values: storetest.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	var number atomic.Uint64
	for n := range testParts {
		one, err := badgerstore.Open(filepath.Join(dir, fmt.Sprint(n)), badgerstore.Options{
			Durability: badgerstore.OS, MemtableBytes: badgerstore.MinMemtableBytes, MinFree: -1, NoCompaction: true,
			Numbers: func() uint64 { return number.Add(1) },
		})
		if err == nil {
			err = one.Outbox().Open(t.Context(), []string{"target"})
		}
		if err == nil {
			err = p.Adopt(n, one)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := Store{p}
	for i := range testPages {
		l := page(i)
		if _, _, err := s.Add(t.Context(), []scheduler.Link{l}, false); err != nil {
			t.Fatal(err)
		}
		at := scheduler.Place{Source: l.Fifo, Host: l.URL.HostKey()}
		q, err := s.Queue(t.Context(), at, 0, 1)
		if err != nil || len(q) != 1 {
			t.Fatal(q, err)
		}
		next := q[0].Record
		next.State, next.Indexed, next.Class = scheduler.AtRest, true, scheduler.OK
		_, err = scheduler.CompleteAndWait(t.Context(), s, scheduler.Completion{
			Key: q[0].Key, Seq: q[0].Seq, Taken: at, Next: next, Order: &scheduler.Order{Body: []byte(`{"url":"x"}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func page(i int) scheduler.Link {
	return storetest.Link(fmt.Sprintf("http://h%d.test/", i), scheduler.Index)
}

// TestOrders: the orders of all partitions are listed in the order of their numbers, and each URL's is in the outbox that is found for it.
func TestOrders(t *testing.T) {
	s := filled(t)
	var urls []string
	var last uint64
	err := s.Orders(t.Context(), push.Selection{}, func(l push.Listed) error {
		if l.Seq <= last || l.State != push.Waiting {
			t.Errorf("order %d, %s, comes after %d", l.Seq, l.State, last)
		}
		last, urls = l.Seq, append(urls, l.URL)
		u, err := weburl.Parse(l.URL)
		if err != nil {
			return err
		}
		outbox, err := s.OutboxOf(u)
		if err != nil {
			return err
		}
		found, err := outbox.Entries(t.Context(), l.Seq-1, 1, 1)
		if err != nil || len(found) != 1 || found[0].URL != l.URL {
			t.Errorf("the outbox of %s has %v, %v", l.URL, found, err)
		}
		return nil
	})
	if err != nil || len(urls) != testPages {
		t.Errorf("%q, %v", urls, err)
	}
	stopped := errors.New("enough")
	if err := s.Orders(t.Context(), push.Selection{}, func(push.Listed) error { return stopped }); !errors.Is(err, stopped) {
		t.Errorf("a reader that has enough: %v", err)
	}
	n := 0
	of := push.Selection{URLs: []string{page(5).URL.String()}}
	if err := s.Orders(t.Context(), of, func(push.Listed) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("%d orders of one URL, %v", n, err)
	}
}

// TestFigures: figures are those of all partitions.
func TestFigures(t *testing.T) {
	s := filled(t)
	r, err := s.Verify(t.Context(), func(f badgerstore.Fault) { t.Error(f.URL, f.Words) })
	if err != nil || r.URLs != testPages || r.Orders != testPages {
		t.Errorf("Verify = %+v, %v", r, err)
	}
	if st, err := s.Stats(); err != nil || st.Entered != testPages || st.DiskSize == 0 || st.Batches < testPages {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	f, err := s.OutboxFigures(t.Context())
	if _, ok := f.Behind["target"]; err != nil || !ok || f.Bytes == 0 {
		t.Errorf("OutboxFigures = %+v, %v", f, err)
	}
	if n, err := s.RetryDead(t.Context(), push.Selection{}); err != nil || n != 0 {
		t.Errorf("RetryDead = %d, %v", n, err)
	}
	if _, err := s.Backup(t.Context(), nil); !errors.Is(err, ErrBackup) {
		t.Errorf("Backup = %v", err)
	}
}

// TestInOrder: states come in the order of all lists, dead letters by their targets.
func TestInOrder(t *testing.T) {
	listed := func(state push.State, seq uint64, target string) push.Listed {
		return push.Listed{Entry: push.Entry{Seq: seq}, State: state, Target: target}
	}
	want := []push.Listed{
		listed(push.Waiting, 2, ""), listed(push.Waiting, 9, ""), listed(push.Resting, 1, ""), listed(push.HeldBack, 3, ""),
		listed(push.DeadLetter, 8, "a"), listed(push.DeadLetter, 4, "b"),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, inOrder)
	for i := range want {
		if got[i].Seq != want[i].Seq {
			t.Errorf("%d: %+v", i, got[i])
		}
	}
}

// TestEarlier: no time is later than any.
func TestEarlier(t *testing.T) {
	a, b := time.Unix(1, 0), time.Unix(2, 0)
	for _, tt := range [][3]time.Time{{a, b, a}, {b, a, a}, {{}, a, a}, {a, {}, a}, {{}, {}, {}}} {
		if got := earlier(tt[0], tt[1]); !got.Equal(tt[2]) {
			t.Errorf("%v, %v: %v", tt[0], tt[1], got)
		}
	}
}
