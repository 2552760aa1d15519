package scheduler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// reasonNumbers returns the reasons' words and numbers: the words are a contract, the numbers are stored. A new one
// goes to the end; none is ever changed.
func reasonNumbers() map[string]Reason {
	return map[string]Reason{
		"": 0, "rules": 1, "crawl_space": 2, "elsewhere": 3, "renamed": 4, "noindex_rule": 5, "kill_list": 6, "media_type": 7, "removed": 8,
		"robots": 9, "robots_unreachable": 10, "noindex": 11, "unavailable_after": 12, "canonical": 13,
		"empty": 14, "source": 15, "not_named": 16, "item_gone": 17, "duplicate": 18, "near_duplicate": 19, "redirect": 20, "site_moved": 21,
		"too_large": 22, "unreadable": 23, "unreadable_document": 24, "no_content": 25,
		"not_found": 26, "4xx": 27, "5xx": 28, "status": 29, "login": 30, "dns": 31, "connect": 32, "tls": 33, "timeout": 34, "protocol": 35,
		"bad_redirect": 36, "address": 37, "proxy": 38, "session": 39,
		"no_text": 40, "app_shell": 41, "no_field": 42, "rendering": 43, "no_browser": 44, "body_lost": 45, "new_text": 46, "target": 47, "reader": 48,
		"list_gone": 49, "no_target": 50, "bot_wall": 51,
	}
}

func TestReasonNumbers(t *testing.T) {
	got := map[string]Reason{}
	for r := range reasonsEnd {
		if r.String() == "" && r != NoReason {
			t.Errorf("reason %d has no name", r)
		}
		got[r.String()] = r
		switch back, err := ParseReason(r.String()); {
		case r == NoReason && err == nil:
			t.Error("nothing is read as a reason")
		case r != NoReason && (err != nil || back != r):
			t.Errorf("%v is read as %v, %v", r, back, err)
		}
	}
	if d := cmp.Diff(reasonNumbers(), got); d != "" {
		t.Errorf("what is stored would mean something else (-want +got):\n%s", d)
	}
	if !ReasonNoBrowser.Known() || reasonsEnd.Known() || (reasonsEnd+1).String() != "reason 53" {
		t.Errorf("an unknown reason is %v", reasonsEnd+1)
	}
	if _, err := ParseReason("404"); err == nil || !strings.HasPrefix(err.Error(), `"404": write one of rules, crawl_space,`) {
		t.Errorf("ParseReason of no reason: %v", err)
	}
}

// TestKindsOfReasons: which are the operator's, which are a site's own wish, and which
// say only why a URL waits.
func TestKindsOfReasons(t *testing.T) {
	operators := map[Reason]bool{ReasonRules: true, ReasonCrawlSpace: true, ReasonElsewhere: true, ReasonRenamed: true, ReasonNotIndexed: true, ReasonKilled: true, ReasonTarget: true, ReasonListGone: true, ReasonNoTarget: true}
	asks := map[Reason]bool{
		ReasonNotFound: true, ReasonNoIndex: true, ReasonUnavailable: true, ReasonCanonical: true, ReasonRobots: true, ReasonRedirect: true, ReasonItemGone: true,
	}
	waiting := map[Reason]bool{ReasonRobotsUnreachable: true, ReasonProxy: true, ReasonSessionWaits: true, ReasonNoBrowser: true, ReasonBotWall: true}
	for r := range reasonsEnd {
		if r.Operators() != operators[r] || r.RequestsRemoval() != asks[r] || r.Waits() != waiting[r] {
			t.Errorf("%v: operator's %t, asks %t, waits %t", r, r.Operators(), r.RequestsRemoval(), r.Waits())
		}
	}
}

// TestReasonOf: each fault and status has its reason, none is left to chance.
func TestReasonOf(t *testing.T) {
	faults := map[fault.Fault]Reason{
		fault.Timeout: ReasonTimeout, fault.Reset: ReasonConnect, fault.Refused: ReasonConnect, fault.ShortBody: ReasonProtocol,
		fault.DNSNotFound: ReasonDNS, fault.DNSNoAnswer: ReasonDNS, fault.TLS: ReasonTLS, fault.Protocol: ReasonProtocol,
		fault.TooManyHops: ReasonBadRedirect, fault.BadRedirect: ReasonBadRedirect,
		fault.Address: ReasonAddress, fault.AddressForbidden: ReasonAddress, fault.Proxy: ReasonProxy, fault.Render: ReasonRendering, fault.RenderTimeout: ReasonRendering,
		fault.Reading: ReasonReader,
	}
	for _, f := range fault.All() {
		if got := reasonOf(f, 404); got != faults[f] || got == NoReason {
			t.Errorf("fault %d is %v, want %v", f, got, faults[f])
		}
	}
	if got := reasonOf(fault.Fault(200), 200); got != ReasonProtocol {
		t.Errorf("an unknown fault is %v", got)
	}
	for status := range 1000 {
		want := ReasonOtherStatus
		switch {
		case status == 404 || status == 410:
			want = ReasonNotFound
		case status == 401 || status == 407:
			want = ReasonLogin
		case status/100 == 4:
			want = ReasonClientError
		case status/100 == 5:
			want = ReasonServerError
		}
		if got := reasonOf(fault.None, status); got != want {
			t.Errorf("status %d is %v, want %v", status, got, want)
		}
	}
}

// TestReasonOfVisit: a visit that fails has a reason, also where the caller tells none.
func TestReasonOfVisit(t *testing.T) {
	login := Result{Status: 200, LoginPage: true, Decided: IndexFollow}
	file := document(1, "web")
	file.Reason, file.Words = ReasonUnreadFile, "the document cannot be read: encrypted"
	for name, c := range map[string]struct {
		r      Result
		reason Reason
		words  string
	}{
		"404":                 {Result{Status: 404, Words: "404 Not Found"}, ReasonNotFound, "404 Not Found"},
		"told by the caller":  {Result{Status: 503, Reason: ReasonLogin, Words: "a log-in page"}, ReasonLogin, "a log-in page"},
		"time-out":            {faulty(fault.Timeout), ReasonTimeout, "words"},
		"log-in page":         {login, ReasonLogin, ""},
		"guarded":             {faulty(fault.Address), ReasonAddress, "words"},
		"damaged document":    {file, ReasonUnreadFile, "the document cannot be read: encrypted"},
		"good":                {document(1, "web"), NoReason, ""},
		"redirect":            {Result{Status: 301, RedirectIgnored: true, Location: "http://b.test/", Words: "301 Moved Permanently"}, ReasonRedirect, "301 Moved Permanently"},
		"no document":         {Result{Status: 200, Reason: ReasonEmpty, NoDocument: "empty"}, ReasonEmpty, "empty"},
		"excluded":            {Result{Excluded: &Exclusion{Status: 760, Reason: ReasonCrawlSpace, Words: "domain gate"}}, ReasonCrawlSpace, "domain gate"},
		"robots.txt":          {Result{Excluded: &Exclusion{Reason: ReasonRobots, Words: "robots.txt"}}, ReasonRobots, "robots.txt"},
		"another crawler has": {Result{Excluded: &Exclusion{Status: 761, Reason: ReasonElsewhere, Words: "gate", Keep: true}}, ReasonElsewhere, "gate"},
	} {
		n := outcome(new(indexed()), &c.r, settings(), 0, start(), 0).Next
		if n.Reason != c.reason || n.LastError != c.words {
			t.Errorf("%s: %v, %q; want %v, %q", name, n.Reason, n.LastError, c.reason, c.words)
		}
	}
	// What waits tells nothing new of a URL of which something is known.
	for old, want := range map[Reason]Reason{NoReason: ReasonProxy, ReasonSessionWaits: ReasonProxy, ReasonNotFound: ReasonNotFound} {
		l := &Lease{Record: indexed()}
		l.Record.Reason, l.Record.LastError = old, "before"
		if c := waits(l, start(), ReasonProxy, "now"); c.Next.Reason != want || (c.Next.LastError == "now") != (want == ReasonProxy) {
			t.Errorf("%v waits: %v, %q; want %v", old, c.Next.Reason, c.Next.LastError, want)
		}
	}
}
