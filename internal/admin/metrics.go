package admin

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler/histogram"
)

type targetStatus = crawl.TargetStatus

// collectTimeout bounds one scrape.
const collectTimeout = 5 * time.Second

// collector reads the figures of every Crawler on each scrape, so that the crawl itself has no second set of counters.
type collector struct {
	server  *Server
	metrics []metric
	descs   []*prometheus.Desc // of metrics
	error   *prometheus.Desc
	notices *prometheus.Desc
	build   *prometheus.Desc
	ready   *prometheus.Desc
	standby *prometheus.Desc
}

// Metrics of every process, with open stores or without.
const (
	readyMetric   = "sextant_ready"
	readyHelp     = "1 if the service is ready, as /readyz reports; 0 if it is not."
	standbyMetric = "sextant_standing_by"
	standbyHelp   = "1 if another node crawls, and this one stands by; then all metrics of Crawlers are absent."
)

func newCollector(s *Server) *collector {
	c := &collector{
		server: s, metrics: metrics(),
		error:   prometheus.NewDesc("sextant_status_error", "1 if the figures of a Crawler could not be read: its other metrics are absent then.", []string{"crawler"}, nil),
		build:   prometheus.NewDesc("sextant_build_info", "1; the labels say which version runs.", []string{"version", "goversion", "goos", "goarch"}, nil),
		notices: prometheus.NewDesc("sextant_notices_total", "Notices to each receiver, sent or abandoned; absent without <Notify>.", []string{"receiver", "result"}, nil),
		ready:   prometheus.NewDesc(readyMetric, readyHelp, nil, nil),
		standby: prometheus.NewDesc(standbyMetric, standbyHelp, nil, nil),
	}
	for _, m := range c.metrics {
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, append([]string{"crawler"}, m.labels...), nil))
	}
	return c
}

// metrics returns the scrape handler with a separate registry.
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(s), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// waitingMetrics returns the scrape handler of a process that opens, awaits or closes its stores.
func waitingMetrics(state func() ReadinessProblem) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: readyMetric, Help: readyHelp}, func() float64 { return 0 }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: standbyMetric, Help: standbyHelp}, func() float64 {
			return yes(state().Code == notReadyStandby)
		}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range append(c.descs, c.error, c.ready, c.standby, c.notices, c.build) {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	out <- prometheus.MustNewConstMetric(c.build, prometheus.GaugeValue, 1, c.server.about.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if told := c.server.about.Notices; told != nil {
		for i, n := range told() {
			who := strconv.Itoa(i+1) + " " + n.Receiver
			out <- prometheus.MustNewConstMetric(c.notices, prometheus.CounterValue, float64(n.Sent), who, "sent")
			out <- prometheus.MustNewConstMetric(c.notices, prometheus.CounterValue, float64(n.Failed), who, "failed")
		}
	}
	ready := true
	for _, crawler := range c.server.crawlers {
		s, err := crawler.Status(ctx)
		out <- prometheus.MustNewConstMetric(c.error, prometheus.GaugeValue, yes(err != nil), crawler.Name())
		if err == nil {
			c.collect(crawler.Name(), &s, out)
		}
		ready = ready && len(notReady(crawler, &s, err)) == 0
	}
	out <- prometheus.MustNewConstMetric(c.ready, prometheus.GaugeValue, yes(ready))
	out <- prometheus.MustNewConstMetric(c.standby, prometheus.GaugeValue, 0)
}

// collect sends the metrics of one Crawler.
func (c *collector) collect(name string, s *Status, out chan<- prometheus.Metric) {
	for i, m := range c.metrics {
		desc, kind := c.descs[i], prometheus.GaugeValue
		if m.kind == counter {
			kind = prometheus.CounterValue
		}
		if m.times != nil {
			m.times(s, func(h histogram.Snapshot, labels ...string) {
				out <- prometheus.MustNewConstHistogram(desc, h.Count, h.Sum.Seconds(), h.Seconds(), append([]string{name}, labels...)...)
			})
			continue
		}
		m.value(s, func(v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(desc, kind, v, append([]string{name}, labels...)...)
		})
	}
}
