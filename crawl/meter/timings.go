package meter

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/histogram"
)

// fetchClass is the class of a request's outcome, for metrics.
type fetchClass uint8

const (
	fetchedOK fetchClass = iota
	fetchedUnchanged
	fetchedRedirect
	fetchedClientError
	fetchedServerError
	fetchedNothing // no answer: DNS, connection, TLS, time-out, refused address
	fetchClasses
)

// String returns the word used in metrics; a contract.
func (f fetchClass) String() string {
	return [fetchClasses]string{"ok", "unchanged", "redirect", "client_error", "server_error", "no_answer"}[f]
}

func fetchClassOf(r *fetcher.Response) fetchClass {
	switch {
	case r == nil:
		return fetchedNothing
	case r.Status == http.StatusNotModified:
		return fetchedUnchanged
	case r.Status >= 500:
		return fetchedServerError
	case r.Status >= 400:
		return fetchedClientError
	case r.Status >= 300:
		return fetchedRedirect
	}
	return fetchedOK
}

// timings measures the workers' time for single pages. The zero value is ready for use.
type timings struct {
	fetch [fetchClasses]histogram.Histogram
	page  histogram.Histogram
}

// Fetched counts a request, unless it was interrupted.
func (t *timings) Fetched(d time.Duration, r *fetcher.Response, err error) {
	if !errors.Is(err, context.Canceled) {
		t.fetch[fetchClassOf(r)].Observe(d)
	}
}

// Begin is called when a worker takes a lease.
func (s *Slot) Begin() {
	s.Now(Working)
	s.work = 0
}

// End is called when the worker is done with the lease; fetched reports whether it requested the page.
func (s *Slot) End(t *timings, fetched bool) {
	if s.Now(WaitsForOutbox); fetched {
		t.page.Observe(s.work)
	}
}

// Timings are the durations measured since the process started.
type Timings struct {
	// Fetch measures requests for pages, robots.txt and sitemaps, by outcome: ok, unchanged, redirect, client_error,
	// server_error, no_answer.
	Fetch map[string]histogram.Snapshot
	// Page is the time for a page excluding fetching and storing, that is, for judging and reading.
	Page histogram.Snapshot
	// Queue contains samples of the time that a ready host waited for a worker, by source.
	Queue map[string]histogram.Snapshot
	// Documents are readings of PDF and office documents, by kind.
	Documents map[string]histogram.Snapshot
}

// Timings returns the durations; waits are the waiting times of hosts, by source.
func (m *Meter) Timings(waits [scheduler.Sources]histogram.Snapshot) Timings {
	out := Timings{
		Fetch: map[string]histogram.Snapshot{}, Queue: map[string]histogram.Snapshot{},
		Page: m.Latencies.page.Snapshot(), Documents: m.Documents.timings(),
	}
	for class := range fetchClasses {
		out.Fetch[class.String()] = m.Latencies.fetch[class].Snapshot()
	}
	for source, s := range waits {
		out.Queue[scheduler.Source(source).String()] = s
	}
	return out
}
