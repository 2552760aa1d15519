package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/weburl"
)

func TestStamp(t *testing.T) {
	now, before := time.Unix(2000, 0), time.Unix(1000, 0)
	a, b := [16]byte{1}, [16]byte{2}
	for name, c := range map[string]struct{ old, next, want Record }{
		"first page":     {Record{}, Record{Class: OK, Indexed: true, Hash: a}, Record{ClassAt: now, ChangedAt: now, Entered: true}},
		"unchanged":      {Record{Class: OK, Indexed: true, Hash: a, ClassAt: before, ChangedAt: before, Entered: true}, Record{Class: OK, Indexed: true, Hash: a, ClassAt: before, ChangedAt: before, Entered: true}, Record{ClassAt: before, ChangedAt: before, Entered: true}},
		"changed":        {Record{Class: OK, Indexed: true, Hash: a}, Record{Class: OK, Indexed: true, Hash: b, Entered: true}, Record{ChangedAt: now}},
		"deletion held":  {Record{Class: OK, Indexed: true, Hash: a}, Record{Class: Permanent, Indexed: true}, Record{ClassAt: now, Was: OK}},
		"failed before":  {Record{Class: Temporary, ClassAt: before, Was: OK}, Record{Class: Permanent, ClassAt: before, Was: OK}, Record{ClassAt: before, Was: OK}},
		"good again":     {Record{Class: Permanent, Indexed: true}, Record{Class: OK, Indexed: true, Hash: a}, Record{ClassAt: now, Was: Permanent}},
		"deleted":        {Record{Class: OK, Indexed: true, Hash: a}, Record{Class: Ignored}, Record{ClassAt: now, Was: OK, ChangedAt: now}},
		"readmitted":     {Record{Class: Ignored}, Record{Class: Pending}, Record{ClassAt: now, Was: Ignored}},
		"and fetched":    {Record{Class: Pending, Was: Ignored}, Record{Class: OK, Was: Ignored}, Record{ClassAt: now, Was: Ignored}},
		"links, no page": {Record{Class: OK, Hash: a}, Record{Class: OK, Hash: b}, Record{}},
	} {
		got := c.next
		got.stamp(&c.old, now)
		want := c.next
		want.ClassAt, want.ChangedAt, want.Was, want.Entered = c.want.ClassAt, c.want.ChangedAt, c.want.Was, c.want.Entered
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTraceOfLinks(t *testing.T) {
	some := []Link{{}}
	for name, c := range map[string]struct {
		asked  Outlinks
		class  Class
		links  []Link
		linked bool // before
		want   Outlinks
		now    bool // Linked
	}{
		"page":                  {ReplaceOutlinks, OK, some, false, ReplaceOutlinks, true},
		"page without links":    {ReplaceOutlinks, OK, nil, false, ReplaceOutlinks, true},
		"its links went":        {ReplaceOutlinks, OK, nil, true, ReplaceOutlinks, true},
		"304":                   {KeepOutlinks, OK, nil, true, KeepOutlinks, true},
		"temporary error":       {KeepOutlinks, Temporary, nil, true, KeepOutlinks, true},
		"permanent error":       {KeepOutlinks, Permanent, nil, true, DropOutlinks, false},
		"excluded":              {KeepOutlinks, Ignored, nil, true, DropOutlinks, false},
		"excluded, never known": {KeepOutlinks, Ignored, nil, false, KeepOutlinks, false},
		"redirect now":          {KeepOutlinks, Redirect, some, true, DropOutlinks, false},
		"graph switched off":    {DropOutlinks, OK, some, true, DropOutlinks, false},
	} {
		old := Record{Class: OK, Linked: c.linked}
		got := Completion{Next: old, Outlinks: c.asked, Links: slices.Clone(c.links)}
		got.Next.Class = c.class
		trace(&got, &old, time.Unix(5, 7))
		if got.Outlinks != c.want || got.Next.Linked != c.now {
			t.Errorf("%s: outlinks %d and Linked %v, want %d and %v", name, got.Outlinks, got.Next.Linked, c.want, c.now)
		}
		for _, l := range got.Links {
			if !l.FoundAt.Equal(time.Unix(5, 0)) {
				t.Errorf("%s: a link is found at %v", name, l.FoundAt)
			}
		}
	}
}

func TestTraceOfForgotten(t *testing.T) {
	now, failed := time.Unix(2000, 0), time.Unix(1000, 0)
	for name, c := range map[string]struct {
		old    Record
		since  time.Time
		visits int
	}{
		"good before":       {Record{Class: OK, ClassAt: failed}, now, 1},
		"remembered before": {Record{Class: Permanent, ClassAt: failed}, failed, 2},
		"since its visit":   {Record{Class: Permanent, FetchedAt: failed}, failed, 2},
		"too many in a row": {Record{Class: Temporary, FirstErrorAt: failed, Errors: 4}, failed, 5},
	} {
		c.old.URL, c.old.Linked = "http://h.test/", true
		got := Completion{Forget: true, Next: Record{Class: Permanent, Status: 404, LastError: "404 Not Found"}}
		trace(&got, &c.old, now)
		if g := got.Gone; g == nil || !g.Since.Equal(c.since) || g.Visits != c.visits || g.Status != 404 || !g.At.Equal(now) || got.Outlinks != DropOutlinks {
			t.Errorf("%s: %+v and outlinks %d, want since %v and %d visits", name, g, got.Outlinks, c.since, c.visits)
		}
	}
}

func TestLinkPrints(t *testing.T) {
	var prints LinkPrints
	var want []LinkPrint
	for i := range 5 {
		k := weburl.Key{0xbb, 0xbb, 0xff, byte(i), 2, 3, 4, byte(5 * i), 0xaa}
		prints, want = prints.AppendPrint(k), append(want, PrintOf(k))
	}
	if got := slices.Collect(prints.All()); !slices.Equal(got, want) || want[1] != 0xff0102030405 {
		t.Errorf("%x is read as %x, want %x", []byte(prints), got, want)
	}
}

// A 304 says nothing new of why a page has no document, or of how much of it was read.
func TestUnchangedKeepsItsWords(t *testing.T) {
	set := DefaultSettings()
	old := Record{URL: "http://h.test/", Class: OK, Settled: true, LastError: "noindex", MediaType: "text/html"}
	c := outcome(&old, &Result{Status: 304, Conditional: true, Words: "304 Not Modified"}, &set, 0, time.Unix(1e9, 0), 0)
	if c.Next.LastError != "noindex" || c.Next.MediaType != "text/html" || c.Outlinks != KeepOutlinks {
		t.Errorf("after a 304: %q, %q, outlinks %d", c.Next.LastError, c.Next.MediaType, c.Outlinks)
	}
	set.LinkGraph = true
	for kind, want := range map[Kind]Outlinks{KindPage: ReplaceOutlinks, KindSitemap: DropOutlinks} {
		old.Kind = kind
		if c := outcome(&old, &Result{Status: 200, MediaType: "text/plain"}, &set, 0, time.Unix(1e9, 0), 0); c.Outlinks != want || c.Next.MediaType != "text/plain" {
			t.Errorf("kind %v: outlinks %d, %q", kind, c.Outlinks, c.Next.MediaType)
		}
	}
}
