package store

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// TestChurn measures what the store takes on disk over a month of days, in each of which
// 5 % of the URLs are fetched again, a fifth of which are gone, and as many new ones are found
// and fetched. The live size is that of a copy with nothing in it that is not needed. To
// measure:
//
//	SEXTANT_CHURN=1000000 go test -run TestChurn -timeout 60m -v ./scheduler/store
func TestChurn(t *testing.T) {
	st := stock{known: measured(t, "SEXTANT_CHURN", 2000)}
	st.hosts = max(st.known/1000, 10)
	asked := os.Getenv("SEXTANT_CHURN") != ""
	days := 3
	o := quick
	if asked {
		days, o = 30, Options{}
	}
	s := st.make(t, t.TempDir(), o)
	fresh := 0
	for day := 1; day <= days; day++ {
		st.day(t, s, stockTime.Add(time.Duration(day)*36*time.Hour), &fresh)
		if !asked || day == 1 || day%5 == 0 {
			logSize(t, s, "day "+strconv.Itoa(day), liveSize(t, s))
		}
	}
	n, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(st.known); n.Known != want || n.Timed != want || fresh == 0 {
		t.Errorf("%d URLs are known, %d of them timed, %d were found; want %d as before", n.Known, n.Timed, fresh, want)
	}
	mustVerify(t, s)
	closeStore(t, s)
	s = openStore(t, s.dir, o)
	if asked {
		begin := time.Now()
		if err := badgerOf(s).Flatten(2); err != nil {
			t.Fatal(err)
		}
		logSize(t, s, "after Flatten for "+time.Since(begin).Round(time.Second).String(), liveSize(t, s))
	}
}

// day fetches what is due. Each fifth URL is gone and a new one found and fetched.
func (st stock) day(t *testing.T, s *Store, now time.Time, fresh *int) {
	t.Helper()
	for more := true; more; {
		places, _, err := s.Due(t.Context(), now, scheduler.Refresh, 20_000)
		if err != nil {
			t.Fatal(err)
		}
		more = len(places) > 0
		var mu sync.Mutex
		var hosts sync.WaitGroup
		for _, p := range places {
			hosts.Go(func() {
				urls, err := s.Queue(t.Context(), p, 0, 1<<20)
				for i := 0; i < len(urls) && err == nil; i++ {
					var links []scheduler.Link
					if i%5 == 0 {
						mu.Lock()
						links = append(links, st.link(st.known+*fresh))
						*fresh++
						mu.Unlock()
					}
					err = st.refetch(t, s, &urls[i], now, links)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		hosts.Wait()
	}
	for _, w := range waiting(t, s) {
		if err := st.refetch(t, s, &w, now, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// refetch completes a URL: with a link, it is gone.
func (st stock) refetch(t *testing.T, s *Store, w *scheduler.WaitingURL, now time.Time, links []scheduler.Link) error {
	c := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Old: &w.Record, AsOf: w.AsOf, Next: w.Record,
		Links: links, Forget: len(links) > 0}
	st.fetched(&c.Next, int(w.Seq)%st.known)
	c.Next.FetchedAt, c.Next.NextAt = now, now.Add(30*24*time.Hour+time.Duration(w.Seq)*time.Microsecond)
	_, err := scheduler.CompleteAndWait(t.Context(), s, c)
	return err
}

// liveSize returns the size of a store's tables if they hold nothing that is not needed.
func liveSize(t *testing.T, s *Store) int64 {
	t.Helper()
	r, w := io.Pipe()
	go func() {
		_, err := s.Backup(t.Context(), w)
		w.CloseWithError(err)
	}()
	dir := filepath.Join(t.TempDir(), "live")
	if _, err := Restore(t.Context(), dir, r, Options{MemtableBytes: DefaultMemtableBytes, Logger: s.log}); err != nil {
		t.Fatal(err)
	}
	live := openStore(t, dir, Options{ReadOnly: true})
	size := tableBytes(t, live)
	closeStore(t, live)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	return size
}

func tableBytes(t *testing.T, s *Store) int64 {
	t.Helper()
	stats, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats.TableBytes
}

func logSize(t *testing.T, s *Store, when string, live int64) {
	t.Helper()
	n, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	size := tableBytes(t, s)
	t.Logf("%s: %d MiB, live %d MiB: %.2f times; %.0f bytes a URL; %s", when, size>>20, live>>20, float64(size)/float64(live),
		float64(size)/float64(n.Known), levels(badgerOf(s)))
}
