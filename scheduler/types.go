package scheduler

import (
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

// Source is one of the six URL sources: five fifos and the refresh source
// (Exalead CloudView, "How Priorities Work").
type Source uint8

// The sources, by their numbers.
const (
	User Source = iota
	Redir
	Index
	IndexFollow
	Follow
	Refresh
	Sources = 6 // how many there are
)

// State is the list in which a known URL stands; it is in exactly one.
type State uint8

// The states of a stored URL. A URL in flight is Waiting on disk until its
// outcome is committed, so that a crash needs no repair.
const (
	Waiting State = iota // in a fifo, or in flight
	Timed                // until NextAt: retry or refresh
	AtRest               // excluded, permanent error, or done without refresh
)

// Class is the operator's word for the state of a URL.
type Class uint8

// The classes, in the words of `sextant urls`.
const (
	Pending Class = iota // never fetched
	OK
	Redirect
	Ignored // excluded by rule, robots or directive; StatusWord names which
	Temporary
	Permanent
)

// Kind is the purpose for which a URL is crawled.
type Kind uint8

// The kinds. Only pages are found by links of pages; the others come from the configuration or from robots.txt.
// Sources, from KindSitemap to KindXML, lead to URLs and are not documents themselves.
const (
	KindPage         Kind = iota
	KindSitemap           // from the configuration, or named by such an index
	KindNamedSitemap      // named by a robots.txt, or by such an index
	KindFeed
	KindXML  // an XML file that holds documents
	KindItem // a document of a feed or an XML file: the URL itself is not fetched
	Kinds    // how many there are
)

// IsSource reports whether a URL of this kind leads to others and is not a document.
func (k Kind) IsSource() bool { return KindSitemap <= k && k <= KindXML }

// String returns the kind's word in all output.
func (k Kind) String() string {
	words := [...]string{"page", "sitemap", "sitemap", "feed", "xml", "item"}
	if k >= Kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return words[k]
}

// Record is the stored state of one URL.
type Record struct {
	URL    string
	Host   weburl.HostKey
	Origin string // scheme://host:port, as in weburl.URL.Origin
	State  State
	Source Source    // the source it waits in, or was last taken from
	Fifo   Source    // the fifo that the rules gave it: where a retry goes
	Seq    uint64    // its place in the queue while Waiting; rises with every commit
	NextAt time.Time // while Timed

	Kind  Kind
	Root  bool // submitted by the user or the configuration
	Shift int8 // fifo shift, inherited by a redirect's target
	Depth uint16
	Hops  uint8 // redirects in a row that led here, 0 if a link did
	// Referrer is the page on which the URL was first found; empty for roots.
	Referrer string
	// Aliases are URLs that redirect here (indexRedirectSources).
	Aliases []string

	Class        Class
	Status       int // HTTP code of the last response; 760, 761; 0 if there was none
	Errors       int // temporary errors in a row
	FirstErrorAt time.Time
	// Reason is the reason why the URL has no document, why that must go, or why the last response was bad;
	// LastError is the text for people.
	Reason    Reason
	LastError string
	// Settled is set once a lasting outcome was known (document, redirect, exclusion, remembered error): the next fetch
	// is a refresh, not a first crawl.
	Settled      bool
	FetchedAt    time.Time
	ETag         string
	LastModified string
	Date         string        // Date header of the last 200, for If-Modified-Since without validators
	Interval     time.Duration // present refresh interval, 0 before the first
	// CheckedAt is the time when the page was last read and compared with the stored state, History the sum of such
	// comparisons.
	CheckedAt time.Time
	History   History
	// Indexed is set if the newest order for this URL is a document, sent or waiting in the outbox. Hash is that of the
	// pushed content, PushedSource the source it was pushed under.
	Indexed      bool
	Hash         [16]byte
	PushedSource string
	// Sketch is that of the pushed text, Reading a fingerprint of the settings that it was read with
	// (Document.Reading).
	Sketch  sketch.Sketch
	Reading uint16
	// MetasHash is a hash of the metas that the rules and roots gave the document (Document.MetasHash); 0 if none, or if
	// unknown.
	MetasHash uint32
	// Lively counts the consecutive losses of the text that were carried out, up to livelyAfter.
	Lively uint8
	// LossPending is set while a loss of the document or its text is pending: Indexed stays set.
	LossPending bool
	// LostAt is the time when a loss removed the document or replaced its text; zero if neither happened or the document
	// is back. Before is the text before that, zero if the document left.
	LostAt time.Time
	Before sketch.Sketch
	// Misses counts the visits in a row that gave a permanent error, or that saw the pending loss, up to 255.
	Misses uint8
	// Gone is set if the URL had a lasting outcome and then, on refresh, a permanent error, and no loss of it is
	// pending: the next link to it from a page queues it at once.
	Gone        bool
	RedirectTo  string
	DuplicateOf string
	// RulesVersion names the rules under which the last lasting outcome was decided and, for a page, its links were
	// judged (Result.RulesVersion); 0 if there was none.
	RulesVersion uint64
	// HostSpelling is the host as spelled in the link that admitted the URL, empty if that is the URL's own: domain
	// rules are case sensitive.
	HostSpelling string
	// Fragment is that of the link that admitted the URL, empty unless a rule uses fragments; at most FragmentMax
	// bytes.
	Fragment string
	// Directives and UnavailableAt are those of the page when it was last read; a document is deleted after
	// UnavailableAt, which is zero if the page does not set it, or the crawl does not obey it.
	Directives    Directives
	UnavailableAt time.Time
	// Signature is a fingerprint of the page's text, as it was last read, from which its distance to others is computed
	// (crawl/copies/near), in at most MaxSignature bytes; "" if the text is too short, or copies were not searched for.
	// Overlap is the share of its text that a page of ReasonNearCopy shares with its original, in percent.
	Signature string
	Overlap   uint8

	// The rest is for reports. Times are in whole seconds.
	//
	// FoundAt is when the URL became known, ClassAt when it got its class, and Was its class before, ignoring Pending.
	// ChangedAt is the time when its document last entered the index (Entered), changed, got another source, or was
	// deleted.
	FoundAt, ClassAt, ChangedAt time.Time
	Entered                     bool
	Was                         Class
	// Fault is the last visit's, MediaType that of the last 200, without parameters.
	Fault     fault.Fault
	MediaType string
	// Linked is set if the page's links are stored (Completion.Outlinks).
	Linked bool
}

// Nearer takes over a shorter depth from a link, and reports whether the URL must be visited again: the crawl space
// excludes it, perhaps for its depth alone, or the page's links were beyond the last crawled level (levels; 0: all) and
// no longer are. Links beyond it are not stored, so the page is requested in full.
func (n *Record) Nearer(depth, levels uint16) (again bool) {
	if depth >= n.Depth {
		return false
	}
	cut := n.Kind == KindPage && (n.Class == OK || n.Class == Redirect) && n.Depth+1 >= levels && depth+1 < levels
	n.Depth = depth
	if cut {
		n.RulesVersion = 0
	}
	return cut || n.Class == Ignored && n.Reason == ReasonCrawlSpace
}

// BodyLost reports whether the URL's document was lost before it was sent, because the disk was damaged, and has not
// been read again.
func (n *Record) BodyLost() bool { return n.Indexed && n.Reason == ReasonBodyLost }

// DueSource returns the source that a timed URL enters when its time has come. A URL that was never fetched, or that is
// retried, enters its fifo; any other refresh enters refresh, since the retries of a host that is down would take turns
// from documents without a first request. A lost document goes before new URLs.
func (n *Record) DueSource(refresh Source) Source {
	switch {
	case n.BodyLost():
		return User
	case n.Class == Pending || n.Errors > 0 && !n.LossPending:
		return n.Fifo
	}
	return refresh
}

// Link is a URL to store: discovered on a page, target of a redirect, or submitted.
type Link struct {
	URL weburl.URL
	// Known is the URL's key if the URL was known when its page was read; otherwise it is zero. Such a link was not
	// judged: it counts as a link of the page and changes nothing of its URL.
	Known    weburl.Key
	Fifo     Source // where it goes if it is new
	Kind     Kind   // as in Record; a KindItem rests from the beginning
	Root     bool
	Shift    int8
	Depth    uint16
	Hops     uint8 // as in Record
	Referrer string
	Alias    string // the URL that redirects here, or ""
	// HostSpelling, Fragment and FoundAt are as in Record.
	HostSpelling string
	Fragment     string
	FoundAt      time.Time
	// Item is the document of a KindItem; nil if it is not available.
	Item *Item
}

// FragmentMax is the longest stored fragment of a link, in bytes.
const FragmentMax = 256

// OrderOp is the operation that an outbox order requests of the target.
type OrderOp uint8

// The operations.
const (
	OrderAdd OrderOp = iota
	OrderDelete
)

// Order is a document or a deletion for the target. Body is opaque here: the JSON of push.Document or push.Deletion,
// written by the crawl. From Store.Complete on it belongs to the store and must not be changed.
type Order struct {
	Op     OrderOp
	Source string
	Body   []byte
	// Loss, if not nil, makes the order pending: it removes the document or replaces its text. If the URL has a pending
	// loss of the same edit and Op, that Loss becomes Loss.Seen, with Day, and everything else is replaced.
	Loss   *Loss
	Day    time.Duration
	Reason Reason
	Edit   uint64
	Text   string
	// Moved is set on a document that was pushed under another source before.
	Moved bool
}

// History sums up a page's comparisons with its earlier self, enough to estimate how often it changes.
type History struct {
	Checks  uint32        // comparisons
	Changes uint32        // comparisons that found a change
	Quiet   time.Duration // sum of the times between visits without a change
	Busy    time.Duration // sum of the times between visits with a change
}

// HostState is the state of a host that survives a restart.
type HostState struct {
	Origin  string
	NextAt  time.Time // no request before
	Backoff time.Duration
	Errors  int           // failures in a row of the host as a whole
	Delay   time.Duration // Crawl-delay of its robots.txt
	// Responses are the last ten for URLs with documents, the newest in bit 0: set for bad ones. Ill is set if too many
	// were bad, since IllSince.
	Responses uint16
	Ill       bool
	IllSince  time.Time
	BadAt     time.Time // the last bad response of an ill host
	// Goods are the documents of an ill host that were good since its last bad response, oldest first, then zero keys.
	Goods [5]weburl.Key
}

var noSketch sketch.Sketch

// Directives are those of a page, by robots metas and X-Robots-Tag, whether or not they are obeyed.
type Directives uint8

// The directives, combined by or.
const (
	NoIndex Directives = 1 << iota
	NoFollow
	NoSnippet
	NoArchive
	// Rendered is not a directive: the page was read with a browser. It is kept here because it changes with them.
	Rendered
)

// Words returns the directives as they are written on pages.
func (d Directives) Words() []string {
	var words []string
	for i, word := range [...]string{"noindex", "nofollow", "nosnippet", "noarchive"} {
		if d&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}
