package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// The three tables of this file read like the specification: which answer is of
// which class under which policy, and what follows from a class for a URL of each
// history. TestMatrix asks for every cell of their product.

// answers are all kinds of answer, with the class that each policy gives them:
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
		"redirect to a malformed URL":   {fault(BadRedirect), all("permanent")},
		"3xx without Location":          {status(302), all("permanent")},
		"host not found":                {fault(DNSNotFound), all("permanent")},
		"protocol fault":                {fault(Protocol), all("permanent")},
		"too many redirects":            {fault(TooManyHops), all("permanent")},
		"503 whose Retry-After is none": {Result{Status: 503, RetryAfter: time.Hour, Decided: IndexFollow}, cautious},
		"TLS error":                     {fault(TLSFault), cautious},
		// Temporary errors.
		"time-out":                  {fault(Timeout), all("temporary")},
		"connection reset":          {fault(Reset), all("temporary")},
		"connection refused":        {fault(Refused), all("temporary")},
		"503 with Retry-After":      {retryLater(503, 0), all("temporary")},
		"DNS gives no answer":       {fault(DNSNoAnswer), all("temporary")},
		"shorter than its length":   {fault(ShortBody), all("temporary")},
		"address refused by guard":  {fault(AddressFault), all("guarded")},
		"excluded by a rule":        {Result{Excluded: &Exclusion{Status: 760, Words: "rule"}}, all("excluded")},
		"excluded, another has it":  {Result{Excluded: &Exclusion{Status: 761, Words: "gate", Keep: true}}, all("elsewhere")},
		"forbidden by robots.txt":   {Result{Excluded: &Exclusion{Words: "robots.txt"}}, all("forbidden")},
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

// histories are the states in which a URL can be fetched, and consequences says by
// class of answer what follows for each of them, in the words of effect. Errors that the
// document outlives are tried again after 8 minutes as the fourth in a row.
func histories() map[string]Record {
	readmitted := crawled()
	readmitted.Class, readmitted.Status = Ignored, 760
	held := indexed()
	held.Class, held.Status = Permanent, 404
	return map[string]Record{
		"first crawl":                      fresh(),
		"first crawl, errors":              failing(fresh(), 3, day),
		"first crawl, too many":            failing(fresh(), 4, day),
		"document":                         indexed(),
		"document, errors":                 failing(indexed(), 3, day),
		"document, errors in a short time": failing(indexed(), 7, day-time.Second),
		"document, too many":               failing(indexed(), 4, day),
		"document, deletion held":          held,
		"no document":                      crawled(),
		"no document, too many":            failing(crawled(), 4, day),
		"remembered error":                 failed(),
		"excluded before":                  readmitted,
	}
}

type consequence struct{ first, firstTooMany, document, documentTooMany, other, otherTooMany string }

// consequences of a class of answer: at first crawl, on refresh of a document and
// on refresh of anything else, each also where one temporary error more is too many.
func consequences() map[string]consequence {
	same := func(first, document, other string) consequence {
		return consequence{first, first, document, document, other, other}
	}
	return map[string]consequence{
		"permanent": same("permanent timed "+week, "forgotten delete", "forgotten"),
		"temporary": {
			first: "temporary timed RETRY", firstTooMany: "temporary timed " + week,
			document: "temporary timed RETRY indexed", documentTooMany: "forgotten delete",
			other: "temporary timed RETRY", otherTooMany: "forgotten",
		},
		"guarded":            same("ignored timed "+week, "ignored timed "+week+" indexed", "ignored timed "+week),
		"excluded":           same("ignored at rest", "ignored at rest delete", "ignored at rest"),
		"elsewhere":          same("ignored at rest cancel", "ignored at rest indexed cancel", "ignored at rest cancel"),
		"forbidden":          same("ignored timed "+week, "ignored timed "+week+" delete", "ignored timed "+week),
		"unchanged":          same("ok at rest cancel", "ok at rest indexed cancel", "ok at rest cancel"),
		"unchanged document": same("ok at rest indexed push", "ok at rest indexed cancel", "ok at rest indexed push"),
		"document":           same("ok at rest indexed push", "ok at rest indexed push", "ok at rest indexed push"),
		"no document":        same("ok at rest", "ok at rest delete", "ok at rest"),
		"redirect":           same("redirect at rest", "redirect at rest delete", "redirect at rest"),
	}
}

// of picks the consequence for a history, and fills in what depends on it.
func (c consequence) of(old *Record, p Policy, class string) string {
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
	if p == Smartsite && class == "temporary" && old.Indexed && !tooMany {
		want = "temporary timed RETRY delete" // on any failure to fetch it
	}
	retry := map[int]string{0: "1m0s", 3: "8m0s", 7: "2h8m0s"}[old.Errors]
	return strings.NewReplacer("RETRY", retry, "CLASS", old.Class.String()).Replace(want)
}

// TestMatrix: every policy, with every history and every answer.
func TestMatrix(t *testing.T) {
	table, all, pasts := consequences(), answers(t), histories()
	for _, p := range []Policy{Cloudview, Cautious, Smartsite} {
		for name, row := range all {
			class := row.classes[p]
			for past, old := range pasts {
				check(t, fmt.Sprintf("%v, %s, %s (%s)", p, past, name, class), old, row.result, settings(policy(p)), table[class].of(&old, p, class))
			}
		}
	}
}
