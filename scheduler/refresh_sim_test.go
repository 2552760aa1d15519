package scheduler

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"
)

// rates gives the rate of change of a page, in changes a day.
type rates func(r *rand.Rand) float64

// webRates returns the spread over all domains of Cho and Garcia-Molina, "The Evolution
// of the Web and Implications for an Incremental Crawler", VLDB 2000, figure 2:
// the mean time between changes is up to a day for 23 % of pages, a week for 15 %,
// a month for 16 %, four months for 16 % and longer for 30 %; within each class
// it is spread log-uniformly, from an hour and to ten years.
func webRates(r *rand.Rand) float64 {
	between := func(a, b float64) float64 { return 1 / (a * math.Pow(b/a, r.Float64())) }
	switch u := r.Float64(); {
	case u < 0.23:
		return between(1.0/24, 1)
	case u < 0.38:
		return between(1, 7)
	case u < 0.54:
		return between(7, 30)
	case u < 0.70:
		return between(30, 120)
	default:
		return between(120, 3650)
	}
}

// quietRates returns a log-normal spread with a median of 60 days, nearer to what
// Fetterly and others saw ("A Large-Scale Study of the Evolution of Web Pages",
// WWW 2003: two thirds of pages do not change within 10 weeks) and to a company's pages.
func quietRates(r *rand.Rand) float64 { return math.Exp(2*r.NormFloat64()) / 60 }

// always is one rate for all.
func always(rate float64) rates { return func(*rand.Rand) float64 { return rate } }

// A schedule says when a page is to be visited again.
type schedule interface {
	visited(page int, now time.Time, changed bool, modified time.Time) time.Time
}

// ours is the real code: outcome decides.
type ours struct {
	set     *Settings
	records []Record
	hashes  []uint32
	rand    *rand.Rand
	dated   bool // answers have a Last-Modified
}

func newOurs(n int, set *Settings, seed uint64, dated bool) *ours {
	o := &ours{set: set, records: make([]Record, n), hashes: make([]uint32, n), rand: rand.New(rand.NewPCG(seed, 7)), dated: dated}
	for i := range o.records {
		o.records[i] = Record{URL: "http://a.test/", State: Waiting, Source: Index, Fifo: Index}
	}
	return o
}

func (o *ours) visited(page int, now time.Time, changed bool, modified time.Time) time.Time {
	if changed {
		o.hashes[page]++
	}
	h := o.hashes[page]
	r := Result{Status: 200, Decided: Index, Document: &Document{Source: "web", Hash: [16]byte{1, byte(h), byte(h >> 8), byte(h >> 16)}}}
	if o.dated {
		r.LastModified = modified.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	}
	c := outcome(&o.records[page], &r, o.set, 0, now, o.rand.Float64())
	o.records[page] = c.Next
	return c.Next.NextAt
}

// uniform visits all pages in turn.
type uniform struct{}

func (uniform) visited(_ int, now time.Time, _ bool, _ time.Time) time.Time { return now }

// nutch is the rule of Apache Nutch's AdaptiveFetchSchedule with the values of its
// nutch-default.xml: an interval that first is 30 days shrinks by a fifth when the
// page changed and else grows by two fifths; it is at least the time since the
// last change seen, and the visit is moved forward by 0.3 of that time.
type nutch struct {
	shortest, longest float64 // seconds
	interval          []float64
	modified          []time.Time
}

func newNutch(n int, shortest, longest time.Duration) *nutch {
	return &nutch{shortest.Seconds(), longest.Seconds(), make([]float64, n), make([]time.Time, n)}
}

func (s *nutch) visited(page int, now time.Time, changed bool, _ time.Time) time.Time {
	interval := s.interval[page]
	switch {
	case interval == 0:
		interval, s.modified[page] = 30*86400, now
	case changed:
		interval, s.modified[page] = interval*0.8, now
	default:
		interval *= 1.4
	}
	delta := now.Sub(s.modified[page]).Seconds()
	interval = min(max(interval, delta, s.shortest), s.longest)
	s.interval[page] = interval
	return now.Add(time.Duration((interval - 0.3*delta) * float64(time.Second)))
}

// simulation is a number of pages and a budget of fetches.
type simulation struct {
	pages        int
	perDay       float64
	warmUp, days int
	rates        rates
	later        rates // of half the pages from the middle of the measured days on, if not nil
	burst        int   // new pages in the middle
	seed         uint64
}

// score is what a schedule reached: the mean share of pages that are fresh, and
// the mean time in days since the first change not seen yet (age, 0 if fresh).
type score struct{ fresh, age, fetches float64 }

type visit struct {
	at   time.Time
	seq  int
	page int
}

type visits []visit

func (v visits) Len() int { return len(v) }
func (v visits) Less(i, j int) bool {
	return v[i].at.Before(v[j].at) || v[i].at.Equal(v[j].at) && v[i].seq < v[j].seq
}
func (v visits) Swap(i, j int) { v[i], v[j] = v[j], v[i] }
func (v *visits) Push(x any)   { *v = append(*v, x.(visit)) }
func (v *visits) Pop() any     { l := len(*v) - 1; x := (*v)[l]; *v = (*v)[:l]; return x }

// state is a page's true state; times are in days.
type state struct {
	rate    float64
	visited float64 // -1 before the first visit
	change  float64 // the first one after the last visit
	// modified is when it last changed, as of the last visit.
	modified   float64
	unmeasured bool
}

type run struct {
	simulation
	rand       *rand.Rand
	state      []state
	due        visits
	seq        int
	fresh, age float64 // integrals over the measured days
	fetches    int
}

// simulate lets a schedule run. Changes are drawn from the seed alone where that
// is possible; they depend on the schedule only through the times of its visits.
func (s simulation) simulate(p schedule) score {
	r := &run{simulation: s, rand: rand.New(rand.NewPCG(s.seed, 1))}
	r.state = make([]state, s.pages+s.burst)
	for i := range r.state {
		r.state[i] = state{rate: s.rates(r.rand), visited: -1, modified: -1000, unmeasured: i >= s.pages}
	}
	r.rand = rand.New(rand.NewPCG(s.seed, 2))
	for i := range s.pages {
		r.push(0, i)
	}
	end, middle := float64(s.warmUp+s.days), float64(s.warmUp)+float64(s.days)/2
	for slot := 0; ; slot++ {
		now := float64(slot) / s.perDay
		if now >= end {
			break
		}
		if now >= middle {
			r.upset(middle)
			middle = math.Inf(1)
		}
		if len(r.due) == 0 || r.due[0].at.After(at(now)) {
			continue
		}
		page := heap.Pop(&r.due).(visit).page
		r.pushAt(r.visit(p, page, now), page)
	}
	pages := 0
	for i := range r.state {
		if st := &r.state[i]; st.visited >= 0 {
			r.account(st, end)
			pages++
		}
	}
	total := float64(s.days) * float64(s.pages)
	return score{r.fresh / total, r.age / total, float64(r.fetches) / float64(s.days)}
}

func at(day float64) time.Time { return start().Add(time.Duration(day * float64(24*time.Hour))) }

func (r *run) push(day float64, page int) { r.pushAt(at(day), page) }

func (r *run) pushAt(t time.Time, page int) {
	r.seq++
	heap.Push(&r.due, visit{t, r.seq, page})
}

// upset changes rates and adds pages in the middle of the measured time.
func (r *run) upset(now float64) {
	for i := range r.burst {
		r.push(now, r.pages+i)
	}
	if r.later == nil {
		return
	}
	for i := 0; i < r.pages; i += 2 {
		st := &r.state[i]
		st.rate = r.later(r.rand)
		if st.change > now {
			st.change = now + r.rand.ExpFloat64()/st.rate
		}
	}
}

func (r *run) visit(p schedule, page int, now float64) time.Time {
	st := &r.state[page]
	changed := st.visited >= 0 && st.change <= now
	if changed || st.visited < 0 { // seen backwards from now, changes are as random
		st.modified = max(st.modified, st.change, now-r.rand.ExpFloat64()/st.rate)
	}
	if st.visited >= 0 {
		r.account(st, now)
	}
	if now >= float64(r.warmUp) {
		r.fetches++
	}
	st.visited, st.change = now, now+r.rand.ExpFloat64()/st.rate
	return p.visited(page, at(now), changed, at(st.modified))
}

// account adds up freshness and age from the last visit to now. Pages of a burst
// are not measured, only their effect on the others.
func (r *run) account(st *state, now float64) {
	if st.unmeasured {
		return
	}
	from := max(st.visited, float64(r.warmUp))
	if now <= from {
		return
	}
	r.fresh += max(min(st.change, now)-from, 0)
	if st.change < now {
		a, b := max(from-st.change, 0), now-st.change
		r.age += (b*b - a*a) / 2
	}
}
