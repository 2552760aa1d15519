package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// TestManual: its pages, files, redirects and searches.
func TestManual(t *testing.T) {
	c := newConsole(t, admin.Reader, http.NotFoundHandler())
	for path, want := range map[string][]string{
		"/docs/":                    {"<h1 id=\"sextant-the-manual\">", `aria-current="page">Sextant: the manual</a>`, `rel="next" href="/docs/first-crawl"`},
		"/docs/runbook":             {`<title>Runbook – Sextant</title>`, `id="deletions-are-pending"`, `<a href="#deletions-are-pending">Deletions are pending</a>`, `rel="prev"`, `href="/docs/deletions#when-a-document-leaves"`},
		"/docs/first-crawl":         {`<script src="/static/`, `<span class="xml-tag">&lt;CrawlConfig</span>`, `class="on-page"`},
		"/docs/moving/ibm":          {`href="/docs/moving/cloudview"`},
		"/docs/?q=watchdog+SIGABRT": {`href="/docs/operations#as-a-service-under-systemd"`},
		"/docs/?q=%3Cqwertz%3E%22":  {"No section matches <bdi>&lt;qwertz&gt;&#34;</bdi>", `value="&lt;qwertz&gt;&#34;"`},
	} {
		status, body := visitPage(t, c, path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s does not have %s", path, w)
			}
		}
		if n := strings.Count(body, "<h1"); n != 1 {
			t.Errorf("%s has %d headings of the first level", path, n)
		}
	}
	if _, body := visitPage(t, c, "/docs/?q="+strings.Repeat("long", 5000)); strings.Contains(body, strings.Repeat("long", 26)) {
		t.Error("a long query is shown as a whole")
	}
	for _, path := range []string{"/docs/nothing", "/docs/docs.go", "/docs/../x.svg", "/docs/decisions/0001-record-decisions", "/docs/project/style"} {
		if status, body := visitPage(t, c, path); status == http.StatusOK || strings.Contains(body, "package docs") {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestManualFiles(t *testing.T) {
	c := newConsole(t, admin.Reader, http.NotFoundHandler())
	for path, media := range map[string]string{"/docs/way.svg": "image/svg+xml", "/docs/webhook.openapi.yaml": "text/plain; charset=utf-8"} {
		w := get(t, c, path)
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != media || w.Body.Len() == 0 || w.Header().Get("Content-Security-Policy") != contentPolicy {
			t.Errorf("%s: %d, %q, %d bytes", path, w.Code, got, w.Body.Len())
		}
	}
	for from, to := range map[string]string{"/docs/runbook.md": "/docs/runbook", "/docs/index.md": "/docs/"} {
		w := get(t, c, from)
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != to {
			t.Errorf("%s: %d %q, want %s", from, w.Code, got, to)
		}
	}
}

// TestManualKeepsCrawler: reading does not lose the chosen Crawler.
func TestManualKeepsCrawler(t *testing.T) {
	c := newConsole(t, admin.Reader, http.NotFoundHandler(), "a", `b"$1&`)
	_, body := visitPage(t, c, "/docs/runbook?crawler=b%22%241%26")
	for _, want := range []string{`href="/docs/deletions?crawler=b%22%241%26#when-a-document-leaves"`, `href="/docs/operations?crawler=b%22%241%26"`, `name="crawler" value="b&#34;$1&amp;"`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing", want)
		}
	}
}
