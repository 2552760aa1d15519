// Package visit takes one lease through its stages: rules, robots.txt, log-in, fetch, read, judge the links, complete.
// A page becomes a document and links; a sitemap or feed becomes URLs, or documents of its items.
//
// A visit belongs to the worker that calls Visitor.Page. What follows when its outcome is stored may go on in a
// goroutine that Visitor.AwaitStored waits for (handover.go). Each kind of shared knowledge (addresses, log-in pages,
// bot walls, pending canonicals, sitemaps by host, redirects for cookies) has a separate mutex. None is held while a
// page is fetched or the store is read, except that of the count of sitemaps. Parts lists everything else that a visit
// uses.
package visit

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/crawllog"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Visitor is the shared state of one crawl's visits. All workers use it; each part that changes has its own lock.
type Visitor struct {
	frontier *scheduler.Frontier
	store    Store
	log      *slog.Logger
	sites    Sites
	copies   *copies.Detector // nil if not detected
	patterns *copies.Patterns // nil: not learnt
	hosts    *HostURLs        // counted for traps
	meter    *meter.Meter
	crawlLog *crawllog.Log
	trial    *Recording // records the visit in a dry run; nil otherwise
	hasher   *hasher

	addresses      addresses
	logins         logins
	walls          walls
	duplicates     pendingDuplicates
	sitemaps       sitemapCounts
	cookieTurns    cookieTurns
	unreadTypes    firstOf     // media types that were logged
	guardedHost    atomic.Bool // a refused address was already logged
	robotsInFlight sync.Map    // keys of hosts whose robots.txt is being fetched
	handed         *handedOver
}

// Store contains the methods of the store that visits use in addition to the frontier.
type Store interface {
	scheduler.Lookuper
	scheduler.KeySet
	scheduler.Inspector
	scheduler.Values
}

// Sites is the part of the crawl that a visit uses.
type Sites interface {
	// InForce returns the rules in force, which differ from those that a page began under if a site has moved or the rules
	// were reloaded.
	InForce() *Rules
	// ObserveHome records the target of a page that may represent a site; zero means that it is a page itself, and firm
	// that the redirect is permanent.
	ObserveHome(ctx context.Context, from, to weburl.URL, firm bool) error
	// Restrict has the stored URLs of u's origin judged by its robots.txt, which became stricter.
	Restrict(u weburl.URL)
	// AwaitRate waits until a request in addition to those of leases is allowed.
	AwaitRate(ctx context.Context) error
	// WasRoot reports whether a URL that waits was a root before the roots changed.
	WasRoot(k weburl.Key) bool
}

// Asked counts the requests made with a lease.
type Asked uint8

const (
	// AskedNothing means that no request was made.
	AskedNothing Asked = iota
	// AskedOther is a request for robots.txt, for a step of a log-in, or for a page whose response concerns only the
	// log-in.
	askedOther
	// AskedPage means that the page was requested.
	AskedPage
)

// Parts are the dependencies of a Visitor.
type Parts struct {
	Frontier *scheduler.Frontier
	Store    Store
	Log      *slog.Logger
	Sites    Sites
	Hosts    *HostURLs
	Meter    *meter.Meter
	CrawlLog *crawllog.Log
	// HashKey is the store's key for the hashes of documents.
	HashKey HashKey
}

// New returns a Visitor that does not search for copies.
func New(p Parts) *Visitor {
	return &Visitor{frontier: p.Frontier, store: p.Store, log: p.Log, sites: p.Sites, hosts: p.Hosts, meter: p.Meter, crawlLog: p.CrawlLog, handed: newHandedOver(), hasher: newHasher(p.HashKey)}
}

// LookForCopies makes the visits compare documents by d, and learn patterns, which may be nil.
func (r *Visitor) LookForCopies(d *copies.Detector, patterns *copies.Patterns) {
	r.copies, r.patterns = d, patterns
}

// Watch makes visits record themselves in t, for a dry run.
func (r *Visitor) Watch(s *Recording) { r.trial = s }
