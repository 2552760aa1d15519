package visit

import (
	"context"
	"errors"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Sitemaps and feeds are sources: stored URLs with a kind of their own, which go
// through the frontier as pages do. The configuration names them, or robots.txt
// does; what an index names is one, too.

const (
	// notNamed is the reason why a source is no longer fetched.
	notNamed = "no longer named by the configuration or a robots.txt"

	// maxSitemaps of one robots.txt are read, the first ones.
	maxSitemaps = 1000
)

// NameSources stores URLs as sources, including known pages. again requests that known sources be read again in full.
// It may be repeated.
func NameSources(ctx context.Context, frontier *scheduler.Frontier, links []scheduler.Link, again func(weburl.Key, *scheduler.Record) bool) error {
	if len(links) == 0 {
		return nil
	}
	if _, err := frontier.Add(ctx, links, false); err != nil {
		return err
	}
	byKey := make(map[weburl.Key]*scheduler.Link, len(links))
	keys := make([]weburl.Key, len(links))
	for i := range links {
		keys[i] = links[i].URL.Key()
		byKey[keys[i]] = &links[i]
	}
	// Not cancelled half-way: the store calls the function until it returns.
	_, err := frontier.Revise(context.WithoutCancel(ctx), keys, func(k weburl.Key, r scheduler.Record) *scheduler.Change {
		return toSource(r, byKey[k], again(k, &r))
	})
	return err
}

// toSource returns the change of a known URL that l names as a source, nil if it is one already.
func toSource(r scheduler.Record, l *scheduler.Link, again bool) *scheduler.Change {
	wasSource, kind := r.Kind.IsSource(), kindOf(&r, l)
	if kind == r.Kind && !unnamed(&r) && (r.Root || !l.Root) && (!again || r.Errors > 0) {
		return nil
	}
	if !wasSource || unnamed(&r) {
		r.Referrer, r.Depth = l.Referrer, l.Depth
	}
	r.Kind, r.Root = kind, r.Root || l.Root
	r.State, r.Source, r.Fifo = scheduler.Waiting, l.Fifo, l.Fifo
	r.ETag, r.LastModified, r.Date = "", "", ""
	if r.Class == scheduler.Ignored {
		r.Class, r.Status, r.Reason, r.LastError = scheduler.Pending, 0, scheduler.NoReason, ""
	}
	change := &scheduler.Change{Next: r}
	if !wasSource && r.Indexed {
		change.Next.Reason, change.Delete = scheduler.ReasonSource, policy.SourceDetail
	}
	return change
}

// kindOf returns the kind of a stored URL when l names it. The configuration has precedence, but URLs named by
// robots.txt are exempt from its rules.
func kindOf(r *scheduler.Record, l *scheduler.Link) scheduler.Kind {
	switch {
	case !r.Kind.IsSource(), unnamed(r), r.Kind == scheduler.KindSitemap && l.Kind == scheduler.KindNamedSitemap:
		return l.Kind
	case l.Root && (l.Kind != scheduler.KindSitemap || r.Kind != scheduler.KindNamedSitemap):
		return l.Kind
	}
	return r.Kind
}

// unnamed reports whether a source was dropped because it is no longer named.
func unnamed(r *scheduler.Record) bool {
	return r.Class == scheduler.Ignored && r.Reason == scheduler.ReasonNotNamed
}

// nameSitemaps adds the sitemaps that a robots.txt names, before the robots.txt is recorded, so that a crash in between
// loses none.
func (v *visit) nameSitemaps(ctx context.Context, response *fetcher.Response) error {
	if !v.policy.Settings.CrawlSitemaps || response == nil || response.Status/100 != 2 {
		return nil
	}
	parse := robots.Parse
	if v.policy.Settings.Robots.Original {
		parse = robots.ParseOriginal
	}
	before, err := v.fetchState.Robots.Rules(ctx, v.lease.URL)
	if err != nil {
		return err
	}
	known := namedBy(before, v.lease.URL)
	var links []scheduler.Link
	for _, u := range namedBy(parse(response.Body), v.lease.URL) {
		l, verdict, ok := v.policy.SourceLink(u, scheduler.KindNamedSitemap, robotsOf(v.lease.URL))
		if !ok {
			v.log.Info("not reading a sitemap that robots.txt names", "url", u.String(), "by", v.policy.Detail(&verdict))
			continue
		}
		links = append(links, l)
	}
	slices.SortFunc(links, func(a, b scheduler.Link) int { return a.URL.Key().Compare(b.URL.Key()) })
	links, full, err := v.roomForSources(ctx, links, true)
	if err != nil {
		return err
	}
	v.logRefused("not reading sitemaps that robots.txt names; their host has reached its limit", full)
	return NameSources(ctx, v.frontier, links, func(k weburl.Key, r *scheduler.Record) bool {
		// What it lists of this host was dropped as long as this robots.txt did not name it.
		_, was := known[k]
		u, ok := weburl.FromCanonical(r.URL)
		return ok && !was && !sameSite(u, v.lease.URL)
	})
}

// freeOfRobots reports whether robots.txt cannot forbid the leased URL, because it names it, or the index that lists
// it.
func (v *visit) freeOfRobots(ctx context.Context) (bool, error) {
	r := &v.lease.Record
	if r.Kind != scheduler.KindSitemap || !v.policy.Settings.CrawlSitemaps {
		return r.Kind == scheduler.KindNamedSitemap, nil
	}
	// It was not at rest when robots.txt was read.
	rules, err := v.fetchState.Robots.Rules(ctx, v.lease.URL)
	if _, named := namedBy(rules, v.lease.URL)[v.lease.Key]; named {
		r.Kind = scheduler.KindNamedSitemap
	}
	return r.Kind == scheduler.KindNamedSitemap, err
}

// robotsOf returns the URL of the robots.txt that applies to u.
func robotsOf(u weburl.URL) string { return u.Origin() + "/robots.txt" }

// namedBy returns the sitemaps that the robots.txt of u's origin names.
func namedBy(rules *robots.Rules, u weburl.URL) map[weburl.Key]weburl.URL {
	if rules == nil {
		return nil
	}
	base, err := weburl.NewBase(robotsOf(u))
	if err != nil {
		return nil
	}
	all := map[weburl.Key]weburl.URL{}
	for _, raw := range rules.Sitemaps() {
		if s, err := base.Resolve(raw); err == nil && len(all) < maxSitemaps {
			all[s.Key()] = s
		}
	}
	return all
}

// isNamed reports whether anything names the source that was taken.
func (v *visit) isNamed(ctx context.Context) (bool, error) {
	r := &v.lease.Record
	if v.policy.SourceOf(v.lease.Key) != nil {
		return true, nil
	}
	from, err := weburl.Parse(r.Referrer)
	switch {
	case r.Kind == scheduler.KindNamedSitemap && !v.policy.Settings.CrawlSitemaps, err != nil:
		return false, nil // it was the configuration's
	case from.PathAndQuery() == "/robots.txt":
		rules, err := v.fetchState.Robots.Rules(ctx, from)
		_, named := namedBy(rules, from)[v.lease.Key]
		return rules == nil || named, err
	}
	parent, err := v.store.Lookup(ctx, from.Key())
	if errors.Is(err, scheduler.ErrNotFound) {
		return true, nil
	}
	return !unnamed(&parent), err
}

// reread fetches the robots.txt that named the source, if it is that of the host itself and due: an old copy cannot
// remove a source. A source in flight would miss being named again.
func (v *visit) reread(ctx context.Context) (step, error) {
	if v.lease.Record.Referrer != robotsOf(v.lease.URL) || !v.policy.Settings.CrawlSitemaps {
		return step{}, nil
	}
	verdict, err := v.fetchState.Robots.Verdict(ctx, v.policy.Settings.RobotsAgent, v.lease.URL)
	if err != nil || verdict.State != robots.NeedsFetch {
		return step{}, err
	}
	return v.fetchRobots(ctx, verdict)
}

// sourceOutside is outside for a source.
func (v *visit) sourceOutside(ctx context.Context) (step, error) {
	r := &v.lease.Record
	if s := v.policy.SourceOf(v.lease.Key); s != nil && r.Kind != scheduler.KindNamedSitemap {
		r.Kind = s.Kind
	}
	v.verdict = v.policy.JudgeRecord(v.lease.URL, r)
	if !v.verdict.Inside() {
		return shutOut(v.policy.Exclusion(&v.verdict)), nil
	}
	named, err := v.isNamed(ctx)
	if err != nil || named {
		return step{}, err
	}
	if s, err := v.reread(ctx); err != nil || s.outcome != nil {
		return s, err
	}
	return shutOut(&scheduler.Exclusion{Reason: scheduler.ReasonNotNamed, Words: notNamed}), nil
}

// sourceRequest returns the request for a source, conditional if the source was read by the same rules and settings.
func (v *visit) sourceRequest() fetcher.Request {
	r := &v.lease.Record
	q := fetcher.Request{URL: v.lease.URL}
	if r.Kind == scheduler.KindSitemap || r.Kind == scheduler.KindNamedSitemap {
		q.MaxBodyBytes = v.policy.Settings.SitemapMaxBytes
	}
	if !v.policy.Settings.Unconditional && r.Class == scheduler.OK && r.RulesVersion == v.policy.SourceVersion(v.lease.Key) {
		q = conditional(q, r)
	}
	return q
}

// sourceRedirect is redirect's link for a source: its target is one, too.
func (v *visit) sourceRedirect(ctx context.Context, target weburl.URL, result *scheduler.Result) error {
	r := &v.lease.Record
	link, _, ok := v.policy.SourceLink(target, r.Kind, v.lease.URL.String())
	if !ok {
		result.RedirectIgnored = true
		return nil
	}
	link.Depth, link.Hops = r.Depth, r.Hops+1 // maxRedirects was checked
	links, full, err := v.roomForSources(ctx, []scheduler.Link{link}, true)
	if err != nil {
		return err
	}
	if full > 0 {
		v.logRefused("not reading the target of a sitemap's redirect; its host has reached its limit", full)
		result.RedirectIgnored = true
		return nil
	}
	result.Redirect = &link
	// First, since a completion leaves known pages as they are.
	return NameSources(ctx, v.frontier, links, func(weburl.Key, *scheduler.Record) bool { return false })
}
