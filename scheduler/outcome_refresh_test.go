package scheduler

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

// monitored returns a document that was compared two days ago for the fourth time.
func monitored() Record {
	r := indexed()
	r.CheckedAt, r.FetchedAt = start().Add(-2*day), start().Add(-2*day)
	r.History, r.Interval = History{Checks: 4, Changes: 1, Quiet: 6 * day, Busy: 2 * day}, 2*day
	return r
}

// TestCompared: what counts as a comparison, and as a change, where no deletion rests.
func TestCompared(t *testing.T) {
	link := func(s string) Link {
		u, err := weburl.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return Link{URL: u}
	}
	with := func(r Record, change func(*Record)) Record { change(&r); return r }
	noDocument := func(r *Record) { r.Indexed, r.Hash, r.PushedSource = false, [16]byte{}, "" }
	redirecting := with(monitored(), func(r *Record) { noDocument(r); r.Class, r.RedirectTo = Redirect, "http://b.test/" })
	to := func(u string) Result { return Result{Status: 302, RedirectIgnored: true, Location: u} }
	judged := document(2, "web")
	judged.RulesVersion = 7
	same := document(1, "web")
	same.RulesVersion = 7
	hub := func(links ...Link) Result { return Result{Status: 200, Links: links} }
	list := with(monitored(), noDocument)
	list = outcome(&list, new(hub(link("http://a.test/2"))), settings(smart), 0, start().Add(-2*day), 0).Next
	list.History, list.Interval = monitored().History, monitored().Interval

	const (
		none      = "none" // the page was had, which tells nothing
		quiet     = "quiet"
		busy      = "busy"
		untouched = "untouched" // the page was not had
	)
	for name, c := range map[string]struct {
		old  Record
		r    Result
		want string
	}{
		"same hash":                       {monitored(), document(1, "web"), quiet},
		"304":                             {monitored(), Result{Status: 304, Conditional: true}, quiet},
		"same hash under other rules":     {monitored(), same, quiet},
		"same hash, errors meanwhile":     {failing(monitored(), 3, day), document(1, "web"), quiet},
		"other hash":                      {monitored(), document(2, "web"), busy},
		"other hash, errors meanwhile":    {failing(monitored(), 3, day), document(2, "web"), busy},
		"other hash under other rules":    {monitored(), judged, none},
		"other hash under another source": {monitored(), document(2, "other"), none},
		"other hash, old one not known":   {with(monitored(), func(r *Record) { r.Hash = [16]byte{} }), document(2, "web"), none},
		"document gone":                   {monitored(), status(204), busy},
		"document there again":            {list, document(1, "web"), busy},
		"there again, deleted for errors": {failing(list, 1, day), document(1, "web"), none},
		"there again, excluded meanwhile": {with(list, func(r *Record) { r.Class = Ignored }), document(1, "web"), none},
		"becomes a redirect":              {monitored(), to("http://b.test/"), busy},
		"same redirect":                   {redirecting, to("http://b.test/"), quiet},
		"same redirect, errors meanwhile": {failing(redirecting, 2, day), to("http://b.test/"), quiet},
		"other redirect":                  {redirecting, to("http://c.test/"), busy},
		"redirect becomes a document":     {redirecting, document(1, "web"), busy},
		"same links, no document":         {list, hub(link("http://a.test/2")), quiet},
		"other links, no document":        {list, hub(link("http://a.test/3")), busy},
		"links not known, no document":    {with(monitored(), noDocument), hub(link("http://a.test/3")), none},
		"permanent error":                 {monitored(), status(404), untouched},
		"temporary error":                 {monitored(), faulty(fault.Timeout), untouched},
		"address refused":                 {monitored(), faulty(fault.Address), untouched},
		"excluded":                        {monitored(), Result{Excluded: &Exclusion{Status: 760}}, untouched},
		"first fetch":                     {fresh(), document(1, "web"), none},
		"first fetch of a hub":            {fresh(), hub(link("http://a.test/2")), none},
		"first good one after errors":     {failing(fresh(), 3, day), document(1, "web"), none},
		"clock set back":                  {with(monitored(), func(r *Record) { r.CheckedAt = start().Add(day) }), document(2, "web"), none},
		"clock set back, the same":        {with(monitored(), func(r *Record) { r.CheckedAt = start().Add(day) }), document(1, "web"), none},
		"interval from the dawn of time":  {with(monitored(), func(r *Record) { r.CheckedAt = time.Unix(0, 0).Add(-290 * 365 * day) }), document(1, "web"), "saturated"},
	} {
		got := outcome(&c.old, &c.r, settings(smart, atOnce), 0, start(), 0).Next
		want, at := c.old.History, start()
		switch c.want {
		case quiet:
			want.Checks++
			want.Quiet += 2 * day
		case busy:
			want.Checks++
			want.Changes++
			want.Busy += 2 * day
		case untouched:
			at = c.old.CheckedAt
		case "saturated":
			want.Checks++
			want.Quiet = math.MaxInt64
		}
		if d := cmp.Diff(want, got.History); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if !got.CheckedAt.Equal(at) {
			t.Errorf("%s: checked %v, want %v", name, got.CheckedAt, at)
		}
	}
}

// TestComparedDated: Last-Modified splits the time before a change, and is all that
// a first fetch tells.
func TestComparedDated(t *testing.T) {
	dated := func(r Result, before time.Duration) Result {
		r.LastModified, r.Date = start().Add(-before).Format(http.TimeFormat), start().Format(http.TimeFormat)
		return r
	}
	for name, c := range map[string]struct {
		old  Record
		r    Result
		want History
	}{
		"first fetch":         {fresh(), dated(document(1, "web"), 3*day), History{Quiet: 3 * day}},
		"first, years before": {fresh(), dated(document(1, "web"), 3000*day), History{Quiet: 7 * day}},
		"changed since":       {monitored(), dated(document(2, "web"), day), History{Checks: 5, Changes: 2, Quiet: 7 * day, Busy: 3 * day}},
		"changed, it says no": {monitored(), dated(document(2, "web"), 9*day), History{Checks: 5, Changes: 2, Quiet: 8 * day, Busy: 2 * day}},
		"same, it says yes":   {monitored(), dated(document(1, "web"), day), History{Checks: 5, Changes: 1, Quiet: 8 * day, Busy: 2 * day}},
	} {
		if d := cmp.Diff(c.want, outcome(&c.old, &c.r, settings(smart), 0, start(), 0).Next.History); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestLateness: only a page that was visited because it was due tells how long it
// had to wait.
func TestLateness(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Record)
		want   time.Duration
	}{
		"in time":            {func(r *Record) {}, 0},
		"late":               {func(r *Record) { r.Interval = day }, day},
		"early":              {func(r *Record) { r.Interval = 3 * day }, 0},
		"never checked":      {func(r *Record) { r.CheckedAt, r.Interval = time.Time{}, 0 }, 0},
		"a retry":            {func(r *Record) { r.Interval, r.Class, r.Errors = day, Temporary, 1 }, 0},
		"after an error":     {func(r *Record) { r.Interval, r.Class = day, Permanent }, 0},
		"after an exclusion": {func(r *Record) { r.Interval, r.Class = day, Ignored }, 0},
		"clock set back":     {func(r *Record) { r.CheckedAt = start().Add(day) }, 0},
	} {
		old := monitored()
		c.change(&old)
		if got := lateness(&old, start()); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	// The pressed page is visited more seldom, but not so much that it never is.
	set := wide()
	in, late := interval(set, monitored().History, 0, 0), interval(set, monitored().History, 4*day, 0)
	if late < 2*in || late > set.MaxAge/2 {
		t.Errorf("%v in time, %v when pressed", in, late)
	}
}

// TestPendingInterval: a document of which a loss is pending keeps its interval and history;
// the page goes on as if nothing had happened once it is good again.
func TestPendingInterval(t *testing.T) {
	for name, r := range map[string]Result{"404": status(404), "noindex": status(204), "redirect": {Status: 302, RedirectIgnored: true, Location: "http://b.test/"}} {
		old := monitored()
		c := outcome(&old, &r, settings(smart), 0, start(), 0)
		pending := c.Next
		if pending.History != old.History || !pending.Indexed || pending.State != Timed || c.Forget {
			t.Errorf("%s, pending: %+v", name, pending)
		}
		if name == "404" && pending.Interval != old.Interval {
			t.Errorf("%s, pending: interval %v, want %v", name, pending.Interval, old.Interval)
		}
		for answer, good := range map[string]Result{"304": {Status: 304, Conditional: true}, "200": document(1, "web")} {
			again := outcome(&pending, &good, settings(smart), 0, start().Add(2*day), 0)
			if !again.CancelDeletion || again.Order != nil || again.Next.Class != OK || again.Next.History.Changes != old.History.Changes ||
				again.Next.History.Checks != old.History.Checks+1 {
				t.Errorf("%s, pending, then %s: %+v; want the loss cancelled and no change counted", name, answer, again)
			}
		}
	}
}

// TestDropped: a document whose pending loss was dropped is fetched as on refresh.
func TestDropped(t *testing.T) {
	old := monitored()
	dropped := outcome(&old, new(status(404)), settings(smart), 0, start(), 0).Next
	dropped.State, dropped.Source, dropped.LossPending = Waiting, Refresh, false
	check(t, "still gone", dropped, status(404), settings(smart), "permanent timed 1m0s indexed pending")
	check(t, "still gone, sent at once", dropped, status(404), settings(smart, atOnce), "permanent timed "+week+" gone delete")
	if got := effect(outcome(&dropped, new(document(2, "web")), settings(smart, func(s *Settings) { s.MaxAge = s.MinAge }), 0, start(), 0)); got != "ok timed 24h0m0s indexed push" {
		t.Errorf("there again, changed: %s", got)
	}
}

// TestClockSetBack: an error that was first seen in the future is taken as first seen now.
func TestClockSetBack(t *testing.T) {
	old := failing(indexed(), 9, -400*day)
	c := outcome(&old, new(faulty(fault.Timeout)), settings(), 0, start(), 0)
	if !c.Next.FirstErrorAt.Equal(start()) || c.Next.Errors != 10 || c.Forget {
		t.Errorf("%+v, want the time from now on", c.Next)
	}
	next := c.Next
	if c = outcome(&next, new(faulty(fault.Timeout)), settings(), 0, start().Add(day), 0); c.Order == nil || c.Next.Errors != 0 {
		t.Errorf("%+v, want its document deleted a day later", c)
	}
}

// TestMetaRefreshUnchanged: a 304 of a page that redirects by itself leaves it a redirect.
func TestMetaRefreshUnchanged(t *testing.T) {
	r := Result{Status: 200, RedirectIgnored: true, Location: "http://b.test/", ETag: "e"}
	unchanged := &Result{Status: 304, Conditional: true}
	c := outcome(new(indexed()), &r, settings(atOnce), 0, start(), 0)
	c = outcome(&c.Next, unchanged, settings(atOnce), 0, start(), 0)
	if c.Next.Class != Redirect || c.Next.RedirectTo != "http://b.test/" {
		t.Errorf("%+v, want a redirect still", c.Next)
	}
	// While a loss is pending, what has not changed is the document.
	c = outcome(new(indexed()), &r, settings(), 0, start(), 0)
	c = outcome(&c.Next, unchanged, settings(), 0, start(), 0)
	if c.Next.Class != OK || c.Next.RedirectTo != "" || !c.CancelDeletion {
		t.Errorf("%+v, want the document again", c)
	}
}
