package policy

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
)

// TestWider: a list is wider unless it is the old one with more that closes and less that
// opens. Where that can be told in several ways, wider may say so of one that is not, but
// never the other way round.
func TestWider(t *testing.T) {
	part := rapid.Custom(func(t *rapid.T) uint64 {
		kind := rapid.SampledFrom([]partKind{closes, opens, turns}).Draw(t, "kind")
		return rapid.Uint64Range(1, 3).Draw(t, "part")<<2 | uint64(kind)
	})
	list := rapid.SliceOfN(part, 0, 6)
	wrong, wide := 0, 0
	seeded.Check(t, func(t *rapid.T) {
		old, now := list.Draw(t, "old"), list.Draw(t, "now")
		got, want := wider(old, now), isWider(old, now)
		if want && !got {
			t.Errorf("%v is not called wider than %v", now, old)
		}
		if want {
			wide++
		} else if got {
			wrong++
		}
	})
	if wrong > wide/10 {
		t.Errorf("%d lists are called wider that are not, %d that are", wrong, wide)
	}
	const a, b, c = uint64(1 << 2), uint64(2 << 2), uint64(3<<2 | opens) // a and b close, c opens
	for _, tt := range []struct {
		old, now []uint64
		want     bool
	}{
		{nil, nil, false},
		{[]uint64{a, c}, []uint64{a, c}, false},
		{[]uint64{a, c}, []uint64{b, a, c}, false},
		{[]uint64{a, c}, []uint64{a, b}, false},
		{[]uint64{c, a}, []uint64{b, a}, false},
		{[]uint64{c, a}, []uint64{b, c, a}, false},
		{[]uint64{a}, []uint64{b}, true},
		{[]uint64{a}, nil, true},
		{nil, []uint64{c}, true},
	} {
		if got := wider(tt.old, tt.now); got != tt.want {
			t.Errorf("%v to %v: wider %v, want %v", tt.old, tt.now, got, tt.want)
		}
	}
}

// isWider is wider, tried in all ways.
func isWider(old, now []uint64) bool {
	kind := func(part uint64) partKind { return partKind(part & uint64(kindMask)) }
	switch {
	case len(old)+len(now) == 0:
		return false
	case len(old) > 0 && len(now) > 0 && old[0] == now[0] && !isWider(old[1:], now[1:]),
		len(old) > 0 && kind(old[0]) == opens && !isWider(old[1:], now),
		len(now) > 0 && kind(now[0]) == closes && !isWider(old, now[1:]):
		return false
	}
	return true
}

// TestWidened: what is said to be wider of some changes.
func TestWidened(t *testing.T) {
	one := 1
	base := func() Settings {
		s := everything()
		s.Rules.Roots = []actionrules.Root{{URL: parse(t, "http://a.test/"), Site: true}}
		s.Space.MaxLinkDepth = &crawlspace.Limit{Max: 1}
		s.Space.Include, s.Space.Exclude = text("/a,/b"), text("/x,/y")
		s.Space.Extensions = &crawlspace.Extensions{List: crawlspace.Text{Value: "gif,jpg"}}
		s.Space.QueryFilter = &crawlspace.Text{Value: "id,nr"}
		s.Space.MustContain = []crawlspace.Text{text("/")}
		return s
	}
	for name, tt := range map[string]struct {
		change func(s *Settings)
		want   *Widening
	}{
		"nothing":               {func(*Settings) {}, nil},
		"a deeper limit":        {func(s *Settings) { s.Space.MaxLinkDepth = &crawlspace.Limit{Max: 3} }, &Widening{Depth: &one}},
		"no limit":              {func(s *Settings) { s.Space.MaxLinkDepth = nil }, &Widening{Depth: &one}},
		"a limit of paths":      {func(s *Settings) { s.Space.MaxPathDepth = &crawlspace.Limit{Max: 3} }, nil},
		"an include more":       {func(s *Settings) { s.Space.Include = text("/b,/a,/c") }, &Widening{All: true}},
		"an include less":       {func(s *Settings) { s.Space.Include = text("/a") }, nil},
		"no include":            {func(s *Settings) { s.Space.Include = text("") }, &Widening{All: true}},
		"an exclude less":       {func(s *Settings) { s.Space.Exclude = text("/x") }, &Widening{All: true}},
		"excludes turned round": {func(s *Settings) { s.Space.Exclude = text("/y,/z,/x") }, nil},
		"an extension less":     {func(s *Settings) { s.Space.Extensions.List.Value = "gif" }, &Widening{All: true}},
		"a parameter more":      {func(s *Settings) { s.Space.QueryFilter.Value = "id,nr,v" }, &Widening{All: true}},
		"a parameter less":      {func(s *Settings) { s.Space.QueryFilter.Value = "id" }, nil},
		"no must contain":       {func(s *Settings) { s.Space.MustContain = nil }, &Widening{All: true}},
		"a gate more":           {func(s *Settings) { s.Space.StartURLMatch = &crawlspace.StartURLMatch{Host: true} }, nil},
		"hosts without case":    {func(s *Settings) { s.Space.FoldHost = true }, &Widening{All: true}},
		"other defaults":        {func(s *Settings) { s.Rules.DefaultAccept = false }, nil},
		"a kill list":           {func(s *Settings) { s.Space.KillPatterns = file("kill", "/a") }, nil},
		"a root more": {
			func(s *Settings) {
				s.Rules.Roots = append(s.Rules.Roots, actionrules.Root{URL: parse(t, "http://www.b.test/"), Site: true})
			},
			&Widening{Origins: []string{"http://www.b.test"}},
		},
		"a root of no site more": {
			func(s *Settings) {
				s.Rules.Roots = append(s.Rules.Roots, actionrules.Root{URL: parse(t, "http://www.b.test/")})
			}, nil,
		},
		"a root less": {func(s *Settings) { s.Rules.Roots = nil }, nil},
	} {
		before, err := New(base(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := base()
		tt.change(&s)
		after, err := New(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, after.Widened(before.Width())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWidenedByMove: a site that moves has the pages of both places read again.
func TestWidenedByMove(t *testing.T) {
	s := everything()
	s.Rules.Roots = []actionrules.Root{{URL: parse(t, "http://www.a.test/"), Site: true}}
	before, err := New(s, nil)
	after, failed := New(s, Moves{"http://www.a.test/": {To: "http://b.test/home", Left: []string{"http://c.test"}}})
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	want := &Widening{Origins: []string{"http://b.test", "http://c.test", "http://www.a.test", "http://www.b.test"}}
	if diff := cmp.Diff(want, after.Widened(before.Width())); diff != "" {
		t.Errorf("moved away (-want +got):\n%s", diff)
	}
	if got := after.Widened(after.Width()); got != nil {
		t.Errorf("after no change: %+v", got)
	}
}

// TestRefreshed: which pages are fetched again by themselves, and whether any is.
func TestRefreshed(t *testing.T) {
	daily := cron.Every(24 * time.Hour)
	own := actionrules.Atom{Field: actionrules.FieldHost, Kind: actionrules.KindExact, Value: "a.test"}
	for name, tt := range map[string]struct {
		change   func(s *Settings)
		any      bool
		own, far bool // a page of the group's site, and one of none
	}{
		"none":              {func(*Settings) {}, false, false, false},
		"smartRefresh":      {func(s *Settings) { s.Frontier.SmartRefresh = true }, true, true, true},
		"minimumAgedS":      {func(s *Settings) { s.Frontier.MinimumAged = 1 }, true, true, true},
		"a schedule":        {func(s *Settings) { s.Refreshes = []Refresh{{Schedule: daily}} }, true, true, true},
		"one for a group":   {func(s *Settings) { s.Refreshes = []Refresh{{Schedule: daily, Group: "news"}} }, true, true, false},
		"one for a section": {func(s *Settings) { s.Refreshes = []Refresh{{Schedule: daily, If: own}} }, true, true, false},
		"one for neither":   {func(s *Settings) { s.Refreshes = []Refresh{{Schedule: daily, If: own, Group: "other"}} }, true, false, false},
		"ages of a section": {func(s *Settings) { s.Refreshes = []Refresh{{If: own, Ages: &scheduler.Section{MinimumAged: 1}}} }, true, true, false},
		"a section without ages": {func(s *Settings) {
			s.Frontier.SmartRefresh = true
			s.Refreshes = []Refresh{{If: own, Ages: &scheduler.Section{}}}
		}, true, false, true},
	} {
		s := everything()
		s.Rules.Roots = []actionrules.Root{{URL: parse(t, "http://a.test/"), Site: true, Group: "news"}, {URL: parse(t, "http://b.test/"), Site: true, Group: "other"}}
		tt.change(&s)
		p, err := New(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := []bool{p.Refreshes(), p.Refreshed(parse(t, "http://a.test/x")), p.Refreshed(parse(t, "http://b.test/x"))}
		if diff := cmp.Diff([]bool{tt.any, tt.own, tt.far}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
