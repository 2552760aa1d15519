package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

const metricsConfig = `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21">
<Notify command="/bin/true" on="stop"/>
<Crawler name="docs" throttleTimeMS="0" aggressive="true" nthreads="4"><Root url="%[1]s/"/><Refresh schedule="@daily"/>
<Fetch name="all" auth="basic" user="ann" password="p" origins="%[1]s" render="auto"><Path val="/"/></Fetch>
<Field name="heading" select="css:h1"/><MainContent/><Browser command="/bin/false"/>
<Push kind="file"/><Push name="gone" kind="papi" url="http://127.0.0.1:1" connector="docs" timeoutS="1"/>
</Crawler></CrawlConfig>`

// scrape crawls a site with the program, and gives its metrics when nothing is left but
// what an indexer that is down does not take.
func scrape(t *testing.T) string {
	t.Helper()
	// No PDF file: compiling their reader takes longer than all the rest, and no metric is of it alone.
	site, dir := httptest.NewServer(fileSite(map[string][]byte{"good.docx": testdocs.All(testdocs.Content{Title: "A title", Text: "What it says."})["docx"], "damaged.docx": []byte("PK\x03\x04 and nothing more")})), t.TempDir()
	defer site.Close()
	path := filepath.Join(dir, "CrawlConfig.xml")
	if err := os.WriteFile(path, fmt.Appendf(nil, metricsConfig, site.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	address := testport.Reserve(t)
	service := process(t, "run", "--listen="+address, "-c", path, "-d", filepath.Join(dir, "data"))
	var log strings.Builder
	service.Stderr = &log
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = service.Process.Signal(syscall.SIGTERM)
		if err := service.Wait(); err != nil {
			t.Errorf("the service ended with %v\n%s", err, log.String())
		}
	}()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text, err := read("http://" + address + "/metrics")
		if err == nil && strings.Contains(text, `reason="no_url"} 1`) && strings.Contains(text, "sextant_documents_read_total") &&
			strings.Contains(text, "sextant_main_content_pages_total") && strings.Contains(text, `sextant_browser_down{crawler="docs"} 1`) &&
			strings.Contains(text, `sextant_target_up{crawler="docs",kind="papi",target="gone"} 0`) {
			return text
		}
	}
	t.Fatalf("the crawl does not end\n%s", log.String())
	return ""
}

func read(address string) (string, error) {
	answer, err := http.Get(address) //nolint:gosec,noctx // a test's own server
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return string(b), err
}

// TestScrape: the metrics of a real crawl follow Prometheus' rules, and alerts and
// dashboard name no other.
func TestScrape(t *testing.T) {
	text := scrape(t)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		there[m[1]] = true
	}
	// Those are absent while there is nothing to tell: no page could not be searched, none was rendered.
	for _, name := range []string{
		"sextant_deletions_pending", "sextant_deletions_pending_oldest_timestamp_seconds", "sextant_next_due_timestamp_seconds", "sextant_app_shells_total",
		"sextant_field_failed_total", "sextant_rendered_pages_total", "sextant_database_set_back_timestamp_seconds",
	} {
		there[name] = true
	}
	alerts := testdir.Read(t, filepath.Join(monitoring(), "alerts.yml"))
	docs := testdir.Read(t, filepath.Join("..", "..", "docs", "monitoring.md"))
	for from, text := range map[string]string{"alerts.yml": string(alerts), "dashboard": strings.Join(expressions(t), "\n"), "docs/monitoring.md": string(docs)} {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`\b(sextant|process|go)_[a-z_]+\b`).FindAllString(text, -1)))) {
			base := name
			for _, part := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, part)
			}
			if !there[name] && !there[base] {
				t.Errorf("%s names %s, which a real scrape does not have", from, name)
			}
		}
	}
}

func monitoring() string { return filepath.Join("..", "..", "packaging", "monitoring") }

// expressions returns those of the dashboard, with its variables as Grafana fills them in.
func expressions(t *testing.T) []string {
	t.Helper()
	raw := testdir.Read(t, filepath.Join(monitoring(), "grafana-dashboard.json"))
	var dashboard struct {
		Panels []struct {
			Title, Description, Type string
			Targets                  []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range dashboard.Panels {
		if p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %q has no description or no target", p.Title)
		}
		for _, target := range p.Targets {
			out = append(out, strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$crawler", ".*").Replace(target.Expr))
		}
	}
	if len(out) < 30 {
		t.Errorf("only %d expressions", len(out))
	}
	return out
}

// TestAlerts: promtool finds no fault in alerts and dashboard, and its tests of the
// alerts pass.
func TestAlerts(t *testing.T) {
	promtool := testneed.Program(t, "promtool", "prometheus")
	rules := "groups:\n- name: dashboard\n  rules:\n"
	for i, e := range expressions(t) {
		quoted, _ := json.Marshal(e)
		rules += fmt.Sprintf("  - record: dashboard:panel:%d\n    expr: %s\n", i, quoted)
	}
	dashboard := filepath.Join(t.TempDir(), "dashboard.yml")
	testdir.Write(t, dashboard, rules)
	for _, args := range [][]string{{"check", "rules", dashboard}, {"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		command := exec.CommandContext(t.Context(), promtool, args...)
		command.Dir = monitoring()
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestAlertsAreExplained: each says what it means, in a section that exists, and is
// tested and listed.
func TestAlertsAreExplained(t *testing.T) {
	file := func(parts ...string) string {
		b := testdir.Read(t, filepath.Join(parts...))
		return string(b)
	}
	alerts, tests, docs := file(monitoring(), "alerts.yml"), file(monitoring(), "alerts_test.yml"), file("..", "..", "docs", "monitoring.md")
	found := regexp.MustCompile(`(?s)- alert: (\w+)\n.*?summary: ".+?"\n\s+description: ".{40,}?"\n\s+runbook_url: https://github\.com/sextant-crawler/sextant/blob/main/(\S+)\n`).FindAllStringSubmatch(alerts, -1)
	if len(found) != strings.Count(alerts, "- alert:") || len(found) < 14 {
		t.Errorf("%d of %d alerts are explained", len(found), strings.Count(alerts, "- alert:"))
	}
	for _, f := range found {
		name := f[1]
		if !strings.Contains(tests, "name: "+name+"\n") || !strings.Contains(tests, "name: "+name+" is quiet\n") {
			t.Errorf("%s has no tests", name)
		}
		if !strings.Contains(docs, "| `"+name+"` |") {
			t.Errorf("docs/monitoring.md does not list %s", name)
		}
		page, section, _ := strings.Cut(f[2], "#")
		if !hasSection(file("..", "..", page), section) {
			t.Errorf("%s: %s is not there", name, f[2])
		}
	}
}

// hasSection reports whether a page has the heading of an anchor.
func hasSection(page, anchor string) bool {
	for line := range strings.Lines(page) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			if strings.NewReplacer(",", "", " ", "-").Replace(strings.ToLower(strings.TrimSpace(heading))) == anchor {
				return true
			}
		}
	}
	return anchor == ""
}
