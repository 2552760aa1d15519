package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// together puts all writes of calls into one batch: the committer is held until they wait for it. Each call makes one.
func together(t *testing.T, s *Store, n int, call func(i int) error) {
	t.Helper()
	held, release := make(chan struct{}), make(chan struct{})
	var calls sync.WaitGroup
	calls.Go(func() {
		if err := s.change(t.Context(), func(*group) error { close(held); <-release; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-held
	for i := range n {
		calls.Go(func() {
			if err := call(i); err != nil {
				t.Error(err)
			}
		})
	}
	for len(s.writes) < n && !t.Failed() {
		time.Sleep(100 * time.Microsecond) // until they wait, not for a time
	}
	close(release)
	calls.Wait()
}

// keysOf are the keys of a kind.
func keysOfKind(t *testing.T, s *Store, kind byte) (keys []string) {
	t.Helper()
	if err := s.view(t.Context(), func(view kv.View) error {
		return s.walk(t.Context(), view, []byte{kind}, []byte{kind}, false, func(key, _ []byte) error {
			keys = append(keys, fmt.Sprintf("%x", key))
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestQueuesInChunks adds URLs to few queues and removes them, at the beginning, in any order and by the operator, with
// and without floors. The queues must equal slices, and leave nothing behind.
func TestQueuesInChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(seeded.Seed(t), 0))
	dir := t.TempDir()
	s := openStore(t, dir, attackOptions())
	want := map[scheduler.Place][]weburl.Key{}
	next := 0
	add := func(n int) {
		links := make([]scheduler.Link, n)
		for i := range links {
			links[i] = linkTo(t, fmt.Sprintf("http://h%d.test/%d", r.IntN(3), next))
			next++
			p := scheduler.Place{Source: scheduler.Index, Host: links[i].URL.HostKey()}
			want[p] = append(want[p], links[i].URL.Key())
		}
		if _, _, err := s.Add(t.Context(), links, false); err != nil {
			t.Fatal(err)
		}
	}
	places := func() (all []scheduler.Place) {
		for p := range want {
			all = append(all, p)
		}
		slices.SortFunc(all, func(a, b scheduler.Place) int { return slices.Compare(a.Host[:], b.Host[:]) })
		return all
	}
	compare := func() {
		t.Helper()
		for _, p := range places() {
			n, err := s.Waits(t.Context(), p)
			if err != nil || int(n) != len(want[p]) {
				t.Fatalf("%d wait, %v, want %d", n, err, len(want[p]))
			}
			var got []weburl.Key
			for after := uint64(0); ; {
				urls, err := s.Queue(t.Context(), p, after, 1+r.IntN(50))
				if err != nil {
					t.Fatal(err)
				}
				if len(urls) == 0 {
					break
				}
				for _, w := range urls {
					got, after = append(got, w.Key), w.Seq
				}
			}
			if !slices.Equal(got, want[p]) {
				t.Fatalf("queue (-want +got):\n%s", cmp.Diff(want[p], got))
			}
		}
	}
	// take completes the i-th of a queue; the caller that knows the queue gives a floor.
	take := func(p scheduler.Place, i int, floor bool) {
		urls, err := s.Queue(t.Context(), p, 0, i+2)
		if err != nil || len(urls) <= i {
			t.Fatal(len(urls), err)
		}
		w := urls[i]
		c := scheduler.Completion{Key: w.Key, Taken: p, Seq: w.Seq, Old: &w.Record, AsOf: w.AsOf, Next: w.Record, Forget: r.IntN(5) == 0}
		c.Next.State = scheduler.AtRest
		if floor {
			c.Floor = w.Seq + 1
			if i > 0 {
				c.Floor = urls[0].Seq
			} else if len(urls) > 1 {
				c.Floor = urls[1].Seq
			}
		}
		if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
		want[p] = slices.Delete(want[p], i, i+1)
	}
	for step := range 150 {
		all := places()
		var p scheduler.Place
		if len(all) > 0 {
			p = all[r.IntN(len(all))]
		}
		n := len(want[p])
		switch k := r.IntN(20); {
		case k < 5 || n == 0:
			add(1 + r.IntN([]int{2, 10, 100}[r.IntN(3)]))
		case k < 10:
			for range min(n, r.IntN(40)) {
				take(p, 0, true)
			}
		case k < 13:
			for range min(n, r.IntN(8)) {
				take(p, r.IntN(len(want[p])), r.IntN(2) == 0)
			}
		case k < 15: // one of each chunk, behind one that stays
			for i := n - 1; i > 0; i -= 1 + r.IntN(40) {
				take(p, i, false)
			}
		case k < 17:
			i := r.IntN(n)
			if err := s.Forget(t.Context(), want[p][i], nil); err != nil {
				t.Fatal(err)
			}
			want[p] = slices.Delete(want[p], i, i+1)
		case k == 17:
			for len(want[p]) > 0 {
				take(p, len(want[p])-1, false)
			}
		case k == 18:
			image := copied(t, dir)
			closeStore(t, s)
			dir = image
			s = openStore(t, dir, attackOptions())
		default:
			mustVerify(t, s)
		}
		if compare(); t.Failed() {
			t.Fatalf("step %d", step)
		}
	}
	for p, urls := range want {
		for range urls {
			take(p, 0, true)
		}
	}
	for _, kind := range []byte{record.KindQueue, record.KindPlace} {
		if left := keysOfKind(t, s, kind); len(left) > 0 {
			t.Errorf("empty queues leave %q", left)
		}
	}
	mustVerify(t, s)
}

// A URL that stays in its queue for long while others come and go must not make the queue's state grow.
func TestStateOfALongQueue(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{Durability: OS})
	var first scheduler.Place
	for i := range 3 * mostDone {
		l := linkTo(t, fmt.Sprintf("http://a.test/%d", i))
		ps, _, err := s.Add(t.Context(), []scheduler.Link{l}, false)
		if err != nil {
			t.Fatal(err)
		}
		if first = ps[0]; i == 0 {
			continue
		}
		urls, err := s.Queue(t.Context(), first, 0, 10)
		if err != nil || len(urls) != 2 {
			t.Fatal(len(urls), err)
		}
		w := urls[1]
		c := scheduler.Completion{Key: w.Key, Taken: first, Seq: w.Seq, Floor: urls[0].Seq, Old: &w.Record, AsOf: w.AsOf, Next: w.Record}
		c.Next.State = scheduler.AtRest
		if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
		if n := len(keysOfKind(t, s, record.KindQueue)); n > mostDone+2 {
			t.Fatalf("%d chunks of a queue with one URL", n)
		}
	}
	mustVerify(t, s)
}

// A step that does not fit into the batch is moved to the next one, including the end of a chunk that the first began.
func TestChunkInTwoBatches(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{Durability: OS, MemtableBytes: MinMemtableBytes})
	p := scheduler.Place{Source: scheduler.Index, Host: parse(t, "http://a.test/").HostKey()}
	const pages, links = 40, 60
	var seeds []scheduler.Link
	for i := range pages {
		seeds = append(seeds, linkTo(t, fmt.Sprintf("http://seed.test/%d", i)))
	}
	places, _, err := s.Add(t.Context(), seeds, false)
	if err != nil {
		t.Fatal(err)
	}
	urls, err := s.Queue(t.Context(), places[0], 0, pages)
	if err != nil || len(urls) != pages {
		t.Fatal(len(urls), err)
	}
	before := s.commits.Load()
	together(t, s, pages, func(i int) error {
		w := urls[i]
		c := scheduler.Completion{Key: w.Key, Taken: places[0], Seq: w.Seq, Old: &w.Record, AsOf: w.AsOf, Next: w.Record}
		c.Next.State = scheduler.AtRest
		for j := range links {
			c.Links = append(c.Links, linkTo(t, fmt.Sprintf("http://a.test/%d-%d/%0200d", i, j, j)))
		}
		_, err := scheduler.CompleteAndWait(t.Context(), s, c)
		return err
	})
	if n := s.commits.Load() - before; n < 3 || n > pages/2 {
		t.Errorf("%d batches: this test wants several, with several pages each", n)
	}
	got, err := s.Queue(t.Context(), p, 0, 1<<20)
	if err != nil || len(got) != pages*links {
		t.Fatal(len(got), err)
	}
	mustVerify(t, s)
}

func placesOf(t *testing.T, s *Store) map[scheduler.Place]uint64 {
	t.Helper()
	got := map[scheduler.Place]uint64{}
	if err := s.Places(t.Context(), func(p scheduler.Place, n uint64) error { got[p] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

// chunkWith returns a chunk, or none, with a URL under a number that is above those of the others.
func chunkWith(c record.Chunk, seq uint64, k weburl.Key) record.Chunk {
	var has uint32
	var keys []byte
	if c != nil {
		has, keys = c.Has(), c[4:]
	}
	_, bit := record.ChunkOf(seq)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, has|bit), keys, k[:])
}

// chunkOf returns a chunk of URLs under numbers from first on.
func chunkOf(first uint64, keys ...weburl.Key) (c record.Chunk) {
	for i, k := range keys {
		c = chunkWith(c, first+uint64(i), k)
	}
	return c
}
