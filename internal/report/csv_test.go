package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
)

// written is what a report is in CSV, read again.
func written(t *testing.T, kind string, write func(*CSV) error) [][]string {
	t.Helper()
	var b bytes.Buffer
	c := NewCSV(&b, kind)
	if err := write(c); err != nil {
		t.Fatal(err)
	}
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "\r\n") < 2 {
		t.Errorf("lines do not end as in RFC 4180: %q", b.String())
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func TestReportCSVIsHarmless(t *testing.T) {
	at := time.Unix(0, 0)
	for words, want := range map[string]string{
		"=cmd()": "'=cmd()", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\tx": "'\tx", "\rx": "'x" /* encoding/csv drops it */, "\n=1": "'\n=1",
		"a=b": "a=b", "": "", "with \"quotes\", commas\nand lines, ü": "with \"quotes\", commas\nand lines, ü",
	} {
		rows := written(t, "broken", func(c *CSV) error {
			return c.Put(Broken{URL: "http://a.test/", Error: "4xx", Status: 404, Words: words, Since: at, Visits: 2, Pages: 1, LinkedFrom: []LinkedFrom{{Page: "http://a.test/p", Redirect: "http://a.test/r"}}})
		})
		line := []string{"http://a.test/", "4xx", "404", want, "1970-01-01T00:00:00Z", "", "2", "false", "1", "http://a.test/p", "http://a.test/r"}
		if diff := cmp.Diff([][]string{line}, rows); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}

func TestReportCSVRows(t *testing.T) {
	if rows := written(t, "broken", func(c *CSV) error { return c.Put(Broken{URL: "http://a.test/"}) }); len(rows) != 1 || rows[0][9] != "" {
		t.Errorf("a broken URL without pages is %q", rows)
	}
	one := []ErrorCount{{Class: "dns", URLs: 2, Forgotten: 1, Example: "http://a.test/", Words: "=w"}}
	rows := written(t, "errors", func(c *CSV) error {
		return c.Put(&Errors{Classes: one, ByHost: []HostErrors{{Host: "http://a.test", Classes: one}}})
	})
	if len(rows) != 2 || rows[0][0] != "" || !cmp.Equal(rows[1], []string{"http://a.test", "dns", "2", "1", "", "", "http://a.test/", "'=w"}) {
		t.Errorf("errors are %q", rows)
	}
	rows = written(t, "documents", func(c *CSV) error {
		return c.Put(&Documents{
			URLs: 3, Indexed: 2, BySource: []GroupCount{{Name: "@web", Indexed: 2, Waiting: 3, Pending: 4, Dead: 5}},
			ByStatus: []GroupCount{{Name: "robots", URLs: 6}}, ByHost: []GroupCount{{Name: "http://a.test", URLs: 7, Indexed: 0}},
		})
	})
	want := [][]string{{"all", "", "3", "2", "", "", ""}, {"source", "'@web", "", "2", "3", "4", "5"}, {"status", "robots", "6", "", "", "", ""}, {"host", "http://a.test", "7", "0", "", "", ""}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7), "2w": now.AddDate(0, 0, -14), "0s": now,
		"2026-01-31T08:00:00Z": time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC),
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local),
		"2026-01-31 08:30":     time.Date(2026, 1, 31, 8, 30, 0, 0, time.Local),
	} {
		if got, err := ParseSince(s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"yesterday", "-1h", "d", "7", "2026-13-01", "-7d"} {
		if got, err := ParseSince(s, now); err == nil {
			t.Errorf("%q is %v, want an error", s, got)
		}
	}
}

func TestParseOptions(t *testing.T) {
	now := time.Unix(1e9, 0)
	for kind, want := range map[string]Options{"changes": {Top: TopHosts, Since: now.Add(-ChangesFor), Order: Order{By: "at", Desc: true}}, "errors": {Top: TopHosts}} {
		got, err := ParseOptions(kind, nil, now)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", kind, got, err, want)
		}
	}
	for _, bad := range []map[string][]string{{"top": {"-1"}}, {"pages": {"x"}}, {"since": {"x"}}} {
		if _, err := ParseOptions("errors", bad, now); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// putting counts entries.
type putting struct{ n, ends int }

func (p *putting) Put(Entry) error { p.n++; return nil }
func (p *putting) End() error      { p.ends++; return nil }

func TestLimitedReports(t *testing.T) {
	s := newTold()
	for i := range 3 {
		s.put(scheduler.Record{URL: fmt.Sprint("http://a.test/", i), Class: scheduler.Permanent, Status: 404, FoundAt: time.Unix(1, 0)})
	}
	for kind, whole := range map[string]int{KindBroken: 3, KindChanges: 3, KindErrors: 1, KindDocuments: 1} {
		for limit, want := range map[int]int{0: whole, 1: 1, 2: min(2, whole)} {
			to := &putting{}
			if err := Write(t.Context(), kind, s, Options{Limit: limit}, to); err != nil || to.n != want || to.ends != 1 {
				t.Errorf("%s, limit %d: %d entries, want %d; %v", kind, limit, to.n, want, err)
			}
		}
	}
}

// TestTablesFitTheCSV: a column that a table has and the CSV lacks would be lost.
func TestTablesFitTheCSV(t *testing.T) {
	one := []ErrorCount{{Class: "dns"}}
	for kind, e := range map[string]Entry{
		KindBroken: Broken{}, KindChanges: Change{}, KindErrors: &Errors{Classes: one, ByHost: []HostErrors{{Host: "http://a.test", Classes: one}}},
		KindDocuments: &Documents{
			BySource: make([]GroupCount, 1), ByStatus: make([]GroupCount, 1), ByFifo: make([]GroupCount, 1), ByType: make([]GroupCount, 1), ByHost: make([]GroupCount, 1),
		},
	} {
		all := map[string]bool{}
		for _, c := range Columns(kind) {
			if all[c.Name] {
				t.Errorf("%s has %s twice", kind, c.Name)
			}
			all[c.Name] = true
		}
		for _, table := range e.Tables() {
			if len(table.Rows) == 0 {
				t.Errorf("%s of %q has no row", kind, table.Of)
			}
			for _, c := range table.Columns {
				if !all[c.Name] {
					t.Errorf("%s: the CSV has no %s", kind, c.Name)
				}
			}
			for i, c := range table.Columns {
				if _, ok := table.Rows[0][i].(string); (c.Shows <= Origin) != ok {
					t.Errorf("%s: %s holds a %T", kind, c.Name, table.Rows[0][i])
				}
			}
		}
	}
}

// TestColumnsAreJSON: a column has the name of the member that it shows.
func TestColumnsAreJSON(t *testing.T) {
	at := time.Unix(1, 0)
	for kind, entry := range map[string]any{
		KindBroken:  Broken{LastAt: &at, Forgotten: true, LinkedFrom: []LinkedFrom{{Page: "http://a.test/", Redirect: "http://a.test/r"}}},
		KindErrors:  Errors{ByHost: []HostErrors{{Classes: []ErrorCount{{}}}}},
		KindChanges: Change{Words: "words"},
	} {
		text, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range Columns(kind) {
			if !strings.Contains(string(text), `"`+c.Name+`":`) {
				t.Errorf("%s: no %s in %s", kind, c.Name, text)
			}
		}
	}
}
