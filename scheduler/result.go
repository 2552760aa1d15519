package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

// Exclusion is the reason why a URL that was taken is not crawled, or its page not indexed.
type Exclusion struct {
	Status int // 760 or 761 for rules and crawl space, else 0
	Reason Reason
	Words  string // for the operator, for example "robots.txt" or "rule at CrawlConfig.xml:12:5"
	Keep   bool   // the document stays in the index: another crawler has it (761)
	// MovedTo is the new URL of a page whose site moved (ReasonMoved), or that has another name (ReasonRenamed).
	MovedTo string
}

// Result is a worker's finding for a lease. Only the Frontier decides its consequences.
type Result struct {
	// Excluded is set if rules, robots.txt or crawl space forbid the URL: it was not fetched.
	Excluded *Exclusion
	// Fault and Status describe the response; Words are for the operator (LastError).
	Fault  fault.Fault
	Status int
	Words  string
	// Reason is the reason why the page has no document, or a fault of the response in addition to Fault and Status (a
	// log-in page, a document that cannot be read).
	Reason Reason
	// RetryAfter is the delay that the server sent; 0 if there was none. HasRetryAfter is set if the header was present
	// and valid (a 503 without it is permanent).
	RetryAfter    time.Duration
	HasRetryAfter bool
	// Conditional is set if the request carried validators.
	Conditional bool
	// Validators and dates of a 200.
	ETag, LastModified, Date string

	// LoginPage is set if a log-in page was returned in place of the page, LoginForm if the page has a password field.
	LoginPage, LoginForm bool

	// MediaType is the type of a 200's body, without parameters.
	MediaType string

	// Redirect is the target of a 3xx or a meta refresh, already judged, with the shift of its source unless a rule
	// gave it its own; the frontier sets fifo, alias and hops. It is nil without a target. RedirectIgnored is set if
	// rules ignore the target. Location is its URL in either case, for the record. Moved is set for 301 and 308.
	Redirect        *Link
	RedirectIgnored bool
	Location        string
	Moved           bool

	// Unsettled is set for an XML list with pending losses of its documents: it is read again as often as their pages
	// would be, and in full.
	Unsettled bool

	// Requests counts the requests for the page besides its own, which lengthen the host's rest.
	Requests int

	// Links are the links of the page to follow, judged, without duplicates.
	Links []Link
	// LinksHash, if not zero, is the hash of all links, if Links contains only some of them.
	LinksHash [16]byte
	// Document is the page for the index, nil if it has none (not indexed, empty, error). NoDocument is the reason, for
	// a 200.
	Document    *Document
	NoDocument  string
	DuplicateOf string
	// Sketch is that of a page's text, set if the page is a copy of another document.
	Sketch sketch.Sketch
	// Directives, UnavailableAt, Signature and Overlap are as in Record, for a page that was read.
	Directives    Directives
	UnavailableAt time.Time
	Signature     string
	Overlap       uint8
	// Notes are stored in the same step as the outcome.
	Notes []Note
	// Decided is the source that the rules now give the URL; refresh and retry use it.
	Decided Source
	// RulesVersion names the rules that judged the URL and its links.
	RulesVersion uint64
	// silent is set if the host has given no good response for a day. The frontier sets it for indexed URLs.
	silent bool
}

// Document is a page ready for the outbox.
type Document struct {
	Body   []byte   // JSON of push.Document
	Hash   [16]byte // of title, text, metas, content type, language and source
	Source string   // the source to push it under
	// MovesTo, if not nil, is the source that would take the document off a target (Settings.Leaves). Source is still
	// the one that it was pushed under.
	MovesTo *string
	// Sketch is that of the text; Reading is a fingerprint of the settings that affect the text of a page.
	Sketch  sketch.Sketch
	Reading uint16
	// MetasHash is a hash of the metas that rules and roots give the document, 0 for none.
	MetasHash uint32
}

// holds records that a document is on its way to the target.
func (n *Record) holds(d *Document) {
	n.Hash, n.PushedSource, n.Sketch, n.Reading, n.MetasHash = d.Hash, d.Source, d.Sketch, d.Reading, d.MetasHash
	n.Indexed, n.LostAt, n.Before = true, time.Time{}, noSketch
}

// Effect describes the consequences of a lease's result.
type Effect struct {
	Class     Class
	Reason    Reason
	Added     bool // a document of the URL is sent for the first time
	Updated   bool // one is sent in place of another
	Deleted   bool // its deletion is sent
	Pending   bool // a loss of the document or its text is pending
	Indexed   bool // the target has a document of the URL, or will have
	Forgotten bool // the URL has no stored state
}

// Effect returns the consequences. They are set once Complete has returned; only the holder of the lease may call it.
func (l *Lease) Effect() Effect { return l.effect }

func effectOf(old *Record, c *Completion) Effect {
	b := Effect{Class: c.Next.Class, Reason: c.Next.Reason, Indexed: c.Next.Indexed, Forgotten: c.Forget}
	if o := c.Order; o != nil {
		add := o.Op == OrderAdd
		b.Pending = o.Loss != nil
		b.Added, b.Updated = add && !old.Indexed, add && old.Indexed && !b.Pending
		b.Deleted = !add && !b.Pending
	}
	return b
}
