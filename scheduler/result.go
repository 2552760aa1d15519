package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

// Exclusion is why a URL that was taken is not crawled, or its page not indexed.
type Exclusion struct {
	Status int // 760 or 761 for rules and crawl space, else 0
	Reason Reason
	Words  string // for the operator, for example "robots.txt" or "rule at CrawlConfig.xml:12:5"
	Keep   bool   // the document stays in the index: another crawler has it (761)
	// MovedTo is where the page is now whose site moved (ReasonMoved), or that has another name (ReasonRenamed).
	MovedTo string
}

// Result is what a worker found out about a lease. The Frontier alone decides
// what follows from it.
type Result struct {
	// Excluded is set when rules, robots.txt or crawl space forbid the URL: it was not fetched.
	Excluded *Exclusion
	// Fault and Status tell the answer; Words are for the operator (LastError).
	Fault  fault.Fault
	Status int
	Words  string
	// Reason is why the page has no document, or what is wrong with the answer where
	// Fault and Status do not tell it (a log-in page, a document that cannot be read).
	Reason Reason
	// RetryAfter is the server's, from now; 0 if there was none. HasRetryAfter says
	// that the header was there and made sense (a 503 without is permanent).
	RetryAfter    time.Duration
	HasRetryAfter bool
	// Conditional says that the request carried validators.
	Conditional bool
	// Validators and dates of a 200.
	ETag, LastModified, Date string

	// LoginPage says that the answer is a log-in page in place of what was asked for, LoginForm that
	// the page asks for a password.
	LoginPage, LoginForm bool

	// MediaType is that of a 200's body, without parameters.
	MediaType string

	// Redirect is the target of a 3xx or a meta refresh, already judged, with the shift
	// of its source unless a rule gave it its own; fifo, alias and hops are set by the
	// frontier. It is nil if there was none. RedirectIgnored says that the target exists but rules ignore it. Location is
	// its URL in either case, for the record. Moved says 301 or 308.
	Redirect        *Link
	RedirectIgnored bool
	Location        string
	Moved           bool

	// Unsettled says of an XML list that losses of its documents are pending: it is read again as their
	// pages would be, and in full.
	Unsettled bool

	// Requests were made for the page beside its own: its host rests the longer.
	Requests int

	// Links to follow that the page names, judged, without duplicates.
	Links []Link
	// LinksHash, if not zero, stands for Links where these are not all that was read.
	LinksHash [16]byte
	// Document is the page for the index, nil if it has none (not indexed, empty,
	// error). NoDocument says why not, for a 200.
	Document    *Document
	NoDocument  string
	DuplicateOf string
	// Sketch is of the text of a page that is a copy of another document.
	Sketch sketch.Sketch
	// Directives, UnavailableAt, Signature and Overlap are as in Record; of a page that was
	// read.
	Directives    Directives
	UnavailableAt time.Time
	Signature     string
	Overlap       uint8
	// Notes are stored in the same step as the outcome.
	Notes []Note
	// Decided is where the rules now put the URL; refresh and retry use it.
	Decided Source
	// RulesVersion names the rules that the URL and its links were judged by.
	RulesVersion uint64
	// silent says that the host has given no good response for a day. The frontier sets it for indexed URLs.
	silent bool
}

// Document is a page ready for the outbox.
type Document struct {
	Body   []byte   // JSON of push.Document
	Hash   [16]byte // of title, text, metas, content type, language and source
	Source string   // under which it is pushed
	// MovesTo, if not nil, is the source that it is to have, and by which it would leave a target (Settings.Leaves):
	// Source is still the one that it was pushed under.
	MovesTo *string
	// Sketch is of its text, Reading of the settings that decide what text a page has.
	Sketch  sketch.Sketch
	Reading uint16
	// Given tells apart the metas that rules and roots give it, 0 for none.
	Given uint32
}

// holds notes in a record that a document is on its way to the indexer.
func (n *Record) holds(d *Document) {
	n.Indexed, n.Hash, n.PushedSource, n.Sketch, n.Reading, n.Given = true, d.Hash, d.Source, d.Sketch, d.Reading, d.Given
	n.LostAt, n.Before = time.Time{}, noSketch
}

// Became is what followed from the result of a lease.
type Became struct {
	Class     Class
	Reason    Reason
	Added     bool // a document of the URL is sent to the indexer for the first time
	Updated   bool // one is sent in place of another
	Deleted   bool // its deletion is sent
	Pending   bool // a loss of it, or of its text, is pending
	Indexed   bool // the indexer has a document of it, or will have
	Forgotten bool // nothing of the URL is remembered
}

// Became is known when Complete has returned; it is for the holder of the lease.
func (l *Lease) Became() Became { return l.became }

func became(old *Record, c *Completion) Became {
	b := Became{Class: c.Next.Class, Reason: c.Next.Reason, Indexed: c.Next.Indexed, Forgotten: c.Forget}
	if o := c.Order; o != nil {
		add := o.Op == OrderAdd
		b.Pending = o.Loss != nil
		b.Added, b.Updated = add && !old.Indexed, add && old.Indexed && !b.Pending
		b.Deleted = !add && !b.Pending
	}
	return b
}
