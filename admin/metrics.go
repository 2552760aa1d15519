package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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
	inFlight    = prometheus.NewDesc("sextant_urls_in_flight", "URLs being fetched or read.", label, nil)
	hosts       = prometheus.NewDesc("sextant_hosts", "Hosts, by what is known of them.", []string{"crawler", "state"}, nil)
	requests    = prometheus.NewDesc("sextant_requests_total", "Requests made, robots.txt counted.", label, nil)
	pages       = prometheus.NewDesc("sextant_pages_total", "Pages answered with 200 or 304.", label, nil)
	bodyBytes   = prometheus.NewDesc("sextant_body_bytes_total", "Bytes of bodies, decoded.", label, nil)
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
		s, err := crawler.Status(ctx)
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
		total(requests, s.Totals.Requests)
		total(pages, s.Totals.Pages)
		total(bodyBytes, s.Totals.Bytes)
		if s.Brake != nil {
			gauge(brakeHolds, boolGauge(s.Brake.Held > 0))
		}
	}
}

func boolGauge(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
