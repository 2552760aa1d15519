package policy

import (
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Source is a sitemap, feed or XML file that the configuration names.
type Source struct {
	URL  weburl.URL
	Kind scheduler.Kind // KindSitemap, KindFeed or KindXML
	// IndexItems turns a feed's items into documents; their pages are then not fetched.
	IndexItems bool
	XML        *XMLDocuments // of KindXML
}

// XMLDocuments defines which elements of an XML file are documents, and the paths of their fields.
type XMLDocuments struct {
	Path, Link, Title, Text feeds.Path
	Date                    *feeds.Path // nil: none
	HTML                    bool        // the text is HTML
	Metas                   []XMLMeta
}

// XMLMeta is a meta of such documents.
type XMLMeta struct {
	Name string
	Path feeds.Path
}

// hash identifies these settings.
func (x *XMLDocuments) hash() uint64 {
	h := fnv.New64a()
	HashParts(h, x.Path.String(), x.Link.String(), x.Title.String(), x.Text.String(), strconv.FormatBool(x.HTML), strconv.FormatBool(x.Date != nil))
	if x.Date != nil {
		HashParts(h, x.Date.String())
	}
	for _, m := range x.Metas {
		HashParts(h, m.Name, m.Path.String())
	}
	return h.Sum64()
}

const (
	// SourceDetail is the reason for deleting a document whose URL became a source.
	SourceDetail = "it is a sitemap or feed"
	// sourceFifo is the fifo of sources, the same as that of indexed pages.
	sourceFifo = scheduler.Index
)

// ListedDepth returns the depth of URLs listed by a source: as if a root linked to them, or that of a root if no links
// are followed (Discovery).
func (p *Policy) ListedDepth() int {
	if limit := p.Settings.Space.MaxLinkDepth; limit != nil && limit.Max == 0 {
		return 0
	}
	return 1
}

// JudgeSource reports whether a source may be fetched: by the gates, except those of extension and MIME type, and by
// the rules that match it. No rule has to accept it, since it is not a document. The query filter does not change it.
func (p *Policy) JudgeSource(u weburl.URL, spelling string) Verdict {
	g := p.Space.Judge(crawlspace.Link{URL: u, Host: spelling, Exempt: true})
	g.URL = u
	return p.decide(g, func(u weburl.URL) actionrules.Decision {
		if p.ignores(u) {
			return actionrules.Decision{}
		}
		return actionrules.Decision{Accept: true, Index: true} // which puts it into sourceFifo
	})
}

// ignores reports whether a rule, not the start state, excludes a URL.
func (p *Policy) ignores(u weburl.URL) bool {
	if p.Engine.Decide(u).Crawl() {
		return false
	}
	rule, _ := p.Engine.ExplainMatches(u).ExcludedBy()
	return rule >= 0
}

// JudgeRecord judges a stored URL according to its kind.
func (p *Policy) JudgeRecord(u weburl.URL, r *scheduler.Record) Verdict {
	if r.Kind.IsSource() {
		return p.JudgeSource(u, r.HostSpelling)
	}
	return p.Judge(Recorded(u, r))
}

// SourceLink returns a source as a link, or the reason why it is not fetched.
func (p *Policy) SourceLink(u weburl.URL, kind scheduler.Kind, referrer string) (scheduler.Link, Verdict, bool) {
	v := p.JudgeSource(u, "")
	return scheduler.Link{URL: u, Fifo: sourceFifo, Kind: kind, Referrer: referrer}, v, v.Inside()
}

// SourceOf returns the configuration's source with that URL, or nil.
func (p *Policy) SourceOf(k weburl.Key) *Source {
	i, ok := slices.BinarySearchFunc(p.Sources, k, func(s Source, k weburl.Key) int { return s.URL.Key().Compare(k) })
	if !ok {
		return nil
	}
	return &p.Sources[i]
}

// sortedSources returns the sources in the order that SourceOf requires.
func sortedSources(s []Source) []Source {
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b Source) int { return a.URL.Key().Compare(b.URL.Key()) })
	return s
}

// SourceVersion identifies the rules and settings by which a source is read.
func (p *Policy) SourceVersion(k weburl.Key) uint64 {
	switch s := p.SourceOf(k); {
	case s == nil:
	case s.XML != nil:
		return p.Version ^ s.XML.hash()
	case s.IndexItems:
		return p.Version ^ 1
	}
	return p.Version
}
