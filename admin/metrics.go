package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler"
)

// collectTimeout bounds one scrape.
const collectTimeout = 5 * time.Second

// collector reads the figures of every Crawler when it is scraped, so that the
// crawl itself counts nothing twice.
type collector struct{ crawlers []Crawler }

var (
	label       = []string{"crawler"}
	known       = prometheus.NewDesc("sextant_urls_known", "URLs that the store knows.", label, nil)
	pending     = prometheus.NewDesc("sextant_urls_pending", "URLs that wait or are in flight, by source.", []string{"crawler", "source"}, nil)
	timed       = prometheus.NewDesc("sextant_urls_timed", "URLs whose retry or refresh lies in the future.", label, nil)
	byClass     = prometheus.NewDesc("sextant_urls", "URLs by the class of their last outcome.", []string{"crawler", "class"}, nil)
	indexed     = prometheus.NewDesc("sextant_documents_indexed", "URLs whose newest order is a document.", label, nil)
	outbox      = prometheus.NewDesc("sextant_outbox_entries", "Orders in the outbox, by state.", []string{"crawler", "state"}, nil)
	outboxBytes = prometheus.NewDesc("sextant_outbox_bytes", "Bytes of documents and deletions that wait: outboxMaxBytes bounds them.", label, nil)
	outboxOld   = prometheus.NewDesc("sextant_outbox_oldest_timestamp_seconds", "Time of the oldest order that waits, as a Unix time; absent if none does.", label, nil)
	targetOld   = prometheus.NewDesc("sextant_target_behind_timestamp_seconds", "Time of the oldest order that a target does not have safely, as a Unix time; absent if it has all.", []string{"crawler", "target"}, nil)
	inFlight    = prometheus.NewDesc("sextant_urls_in_flight", "URLs being fetched or read.", label, nil)
	hosts       = prometheus.NewDesc("sextant_hosts", "Hosts, by what is known of them.", []string{"crawler", "state"}, nil)
	requests    = prometheus.NewDesc("sextant_requests_total", "Requests made, robots.txt counted.", label, nil)
	pages       = prometheus.NewDesc("sextant_pages_total", "Pages answered with 200 or 304.", label, nil)
	bodyBytes   = prometheus.NewDesc("sextant_body_bytes_total", "Bytes of bodies, decoded.", label, nil)
	paused      = prometheus.NewDesc("sextant_paused", "1 while the operator has paused the crawl.", label, nil)
	idle        = prometheus.NewDesc("sextant_idle", "1 for the reason for which workers wait now, 0 for the others.", []string{"crawler", "reason"}, nil)
	spent       = prometheus.NewDesc("sextant_worker_seconds_total", "Time of the workers, by what they did or waited for.", []string{"crawler", "activity"}, nil)
	heldSince   = prometheus.NewDesc("sextant_deletions_held_oldest_timestamp_seconds", "Time of the oldest deletion that is held, as a Unix time; absent if none is.", label, nil)
	nextRefresh = prometheus.NewDesc("sextant_schedule_next_run_timestamp_seconds", "Time of a schedule's next run, as a Unix time.", []string{"crawler", "schedule", "group"}, nil)
	diskBytes   = prometheus.NewDesc("sextant_store_disk_bytes", "Disk space of the store, by kind of file.", []string{"crawler", "kind"}, nil)
	commits     = prometheus.NewDesc("sextant_store_commits_total", "Commits of the store since it was opened.", label, nil)
	writes      = prometheus.NewDesc("sextant_store_writes_total", "Outcomes and other changes in those commits.", label, nil)
	waiting     = prometheus.NewDesc("sextant_store_writes_waiting", "Changes that wait for the next commit.", label, nil)
	longest     = prometheus.NewDesc("sextant_store_commit_longest_seconds", "Longest commit of the last minute or so.", label, nil)
	lastCommit  = prometheus.NewDesc("sextant_store_commit_last_seconds", "How long the last commit took.", label, nil)
	prints      = prometheus.NewDesc("sextant_fingerprints", "URLs that are known in memory.", label, nil)
	printBytes  = prometheus.NewDesc("sextant_fingerprints_bytes", "Memory that they take.", label, nil)
	closedFor   = prometheus.NewDesc("sextant_hosts_closed", "Hosts that may not be visited yet, by reason.", []string{"crawler", "reason"}, nil)
	failing     = prometheus.NewDesc("sextant_hosts_failing", "Hosts that fail as a whole: their deletions are held.", label, nil)
	nextDue     = prometheus.NewDesc("sextant_next_due_timestamp_seconds", "When the first retry or refresh is due, as a Unix time; absent if none is known.", label, nil)
	docsRead    = prometheus.NewDesc("sextant_documents_read_total", "PDF and office documents that were read.", []string{"crawler", "kind"}, nil)
	docsFailed  = prometheus.NewDesc("sextant_documents_failed_total", "PDF and office documents that could not be read.", []string{"crawler", "kind", "reason"}, nil)
	brakeHolds  = prometheus.NewDesc("sextant_deletion_brake_holds", "1 while the brake holds deletions.", label, nil)
	configError = prometheus.NewDesc("sextant_config_reload_failed", "1 while a changed configuration could not be put in force.", label, nil)
	statusError = prometheus.NewDesc("sextant_status_error", "1 if the figures of a Crawler could not be read.", label, nil)
)

// metrics is the scrape handler with a registry of its own.
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{s.crawlers})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, out) }

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	for _, crawler := range c.crawlers {
		name := crawler.Name()
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{name}, labels...)...)
		}
		total := func(d *prometheus.Desc, v int64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), name)
		}
		s, err := statusOf(ctx, crawler)
		if err != nil {
			gauge(statusError, 1)
			continue
		}
		gauge(statusError, 0)
		gauge(configError, boolGauge(s.ConfigError != ""))
		gauge(known, float64(s.Known))
		gauge(timed, float64(s.Timed))
		gauge(indexed, float64(s.Indexed))
		gauge(inFlight, float64(s.InFlight))
		for source, n := range s.Pending {
			gauge(pending, float64(n), source)
		}
		for class, n := range s.ByClass {
			gauge(byClass, float64(n), class)
		}
		gauge(outbox, float64(s.Outbox.Waiting), "waiting")
		gauge(outbox, float64(s.Outbox.Held), "held")
		gauge(outbox, float64(s.Outbox.Dead), "dead")
		gauge(hosts, float64(s.Hosts.Known), "known")
		gauge(hosts, float64(s.Hosts.WithWork), "with_work")
		gauge(hosts, float64(s.Hosts.Closed), "closed")
		gauge(paused, boolGauge(s.Paused))
		for _, reason := range idleReasons() {
			gauge(idle, boolGauge(s.IdleCode == reason), reason)
		}
		for activity, seconds := range s.Spent {
			out <- prometheus.MustNewConstMetric(spent, prometheus.CounterValue, seconds, name, activity)
		}
		details(&s.Details, gauge)
		storeFigures(s.Store, name, out)
		documentFigures(s.Documents, name, out)
		total(requests, s.Totals.Requests)
		total(pages, s.Totals.Pages)
		total(bodyBytes, s.Totals.Bytes)
		if s.Brake != nil {
			gauge(brakeHolds, boolGauge(s.Brake.Held > 0))
		}
	}
}

// documentFigures are nothing before the first document.
func documentFigures(s *crawl.DocumentsStatus, name string, out chan<- prometheus.Metric) {
	if s == nil {
		return
	}
	for kind, n := range s.Read {
		out <- prometheus.MustNewConstMetric(docsRead, prometheus.CounterValue, float64(n), name, kind)
	}
	for kind, reasons := range s.Failed {
		for reason, n := range reasons {
			out <- prometheus.MustNewConstMetric(docsFailed, prometheus.CounterValue, float64(n), name, kind, reason)
		}
	}
}

// idleReasons are all codes of crawl.Status.IdleCode.
func idleReasons() []string {
	return []string{
		crawl.IdleStopping, crawl.IdleStarting, crawl.IdlePaused, crawl.IdleOutboxFull, crawl.IdleStoreSlow, crawl.IdleRateLimit,
		crawl.IdleSourcesOff, crawl.IdleNoURL, crawl.IdleHostsClosed, crawl.IdleHostsBusy, crawl.IdleSlotsFull,
	}
}

func details(d *Details, gauge func(*prometheus.Desc, float64, ...string)) {
	if lag := d.OutboxLag; lag != nil {
		gauge(outboxBytes, float64(lag.Bytes))
		if lag.Oldest != nil {
			gauge(outboxOld, float64(lag.Oldest.Unix()))
		}
		for target, at := range lag.Behind {
			gauge(targetOld, float64(at.Unix()), target)
		}
	}
	if d.HeldSince != nil {
		gauge(heldSince, float64(d.HeldSince.Unix()))
	}
	for why := scheduler.ByThrottle; why <= scheduler.ByStore; why++ {
		gauge(closedFor, float64(d.ClosedFor[why.String()]), why.String())
	}
	gauge(failing, float64(d.FailingHosts))
	if d.NextDue != nil {
		gauge(nextDue, float64(d.NextDue.Unix()))
	}
	seen := map[[2]string]bool{}
	for _, s := range d.Schedules {
		if series := [2]string{s.Schedule, s.Group}; !seen[series] {
			seen[series] = true
			gauge(nextRefresh, float64(s.Next.Unix()), s.Schedule, s.Group)
		}
	}
}

// storeFigures are those of the store, where they are known.
func storeFigures(s *StoreStatus, name string, out chan<- prometheus.Metric) {
	if s == nil {
		return
	}
	metric := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, append([]string{name}, labels...)...)
	}
	metric(diskBytes, prometheus.GaugeValue, float64(s.TableBytes), "tables")
	metric(diskBytes, prometheus.GaugeValue, float64(s.LogBytes), "logs")
	metric(diskBytes, prometheus.GaugeValue, float64(s.BodyBytes), "bodies")
	metric(commits, prometheus.CounterValue, float64(s.Commits))
	metric(writes, prometheus.CounterValue, float64(s.Writes))
	metric(waiting, prometheus.GaugeValue, float64(s.WritesWaiting))
	metric(longest, prometheus.GaugeValue, s.LongestCommitS)
	metric(lastCommit, prometheus.GaugeValue, s.LastCommitS)
	metric(prints, prometheus.GaugeValue, float64(s.Fingerprints))
	metric(printBytes, prometheus.GaugeValue, float64(s.FingerprintBytes))
}

func boolGauge(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
