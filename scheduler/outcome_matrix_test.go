package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

// The three tables of this file read like the specification: which answer is of
// which class under which policy, and what follows from a class for a URL of each
// history. TestMatrix asks for every cell of their product.

// answers returns all kinds of answer, with the class that each policy gives them:
// cloudview, cautious, smartsite.
func answers(t *testing.T) map[string]struct {
	result  Result
	classes [3]string
} {
	type row = struct {
		result  Result
		classes [3]string
	}
	all := func(class string) [3]string { return [3]string{class, class, class} }
	cautious := [3]string{"permanent", "temporary", "permanent"}
	u, err := weburl.Parse("http://b.test/")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]row{
		// Permanent errors.
		"304 to an unconditional GET":   {status(304), all("permanent")},
		"redirect to a malformed URL":   {faulty(fault.BadRedirect), all("permanent")},
		"3xx without Location":          {status(302), all("permanent")},
		"host not found":                {faulty(fault.DNSNotFound), all("permanent")},
		"protocol fault":                {faulty(fault.Protocol), all("permanent")},
		"too many redirects":            {faulty(fault.TooManyHops), all("permanent")},
		"503 whose Retry-After is none": {Result{Status: 503, RetryAfter: time.Hour, Decided: IndexFollow}, cautious},
		"TLS error":                     {faulty(fault.TLS), cautious},
		// Temporary errors.
		"time-out":                  {faulty(fault.Timeout), all("temporary")},
		"connection reset":          {faulty(fault.Reset), all("temporary")},
		"connection refused":        {faulty(fault.Refused), all("temporary")},
		"503 with Retry-After":      {retryLater(503, 0), all("temporary")},
		"DNS gives no answer":       {faulty(fault.DNSNoAnswer), all("temporary")},
		"shorter than its length":   {faulty(fault.ShortBody), all("temporary")},
		"proxy":                     {faulty(fault.Proxy), all("temporary")},
		"rendering":                 {faulty(fault.Render), all("temporary")},
		"rendering timed out":       {faulty(fault.RenderTimeout), all("temporary")},
		"fault of another version":  {faulty(fault.Fault(200)), all("temporary")},
		"address refused by guard":  {faulty(fault.Address), all("guarded")},
		"address forbidden":         {faulty(fault.AddressForbidden), all("guarded")},
		"excluded by a rule":        {Result{Excluded: &Exclusion{Status: 760, Reason: ReasonRules, Words: "rule"}}, all("excluded")},
		"excluded, another has it":  {Result{Excluded: &Exclusion{Status: 761, Reason: ReasonElsewhere, Words: "gate", Keep: true}}, all("elsewhere")},
		"forbidden by robots.txt":   {Result{Excluded: &Exclusion{Reason: ReasonRobots, Words: "robots.txt"}}, all("forbidden")},
		"304 to a conditional GET":  {Result{Status: 304, Conditional: true}, all("unchanged")},
		"same document":             {document(1, "web"), all("unchanged document")},
		"other document":            {document(2, "web"), all("document")},
		"same under another source": {document(1, "other"), all("document")},
		"204":                       {status(204), all("no document")},
		"empty 200":                 {status(200), all("no document")},
		"noindex":                   {Result{Status: 200, NoDocument: "noindex"}, all("no document")},
		"duplicate":                 {Result{Status: 200, DuplicateOf: "http://a.test/0"}, all("no document")},
		"302":                       {Result{Status: 302, Redirect: &Link{URL: u}, Location: u.String()}, all("redirect")},
		"301":                       {Result{Status: 301, Redirect: &Link{URL: u}, Location: u.String(), Moved: true}, all("redirect")},
		"meta refresh":              {Result{Status: 200, Redirect: &Link{URL: u}, Location: u.String()}, all("redirect")},
		"redirect to an ignored":    {Result{Status: 307, RedirectIgnored: true, Location: u.String()}, all("redirect")},
	}
	for code := range 600 {
		name := fmt.Sprint("status ", code)
		switch {
		case code == 408 || code == 425 || code == 429:
			rows[name] = row{status(code), all("temporary")}
		case code == 500 || code == 502 || code == 503 || code == 504:
			rows[name] = row{status(code), cautious}
		case code >= 200 && code <= 299 && code != 205 && code != 206:
			rows[name] = row{status(code), all("no document")}
		default: // 1xx, 205, 206, 3xx with nowhere to go, 4xx, 5xx
			rows[name] = row{status(code), all("permanent")}
		}
	}
	return rows
}

// histories returns the states in which a URL can be fetched, and consequences says by
// class of answer what follows for each of them, in the words of effect. Errors that the
// document outlives are tried again after 8 minutes as the fourth in a row.
func histories() map[string]Record {
	readmitted := crawled()
	readmitted.Class, readmitted.Status = Ignored, 760
	pending := indexed()
	pending.Class, pending.Status, pending.LossPending, pending.Misses = Permanent, 404, true, 1
	long := pending
	long.Misses = 4
	gone := failed()
	gone.Gone, gone.Misses = true, 1
	return map[string]Record{
		"first crawl":                      fresh(),
		"first crawl, errors":              failing(fresh(), 3, day),
		"first crawl, too many":            failing(fresh(), 4, day),
		"document":                         indexed(),
		"document, errors":                 failing(indexed(), 3, day),
		"document, errors in a short time": failing(indexed(), 7, day-time.Second),
		"document, too many":               failing(indexed(), 4, day),
		"document, loss seen once":         pending,
		"document, loss seen often":        long,
		"gone":                             gone,
		"no document":                      crawled(),
		"no document, too many":            failing(crawled(), 4, day),
		"remembered error":                 failed(),
		"excluded before":                  readmitted,
	}
}

type consequence struct{ first, firstTooMany, document, documentTooMany, other, otherTooMany string }

// consequences of a class of answer: at first crawl, on refresh of a document and
// on refresh of anything else, each also where one temporary error more is too many.
// What stands in capitals depends on settings and history.
func consequences() map[string]consequence {
	same := func(first, document, other string) consequence {
		return consequence{first, first, document, document, other, other}
	}
	return map[string]consequence{
		"permanent": same("permanent timed MISSED", "permanent DELETED-FOR-ERROR", "permanent GONE"),
		"temporary": {
			first: "temporary timed RETRY", firstTooMany: "permanent timed MISSED",
			document: "temporary timed RETRY indexed", documentTooMany: "permanent DELETED-FOR-ERROR",
			other: "temporary timed RETRY STILL", otherTooMany: "permanent GONE",
		},
		"guarded":            same("ignored timed "+week, "ignored timed "+week+" indexed", "ignored timed "+week+" STILL"),
		"excluded":           same("ignored at rest", "ignored DELETED-BY-RULE", "ignored at rest STILL"),
		"elsewhere":          same("ignored at rest cancel", "ignored at rest indexed cancel", "ignored at rest STILL cancel"),
		"forbidden":          same("ignored timed "+week, "ignored DELETED-BY-ROBOTS", "ignored timed "+week+" STILL"),
		"unchanged":          same("ok at rest cancel", "ok at rest indexed cancel", "ok at rest cancel"),
		"unchanged document": same("ok at rest indexed push", "ok at rest indexed cancel", "ok at rest indexed push"),
		"document":           same("ok at rest indexed push", "ok at rest indexed push", "ok at rest indexed push"),
		"no document":        same("ok at rest", "ok DELETED", "ok at rest"),
		"redirect":           same("redirect at rest", "redirect DELETED", "redirect at rest"),
	}
}

// of picks the consequence for a history, and fills in what depends on it.
func (c consequence) of(old *Record, set *Settings, class string) string {
	tooMany := old.Errors >= 4 && start().Sub(old.FirstErrorAt) >= day
	var want string
	switch {
	case !old.Settled && tooMany:
		want = c.firstTooMany
	case !old.Settled:
		want = c.first
	case old.Indexed && tooMany:
		want = c.documentTooMany
	case old.Indexed:
		want = c.document
	case tooMany:
		want = c.otherTooMany
	default:
		want = c.other
	}
	if set.Policy == Smartsite && class == "temporary" && old.Indexed && !tooMany { // on any failure to fetch it
		want = map[bool]string{true: "temporary timed RETRY indexed pending", false: "temporary timed RETRY delete"}[!set.Deletions.Off]
		if old.LossPending && !set.Deletions.Off { // it is asked for as any other loss
			want = strings.Replace(want, "RETRY", map[uint8]string{1: "1h0m0s", 4: "24h0m0s"}[old.Misses], 1)
		}
	}
	if class == "temporary" && old.Class == Permanent { // until the page is had again
		want = strings.Replace(want, "temporary", "permanent", 1)
	}
	deleted := map[string]string{
		"DELETED-FOR-ERROR": "timed " + week + " gone delete", "DELETED-BY-ROBOTS": "timed " + week + " delete",
		"DELETED-BY-RULE": "at rest delete", "DELETED": "at rest delete",
	}
	if !set.Deletions.Off {
		again := map[uint8]string{0: "1m0s", 1: "1h0m0s", 4: "24h0m0s"}[old.Misses]
		if !old.LossPending {
			again = "1m0s"
		}
		for cause := range deleted {
			deleted[cause] = "timed " + again + " indexed pending"
		}
		deleted["DELETED-BY-RULE"] = "at rest indexed pending"
	}
	missed := map[uint8]string{0: week, 1: "336h0m0s"}[old.Misses]
	switch forgets := set.ForgetDeleted; {
	case forgets && strings.Contains(want, "GONE"):
		return "forgotten"
	case forgets && set.Deletions.Off && strings.Contains(want, "DELETED-FOR-ERROR"):
		return "forgotten delete"
	}
	still := ""
	if old.Gone {
		still = " gone"
	}
	retry := map[int]string{0: "1m0s", 3: "8m0s", 7: "2h8m0s"}[old.Errors]
	return strings.NewReplacer("RETRY", retry, "MISSED", missed, " STILL", still, "GONE", "timed "+missed+" gone",
		"DELETED-FOR-ERROR", deleted["DELETED-FOR-ERROR"], "DELETED-BY-ROBOTS", deleted["DELETED-BY-ROBOTS"],
		"DELETED-BY-RULE", deleted["DELETED-BY-RULE"], "DELETED", deleted["DELETED"]).Replace(want)
}

// TestMatrix: every policy, with every history and every answer, with losses that are
// confirmed and not, and where URLs are forgotten with their documents.
func TestMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("70,000 outcomes of a function that shares nothing")
	}
	table, all, pasts := consequences(), answers(t), histories()
	for _, p := range []Policy{CloudView, Cautious, Smartsite} {
		for mode := range 4 {
			set := settings(policy(p), func(s *Settings) { s.Deletions.Off, s.ForgetDeleted = mode&1 != 0, mode&2 != 0 })
			for name, row := range all {
				if status, ok := strings.CutPrefix(name, "status "); ok && mode > 0 && !strings.Contains("200 302 404 408 500 503", status) {
					continue // as one of these
				}
				class := row.classes[p]
				for past, old := range pasts {
					word := fmt.Sprintf("%v, off %t, forgets %t, %s, %s (%s)", p, set.Deletions.Off, set.ForgetDeleted, past, name, class)
					check(t, word, old, row.result, set, table[class].of(&old, set, class))
				}
			}
		}
	}
}
