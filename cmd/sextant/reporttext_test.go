package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/internal/report"
)

// TestReportTextIsPlain: what a stranger wrote moves no cursor and turns no line around.
func TestReportTextIsPlain(t *testing.T) {
	var out strings.Builder
	text := newReportText(&out, report.KindChanges, time.Time{})
	if err := text.Put(report.Change{Change: "failed", URL: "http://a.test/", Words: "a\x1b[2Jb\u202ec\u2066d\ne"}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasSuffix(got, "  a [2Jb c d e\n") {
		t.Errorf("%q", got)
	}
}

// TestTextOfCounts: what became of the URLs comes first, and each row fits its head.
func TestTextOfCounts(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	one := []report.ErrorCount{{Class: "dns", URLs: 2, Forgotten: 1, First: at, Last: at, Example: "http://a.test/", Words: "no such host"}}
	for _, c := range []struct {
		kind  string
		entry report.Entry
		want  string
	}{
		{report.KindErrors, &report.Errors{URLs: 2, Forgotten: 1, Hosts: 2, Classes: one, ByHost: []report.HostErrors{{Host: "http://a.test", URLs: 2, Forgotten: 1, Classes: one}}}, `
2 URLs with an error, 1 forgotten, on 2 hosts

all hosts      URLs  forgotten  first                       last                        example         words
  dns          2     1          ` + clock.Local(at) + `  ` + clock.Local(at) + `  http://a.test/  no such host
http://a.test  2     1                                                                                  
  dns          2     1          ` + clock.Local(at) + `  ` + clock.Local(at) + `  http://a.test/  no such host
and 1 more (--top 0 names all)
`},
		{report.KindDocuments, &report.Documents{
			URLs: 3, Indexed: 1, Hosts: 1, BySource: []report.GroupCount{{Indexed: 1, Waiting: 2, Pending: 3, Dead: 4}}, ByStatus: []report.GroupCount{{Name: "indexed", URLs: 1}},
			ByFifo: []report.GroupCount{{Name: "user", URLs: 3, Indexed: 1}}, ByType: []report.GroupCount{{URLs: 3, Indexed: 1}}, ByHost: []report.GroupCount{{Name: "http://a.test", URLs: 3, Indexed: 1}},
		}, `
3 URLs, 1 document in the index; 4 orders refused by targets

by status  URLs
  indexed  1

by source    indexed  waiting  pending  dead
  (no name)  1        2        3        4

by fifo  URLs  indexed
  user   3     1

by type, of pages that were had  URLs  indexed
  (not known)                    3     1

by host          URLs  indexed
  http://a.test  3     1
`},
	} {
		var out strings.Builder
		to := newReportText(&out, c.kind, time.Time{})
		if err := to.Put(c.entry); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want[1:], out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.kind, diff)
		}
	}
}
