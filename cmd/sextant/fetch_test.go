package main

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
)

func TestFetchTellsOfCutLinks(t *testing.T) {
	for cut, want := range map[bool]int{false: 0, true: 1} {
		var out strings.Builder
		err := texts(&out, unpainted)("page", shownPage{&admin.FetchedPage{Read: true, Follows: true, Links: 50_000, LinksCut: cut}, 0})
		if n := strings.Count(out.String(), "links     50000 of more"); err != nil || n != want {
			t.Errorf("cut %t: told %d times, %v:\n%s", cut, n, err, &out)
		}
	}
}

// TestFetchLimitsChunks: a page may have a thousand.
func TestFetchLimitsChunks(t *testing.T) {
	for n, want := range map[int]string{20: "more (", 1000: "and 980 more (--json lists all)\n"} {
		var out strings.Builder
		f := &admin.Fetched{Stored: new(report.StoredURL), Document: &push.Document{Chunks: make([]push.Chunk, n)}}
		err := texts(&out, unpainted)("outcome", f)
		found, listed := strings.Contains(out.String(), want), strings.Count(out.String(), "(beginning)")
		if err != nil || found != (n > 20) || listed != 20 {
			t.Errorf("%d chunks, %v:\n%s", n, err, &out)
		}
	}
}

// TestFetchTellsOfDroppedMetas: permissions of a page are not those of its document.
func TestFetchTellsOfDroppedMetas(t *testing.T) {
	var out strings.Builder
	metas := []extract.Meta{
		{Name: "acl_allow", Content: "all"}, {Name: "ACL-Deny", Content: "x"}, {Name: "author", Content: "ann"},
	}
	err := texts(&out, unpainted)("page", shownPage{&admin.FetchedPage{Metas: metas}, 0})
	const why = "; dropped: only the configuration sets permissions\n"
	want := "  meta      acl_allow = all" + why + "  meta      ACL-Deny = x" + why + "  meta      author = ann\n"
	if err != nil || !strings.Contains(out.String(), want) {
		t.Errorf("%q, want %q (%v)", &out, want, err)
	}
}

// TestUnreadWords: a file that could not be read is told from one of a type that nothing reads.
func TestUnreadWords(t *testing.T) {
	for reason, want := range map[string]string{
		"not-read": "no reader supports its type: its document has only its URL and metas",
		"memory":   "its text cannot be read (extraction_error memory): its document has only its URL and metas",
	} {
		var out strings.Builder
		page := &admin.FetchedPage{Metas: []extract.Meta{{Name: "extraction_error", Content: reason}}}
		err := texts(&out, unpainted)("page", shownPage{page, 0})
		if err != nil || !strings.HasPrefix(out.String(), "  page      "+want+"\n") {
			t.Errorf("%q, want %q (%v)", &out, want, err)
		}
	}
}

// TestRenderedWords: a dry run says why a page was not rendered, where its scripts led, and that they left nothing.
func TestRenderedWords(t *testing.T) {
	plain, lost := &admin.FetchedPage{Title: "Home"}, new(report.StoredURL)
	lost.LastError = "the browser does not start"
	for want, f := range map[string]*admin.Fetched{
		"rendered  not rendered: the browser does not start":                          {Plain: plain, Stored: lost},
		"its scripts redirect to http://a/new, which was not followed":                {Plain: plain, Rendered: &admin.FetchedRendered{Location: "http://a/new"}},
		"its scripts removed all text, perhaps by an error: it is read as its server": {Plain: plain, Page: plain, Rendered: &admin.FetchedRendered{Emptied: true}},
	} {
		var b strings.Builder
		err := texts(&b, unpainted)("rendered", f)
		if said := b.String(); err != nil || !strings.Contains(said, want) || strings.Contains(want, "not rendered") && strings.Contains(said, "0 ms") {
			t.Errorf("%q is not in\n%s (%v)", want, said, err)
		}
	}
}
