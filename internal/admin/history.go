package admin

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// One goroutine, of Server.Run, takes the figures. The lock guards the rings: the goroutine takes it to add a point,
// and requests to copy them.

// Spans of the history: an hour by 5 s, and 7 days by 5 min.
const (
	hourStep, hourPoints = 5 * time.Second, 720
	weekStep, weekPoints = 5 * time.Minute, 2016
)

// history stores figures of all Crawlers over time, in memory: a restart empties it. For each Crawler it takes 8 bytes
// for each figure and point, less than 1 MiB in total.
type history struct {
	crawlers []Crawler
	figures  []figure
	// seen is called with each status.
	seen func(ctx context.Context, c Crawler, s *Status)

	mu    sync.Mutex
	rings map[string]*[2]ring // by Crawler: the hour, the week
}

func newHistory(crawlers []Crawler) *history {
	h := &history{crawlers: crawlers, figures: figures(), rings: map[string]*[2]ring{}}
	for _, c := range crawlers {
		h.rings[c.Name()] = &[2]ring{{step: hourStep, size: hourPoints, figures: h.figures}, {step: weekStep, size: weekPoints, figures: h.figures}}
	}
	return h
}

// run takes the figures at each step of the hour until ctx ends. A Crawler without a status leaves a gap.
func (h *history) run(ctx context.Context) error {
	tick := time.NewTicker(hourStep)
	defer tick.Stop()
	for {
		h.take(ctx)
		select {
		case <-ctx.Done():
			h.take(context.WithoutCancel(ctx)) // a run that ends by itself may be short
			return nil
		case <-tick.C:
		}
	}
}

func (h *history) take(ctx context.Context) {
	for _, c := range h.crawlers {
		s, err := c.Status(ctx)
		if err != nil {
			continue
		}
		if h.seen != nil {
			h.seen(ctx, c, &s)
		}
		values := make([]float64, len(h.figures))
		for i := range h.figures {
			values[i] = h.figures[i].of(&s)
		}
		now := time.Now()
		h.mu.Lock()
		for i := range h.rings[c.Name()] {
			h.rings[c.Name()][i].add(now, values)
		}
		h.mu.Unlock()
	}
}

// figure is a series of the history.
type figure struct {
	name string
	// counts is set for a counter, which is stored as its rise in a second.
	counts bool
	of     func(s *Status) float64
}

// figures returns all series, in order. Unknown values are NaN.
func figures() []figure {
	all := []figure{
		{"requests_per_s", true, func(s *Status) float64 { return float64(s.Totals.Requests) }},
		{"pages_per_s", true, func(s *Status) float64 { return float64(s.Totals.Pages) }},
		{"bytes_per_s", true, func(s *Status) float64 { return float64(s.Totals.Bytes) }},
		{"errors_per_s", true, func(s *Status) float64 { return float64(Sum(s.Errors)) }},
		{"outbox_lag_s", false, lagOf},
		{"known", false, func(s *Status) float64 { return float64(s.Known) }},
		{"indexed", false, func(s *Status) float64 { return float64(s.Indexed) }},
		{"in_flight", false, func(s *Status) float64 { return float64(s.InFlight) }},
		{"outbox_waiting", false, func(s *Status) float64 { return float64(s.Outbox.Waiting) }},
		{"outbox_pending", false, func(s *Status) float64 { return float64(s.Outbox.Pending) }},
		{"outbox_dead", false, func(s *Status) float64 { return float64(s.Outbox.Dead) }},
		{"commits_per_s", true, storeFigure(func(s *StoreStatus) float64 { return float64(s.Commits) })},
		{"writes_per_s", true, storeFigure(func(s *StoreStatus) float64 { return float64(s.Writes) })},
		{"commit_s", false, storeFigure(func(s *StoreStatus) float64 { return s.LastCommitS })},
	}
	for _, name := range scheduler.SourceWords() {
		all = append(all, figure{"depth_" + name, false, func(s *Status) float64 { return float64(s.Pending[name]) }})
	}
	for _, name := range scheduler.SourceWords() {
		all = append(all, figure{"taken_per_s_" + name, true, func(s *Status) float64 { return float64(s.Taken[name]) }})
	}
	for _, class := range report.ErrorClasses() {
		all = append(all, figure{"errors_per_s_" + class, true, func(s *Status) float64 { return float64(s.Errors[class]) }})
	}
	return all
}

// Sum returns the sum of all counts.
func Sum(counts map[string]uint64) (all uint64) {
	for _, n := range counts {
		all += n
	}
	return all
}

// lagOf returns the age of the oldest waiting order, in seconds.
func lagOf(s *Status) float64 {
	switch {
	case s.OutboxLag == nil:
		return math.NaN()
	case s.OutboxLag.Oldest == nil:
		return 0
	}
	return max(time.Since(*s.OutboxLag.Oldest).Seconds(), 0)
}

func storeFigure(of func(*StoreStatus) float64) func(*Status) float64 {
	return func(s *Status) float64 {
		if s.Store == nil {
			return math.NaN()
		}
		return of(s.Store)
	}
}

// ring holds the last points of one span.
type ring struct {
	step    time.Duration
	size    int
	figures []figure

	times  []int64 // Unix seconds, rising
	points [][]float64
	// last holds the counters at the last point.
	last   []float64
	lastAt time.Time
}

// add adds a point, unless the last one is younger than the step.
func (r *ring) add(now time.Time, values []float64) {
	passed := now.Sub(r.lastAt)
	if !r.lastAt.IsZero() && passed < r.step-hourStep/2 {
		return
	}
	point := make([]float64, len(values))
	for i, f := range r.figures {
		point[i] = values[i]
		if f.counts {
			point[i] = math.NaN() // there is no previous one
			if r.last != nil && values[i] >= r.last[i] {
				point[i] = (values[i] - r.last[i]) / passed.Seconds()
			}
		}
	}
	r.last, r.lastAt = values, now
	at := now.Unix()
	if n := len(r.times); n > 0 { // the clock may have been set back, and plots need rising times
		at = max(at, r.times[n-1]+1)
	}
	r.times, r.points = append(r.times, at), append(r.points, point)
	if len(r.times) > r.size {
		r.times, r.points = slices.Delete(r.times, 0, 1), slices.Delete(r.points, 0, 1)
	}
}

// History is figures over time, in columns: Times[i] belongs to each Series[name][i].
type History struct {
	Crawler string   `json:"crawler"`
	StepS   float64  `json:"step_s"`
	Times   []int64  `json:"times"` // Unix seconds, rising
	Series  []Series `json:"series"`
}

// Series is one figure over time.
type Series struct {
	Name   string   `json:"name"`
	Values []Figure `json:"values"`
}

// Figure is a value of a series: null in JSON if unknown.
type Figure float64

// MarshalJSON implements json.Marshaler.
func (f Figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(math.Round(float64(f)*1000) / 1000)
}

// columns returns the ring's points after a time, oldest first.
func (r *ring) columns(crawler string, after int64) History {
	first, found := slices.BinarySearch(r.times, after)
	if found {
		first++
	}
	out := History{Crawler: crawler, StepS: r.step.Seconds(), Times: append([]int64{}, r.times[first:]...)}
	for column, f := range r.figures {
		one := Series{f.name, make([]Figure, 0, len(out.Times))}
		for _, point := range r.points[first:] {
			one.Values = append(one.Values, Figure(point[column]))
		}
		out.Series = append(out.Series, one)
	}
	return out
}

// past returns figures over time.
func (s *Server) past(c *call) (any, error) {
	span := 0
	switch written := c.query.Get("span"); written {
	case "", "hour":
	case "week":
		span = 1
	default:
		return nil, wrong("span %q: write hour or week", written)
	}
	var after int64
	if written := c.query.Get("since"); written != "" {
		var err error
		if after, err = strconv.ParseInt(written, 10, 64); err != nil {
			return nil, wrong("since %q is not a Unix time in seconds", written)
		}
	}
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	return s.history.rings[c.crawler.Name()][span].columns(c.crawler.Name(), after), nil
}
