package store

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
)

// waitingPages are n URLs of a host as a frontier would take them.
func waitingPages(t *testing.T, s *Store, n int) []scheduler.Completion {
	t.Helper()
	var links []scheduler.Link
	for i := range n {
		links = append(links, linkTo(t, fmt.Sprintf("http://pages.test/%d", i)))
	}
	places, added, err := s.Add(t.Context(), links, false)
	if err != nil || added != n {
		t.Fatalf("Add = %d, %v", added, err)
	}
	urls, err := s.Queue(t.Context(), places[0], 0, n)
	if err != nil || len(urls) != n {
		t.Fatalf("Queue = %d URLs, %v", len(urls), err)
	}
	all := make([]scheduler.Completion, n)
	for i, w := range urls {
		next := w.Record
		next.State, next.Class = scheduler.AtRest, scheduler.OK
		all[i] = scheduler.Completion{Key: w.Key, Seq: w.Seq, Taken: places[0], Next: next, Old: &w.Record, AsOf: w.AsOf}
	}
	return all
}

const gatherFor = 10 * time.Millisecond

// gathers is an engine in memory whose small commits wait for more changes.
type gathers struct{ *memkv.Engine }

func (gathers) Limits() kv.Limits {
	return kv.Limits{Bytes: 8 << 20, Keys: 1 << 20, Long: 1 << 20, Gather: gatherFor}
}

func openGathering(t *testing.T) *Store {
	t.Helper()
	s, err := On(gathers{&memkv.Engine{}}, "in memory", Options{Logger: discard()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBatchWaitsForCompany: a page that was handed over waits shortly for others where
// others came before, what somebody waits for waits for none, and takes it along.
func TestBatchWaitsForCompany(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // pages of the batch before
		asked  bool
		want   time.Duration
	}{
		{"pages that come one by one", 1, false, 0},
		{"pages that come together", gatherLeast, false, gatherFor},
		{"a command comes", gatherLeast, true, gatherFor / 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openGathering(t)
				pages := waitingPages(t, s, 2)
				if err := s.change(t.Context(), func(g *group) error { g.gathering.last = c.before; return nil }); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				begin, settled := time.Now(), make(chan time.Duration, 2)
				if err := s.Complete(t.Context(), pages[0], func(is scheduler.Completed) {
					if is.Err != nil {
						t.Error(is.Err)
					}
					settled <- time.Since(begin)
				}); err != nil {
					t.Fatal(err)
				}
				if c.asked {
					time.Sleep(gatherFor / 4)
					if err := s.SetValue(t.Context(), scheduler.CrawlValue("command"), []byte{1}); err != nil {
						t.Fatal(err)
					}
					if d := time.Since(begin); d != gatherFor/4 {
						t.Errorf("the command waited for %v", d-gatherFor/4)
					}
				}
				if got := <-settled; got != c.want {
					t.Errorf("stored after %v, want %v", got, c.want)
				}
				closeStore(t, s)
			})
		})
	}
}

// TestFullBatchDoesNotWait: enough company is enough.
func TestFullBatchDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openGathering(t)
		pages := waitingPages(t, s, gatherMost)
		if err := s.change(t.Context(), func(g *group) error { g.gathering.last = gatherMost; return nil }); err != nil {
			t.Fatal(err)
		}
		begin, settled := time.Now(), make(chan time.Duration, gatherMost)
		for _, c := range pages {
			if err := s.Complete(t.Context(), c, func(scheduler.Completed) { settled <- time.Since(begin) }); err != nil {
				t.Fatal(err)
			}
		}
		for range pages {
			if got := <-settled; got != 0 {
				t.Fatalf("stored after %v, want it at once", got)
			}
		}
		closeStore(t, s)
	})
}
