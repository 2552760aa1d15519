package visit

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// itemBatch is the number of items that are stored together.
const itemBatch = 100

// items is the state of reading a feed whose items are documents.
type items struct {
	v     *visit
	ctx   context.Context
	base  weburl.Base
	at    time.Time
	batch []scheduler.Link // to be stored
	sum   [16]byte
	keys  []weburl.Key // of all documents
	out   []weburl.Key // listed items that rules exclude
	// unsure is set while not all permissions of an item are known.
	unsure bool
}

func isSyntax(err error) bool {
	_, ok := errors.AsType[*feeds.SyntaxError](err)
	return ok
}

// readItems creates a document for each item that the rules index. The item's URL is then known and at rest: its page
// is not fetched. A URL known as a page stays a page.
func (v *visit) readItems(ctx context.Context, response *fetcher.Response, result *scheduler.Result) error {
	r, options, err := v.newItems(ctx, response)
	if err != nil {
		return err
	}
	summary, readErr := feeds.Feed(bytes.NewReader(response.Body), options, r.item)
	if readErr != nil && !isSyntax(readErr) {
		return readErr
	}
	if err := r.flush(); err != nil {
		return err
	}
	result.LinksHash = r.sum
	v.sourceWords(result, summary.Format.String(), summary, readErr, "")
	return nil
}

func (v *visit) newItems(ctx context.Context, response *fetcher.Response) (*items, feeds.Options, error) {
	base, err := weburl.NewBase(v.lease.URL.String())
	return &items{v: v, ctx: ctx, base: base, at: time.Now()}, feeds.Options{
		ContentType: response.Header.Get("Content-Type"), MaxBytes: v.policy.Settings.Fetcher.MaxBodyBytes, MaxEntries: v.policy.Settings.SitemapMaxLinks,
		Truncated: response.Truncated,
	}, err
}

// item processes one item of the feed.
func (r *items) item(i feeds.Item) error {
	p := extract.Page{Title: i.Title, Text: textOf(i.Content, i.HTML), Language: i.Language}
	add := func(name, value string) {
		if value != "" {
			p.Metas = append(p.Metas, extract.Meta{Name: name, Content: value})
		}
	}
	if !i.Date.IsZero() {
		add("date", i.Date.Format(time.RFC3339))
	}
	add("author", i.Author)
	for _, c := range i.Categories {
		add("category", c)
	}
	for _, e := range i.Enclosures {
		if at, err := r.base.Resolve(e); err == nil {
			add("enclosure", at.String())
		}
	}
	return r.document(i.Reference(), p)
}

// document makes an item a document under its URL. An item without a URL is ignored.
func (r *items) document(href string, p extract.Page) error {
	u, err := r.base.Resolve(href)
	if href == "" || err != nil {
		return nil //nolint:nilerr // an item without a page has no URL to be indexed under
	}
	link, verdict, ok := r.v.policy.Link(crawlspace.Link{URL: u, Host: HostIn(href), Depth: r.v.policy.ListedDepth()})
	if ok {
		ok, _, _ = r.v.policy.Indexes(&verdict)
	}
	if !ok {
		r.out = append(r.out, u.Key())
		return nil
	}
	link.Kind, link.Referrer = scheduler.KindItem, r.v.lease.URL.String()
	source, movesTo, err := r.source(link.URL.Key(), verdict.Decision.Source)
	if err != nil {
		return err
	}
	d := push.Document{
		URL: link.URL.String(), Source: source, Title: title(p, link.URL), Text: p.Text,
		ContentType: "text/plain", Language: p.Language,
		FetchedAt: time.Now().UTC().Truncate(time.Second), Depth: r.v.policy.ListedDepth(), Referrer: link.Referrer,
		Metas: metas(&scheduler.Lease{}, verdict.Decision, r.v.policy.Settings.Mapping.Apply(p.Metas, nil), extract.Directives{}),
	}
	if r.v.policy.Settings.DetectLanguage {
		detectLanguage(&d)
	}
	if r.unsure {
		allowNone(d.Metas)
	}
	sum := r.v.visitor.hasher.document(&d, nil)
	d.Hash = hex.EncodeToString(sum[:])
	body, err := d.Encode()
	if err != nil {
		return err
	}
	for n := range sum { // in any order: a feed in another order has not changed
		r.sum[n] ^= sum[n]
	}
	r.keys = append(r.keys, link.URL.Key())
	link.Item = &scheduler.Item{
		Document: scheduler.Document{
			Body: body, Hash: sum, Source: source, MovesTo: movesTo, Sketch: near.SketchOf(p.Title, p.Text), Reading: r.v.policy.Reading,
			MetasHash: policy.MetasHash(verdict.Decision.Metas),
		},
		At: r.at, RulesVersion: r.v.policy.Version, Always: r.v.policy.Settings.Frontier.PushUnchanged,
	}
	r.batch = append(r.batch, link)
	if len(r.batch) == itemBatch {
		return r.flush()
	}
	return nil
}

// source returns the source under which a document is pushed that is to have the given source, and
// scheduler.Document.MovesTo.
func (r *items) source(k weburl.Key, source string) (string, *string, error) {
	set := &r.v.policy.Settings.Frontier
	if set.LeavesTarget == nil {
		return source, nil, nil
	}
	rec, err := r.v.store.Lookup(r.ctx, k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return source, nil, nil
	}
	source, movesTo := set.SourceOf(&rec, source)
	return source, movesTo, err
}

// textOf returns the text of a value that may be HTML.
func textOf(content string, html bool) string {
	if !html || !strings.ContainsAny(content, "<&") {
		return strings.Join(strings.Fields(content), " ")
	}
	p, err := extract.HTML([]byte("<body>"+content), "text/html; charset=utf-8", extract.Options{})
	if err != nil {
		return "" // no page at all
	}
	return p.Text
}

// flush stores the items of a batch. Items that are already stored change nothing.
func (r *items) flush() error {
	if len(r.batch) == 0 {
		return nil
	}
	_, err := r.v.frontier.Add(r.ctx, r.batch, false)
	r.batch = nil // the store has it
	return err
}

// feedPage reads a feed or sitemap that is a page like others: its entries are
// links. ok is false if the body is not one.
func (v *visit) feedPage(r *fetcher.Response) (p extract.Page, ok bool) {
	contentType := r.Header.Get("Content-Type")
	if !isXML(contentType) {
		return p, false
	}
	format := feeds.Sniff(r.Body, contentType)
	options := feeds.Options{
		ContentType: contentType, MaxBytes: v.policy.Settings.Fetcher.MaxBodyBytes, MaxEntries: v.policy.Settings.SitemapMaxLinks, Truncated: r.Truncated,
	}
	var text strings.Builder
	switch {
	case format.IsFeed():
		summary, err := feeds.Feed(bytes.NewReader(r.Body), options, func(i feeds.Item) error {
			if href := i.Reference(); href != "" {
				p.Links = append(p.Links, extract.Link{Href: href})
			}
			text.WriteString(i.Title + "\n" + textOf(i.Content, i.HTML) + "\n")
			return nil
		})
		if err != nil {
			v.log.Debug("a feed is truncated or damaged", "url", v.lease.URL.String(), "error", err)
		}
		p.Title, p.Language, p.Text = summary.Title, summary.Language, strings.TrimSpace(text.String())
	case format == feeds.URLSet || format == feeds.Index:
		_, err := feeds.Sitemap(bytes.NewReader(r.Body), options, func(e feeds.Entry) error {
			for _, href := range append(e.Alternates, e.Reference()) {
				p.Links = append(p.Links, extract.Link{Href: href})
			}
			return nil
		})
		if err != nil {
			v.log.Debug("a sitemap is truncated or damaged", "url", v.lease.URL.String(), "error", err)
		}
		p.Links = v.ofHost(p.Links)
		v.indexed, v.unindexed = false, format.String()
	default:
		return p, false
	}
	return p, true
}

// ofHost returns the links to the page's own host.
func (v *visit) ofHost(links []extract.Link) []extract.Link {
	b := BaseOf(v.lease.URL, extract.Page{})
	own := links[:0]
	for _, l := range links {
		if u, err := b.Resolve(l.Href); err == nil && sameSite(u, v.lease.URL) {
			own = append(own, l)
		}
	}
	return own
}

// isXML reports whether a content type is XML of any kind.
func isXML(contentType string) bool {
	t := mediaType(contentType)
	return t == "text/xml" || t == "application/xml" || strings.HasSuffix(t, "+xml")
}
