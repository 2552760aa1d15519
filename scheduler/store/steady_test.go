package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
)

// TestSteady measures pages that are taken and completed with 20 links, 18 of them
// known, each in one durable step with the state of its host, while compaction goes on. In a normal run it is short and
// checks that the store is whole afterwards. To measure:
//
//	SEXTANT_STEADY=120s SEXTANT_KNOWN=1000000 go test -run TestSteady -timeout 60m -v ./scheduler/store
//
// The store is made in TMPDIR.
func TestSteady(t *testing.T) {
	st := stock{known: measured(t, "SEXTANT_KNOWN", 5000)}
	st.waiting, st.hosts = st.known/10, min(st.known/50, 10_000)
	lasts := 200 * time.Millisecond
	if v := os.Getenv("SEXTANT_STEADY"); v != "" {
		var err error
		if lasts, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	s := st.make(t, t.TempDir(), Options{})
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	debug.FreeOSMemory()
	t.Logf("RssAnon %d MiB at rest", rssAnon(t))
	w := &workload{stock: st, s: s}
	pages := w.run(t, lasts)
	if pages == 0 {
		t.Error("no page was completed")
	}
	n, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fresh := n.Known - uint64(st.known); fresh != 2*uint64(pages) {
		t.Errorf("%d pages brought %d new URLs, want %d", pages, fresh, 2*pages)
	}
	stats, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.0f pages a batch; %d URLs known at the end, %.0f bytes of disk each, %.2f of memory",
		float64(stats.Writes)/float64(stats.Commits), n.Known, float64(stats.TableBytes)/float64(n.Known), float64(stats.FingerprintBytes)/float64(n.Known))
	if os.Getenv("SEXTANT_STEADY") == "" {
		mustVerify(t, s)
	}
	closeStore(t, s)
}

// workload completes pages of a stock.
type workload struct {
	stock
	s     *Store
	fresh atomic.Int64 // new URLs so far
	turn  atomic.Int64 // hosts taken so far
}

// steadyWorkers is the number of concurrent workers. Each waits at least their number over the pages a second.
const steadyWorkers = 256

// run lets workers take a host at a time and complete what waits there, up to 16 pages.
func (w *workload) run(t *testing.T, lasts time.Duration) int {
	took := make([][]time.Duration, steadyWorkers)
	after := make([]uint64, w.hosts)
	busy := make([]sync.Mutex, w.hosts)
	end := time.Now().Add(lasts)
	var workers sync.WaitGroup
	for i := range took {
		workers.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for time.Now().Before(end) {
				host := int(w.turn.Add(1)) % w.hosts
				busy[host].Lock()
				last, err := w.host(t, r, host, after[host], end, &took[i])
				after[host] = last
				busy[host].Unlock()
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	w.watch(t, lasts)
	workers.Wait()
	report(t, lasts, took)
	return int(w.fresh.Load() / 2)
}

// host completes pages of a host and gives the last number that is done.
func (w *workload) host(t *testing.T, r *rand.Rand, host int, after uint64, end time.Time, took *[]time.Duration) (uint64, error) {
	p := scheduler.Place{Source: scheduler.Index, Host: w.url(host).HostKey()}
	urls, err := w.s.Queue(t.Context(), p, after, 16)
	if err != nil {
		return after, err
	}
	for i := range urls {
		if !time.Now().Before(end) {
			break
		}
		u := &urls[i]
		c := scheduler.Completion{Key: u.Key, Taken: p, Seq: u.Seq, Floor: u.Seq + 1, Old: &u.Record, AsOf: u.AsOf, Next: u.Record}
		w.fetched(&c.Next, r.IntN(w.known))
		c.Host = &scheduler.HostState{Origin: u.Record.Origin, NextAt: stockTime}
		c.Links = w.links(r)
		begin := time.Now()
		if _, err := scheduler.CompleteAndWait(t.Context(), w.s, c); err != nil {
			return after, err
		}
		*took = append(*took, time.Since(begin))
		after = u.Seq
	}
	return after, nil
}

func (w *workload) links(r *rand.Rand) []scheduler.Link {
	links := make([]scheduler.Link, 0, 20)
	for range 18 {
		links = append(links, w.link(r.IntN(w.known)))
	}
	n := int(w.fresh.Add(2))
	return append(links, w.link(w.known+n-2), w.link(w.known+n-1))
}

// watch logs each tenth of the run and keeps Go's memory limit as the program does.
func (w *workload) watch(t *testing.T, lasts time.Duration) {
	begin, most, last := time.Now(), 0, int64(0)
	var longest time.Duration
	for i := 1; i <= 10; i++ {
		for next := begin.Add(lasts / 10 * time.Duration(i)); time.Now().Before(next); {
			time.Sleep(min(time.Until(next), time.Second/4)) // only to look at it
			most = max(most, rssAnon(t))
			stats, err := w.s.Stats()
			if err != nil {
				t.Error(err)
			}
			longest = max(longest, stats.LongestCommit)
			LimitMemory(0, stats.FingerprintBytes)
		}
		n := w.fresh.Load() / 2
		t.Logf("after %3.0f s: %6.0f pages/s, RssAnon %d MiB, %s", time.Since(begin).Seconds(),
			float64(n-last)/(lasts/10).Seconds(), rssAnon(t), levels(badgerOf(w.s)))
		last = n
	}
	t.Logf("RssAnon at most %d MiB; longest transaction %v", most, longest.Round(time.Millisecond))
}

// levels lists tables and MiB of each level of the tree.
func levels(db *badger.DB) string {
	var b strings.Builder
	for _, l := range db.Levels() {
		if l.NumTables > 0 {
			fmt.Fprintf(&b, "L%d:%d/%d ", l.Level, l.NumTables, l.Size>>20)
		}
	}
	return b.String()
}

func report(t *testing.T, lasts time.Duration, took [][]time.Duration) {
	t.Helper()
	all := slices.Concat(took...)
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	at := func(share float64) time.Duration {
		return all[min(len(all)-1, int(share*float64(len(all))))].Round(100 * time.Microsecond)
	}
	t.Logf("%.0f pages/s; commit took 50%% %v, 99%% %v, 99.9%% %v, at most %v",
		float64(len(all))/lasts.Seconds(), at(.5), at(.99), at(.999), all[len(all)-1].Round(time.Millisecond))
}
