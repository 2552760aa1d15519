package admin

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

var update = flag.Bool("update", false, "write the table of metrics into docs/monitoring.md")

// reference returns the table of metrics in docs/monitoring.md.
func reference() string {
	var b strings.Builder
	b.WriteString("| metric | labels | meaning |\n| --- | --- | --- |\n")
	for _, m := range metrics() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.name, strings.Join(m.labels, ", "), m.help)
	}
	return b.String()
}

func TestMetricsReference(t *testing.T) {
	path := filepath.Join("../..", "docs", "monitoring.md")
	page := testdir.Read(t, path)
	begin, rest, ok := strings.Cut(string(page), "<!-- metrics -->\n")
	table, end, ended := strings.Cut(rest, "<!-- end -->\n")
	if !ok || !ended {
		t.Fatal("docs/monitoring.md has no place for the table of metrics")
	}
	if *update {
		testdir.Write(t, path, begin+"<!-- metrics -->\n"+reference()+"<!-- end -->\n"+end)
	} else if table != reference() {
		t.Error("run go test ./internal/admin -run TestMetricsReference -update")
	}
}

// TestMetricsTable: names are unique, and each metric gives values of one kind.
func TestMetricsTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range metrics() {
		if seen[m.name] || (m.times != nil) != (m.kind == spread) || (m.value != nil) == (m.times != nil) || !strings.HasSuffix(m.help, ".") && !strings.Contains(m.help, ";") {
			t.Errorf("%+v", m)
		}
		seen[m.name] = true
	}
}

// TestCollectorIsWhole: a registry that compares what is collected with what was
// described finds no difference.
func TestCollectorIsWhole(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	s := NewServer([]Crawler{fakeCrawler{name: "a", store: storeWith(t, "http://a.test/1")}}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
	if err := registry.Register(newCollector(s)); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) < 30 {
		t.Errorf("%d families, %v", len(families), err)
	}
}

// countedCrawler counts how often its status is read.
type countedCrawler struct {
	fakeCrawler
	reads *int
}

func (c countedCrawler) Status(ctx context.Context) (Status, error) {
	*c.reads++
	return c.fakeCrawler.Status(ctx)
}

// TestScrapeReadsOnce: a scrape reads the status of each Crawler once, also for whether
// the service is ready.
func TestScrapeReadsOnce(t *testing.T) {
	reads := 0
	registry := prometheus.NewRegistry()
	crawler := countedCrawler{fakeCrawler{name: "a", store: storeWith(t, "http://a.test/1")}, &reads}
	registry.MustRegister(newCollector(NewServer([]Crawler{crawler}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))))
	if _, err := registry.Gather(); err != nil || reads != 1 {
		t.Errorf("the status was read %d times, %v", reads, err)
	}
}
