package deletion_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// seeds are those of a test that leaves something to chance: SCHEDULER_SEED alone, if it is
// set.
func seeds(t *testing.T, n uint64) (all []uint64) {
	t.Helper()
	if s := os.Getenv("SCHEDULER_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{seed}
	}
	for seed := range few(n) {
		all = append(all, seed)
	}
	return all
}

// few is how many cases of n a run tries: a fifth of them with -short, as under the race
// detector.
func few(n uint64) uint64 {
	if testing.Short() {
		return (n + 4) / 5
	}
	return n
}

// badAnswers are all ways to be bad.
func badAnswers() []answer {
	return []answer{
		status(404), status(410), status(500), status(403), fails(fault.Timeout), fails(fault.Refused), fails(fault.DNSNotFound),
		noDocument(scheduler.ReasonNoIndex), noDocument(scheduler.ReasonEmpty), noDocument(scheduler.ReasonCopy), noDocument(scheduler.ReasonCanonical),
		forbidden, leads(302, storetest.Link("http://login.test/", scheduler.Index)), leads(301, storetest.Link("http://login.test/", scheduler.Index)),
		func(l *scheduler.Lease) scheduler.Result {
			return leads(302, storetest.Link("http://login.test/?"+l.URL.Path(), scheduler.Index))(l)
		},
	}
}

// mostWithin is the highest number of documents of a host that left within a while.
func (s *crawl) mostWithin(host []scheduler.Link, d time.Duration) (most int) {
	var times []time.Time
	for _, p := range host {
		if at := s.leftAt(p); !at.IsZero() {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := range times {
		n := 0
		for _, at := range times[i:] {
			if at.Sub(times[i]) < d {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestOutages: of a site most of whose pages turn bad, in whichever way and however they are
// visited, no more leave within an hour than of a site that is well.
func TestOutages(t *testing.T) {
	for _, seed := range append(seeds(t, 40), 78, 120, 125, 528) {
		crawling(t, func(s *crawl) {
			s.set.Policy = scheduler.Policy(seed % 3)
			s.set.IndexRedirectSources = seed%2 == 0
			s.set.SmartRefresh = seed%5 == 0
			s.set.MinAge, s.set.MaxAge = time.Hour, 2*24*time.Hour
		}, func(s *crawl) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			documents := []int{1, 2, 3, 5, 9, 10, 11, 30, 100, 250}[rnd.IntN(10)]
			all := pages("a.test", documents)
			s.index(append(all, pages("b.test", 20)...)...)
			ways := badAnswers()
			rnd.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
			ways = ways[:1+rnd.IntN(4)]
			bad := 70 + rnd.IntN(31) // per cent
			for i, p := range all {
				if i*100 < bad*documents {
					s.says(ways[rnd.IntN(len(ways))], p)
				}
			}
			for range 40 {
				var batch []scheduler.Link
				for range 1 + rnd.IntN(20) {
					batch = append(batch, all[rnd.IntN(documents)])
				}
				s.visit(batch...)
				s.pass(time.Duration(rnd.IntN(90)) * time.Minute)
				if rnd.IntN(20) == 0 {
					s.restart()
				}
			}
			word := fmt.Sprintf("seed %d, %d documents, %d %% bad", seed, documents, bad)
			if n, most := s.mostWithin(all, time.Hour), max(2, documents/100); n > most {
				t.Errorf("%s: %d left within an hour, want %d at most", word, n, most)
			}
			if n, most := s.mostWithin(all, 24*time.Hour), max(2, documents/5); n > most {
				t.Errorf("%s: %d left within a day, want %d at most", word, n, most)
			}
			s.sound(word)
		})
	}
}

// sound expects records and deletions to tell the same.
func (s *crawl) sound(word string) {
	s.t.Helper()
	if err := s.memory.Inspect(s.t.Context(), scheduler.Filter{}, s.agrees(word)); err != nil {
		s.t.Error(err)
	}
}

// TestChaos: whatever happens to sites and crawl, once they are at rest nothing rests for
// ever: what is good is in the index without a deletion, and what is gone has left or is
// held; nothing has left that was good all the time.
func TestChaos(t *testing.T) {
	for _, seed := range seeds(t, 25) {
		crawling(t, func(s *crawl) {
			s.set.Policy = scheduler.Policy(seed % 3)
			s.set.IndexRedirectSources = seed%2 == 0
			s.returns = true
		}, func(s *crawl) { chaos(s, seed) })
	}
}

func chaos(s *crawl, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	ways := badAnswers()
	var all, touched []scheduler.Link
	for h := range 3 {
		all = append(all, pages(fmt.Sprintf("h%d.test", h), []int{1, 4, 12, 60}[rnd.IntN(4)])...)
	}
	s.index(all...)
	bad := map[string]bool{}
	for range 60 {
		for range rnd.IntN(12) {
			p := all[rnd.IntN(len(all))]
			if p.URL.Path() == "/0" { // the first page of each host is good all the time
				continue
			}
			touched = append(touched, p)
			switch rnd.IntN(4) {
			case 0:
				s.says(nil, p)
				bad[p.URL.String()] = false
			case 1:
				s.says(text(byte(2+rnd.IntN(9))), p)
				bad[p.URL.String()] = false
			default:
				s.says(ways[rnd.IntN(len(ways))], p)
				bad[p.URL.String()] = true
			}
		}
		var batch []scheduler.Link
		for range rnd.IntN(15) {
			batch = append(batch, all[rnd.IntN(len(all))])
		}
		s.visit(batch...)
		disturb(s, rnd)
		s.pass(time.Duration(rnd.IntN(120)) * time.Minute)
	}
	for _, p := range touched {
		if bad[p.URL.String()] {
			s.says(status(404), p)
		}
	}
	s.visit(touched...)
	s.pass(6 * 24 * time.Hour)
	word := fmt.Sprintf("seed %d", seed)
	s.sound(word)
	for _, p := range all {
		r := s.record(p)
		switch {
		case r.Deletion == scheduler.DeletionResting:
			s.t.Errorf("%s: %v rests still: %v", word, p.URL, r.Reason)
		case !bad[p.URL.String()] && (r.Class != scheduler.OK || !r.Indexed || r.Deletion != scheduler.NoDeletion):
			s.t.Errorf("%s: %v is good, and %v, indexed %t, %v", word, p.URL, r.Class, r.Indexed, r.Deletion)
		case bad[p.URL.String()] && r.Indexed && r.Deletion != scheduler.DeletionHeld:
			s.t.Errorf("%s: %v is gone, and %v, indexed", word, p.URL, r.Class)
		}
		if !s.leftAt(p).IsZero() && p.URL.Path() == "/0" {
			s.t.Errorf("%s: %v left and was good all the time", word, p.URL)
		}
	}
}

// disturb does what may happen to a crawl.
func disturb(s *crawl, rnd *rand.Rand) {
	switch rnd.IntN(20) {
	case 0:
		s.restart()
	case 1:
		s.Pause()
		s.pass(time.Duration(rnd.IntN(300)) * time.Minute)
		s.Resume()
	case 2:
		if _, err := s.owner.Drop(s.t.Context(), scheduler.DeletionFilter{}); err != nil {
			s.t.Error(err)
		}
	case 3:
		s.Apply(s.set)
	}
}
