package extract

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func june25(hour int) time.Time { return time.Date(2010, 6, 25, hour, 0, 0, 0, time.UTC) }

func TestXRobotsTag(t *testing.T) {
	tests := []struct {
		values string // joined with newlines
		want   Directives
	}{
		{"", Directives{}},
		{"noindex", Directives{NoIndex: true}},
		{" NoIndex ,nofollow", Directives{NoIndex: true, NoFollow: true}},
		{"none", Directives{NoIndex: true, NoFollow: true}},
		{"nosnippet\nnoarchive", Directives{NoSnippet: true, NoArchive: true}},
		{"all, index, follow, max-snippet: 20, junk", Directives{}},
		{"index, noindex", Directives{NoIndex: true}},
		{"otherbot: noindex, nofollow", Directives{}},
		{"otherbot: noindex\nnofollow", Directives{NoFollow: true}},
		{"sextant: noindex\nnofollow", Directives{NoIndex: true}},
		{"SEXTANT: index\nnoindex", Directives{}},
		{"noarchive, sextant: noindex, nofollow, otherbot: nosnippet", Directives{NoIndex: true, NoFollow: true}},
		{"otherbot: nofollow, sextant: noindex", Directives{NoIndex: true}},
		{"robots: noindex", Directives{NoIndex: true}},
		{"unavailable_after: 25 Jun 2010 15:00:00 PST", Directives{UnavailableAfter: "25 Jun 2010 15:00:00 PST", UnavailableAt: june25(23)}},
		{"unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex", Directives{NoIndex: true, UnavailableAfter: "Fri, 25 Jun 2010 15:00:00 GMT", UnavailableAt: june25(15)}},
		{"sextant: unavailable_after: 2010-06-25T15:00:00Z", Directives{UnavailableAfter: "2010-06-25T15:00:00Z", UnavailableAt: june25(15)}},
		{"unavailable_after: 1\nunavailable_after: 2", Directives{UnavailableAfter: "1"}},
		{"unavailable_after: 1\nunavailable_after: 2010-06-25", Directives{UnavailableAfter: "2010-06-25", UnavailableAt: june25(24)}},
		{"unavailable_after: 26 Jun 2010\nunavailable_after: 2010-06-25", Directives{UnavailableAfter: "2010-06-25", UnavailableAt: june25(24)}},
		{"unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, nosnippet", Directives{NoSnippet: true, UnavailableAfter: "Friday, 25-Jun-10 15:00:00 UTC", UnavailableAt: june25(15)}},
		{"unavailable_after:,noindex", Directives{NoIndex: true}},
		{"noindex nofollow", Directives{NoIndex: true, NoFollow: true}},
		{"this is no noindex", Directives{}},
		{"max-snippet:0", Directives{NoSnippet: true}},
		{"nocache", Directives{NoArchive: true}},
		{"unavailable_after: " + strings.Repeat("x", 101), Directives{}},
		{":,:noindex,,", Directives{}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, XRobotsTag(strings.Split(tt.values, "\n"), "Sextant")); d != "" {
			t.Errorf("%q (-want +got):\n%s", tt.values, d)
		}
	}
}

func TestRobotsMetas(t *testing.T) {
	tests := []struct {
		html string
		want Directives
	}{
		{`<meta name=robots content=noindex>`, Directives{NoIndex: true}},
		{`<meta name=ROBOTS content="NOINDEX, FOLLOW">`, Directives{NoIndex: true}},
		{`<meta name=robots content=noindex><meta name=robots content=nofollow>`, Directives{NoIndex: true, NoFollow: true}},
		{`<meta name=robots content=none><meta name=Sextant content=noarchive>`, Directives{NoArchive: true}},
		{`<meta name=sextant content=""><meta name=robots content=none>`, Directives{}},
		{`<meta name=otherbot content=noindex>`, Directives{}},
		{`<meta name=robots content="noindex; nofollow">`, Directives{NoIndex: true, NoFollow: true}},
		{`<body><meta name=robots content=noindex>`, Directives{NoIndex: true}},
		{`<template><meta name=robots content=noindex></template>`, Directives{}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, read(t, tt.html, "").Robots); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.html, d)
		}
	}
}

func TestMerge(t *testing.T) {
	a := Directives{NoIndex: true, NoSnippet: true, UnavailableAfter: "a"}
	b := Directives{NoFollow: true, NoArchive: true, UnavailableAfter: "b"}
	want := Directives{NoIndex: true, NoFollow: true, NoSnippet: true, NoArchive: true, UnavailableAfter: "a"}
	if got := a.Merge(b); got != want {
		t.Errorf("got %+v", got)
	}
	if got := (Directives{}).Merge(b); got != b {
		t.Errorf("got %+v", got)
	}
	if got := a.Merge(Directives{}); got != a {
		t.Errorf("got %+v", got)
	}
}

func FuzzXRobotsTag(f *testing.F) {
	for _, s := range []string{"noindex", "sextant: none", "unavailable_after: Fri, 25 Jun", "a:b:c,d:,:"} {
		f.Add(s, "sextant")
	}
	f.Fuzz(func(t *testing.T, value, agent string) {
		d := XRobotsTag([]string{value}, agent)
		if len(d.UnavailableAfter) > maxUnavailableAfter {
			t.Errorf("date of %d bytes", len(d.UnavailableAfter))
		}
		if !d.UnavailableAt.IsZero() && d.UnavailableAfter == "" {
			t.Error("a time without words")
		}
		if d.NoIndex && !strings.Contains(strings.ToLower(value), "no") {
			t.Error("noindex out of nothing")
		}
		if twice := XRobotsTag([]string{value, value}, agent); twice != d {
			t.Errorf("once %+v, twice %+v", d, twice)
		}
	})
}
