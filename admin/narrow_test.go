package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl"
)

// TestNarrowedDeletions: only those are listed whose URL and reason hold what is asked.
func TestNarrowedDeletions(t *testing.T) {
	d := openDoor(t, nil, nil)
	list := func(query string) int {
		_, body := d.do(t, d.request(t, http.MethodGet, "/api/v1/deletions?"+query, d.operator, ""))
		return strings.Count(body, `"url"`)
	}
	all := list("")
	if all == 0 {
		t.Fatal("the fake holds no deletion")
	}
	if n := list("url=nowhere.test"); n != 0 {
		t.Errorf("%d have another URL", n)
	}
	if n := list("reason=no+such+reason"); n != 0 {
		t.Errorf("%d have another reason", n)
	}
	if n := list("url=http"); n != all {
		t.Errorf("%d of %d have http", n, all)
	}
}

// limitSink counts.
type limitSink struct {
	ReportSink
	n int
}

func (l *limitSink) Broken(crawl.Broken) error   { l.n++; return nil }
func (l *limitSink) Changed(crawl.Changed) error { l.n++; return nil }

func TestLimitedReports(t *testing.T) {
	for _, limit := range []int{1, 2} {
		to := &limitSink{}
		sink, taken := &limitedSink{ReportSink: to, left: limit}, 0
		for range 3 {
			if sink.Broken(crawl.Broken{}) == nil {
				taken++
			}
		}
		if to.n != limit || taken != limit {
			t.Errorf("limit %d: %d were written, %d taken", limit, to.n, taken)
		}
		if sink.Changed(crawl.Changed{}) == nil {
			t.Errorf("limit %d: a change goes through", limit)
		}
	}
}
