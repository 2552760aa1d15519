package crawl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// TestNoText: what has no text says so in its document's metas, in its record, in the status
// and in the report of errors; application shells are counted by host.
func TestNoText(t *testing.T) {
	const shell = `<title>Shop</title><noscript>Please enable JavaScript.</noscript><div id="root"></div><script src="/main.js"></script>`
	site := siteOf(t, map[string]string{
		"/a.epub": "", "/b.epub": "", "/c.png": "",
		"/shell/1":  shell,
		"/shell/2":  strings.Replace(shell, "Shop", "Cart", 1),
		"/rendered": strings.Replace(shell, `id="root">`, `id="root">`+strings.Repeat("Rendered by its server. ", 20), 1),
	})
	site.Set("/a.epub", testsite.Page{ContentType: "application/epub+zip", Body: "a book"})
	site.Set("/b.epub", testsite.Page{ContentType: "application/epub+zip", Body: "another book"})
	site.Set("/c.png", testsite.Page{ContentType: "image/png", Body: "\x89PNG\r\n\x1a\nxx"})
	b := openBench(t, site)
	said, status, _, _ := b.crawled()
	at := site.Origins()[0]
	for path, want := range map[string]struct {
		reason string
		meta   []string
	}{
		"/a.epub": {"no_text", []string{"not-read"}}, "/b.epub": {"no_text", []string{"not-read"}},
		"/c.png": {"", []string{"not-read"}}, "/shell/1": {"app_shell", nil}, "/rendered": {"", nil},
	} {
		r, _ := b.record(at + path)
		if r.Reason != want.reason || r.Fate != "indexed" {
			t.Errorf("%s: reason %q (%s), %s, type %s; want %q", path, r.Reason, r.LastError, r.Fate, r.MediaType, want.reason)
		}
		if d := cmp.Diff(want.meta, b.target.documents[at+path].Metas["extraction_error"]); d != "" {
			t.Errorf("%s: metas (-want +got):\n%s", path, d)
		}
	}
	if d := cmp.Diff(&meter.DocumentsStatus{Failed: map[string]map[string]int64{"other": {"not-read": 2}}}, status.Documents); d != "" {
		t.Errorf("status (-want +got):\n%s", d)
	}
	if d := cmp.Diff(&meter.ShellsStatus{Pages: 2, Hosts: 1, ByHost: []meter.HostCount{{Host: at, Pages: 2}}}, status.Shells); d != "" {
		t.Errorf("status (-want +got):\n%s", d)
	}
	if strings.Count(said, "no reader supports a media type") != 1 || strings.Count(said, "a page is an application shell") != 1 {
		t.Errorf("logged: %s", said)
	}
	b.read(func(store *store.Store) {
		errors, err := report.CountErrors(t.Context(), store, report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		counted := map[string]int{}
		for _, c := range errors.Classes {
			counted[c.Class] = c.URLs
		}
		if d := cmp.Diff(map[string]int{"no_text": 2, "app_shell": 2}, counted); d != "" {
			t.Errorf("report (-want +got):\n%s", d)
		}
	})
}
