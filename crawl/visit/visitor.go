// Package visit takes one lease through its stages: rules, robots.txt, log-in, fetch, read,
// judge the links, complete. A page becomes a document and links; a sitemap or feed becomes
// URLs, or documents of its items.
//
// A visit belongs to the worker that calls Visitor.Page. What follows when its outcome is stored
// may go on in a goroutine that Visitor.AwaitStored waits for (handover.go).
// What visits learn for each other (addresses, log-in pages, canonicals that are waited for,
// sitemaps by host, redirects for cookies) has a mutex of its own each, none of which is held while a page is
// fetched or the store is read, except for the count of sitemaps. Everything else that a visit
// works with is named in Parts.
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

// Visitor is what the visits of one crawl work with, and what they learn for each other.
// All workers share it; each part that changes has a lock of its own.
type Visitor struct {
	frontier *scheduler.Frontier
	store    Store
	log      *slog.Logger
	sites    Sites
	copies   *copies.Detector // nil: not looked for
	patterns *copies.Patterns // nil: not learnt
	hosts    *HostURLs        // counted for traps
	meter    *meter.Meter
	crawlLog *crawllog.Log
	trial    *Sight // looks on in a dry run, else nil
	hasher   *hasher

	addresses      addresses
	logins         logins
	namers         namers
	sitemaps       sitemapCounts
	cookieTurns    cookieTurns
	unreadTypes    firstOf     // media types that were logged
	guardedHost    atomic.Bool // a host was not asked for its address, and that was logged
	robotsInFlight sync.Map    // keys of hosts whose robots.txt is being fetched
	handed         *handedOver
}

// Store is what visits ask of the store beside the frontier.
type Store interface {
	scheduler.Lookuper
	scheduler.Knower
	scheduler.Inspector
	scheduler.Values
}

// Sites is what a visit asks of the crawl as a whole.
type Sites interface {
	// InForce returns the rules of now: others than a page began under, if a site has moved
	// or the rules were loaded anew.
	InForce() *Rules
	// HomeLeads takes in where a page leads that may stand for a site; zero says that it is
	// a page itself, and firm that the redirect is permanent.
	HomeLeads(ctx context.Context, from, to weburl.URL, firm bool) error
	// Restrict has the stored URLs of u's origin judged by its robots.txt, which became stricter.
	Restrict(u weburl.URL)
	// AwaitRate waits until one more request may be made, beside those of leases.
	AwaitRate(ctx context.Context) error
	// WasRoot reports whether a URL that waits was a root before the roots changed.
	WasRoot(k weburl.Key) bool
}

// Asked counts the requests made with a lease.
type Asked uint8

const (
	// AskedNothing says that no request was made.
	AskedNothing Asked = iota
	// askedOther: robots.txt, a step of a log-in, or a page that tells of the log-in only.
	askedOther
	// AskedPage says that the page was asked for.
	AskedPage
)

// Parts are what a Visitor is made of.
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

// New makes a visitor that looks for no copies.
func New(p Parts) *Visitor {
	return &Visitor{frontier: p.Frontier, store: p.Store, log: p.Log, sites: p.Sites, hosts: p.Hosts, meter: p.Meter, crawlLog: p.CrawlLog, handed: newHandedOver(), hasher: newHasher(p.HashKey)}
}

// LookForCopies has the visits compare documents by d, and learn patterns, which may be nil.
func (r *Visitor) LookForCopies(d *copies.Detector, patterns *copies.Patterns) {
	r.copies, r.patterns = d, patterns
}

// Watch has visits shown to a dry run.
func (r *Visitor) Watch(s *Sight) { r.trial = s }
