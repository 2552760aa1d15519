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

// State is where a known URL is; it is in exactly one place.
type State uint8

// The states of a stored URL. A URL in flight is Waiting on disk until its
// outcome is committed, so that a crash needs no repair.
const (
	Waiting State = iota // in a fifo, or in flight
	Timed                // waits for NextAt: retry or refresh
	AtRest               // excluded, permanent error, or done without refresh
)

// Class is the operator's word for what is known of a URL.
type Class uint8

// The classes, in the words of `sextant urls`.
const (
	Pending Class = iota // never fetched
	OK
	Redirect
	Ignored // excluded by rule, robots or directive; StatusWord says by what
	Temporary
	Permanent
)

// Kind is what a URL is crawled for.
type Kind uint8

// The kinds. All but pages come from the configuration or from robots.txt, never
// from a page. Sources, from KindSitemap to KindXML, lead to URLs and are no
// documents themselves.
const (
	KindPage         Kind = iota
	KindSitemap           // of the configuration, or named by the index of such a one
	KindNamedSitemap      // that a robots.txt names, or the index of such a one
	KindFeed
	KindXML  // an XML file that holds documents
	KindItem // a document out of a feed or an XML file: the URL itself is not fetched
	Kinds    // how many there are
)

// IsSource reports whether a URL of this kind leads to others and is not a document.
func (k Kind) IsSource() bool { return KindSitemap <= k && k <= KindXML }

// String is the kind's word in all output.
func (k Kind) String() string {
	words := [...]string{"page", "sitemap", "sitemap", "feed", "xml", "item"}
	if k >= Kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return words[k]
}

// Record is all that is stored of one URL.
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
	Status       int // HTTP code of the last answer; 760, 761; 0 if there was none
	Errors       int // temporary errors in a row
	FirstErrorAt time.Time
	// Reason is why the URL has no document, or why that is to go, or what was wrong with
	// the last answer; LastError says it in words, for people alone.
	Reason    Reason
	LastError string
	// Settled says that a lasting outcome was known once (document, redirect,
	// exclusion, remembered error): the next fetch is a refresh, not a first crawl.
	Settled      bool
	FetchedAt    time.Time
	ETag         string
	LastModified string
	Date         string        // Date header of the last 200, for If-Modified-Since without validators
	Interval     time.Duration // present refresh interval, 0 before the first
	// CheckedAt is when the page was last had and compared with what was stored, and
	// History what such comparisons have shown.
	CheckedAt time.Time
	History   History
	// Indexed says that the newest order for this URL is a document, sent or
	// waiting in the outbox. Hash is that of the pushed content, PushedSource
	// the source it was pushed under.
	Indexed      bool
	Hash         [16]byte
	PushedSource string
	// Sketch is of the text of the pushed content, Reading of the settings that it was read by
	// (Document.Reading).
	Sketch  sketch.Sketch
	Reading uint16
	// Given tells apart the metas that the rules and roots gave the document (Document.Given); 0 if none, or
	// if that is not known.
	Given uint32
	// Lively counts the times in a row that a loss of the text was carried out, up to livelyAfter.
	Lively uint8
	// LossPending says that a loss of the document, or of its text, is pending: Indexed holds on.
	LossPending bool
	// LostAt is when its document left as a loss, or got another text by one, zero if neither or if that was had back.
	// Before is the text that it had then, zero if it left.
	LostAt time.Time
	Before sketch.Sketch
	// Misses counts the visits in a row that gave a permanent error, or that saw the loss that is
	// pending, up to 255.
	Misses uint8
	// Gone says that the URL had a lasting outcome and then, on refresh, a permanent error,
	// and that no loss of it is pending: the next link that a page has to it
	// asks for it at once.
	Gone        bool
	RedirectTo  string
	DuplicateOf string
	// RulesVersion names the rules under which the last lasting outcome was
	// decided and, of a page, its links were judged (Result.RulesVersion); 0 if
	// there was none.
	RulesVersion uint64
	// HostSpelling is the host as the link that admitted the URL spelled it, empty
	// where that is the URL's own: domain rules tell letters' case apart.
	HostSpelling string
	// Fragment is that of the link that admitted the URL, empty unless a rule names
	// fragments; at most FragmentMax bytes.
	Fragment string
	// Directives and UnavailableAt are what the page asked for when it was last read;
	// a document whose time has come is deleted. UnavailableAt is zero where
	// the page does not say, or the crawl does not obey it.
	Directives    Directives
	UnavailableAt time.Time
	// Signature tells of the page's text, as it was last read, by how much it differs from
	// others (crawl/copies/near), in at most MaxSignature bytes; "" if it is too short, or
	// copies were not looked for. Overlap is how much of its text a page of ReasonNearCopy
	// shares with its original, in percent.
	Signature string
	Overlap   uint8

	// The rest is for reports. Times are in whole seconds.
	//
	// FoundAt is when the URL became known, ClassAt when it got its class, and Was the
	// class that it had before, leaving out Pending. ChangedAt is when its document
	// entered the index (Entered), was found changed, got another source, or was deleted.
	FoundAt, ClassAt, ChangedAt time.Time
	Entered                     bool
	Was                         Class
	// Fault is the last visit's, MediaType that of the last 200, without parameters.
	Fault     fault.Fault
	MediaType string
	// Linked says that the page's links are stored (Completion.Outlinks).
	Linked bool
}

// Nearer takes over the depth of a link if it is shorter, and reports whether the URL must be visited again: the crawl
// space excludes it, perhaps for its depth alone, or the links of the page were beyond the last of the levels that are
// crawled (0: all), and no longer are. Links that are beyond it are not stored, so the page is requested in full.
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

// BodyLost reports whether the URL's document was lost before it was sent, because the disk was damaged, and has not been
// had again.
func (n *Record) BodyLost() bool { return n.Indexed && n.Reason == ReasonBodyLost }

// DueSource is the source that a timed URL enters when its time has come: a URL
// that was never fetched or is being tried again its fifo, any other refresh: the retries of a host that is down would
// take all of its turns from documents that were not asked for yet. A document that was lost goes before what is new.
func (n *Record) DueSource(refresh Source) Source {
	switch {
	case n.BodyLost():
		return User
	case n.Class == Pending || n.Errors > 0 && !n.LossPending:
		return n.Fifo
	}
	return refresh
}

// Link is a URL to be known: discovered on a page, target of a redirect, or submitted.
type Link struct {
	URL weburl.URL
	// Known is the URL's key if the URL was known when its page was read; otherwise it is zero. Such a link was not
	// judged: it counts as one of the page's links and changes nothing of its URL.
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
	// Item is the document of a KindItem; nil: none is at hand.
	Item *Item
}

// FragmentMax is the most that is kept of a link's fragment, in bytes.
const FragmentMax = 256

// OrderOp says what an outbox order asks of the indexer.
type OrderOp uint8

// The operations.
const (
	OrderAdd OrderOp = iota
	OrderDelete
)

// Order is a document or a deletion for the indexer. Body is opaque here: the
// JSON of push.Document or push.Deletion, written by the crawl. It is the store's from Store.Complete on:
// nobody changes it any more.
type Order struct {
	Op     OrderOp
	Source string
	Body   []byte
	// Loss, if not nil, says that the order is pending: it takes the document, or its text, away.
	// Where one of the URL is pending already of the same edit and Op, its Loss becomes Loss.Seen,
	// with Day, and all else is replaced.
	Loss   *Loss
	Day    time.Duration
	Reason Reason
	Edit   uint64
	Text   string
	// Moved is set on a document that was pushed under another source before.
	Moved bool
}

// History sums up a page's comparisons with its earlier self: enough to estimate
// how often it changes.
type History struct {
	Checks  uint32        // comparisons
	Changes uint32        // those that found a change
	Quiet   time.Duration // sum of the times between visits in which it did not change
	Busy    time.Duration // sum of those in which it did, once or more often
}

// HostState is what must be known of a host after a restart.
type HostState struct {
	Origin  string
	NextAt  time.Time // no request before
	Backoff time.Duration
	Errors  int           // failures in a row of the host as a whole
	Delay   time.Duration // Crawl-delay of its robots.txt
	// Responses are the last ten for URLs with documents, the newest in bit 0: set where
	// it was bad. Ill says that too many were, since IllSince.
	Responses uint16
	Ill       bool
	IllSince  time.Time
	BadAt     time.Time // the last bad response of an ill host
	// Goods are the documents of an ill host that were good since its last bad response, the
	// oldest first; those behind are zero.
	Goods [5]weburl.Key
}

var noSketch sketch.Sketch

// Directives are what a page asks of crawlers, by robots metas and X-Robots-Tag,
// whether they are obeyed or not.
type Directives uint8

// The directives, any number of them together.
const (
	NoIndex Directives = 1 << iota
	NoFollow
	NoSnippet
	NoArchive
	// Rendered is no directive: the page was read as a browser made it. It is kept with them, since it is
	// as old as they are.
	Rendered
)

// Words are the directives as they are written on pages.
func (d Directives) Words() []string {
	var words []string
	for i, word := range [...]string{"noindex", "nofollow", "nosnippet", "noarchive"} {
		if d&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}
