package visit

import (
	"bytes"
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// sourceBatch is the number of links that are stored together if a source has more than sourceWhole. Fewer links are
	// stored together with its outcome.
	sourceBatch = 2000
	sourceWhole = 5000
	// indexDepth is the allowed nesting of indexes (sitemaps.org has one level; real sites have two).
	indexDepth = 2
	// foreignOrigins limits the number of other hosts whose robots.txt is consulted for one sitemap.
	foreignOrigins = 1000
	// lineage is the maximum number of steps between a robots.txt and a sitemap: the index that lists it, and redirects to
	// it.
	lineage = 4
)

// reading is one reading of a sitemap, or of a feed for its links.
type reading struct {
	v        *visit
	ctx      context.Context
	base     weburl.Base
	links    []scheduler.Link
	stored   bool // some were stored already
	children []scheduler.Link
	seen     spellings[weburl.Key] // of this batch
	hints    map[weburl.Key]time.Time
	sum      hash.Hash // of all entries

	origins   map[string]bool // other hosts, and whether their robots.txt names the sitemap
	ancestors map[weburl.Key]bool
	// unsure means that a robots.txt was not available: the next reading may accept more.
	unsure bool
	n, foreign, outside, full,
	bad int // entries: all, of other hosts, excluded by rules, beyond the host's limit, not URLs
}

// readSource extracts links and documents from the 200 of a source.
func (v *visit) readSource(ctx context.Context, response *fetcher.Response, result *scheduler.Result) error {
	directives := extract.XRobotsTag(response.Header.Values("X-Robots-Tag"), v.policy.Settings.RobotsAgent)
	if directives.NoFollow && !v.policy.Settings.IgnoreNoFollow {
		result.Reason = scheduler.ReasonSource
		result.NoDocument = "not read: its X-Robots-Tag is nofollow"
		return nil
	}
	s := v.policy.SourceOf(v.lease.Key)
	if from, err := weburl.Parse(v.lease.Record.Referrer); s == nil && v.lease.Record.Hops > 0 && err == nil {
		s = v.policy.SourceOf(from.Key()) // that redirects here
	}
	switch kind := v.lease.Record.Kind; {
	case kind == scheduler.KindXML && s != nil && s.XML != nil:
		return v.readXML(ctx, response, s.XML, result)
	case kind == scheduler.KindFeed && s != nil && s.IndexItems:
		return v.readItems(ctx, response, result)
	case kind == scheduler.KindXML: // by several redirects
		result.Reason = scheduler.ReasonSource
		result.NoDocument = "the configuration names a URL that redirects here in several steps; name this one"
		return nil
	}
	return v.readSitemap(ctx, response, result)
}

// readSitemap reads a sitemap, or a feed whose items are links.
func (v *visit) readSitemap(ctx context.Context, response *fetcher.Response, result *scheduler.Result) error {
	base, err := weburl.NewBase(v.lease.URL.String())
	if err != nil {
		return err
	}
	r := &reading{v: v, ctx: ctx, base: base, sum: fnv.New128a(), seen: spellings[weburl.Key]{}, hints: map[weburl.Key]time.Time{}}
	options := feeds.Options{
		ContentType: response.Header.Get("Content-Type"),
		MaxBytes:    v.policy.Settings.SitemapMaxBytes, MaxEntries: v.policy.Settings.SitemapMaxLinks, Truncated: response.Truncated,
	}
	summary, readErr := feeds.Sitemap(bytes.NewReader(response.Body), options, r.entry)
	if failed := r.flush(true); failed != nil {
		return failed
	}
	if readErr != nil && !isSyntax(readErr) {
		return readErr
	}
	result.Links = r.links
	r.sum.Sum(result.LinksHash[:0])
	v.sourceWords(result, summary.Format.String(), summary, readErr, r.words())
	r.v.logRefused("not reading sitemaps of an index; their host has reached its limit, or a trap excludes them", r.full)
	if r.unsure || r.full > 0 { // there may be room then
		forgetValidators(result)
	}
	return nil
}

// sourceWords describes the result of reading a source. One that was not read to its end is read in full the next time.
func (v *visit) sourceWords(result *scheduler.Result, what string, s feeds.Summary, err error, more string) {
	result.Reason = scheduler.ReasonSource
	result.NoDocument = fmt.Sprintf("%s: %d entries%s", what, s.Entries, more)
	switch {
	case err != nil:
		result.NoDocument += "; not read further: " + err.Error()
		forgetValidators(result)
		v.log.Warn("a sitemap or feed is truncated or damaged; using the part that was read", "url", v.lease.URL.String(), "error", err)
	case s.Cut != "":
		result.NoDocument += "; not read further: " + s.Cut
		v.log.Warn("a sitemap or feed is too large; using the part that was read", "url", v.lease.URL.String(), "why", s.Cut)
	}
}

func forgetValidators(result *scheduler.Result) {
	result.ETag, result.LastModified, result.Date = "", "", ""
}

// words returns the counts of ignored entries.
func (r *reading) words() string {
	var s string
	for _, c := range []struct {
		n    int
		what string
	}{{r.foreign, "of other hosts"}, {r.outside, "excluded by the rules"}, {r.full, "beyond the limit of their host"}, {r.bad, "that are not URLs"}} {
		if c.n > 0 {
			s += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return s
}

// entry takes one entry of the file.
func (r *reading) entry(e feeds.Entry) error {
	if r.n++; r.n%100 == 0 && r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	loc := e.Reference()
	policy.HashParts(r.sum, loc, e.LastMod.String())
	u, err := r.base.Resolve(loc)
	if err != nil {
		r.bad++
		return nil
	}
	if e.Sitemap {
		return r.child(u, e)
	}
	if err := r.link(u, loc, hinted(e)); err != nil {
		return err
	}
	for _, alternate := range e.Alternates {
		policy.HashParts(r.sum, alternate)
		if u, err := r.base.Resolve(alternate); err == nil {
			if err := r.link(u, alternate, time.Time{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// hinted returns the latest time at which an entry may have changed.
func hinted(e feeds.Entry) time.Time {
	if !e.Day {
		return e.LastMod
	}
	latest := e.LastMod.AddDate(0, 0, 1).Add(-time.Second)
	if now := time.Now().Add(-2 * time.Minute); now.Before(latest) && now.After(e.LastMod) {
		return now
	}
	return latest
}

// link takes a page that the source lists.
func (r *reading) link(u weburl.URL, written string, modified time.Time) error {
	host := HostIn(written)
	if u.Key() == r.v.lease.Key || !r.seen.open(u.Key(), r.v.policy.Spelled(u), host) {
		return nil
	}
	if ok, err := r.mayList(u); err != nil || !ok {
		return err
	}
	l, _, ok := r.v.policy.Link(crawlspace.Link{URL: u, Host: host, Depth: r.v.policy.ListedDepth()})
	if !ok {
		r.outside++
		return nil
	}
	r.seen.accept(u.Key())
	l.Referrer = r.v.lease.URL.String()
	r.links = append(r.links, l)
	r.hint(l.URL.Key(), modified)
	if len(r.links) == sourceWhole || r.stored && len(r.links) == sourceBatch {
		return r.flush(false)
	}
	return nil
}

func (r *reading) hint(k weburl.Key, modified time.Time) {
	f := &r.v.policy.Settings.Frontier
	if !modified.IsZero() && f.SitemapHints && f.Refreshes() {
		r.hints[k] = modified
	}
}

// child takes a sitemap that an index lists.
func (r *reading) child(u weburl.URL, e feeds.Entry) error {
	if r.v.lease.Record.Depth >= indexDepth {
		r.bad++
		return nil
	}
	if u.Key() == r.v.lease.Key || !r.seen.accept(u.Key()) {
		return nil
	}
	if ok, err := r.mayList(u); err != nil || !ok {
		return err
	}
	l, _, ok := r.v.policy.SourceLink(u, r.v.lease.Record.Kind, r.v.lease.URL.String())
	if !ok {
		r.outside++
		return nil
	}
	l.Depth = r.v.lease.Record.Depth + 1
	r.children = append(r.children, l)
	r.hint(u.Key(), hinted(e))
	if len(r.children) == sourceBatch {
		return r.flush(false)
	}
	return nil
}

// flush stores the gathered links; at the end pages are left to the completion.
func (r *reading) flush(end bool) error {
	var err error
	if r.links, err = r.v.admitted(r.ctx, r.links); err != nil {
		return err
	}
	if err := r.nameChildren(); err != nil {
		return err
	}
	if !end {
		if _, err := r.v.frontier.Add(r.ctx, r.links, false); err != nil {
			return err
		}
		r.links, r.stored = r.links[:0], true
	}
	clear(r.seen)
	return r.applyHints()
}

// applyHints makes known URLs due that have changed since they were checked.
func (r *reading) applyHints() error {
	if len(r.hints) == 0 {
		return nil
	}
	keys := make([]weburl.Key, 0, len(r.hints))
	for k := range r.hints {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, weburl.Key.Compare)
	set, now := policy.FrontierSettings(r.v.policy), time.Now()
	// Not cancelled half-way: the store calls the function until it returns.
	_, err := r.v.frontier.Revise(context.WithoutCancel(r.ctx), keys, func(k weburl.Key, rec scheduler.Record) *scheduler.Change {
		next, changed := scheduler.Hinted(rec, r.hints[k], &set, now)
		if !changed {
			return nil
		}
		return &scheduler.Change{Next: next}
	})
	r.hints = map[weburl.Key]time.Time{}
	return err
}

// mayList reports whether a source may list URLs of u's host: its own host, and any host whose robots.txt names it,
// or the index that lists it (sitemaps.org, "Sitemaps & Cross Submits"). Feeds may list any host.
func (r *reading) mayList(u weburl.URL) (bool, error) {
	if r.v.lease.Record.Kind == scheduler.KindFeed || sameSite(u, r.v.lease.URL) {
		return true, nil
	}
	ok, known := r.origins[u.Origin()]
	if !known && len(r.origins) < foreignOrigins {
		var err error
		if ok, err = r.namedByHost(u); err != nil {
			return false, err
		}
		if r.origins == nil {
			r.origins = map[string]bool{}
		}
		r.origins[u.Origin()] = ok
	}
	if !ok {
		r.foreign++
	}
	return ok, nil
}

// namedByHost consults the robots.txt of u's host.
func (r *reading) namedByHost(u weburl.URL) (bool, error) {
	if r.ancestors == nil {
		r.ancestors = map[weburl.Key]bool{r.v.lease.Key: true}
		for at, n := r.v.lease.Record.Referrer, 0; n < lineage; n++ {
			from, err := weburl.Parse(at)
			if err != nil {
				break
			}
			parent, err := r.v.store.Lookup(r.ctx, from.Key())
			if err != nil || !parent.Kind.IsSource() {
				break // a forgotten URL names nothing
			}
			r.ancestors[from.Key()] = true
			at = parent.Referrer
		}
	}
	rules, err := r.v.fetchState.Robots.Rules(r.ctx, u)
	if err != nil {
		return false, err
	}
	r.unsure = r.unsure || rules == nil
	for k := range namedBy(rules, u) {
		if r.ancestors[k] {
			return true, nil
		}
	}
	return false, nil
}

// sameSite reports whether two URLs have the same host and port; schemes can differ.
func sameSite(a, b weburl.URL) bool {
	port := func(u weburl.URL) string {
		if p := u.Port(); p != "80" && p != "443" {
			return p
		}
		return ""
	}
	return a.Host() == b.Host() && port(a) == port(b)
}
