package scheduler

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

func start() time.Time { return time.Unix(1_800_000_000, 0).UTC() }

const day = 24 * time.Hour

// fresh returns a URL that was never fetched, indexed one that is in the index.
func fresh() Record {
	return Record{URL: "http://a.test/1", Origin: "http://a.test", State: Waiting, Source: IndexFollow, Fifo: IndexFollow, Shift: -1, Hops: 2}
}

func indexed() Record {
	r := fresh()
	r.Class, r.Status, r.Settled, r.FetchedAt = OK, 200, true, start().Add(-day)
	r.Indexed, r.Hash, r.PushedSource = true, [16]byte{1}, "web"
	r.ETag, r.LastModified, r.Date = "e", "lm", "d"
	return r
}

// crawled was fetched and has no document; failed is a remembered error.
func crawled() Record {
	r := indexed()
	r.Indexed, r.Hash, r.PushedSource = false, [16]byte{}, ""
	return r
}

func failed() Record {
	r := fresh()
	r.Class, r.Status, r.Settled, r.Misses = Permanent, 404, true, 1
	return r
}

// failing has had n temporary errors in a row, the first of them age ago.
func failing(r Record, n int, age time.Duration) Record {
	r.Class, r.Errors, r.FirstErrorAt = Temporary, n, start().Add(-age)
	return r
}

func settings(change ...func(*Settings)) *Settings {
	s := DefaultSettings()
	s.DeletionBody = func(url, reason string, at time.Time) []byte {
		return fmt.Appendf(nil, "%s %s %d", url, reason, at.Unix())
	}
	for _, c := range change {
		c(&s)
	}
	return &s
}

func policy(p Policy) func(*Settings) { return func(s *Settings) { s.Policy = p } }
func smart(s *Settings)               { s.SmartRefresh = true }

func status(code int) Result { return Result{Status: code, Decided: IndexFollow} }

func faulty(f fault.Fault) Result { return Result{Fault: f, Words: "words", Decided: IndexFollow} }

func retryLater(code int, d time.Duration) Result {
	return Result{Status: code, HasRetryAfter: true, RetryAfter: d, Decided: IndexFollow}
}

func document(hash byte, source string) Result {
	return Result{Status: 200, Decided: IndexFollow, ETag: "new", Document: &Document{Body: []byte("doc"), Hash: [16]byte{hash}, Source: source}}
}

// atOnce sends deletions at once, forgetting forgets the URLs with their documents.
func atOnce(s *Settings)     { s.Deletions.Off = true }
func forgetting(s *Settings) { s.ForgetDeleted = true }

// effect returns what a row of the specification says, in words: class and state of
// the record or "forgotten", the order, and what is cancelled.
func effect(c Completion) string {
	s := fmt.Sprintf("%v %v", c.Next.Class, c.Next.State)
	if c.Next.State == Timed {
		s += fmt.Sprint(" ", c.Next.NextAt.Sub(start()))
	}
	if c.Forget {
		s = "forgotten"
	} else if c.Next.Indexed {
		s += " indexed"
	}
	if c.Next.Gone && !c.Forget {
		s += " gone"
	}
	switch {
	case c.Order == nil:
	case c.Order.Loss != nil && c.Next.LossPending:
		s += " pending"
	case c.Order.Op == OrderDelete:
		s += " delete"
	default:
		s += " push"
	}
	if c.CancelDeletion {
		s += " cancel"
	}
	return s
}

const (
	week = "168h0m0s"
	// pends is a document with a first loss for a reason of its site: it is visited again after deletionRestS.
	pends = "timed 1m0s indexed pending"
)

func TestPermanent(t *testing.T) {
	for _, code := range []int{400, 401, 403, 404, 410, 451, 500, 501, 502, 503, 504, 304, 205, 206, 300, 302, 0, 101, 999} {
		check(t, fmt.Sprint("status ", code, ", a document was indexed, on refresh"), indexed(), status(code), settings(), "permanent "+pends)
		check(t, fmt.Sprint("status ", code, ", sent at once"), indexed(), status(code), settings(atOnce), "permanent timed "+week+" gone delete")
		check(t, fmt.Sprint("status ", code, ", forgotten with it"), indexed(), status(code), settings(atOnce, forgetting), "forgotten delete")
		check(t, fmt.Sprint("status ", code, ", first crawl"), fresh(), status(code), settings(), "permanent timed "+week)
		check(t, fmt.Sprint("status ", code, ", on refresh without document"), crawled(), status(code), settings(), "permanent timed "+week+" gone")
		check(t, fmt.Sprint("status ", code, ", remembered error refreshed"), failed(), status(code), settings(), "permanent timed 336h0m0s gone")
		check(t, fmt.Sprint("status ", code, ", forgotten on refresh"), crawled(), status(code), settings(forgetting), "forgotten")
		check(t, fmt.Sprint("status ", code, ", remembered error forgotten"), failed(), status(code), settings(forgetting), "forgotten")
	}
	for _, f := range []fault.Fault{fault.DNSNotFound, fault.TLS, fault.Protocol, fault.TooManyHops, fault.BadRedirect} {
		check(t, fmt.Sprint("fault ", f, ", indexed"), indexed(), faulty(f), settings(), "permanent "+pends)
		check(t, fmt.Sprint("fault ", f, ", first crawl"), fresh(), faulty(f), settings(), "permanent timed "+week)
	}
}

func TestTemporary(t *testing.T) {
	results := map[string]Result{"503 with Retry-After": retryLater(503, 0)}
	for _, code := range []int{408, 425, 429} {
		results[fmt.Sprint("status ", code)] = status(code)
	}
	for _, f := range []fault.Fault{fault.Timeout, fault.Reset, fault.Refused, fault.ShortBody, fault.DNSNoAnswer} {
		results[fmt.Sprint("fault ", f)] = faulty(f)
	}
	for name, r := range results {
		check(t, name+", first crawl", fresh(), r, settings(), "temporary timed 1m0s")
		check(t, name+", on refresh", indexed(), r, settings(), "temporary timed 1m0s indexed")
		check(t, name+", too many on refresh", failing(indexed(), 4, day), r, settings(), "permanent "+pends)
		check(t, name+", too many on refresh, sent at once", failing(indexed(), 4, day), r, settings(atOnce), "permanent timed "+week+" gone delete")
		check(t, name+", too many on refresh without document", failing(crawled(), 4, day), r, settings(), "permanent timed "+week+" gone")
		check(t, name+", too many on refresh, forgotten", failing(crawled(), 4, day), r, settings(forgetting), "forgotten")
		check(t, name+", too many at first crawl", failing(fresh(), 4, day), r, settings(), "permanent timed "+week)
		check(t, name+", once more after too many", failed(), r, settings(), "permanent timed 1m0s")
		check(t, name+", many in too short a time", failing(indexed(), 9, day-1), r, settings(), "temporary timed 6h0m0s indexed")
		check(t, name+", long but not many", failing(indexed(), 3, 9*day), r, settings(), "temporary timed 8m0s indexed")
	}
	c := outcome(new(failing(fresh(), 4, day)), new(status(408)), settings(), 0, start(), 0)
	if c.Next.Errors != 0 || !c.Next.Settled || c.Next.DueSource(Refresh) != Refresh {
		t.Errorf("too many at first crawl: %+v; want it refreshed like other documents", c.Next)
	}
	c = outcome(new(fresh()), new(status(408)), settings(), 0, start(), 0)
	if c.Next.Settled || c.Next.DueSource(Refresh) != IndexFollow || !c.Next.FirstErrorAt.Equal(start()) || c.Next.Status != 408 {
		t.Errorf("first temporary error: %+v; want a retry in its fifo", c.Next)
	}
}

func TestPolicies(t *testing.T) {
	for _, code := range []int{500, 502, 503, 504} {
		check(t, fmt.Sprint("cautious ", code), indexed(), status(code), settings(policy(Cautious)), "temporary timed 1m0s indexed")
	}
	check(t, "cautious TLS", indexed(), faulty(fault.TLS), settings(policy(Cautious)), "temporary timed 1m0s indexed")
	for _, code := range []int{404, 501, 505} {
		check(t, fmt.Sprint("cautious ", code), indexed(), status(code), settings(policy(Cautious)), "permanent "+pends)
	}
	check(t, "smartsite deletes on a temporary error", indexed(), faulty(fault.Timeout), settings(policy(Smartsite)), "temporary timed 1m0s indexed pending")
	check(t, "smartsite keeps to the retry", failing(indexed(), 7, day-1), faulty(fault.Timeout), settings(policy(Smartsite)), "temporary timed 2h8m0s indexed pending")
	check(t, "smartsite obeys Retry-After", indexed(), retryLater(503, 20*time.Hour), settings(policy(Smartsite)), "temporary timed 20h0m0s indexed pending")
	check(t, "smartsite deletes at once", indexed(), faulty(fault.Timeout), settings(policy(Smartsite), atOnce), "temporary timed 1m0s delete")
	check(t, "smartsite, nothing indexed", fresh(), faulty(fault.Timeout), settings(policy(Smartsite)), "temporary timed 1m0s")
	check(t, "smartsite permanent", indexed(), status(500), settings(policy(Smartsite)), "permanent "+pends)
}

func TestNoError(t *testing.T) {
	check(t, "address guard, first crawl", fresh(), faulty(fault.Address), settings(), "ignored timed "+week)
	check(t, "address guard, indexed", indexed(), faulty(fault.Address), settings(), "ignored timed "+week+" indexed")
	for _, f := range []fault.Fault{fault.Address} {
		old := failing(indexed(), 4, day)
		c := outcome(&old, new(faulty(f)), settings(), 0, start(), 0)
		if c.Next.Errors != 4 || c.Next.LastError != "words" || !c.Next.FetchedAt.Equal(old.FetchedAt) {
			t.Errorf("fault %v: %+v; want no error counted and its word kept", f, c.Next)
		}
	}
}

func TestExcluded(t *testing.T) {
	rule := Result{Excluded: &Exclusion{Status: 760, Reason: ReasonRules, Words: "rule at x:1"}}
	check(t, "rule, first crawl", fresh(), rule, settings(), "ignored at rest")
	check(t, "rule, indexed", indexed(), rule, settings(), "ignored at rest indexed pending")
	check(t, "rule, sent at once", indexed(), rule, settings(atOnce), "ignored at rest delete")
	robots := Result{Excluded: &Exclusion{Reason: ReasonRobots, Words: "robots.txt forbids it"}}
	check(t, "robots.txt, first crawl", fresh(), robots, settings(), "ignored timed "+week)
	check(t, "robots.txt, indexed", indexed(), robots, settings(), "ignored "+pends)
	check(t, "robots.txt, sent at once", indexed(), robots, settings(atOnce), "ignored timed "+week+" delete")
	c := outcome(new(indexed()), &rule, settings(), 3, start(), 0)
	if c.Next.Status != 760 || c.Next.LastError != "rule at x:1" || c.Next.Reason != ReasonRules || c.Next.Fifo != IndexFollow || !c.Next.FetchedAt.Equal(start().Add(-day)) {
		t.Errorf("record = %+v; want 760 with its words, and nothing fetched", c.Next)
	}
	if want := "http://a.test/1 rule at x:1 1800000000"; string(c.Order.Body) != want || c.Order.Source != "web" || c.Order.Edit != 3 || c.Order.Reason != ReasonRules || c.Order.Text != "rule at x:1" {
		t.Errorf("order = %+v with %q, want edit 3 and %q", c.Order, c.Order.Body, want)
	}
	if o := outcome(new(indexed()), &robots, settings(), 3, start(), 0).Order; o.Edit != 0 || o.Reason != ReasonRobots {
		t.Errorf("order = %+v, want none of the edit's", o)
	}
}

func TestPage(t *testing.T) {
	check(t, "new document", fresh(), document(1, "web"), settings(), "ok at rest indexed push")
	check(t, "same hash", indexed(), document(1, "web"), settings(), "ok at rest indexed cancel")
	check(t, "same hash, pushUnchanged", indexed(), document(1, "web"), settings(func(s *Settings) { s.PushUnchanged = true }), "ok at rest indexed push")
	check(t, "other hash", indexed(), document(2, "web"), settings(), "ok at rest indexed push")
	check(t, "other source", indexed(), document(1, "other"), settings(), "ok at rest indexed push")
	check(t, "good again after errors", failing(indexed(), 3, day), document(1, "web"), settings(), "ok at rest indexed cancel")
	check(t, "304 to a conditional GET", indexed(), Result{Status: 304, Conditional: true}, settings(), "ok at rest indexed cancel")
	check(t, "304 after errors", failing(indexed(), 3, day), Result{Status: 304, Conditional: true}, settings(), "ok at rest indexed cancel")
	check(t, "204, first crawl", fresh(), status(204), settings(), "ok at rest")
	check(t, "204, indexed", indexed(), status(204), settings(), "ok "+pends)
	check(t, "204, sent at once", indexed(), status(204), settings(atOnce), "ok at rest delete")
	check(t, "followed only", fresh(), status(200), settings(), "ok at rest")
	noindex, duplicate := status(200), status(200)
	noindex.NoDocument, duplicate.DuplicateOf = "noindex", "http://a.test/0"
	check(t, "becomes noindex", indexed(), noindex, settings(), "ok "+pends)
	check(t, "becomes a duplicate", indexed(), duplicate, settings(), "ok "+pends)
	killed := noindex
	killed.Reason = ReasonKilled
	check(t, "killed", indexed(), killed, settings(), "ok at rest indexed pending")
	c := outcome(new(failing(indexed(), 3, day)), new(document(2, "s")), settings(), 0, start(), 0)
	if n := c.Next; n.Errors != 0 || !n.FirstErrorAt.IsZero() || n.Hash != [16]byte{2} || n.PushedSource != "s" || n.ETag != "new" || !n.FetchedAt.Equal(start()) {
		t.Errorf("record = %+v", n)
	}
	c = outcome(new(indexed()), &duplicate, settings(atOnce), 0, start(), 0)
	if n := c.Next; n.DuplicateOf != "http://a.test/0" || n.Hash != [16]byte{} || n.ETag != "" {
		t.Errorf("record = %+v; want no hash and no validators: a 304 would not bring the document back", n)
	}
}

func TestRedirect(t *testing.T) {
	u, err := weburl.Parse("http://b.test/")
	if err != nil {
		t.Fatal(err)
	}
	r := Result{Status: 302, Redirect: &Link{URL: u, Depth: 3}, Location: u.String(), Decided: IndexFollow}
	check(t, "remembered", fresh(), r, settings(), "redirect at rest")
	check(t, "document that becomes a redirect", indexed(), r, settings(), "redirect "+pends)
	check(t, "target ignored", indexed(), Result{Status: 302, RedirectIgnored: true, Location: u.String()}, settings(), "redirect "+pends)
	check(t, "sent at once", indexed(), r, settings(atOnce), "redirect at rest delete")
	for _, c := range []struct {
		shift int8
		fifo  Source
		alias bool
	}{{0, Redir, true}, {1, Index, true}, {-1, Redir, false}, {2, IndexFollow, false}} {
		old := fresh()
		r.Redirect = &Link{URL: u, Depth: 3, Shift: c.shift, Fifo: Follow}
		got := outcome(&old, &r, settings(func(s *Settings) { s.IndexRedirectSources = c.alias }), 0, start(), 0)
		want := Link{URL: u, Depth: 3, Fifo: c.fifo, Shift: c.shift, Hops: 3}
		if c.alias {
			want.Alias = old.URL
		}
		if d := cmp.Diff([]Link{want}, got.Links, cmp.AllowUnexported(weburl.URL{})); d != "" {
			t.Errorf("shift %d (-want +got):\n%s", c.shift, d)
		}
		if got.Next.RedirectTo != u.String() || got.Next.Status != 302 {
			t.Errorf("record = %+v", got.Next)
		}
	}
}

// TestSmartRefresh: the estimate's own tests are in refresh_test.go.
func TestSmartRefresh(t *testing.T) {
	daily := settings(smart, func(s *Settings) { s.MaxAge = s.MinAge })
	check(t, "document", fresh(), document(1, "web"), daily, "ok timed 24h0m0s indexed push")
	check(t, "unchanged", indexed(), document(1, "web"), daily, "ok timed 24h0m0s indexed cancel")
	check(t, "304", indexed(), Result{Status: 304, Conditional: true}, daily, "ok timed 24h0m0s indexed cancel")
	check(t, "no document", fresh(), status(204), daily, "ok timed 24h0m0s")
	check(t, "redirect", fresh(), Result{Status: 302, RedirectIgnored: true}, daily, "redirect timed 24h0m0s")
	check(t, "moved for good", fresh(), Result{Status: 301, RedirectIgnored: true, Moved: true}, settings(smart), "redirect timed 147h0m0s")
	check(t, "error", fresh(), status(404), daily, "permanent timed "+week)
	check(t, "excluded", fresh(), Result{Excluded: &Exclusion{Status: 760}}, daily, "ignored at rest")
}

// TestMinimumAged: the Smartsite form, a fixed age.
func TestMinimumAged(t *testing.T) {
	aged := settings(func(s *Settings) { s.MinimumAged = 48 * time.Hour })
	check(t, "document", fresh(), document(1, "web"), aged, "ok timed 48h0m0s indexed push")
	check(t, "unchanged", indexed(), Result{Status: 304, Conditional: true}, aged, "ok timed 48h0m0s indexed cancel")
	check(t, "redirect", fresh(), Result{Status: 301, RedirectIgnored: true, Moved: true}, aged, "redirect timed 48h0m0s")
	check(t, "error", fresh(), status(404), aged, "permanent timed "+week)
	both := settings(smart, func(s *Settings) { s.MinimumAged, s.MaxAge = 48*time.Hour, s.MinAge })
	check(t, "smart refresh wins", fresh(), document(1, "web"), both, "ok timed 24h0m0s indexed push")
}

func TestRetryAfter(t *testing.T) {
	plain := Result{}
	for i, c := range []struct {
		errors int
		result Result
		jitter float64
		want   time.Duration
	}{
		{1, plain, 0, time.Minute},
		{2, plain, 0, 2 * time.Minute},
		{9, plain, 0, 256 * time.Minute},
		{10, plain, 0, 6 * time.Hour},
		{1 << 30, plain, 0, 6 * time.Hour},
		{1, plain, 0.5, 67*time.Second + 500*time.Millisecond},
		{1, retryLater(503, time.Hour), 0, time.Hour},
		{1, retryLater(503, time.Second), 0, time.Minute},
		{1, retryLater(503, -time.Hour), 0, time.Minute},
		{1, retryLater(429, 1<<62), 0, 24 * time.Hour},
	} {
		if got := retryAfter(c.errors, &c.result, c.jitter); got != c.want {
			t.Errorf("case %d: %v, want %v", i, got, c.want)
		}
	}
}

// TestPending: while a loss of a document is pending, nothing of the document is lost, and
// a good answer, or a 304, cancels it.
func TestPending(t *testing.T) {
	old := failing(indexed(), 4, day)
	old.History, old.CheckedAt = History{Checks: 3, Quiet: day}, start().Add(-day)
	for name, r := range map[string]Result{
		"404": status(404), "too many": faulty(fault.Timeout), "204": status(204), "redirect": {Status: 302, RedirectIgnored: true, Location: "http://b.test/"},
		"excluded": {Excluded: &Exclusion{Status: 760, Reason: ReasonRules}}, "robots.txt": {Excluded: &Exclusion{Reason: ReasonRobots}},
	} {
		c := outcome(&old, &r, settings(), 0, start(), 0)
		n := c.Next
		if c.Forget || c.Order.Loss == nil || !n.LossPending || !n.Indexed || n.Gone || n.Hash != old.Hash ||
			n.PushedSource != old.PushedSource || n.ETag != old.ETag || n.LastModified != old.LastModified || n.Date != old.Date || n.History != old.History {
			t.Errorf("%s: %+v; want the URL known and indexed as before", name, c)
		}
		for _, good := range []Result{document(1, "web"), {Status: 304, Conditional: true}} {
			again := outcome(&n, &good, settings(), 0, start(), 0)
			if effect(again) != "ok at rest indexed cancel" || again.Next.Misses != 0 || again.Next.Reason != NoReason {
				t.Errorf("%s, then %d: %s, %+v; want the loss cancelled", name, good.Status, effect(again), again.Next)
			}
		}
	}
}

// TestAskedAgain: a document with a pending loss is visited after a minute, an hour, a day and then daily, so that a
// good response ends the loss without the operator.
func TestAskedAgain(t *testing.T) {
	often := func(s *Settings) { s.MinimumAged = 2 * time.Second }
	r := indexed()
	for i, want := range []time.Duration{time.Minute, time.Hour, 23 * time.Hour, day, day, day} {
		c := outcome(&r, new(status(404)), settings(often), 0, start(), 0)
		if got := c.Next.NextAt.Sub(start()); c.Next.State != Timed || got != want || int(c.Next.Misses) != i+1 {
			t.Errorf("after %d visits: again after %v with %d misses, want %v", i+1, got, c.Next.Misses, want)
		}
		r = c.Next
	}
	r.Misses = 255
	if c := outcome(&r, new(status(404)), settings(), 0, start(), 0); c.Next.Misses != 255 || c.Next.NextAt.Sub(start()) != day {
		t.Errorf("after 255: %d misses, again at %v", c.Next.Misses, c.Next.NextAt)
	}
	// Of a remembered error it is not the first visit that counts.
	r = indexed()
	r.Class, r.Misses = Permanent, 9
	if c := outcome(&r, new(status(404)), settings(), 0, start(), 0); c.Next.Misses != 1 {
		t.Errorf("%d misses at the first visit that sees a loss", c.Next.Misses)
	}
	quick := settings(func(s *Settings) { s.Deletions.Confirm = 10 * time.Second })
	r = indexed()
	for i, want := range []time.Duration{time.Minute, 5 * time.Second, 5 * time.Second, 10 * time.Second} {
		c := outcome(&r, new(status(404)), quick, 0, start(), 0)
		if got := c.Next.NextAt.Sub(start()); got != want {
			t.Errorf("with a confirmation of 10 s, after %d visits: again after %v, want %v", i+1, got, want)
		}
		r = c.Next
	}
}

// TestGone: a URL that is gone is asked for at growing intervals, and forgotten after
// five answers and thirty days, whichever is later; a root is never forgotten, and a good
// answer ends it all.
func TestGone(t *testing.T) {
	set, now := settings(func(s *Settings) { s.ErrorRefresh = 8 * day }), start()
	r := indexed()
	leave(&r, set, now) // of a page that is good: nothing of the kind
	if r.Gone || r.Misses != 0 || r.Indexed || r.ETag != "" {
		t.Errorf("%+v, want a page without a document", r)
	}
	r = indexed()
	r.Class, r.ClassAt, r.State = Permanent, now, Timed
	if leave(&r, set, now) || !r.Gone || r.Misses != 1 || r.NextAt.Sub(now) != 8*day {
		t.Fatalf("%+v, want it gone, and asked for in 8 days", r)
	}
	for _, wait := range []time.Duration{16, 32, 64} { // 24 days, 56, ...
		now = r.NextAt
		c := outcome(&r, new(status(404)), set, 0, now, 0)
		if got := c.Next.NextAt.Sub(now); c.Forget || got != wait*day || !c.Next.Gone {
			t.Errorf("%+v after %v, want it again after %d days", c, got, wait)
		}
		r = c.Next
	}
	if c := outcome(&r, new(status(404)), set, 0, r.NextAt, 0); !c.Forget {
		t.Errorf("%+v, want it forgotten after the fifth answer", c)
	}
	if c := outcome(&r, new(document(1, "web")), set, 0, r.NextAt, 0); c.Next.Misses != 0 || c.Next.Gone || effect(c) == "" {
		t.Errorf("%+v, want it as if nothing had been", c)
	}
	root := r
	root.Root = true
	for range 20 {
		c := outcome(&root, new(status(404)), settings(forgetting), 0, root.NextAt, 0)
		if got := c.Next.NextAt.Sub(root.NextAt); c.Forget || c.Next.Class != Permanent || got != 7*day {
			t.Fatalf("%+v, want the root asked for again after a week", c)
		}
		root = c.Next
	}
	often := r // answers in no time
	often.ClassAt, often.Misses = r.NextAt.Add(-30*day+time.Second), 200
	if c := outcome(&often, new(status(404)), set, 0, r.NextAt, 0); c.Forget || c.Next.NextAt.Sub(r.NextAt) != 90*day {
		t.Errorf("%+v, want it kept for thirty days, and asked for after ninety at the latest", c)
	}
}

func TestDecidedFifo(t *testing.T) {
	for _, r := range []Result{document(1, "web"), status(404), faulty(fault.Timeout)} {
		r.Decided = Follow
		if c := outcome(new(fresh()), &r, settings(), 0, start(), 0); c.Next.Fifo != Follow {
			t.Errorf("Fifo = %v, want what the rules now say", c.Next.Fifo)
		}
	}
}

func check(t *testing.T, name string, old Record, r Result, s *Settings, want string) {
	t.Helper()
	before := old
	if got := effect(outcome(&old, &r, s, 0, start(), 0)); got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
	if !reflect.DeepEqual(before, old) {
		t.Errorf("%s changed the old record:\n%s", name, cmp.Diff(before, old))
	}
}

// TestElsewhere: the document of a URL that another crawler has stays.
func TestElsewhere(t *testing.T) {
	r := Result{Excluded: &Exclusion{Status: 761, Words: "domain gate", Keep: true}}
	check(t, "761, a document was indexed", indexed(), r, settings(smart), "ignored at rest indexed cancel")
	check(t, "761, never fetched", fresh(), r, settings(smart), "ignored at rest cancel")
}

// TestRulesVersion: the version of the rules is stored with each lasting outcome,
// and not where no link could be judged.
func TestRulesVersion(t *testing.T) {
	old := indexed()
	old.RulesVersion = 1
	for name, c := range map[string]struct {
		r    Result
		want uint64
	}{
		"page":      {document(1, "web"), 2},
		"unchanged": {Result{Status: 304, Conditional: true}, 2},
		"redirect":  {Result{Status: 301, RedirectIgnored: true}, 2},
		"excluded":  {Result{Excluded: &Exclusion{Status: 760}}, 2},
		"gone":      {status(404), 2},
		"temporary": {status(429), 1},
		"guarded":   {faulty(fault.Address), 1},
	} {
		c.r.RulesVersion = 2
		if got := outcome(&old, &c.r, settings(), 0, start(), 0).Next.RulesVersion; got != c.want {
			t.Errorf("%s: version %d, want %d", name, got, c.want)
		}
	}
}

// TestTextOfDeletion: a deletion says which error it follows from.
func TestTextOfDeletion(t *testing.T) {
	silent := faulty(fault.TLS)
	silent.Words = ""
	for want, r := range map[string]Result{"status 410": status(410), "words": faulty(fault.TLS), "cannot be fetched": silent} {
		old := indexed()
		c := outcome(&old, &r, settings(), 0, start(), 0)
		if c.Order == nil || c.Order.Text != want {
			t.Errorf("the order is %+v, want the text %q", c.Order, want)
		}
	}
}

// TestGuardedIsKnown: of a URL whose address is refused something is known, so an error that follows is that of a
// refresh.
func TestGuardedIsKnown(t *testing.T) {
	old, refused, gone := fresh(), faulty(fault.Address), status(404)
	guarded := outcome(&old, &refused, settings(), 0, start(), 0).Next
	if c := outcome(&guarded, &gone, settings(forgetting), 0, start(), 0); !c.Forget {
		t.Errorf("after it a 404 gives %+v", c.Next)
	}
}
