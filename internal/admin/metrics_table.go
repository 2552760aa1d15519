package admin

import (
	"math"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/histogram"
)

// metricKind is a metric's type, in Prometheus' words.
type metricKind string

const (
	gauge   metricKind = "gauge"
	counter metricKind = "counter"
	spread  metricKind = "histogram"
)

// metric is one family of a Crawler's metrics. All have the label crawler, and those of
// labels. Exactly one of value and times is set; each calls emit for every series.
type metric struct {
	name   string
	kind   metricKind
	help   string
	labels []string
	value  func(s *Status, emit func(v float64, labels ...string))
	times  func(s *Status, emit func(h histogram.Snapshot, labels ...string))
}

// metrics is the table of all metrics of a Crawler, in the order of docs/monitoring.md.
// A label never has more values than the configuration names, or a fixed list.
func metrics() []metric {
	var all []metric
	for _, part := range [][]metric{crawlMetrics(), pageMetrics(), hostMetrics(), outboxMetrics(), targetMetrics(), storeMetrics(), readingMetrics(), renderingMetrics(), configMetrics()} {
		all = append(all, part...)
	}
	return all
}

type emitValue = func(v float64, labels ...string)

type emitTimes = func(h histogram.Snapshot, labels ...string)

// one returns a metric with one value. Like a value of series, it is absent while it is NaN.
func one(name string, kind metricKind, help string, value func(s *Status) float64) metric {
	return metric{name: name, kind: kind, help: help, value: func(s *Status, emit emitValue) {
		if v := value(s); !math.IsNaN(v) {
			emit(v)
		}
	}}
}

// stamp returns t as a Unix time, or NaN for nil.
func stamp(t *time.Time) float64 {
	if t == nil {
		return math.NaN()
	}
	return float64(t.Unix())
}

// section returns metrics of a part of a status. They are absent while the part is.
func section[T any](part func(*Status) *T) func(name string, kind metricKind, help string, value func(*T) float64) metric {
	return func(name string, kind metricKind, help string, value func(*T) float64) metric {
		return metric{name: name, kind: kind, help: help, value: func(s *Status, emit emitValue) {
			if p := part(s); p != nil {
				emit(value(p))
			}
		}}
	}
}

// series returns metrics with a value for each of several parts of a status, which the labels distinguish.
func series[T any](parts func(*Status) []T, labels []string, values func(*T) []string) func(name string, kind metricKind, help string, value func(*T) float64) metric {
	return func(name string, kind metricKind, help string, value func(*T) float64) metric {
		return metric{name: name, kind: kind, labels: labels, help: help, value: func(s *Status, emit emitValue) {
			all := parts(s)
			for i := range all {
				if v := value(&all[i]); !math.IsNaN(v) {
					emit(v, values(&all[i])...)
				}
			}
		}}
	}
}

// orNone is a part of a status, or one without figures if it is absent.
func orNone[T any](part *T) *T {
	if part == nil {
		return new(T)
	}
	return part
}

// byWord returns a metric with a value for each word of a label.
func byWord[T int | int64 | uint64 | float64](name string, kind metricKind, label, help string, values func(*Status) map[string]T) metric {
	return metric{name: name, kind: kind, labels: []string{label}, help: help, value: func(s *Status, emit emitValue) {
		for word, n := range values(s) {
			emit(float64(n), word)
		}
	}}
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// idleReasons are all codes of crawl.Status.IdleCode.
func idleReasons() []string {
	return []string{
		crawl.IdleStopping, crawl.IdleStarting, crawl.IdlePaused, crawl.IdleOutboxFull, crawl.IdleStoreSlow, crawl.IdleRateLimit,
		crawl.IdleSourcesOff, crawl.IdleNoURL, crawl.IdleHostsClosed, crawl.IdleHostsBusy, crawl.IdleSlotsFull,
	}
}

func crawlMetrics() []metric {
	return []metric{
		one("sextant_urls_known", gauge, "Known URLs.", func(s *Status) float64 { return float64(s.Known) }),
		byWord("sextant_urls", gauge, "class", "Known URLs by the class of their last outcome: pending, ok, redirect, ignored, temporary, permanent.", func(s *Status) map[string]uint64 { return s.ByClass }),
		byWord("sextant_urls_pending", gauge, "source", "URLs in a queue or in flight.", func(s *Status) map[string]uint64 { return s.Pending }),
		one("sextant_urls_in_flight", gauge, "URLs that are being fetched, read or stored.", func(s *Status) float64 { return float64(s.InFlight) }),
		one("sextant_urls_timed", gauge, "URLs with a retry or refresh in the future.", func(s *Status) float64 { return float64(s.Timed) }),
		one("sextant_next_due_timestamp_seconds", gauge, "Time of the next retry or refresh, as a Unix time; absent if none is known.", func(s *Status) float64 { return stamp(s.NextDue) }),
		one("sextant_documents_lost", gauge, "Unsent documents that were lost to disk damage: they are fetched again.", func(s *Status) float64 { return float64(s.Lost) }),
		one("sextant_documents_indexed", gauge, "URLs with a document as their newest order to the indexer.", func(s *Status) float64 { return float64(s.Indexed) }),
		one("sextant_paused", gauge, "1 while an operator has paused the crawl.", func(s *Status) float64 { return yes(s.Paused) }),
		{name: "sextant_idle", kind: gauge, labels: []string{"reason"}, help: "1 for the reason why workers are idle, 0 for the others; slots_full means that all are busy.",
			value: func(s *Status, emit emitValue) {
				for _, reason := range idleReasons() {
					emit(yes(s.IdleCode == reason), reason)
				}
			}},
		byWord("sextant_worker_seconds_total", counter, "activity", "Time of all workers by what they did or waited for: work, fetch, store, url, rate, outbox.", func(s *Status) map[string]float64 { return s.Spent }),
		{name: "sextant_schedule_next_run_timestamp_seconds", kind: gauge, labels: []string{"schedule", "group", "match"}, help: "Next run of a Refresh schedule, as a Unix time; a time in the past was missed.",
			value: func(s *Status, emit emitValue) {
				seen := map[[3]string]bool{}
				for _, n := range s.Schedules {
					if series := [3]string{n.Spec, n.Group, n.Match}; !seen[series] {
						seen[series] = true
						emit(float64(n.Next.Unix()), n.Spec, n.Group, n.Match)
					}
				}
			}},
	}
}

func pageMetrics() []metric {
	return []metric{
		one("sextant_requests_total", counter, "Requests made: pages, robots.txt, sitemaps, log-ins.", func(s *Status) float64 { return float64(s.Totals.Requests) }),
		one("sextant_pages_total", counter, "Pages with the status 200 or 304.", func(s *Status) float64 { return float64(s.Totals.Pages) }),
		one("sextant_body_bytes_total", counter, "Bytes of bodies, decoded.", func(s *Status) float64 { return float64(s.Totals.Bytes) }),
		{name: "sextant_errors_total", kind: counter, labels: []string{"class"}, help: "Visits that ended in an error, by the classes of the reports: " + strings.Join(report.ErrorClasses(), ", ") + ".",
			value: func(s *Status, emit emitValue) {
				for _, class := range report.ErrorClasses() {
					emit(float64(s.Errors[class]), class)
				}
			}},
		byWord("sextant_documents_total", counter, "change", "Documents added to the index, updated in it or deleted from it.", func(s *Status) map[string]uint64 {
			store := orNone(s.Store)
			return map[string]uint64{"added": store.DocumentsAdded, "updated": store.DocumentsUpdated, "deleted": store.DocumentsDeleted}
		}),
		{name: "sextant_fetch_duration_seconds", kind: spread, labels: []string{"outcome"}, help: "Duration of requests up to the end of the body, by outcome; no_answer is a failure of DNS or TLS, a refused connection or a timeout.",
			times: func(s *Status, emit emitTimes) { durations(s.Timings.Fetch, emit) }},
		{name: "sextant_queue_wait_seconds", kind: spread, labels: []string{"source"}, help: "Samples of the time that a ready host waited for a worker; long waits mean too few threads.",
			times: func(s *Status, emit emitTimes) { durations(s.Timings.Queue, emit) }},
		{name: "sextant_page_processing_duration_seconds", kind: spread, help: "Time for a page apart from fetching and storing: rules, reading, judging its links.",
			times: func(s *Status, emit emitTimes) { emit(s.Timings.Page) }},
	}
}

func durations(m map[string]histogram.Snapshot, emit emitTimes) {
	for label, h := range m {
		emit(h, label)
	}
}

func hostMetrics() []metric {
	logIn := series(func(s *Status) []visit.SessionStatus { return s.Sessions }, []string{"login", "kind"}, func(l *visit.SessionStatus) []string { return []string{l.Name, l.Kind} })
	return []metric{
		one("sextant_hosts_known", gauge, "Hosts ever seen.", func(s *Status) float64 { return float64(s.Hosts.Known) }),
		one("sextant_hosts_with_work", gauge, "Hosts with pending URLs.", func(s *Status) float64 { return float64(s.Hosts.WithWork) }),
		{name: "sextant_hosts_closed", kind: gauge, labels: []string{"reason"}, help: "Hosts that must not be visited yet, by reason.",
			value: func(s *Status, emit emitValue) {
				for why := scheduler.ByThrottle; why <= scheduler.ByStore; why++ {
					emit(float64(s.ClosedFor[why.String()]), why.String())
				}
			}},
		one("sextant_hosts_ill", gauge, "Hosts with mostly bad responses: their documents are neither deleted nor replaced by new texts.", func(s *Status) float64 { return float64(s.IllHosts) }),
		logIn("sextant_login_failed", gauge, "1 while a log-in fails; its pages wait.", func(l *visit.SessionStatus) float64 { return yes(l.State == sessionFailed) }),
		logIn("sextant_logins_total", counter, "Sessions begun.", func(l *visit.SessionStatus) float64 { return float64(l.LogIns) }),
	}
}

// sessionFailed is visit.SessionStatus.State of a log-in that does not work.
const sessionFailed = "failed"
