package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Some sites have the same page under any number of URLs: with the number of a session
// in a parameter, or for each day of a calendar. Such patterns are learnt from copies
// whose URL differs from their original's in one parameter, or in digits of the path.

const (
	// patternsName is the store's value that keeps them.
	patternsName = "crawl.patterns"
	patternsWhat = "the patterns of copies"
	// patternLearnt is how many copies make a pattern known, if most of its URLs were
	// copies, and patternBudget how many are fetched before new links are cut off.
	patternLearnt = 20
	patternBudget = 100
	// patternShare is the least share of copies, in percent.
	patternShare = 80
	// patternsKept and patternsStored bound how many are counted and stored.
	patternsKept   = 20_000
	patternsStored = 1000
	// maxParameters of a URL are looked at.
	maxParameters = 16
)

// Pattern is what was learnt of URLs of a site: those with a parameter, or those with a
// path of this form, in which # stands for digits.
type Pattern struct {
	Origin    string `json:"origin"`
	Parameter string `json:"parameter,omitempty"`
	Path      string `json:"path,omitempty"`
	Documents int    `json:"documents"` // that had such a URL when they were first fetched
	Copies    int    `json:"copies"`    // likewise
}

func (p *Pattern) isLearnt() bool {
	return p.Copies >= patternLearnt && 100*p.Copies >= patternShare*(p.Copies+p.Documents)
}

func (p *Pattern) isCut() bool { return p.isLearnt() && p.Copies >= patternBudget }

// String says it to a person.
func (p *Pattern) String() string {
	what := "paths like " + p.Path
	if p.Parameter != "" {
		what = "the parameter " + p.Parameter
	}
	s := fmt.Sprintf("%s of %s: %d of %d pages were copies of others", what, p.Origin, p.Copies, p.Copies+p.Documents)
	switch {
	case !p.isCut():
		return s
	case p.Parameter != "":
		return s + "; new links are followed without it"
	}
	return s + "; new links are not followed"
}

type patternKey struct{ origin, parameter, path string }

// patterns count copies by the form of their URLs.
type patterns struct {
	cutting atomic.Int64 // patterns of counts that cut links off

	mu     sync.Mutex
	counts map[patternKey]*Pattern
	cut    int64 // links, since the process started
}

// digits is a path with # for each run of digits, "" if there is none.
func digits(path string) string {
	if !strings.ContainsAny(path, "0123456789") {
		return ""
	}
	var b strings.Builder
	in := false
	for _, c := range []byte(path) {
		is := c >= '0' && c <= '9'
		if !is {
			b.WriteByte(c)
		} else if !in {
			b.WriteByte('#')
		}
		in = is
	}
	return b.String()
}

// withoutParameter is a query without all pairs of a name.
func withoutParameter(query, name string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		if n, _, _ := strings.Cut(pair, "="); n != name {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// parameters are the names in a query, each once, the first few.
func parameters(query string) []string {
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name != "" && !slices.Contains(names, name) && len(names) < maxParameters {
			names = append(names, name)
		}
	}
	return names
}

// saw counts a page that was fetched for the first time: a copy of another URL, or, if
// that is zero, a document. It gives the patterns that are news.
func (p *patterns) saw(u, of weburl.URL) (news []Pattern) {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := func(key patternKey, copied bool) {
		c := p.counts[key]
		if c == nil {
			if len(p.counts) >= patternsKept {
				return
			}
			c = &Pattern{Origin: key.origin, Parameter: key.parameter, Path: key.path}
			p.counts[key] = c
		}
		learnt, cut := c.isLearnt(), c.isCut()
		if copied {
			c.Copies++
		} else {
			c.Documents++
		}
		switch {
		case c.isCut() && !cut:
			p.cutting.Add(1)
		case cut && !c.isCut():
			p.cutting.Add(-1)
		}
		if copied && (c.isLearnt() != learnt || c.isCut() != cut) {
			news = append(news, *c)
		}
	}
	document := of.IsZero()
	same := !document && of.Origin() == u.Origin()
	for _, name := range parameters(u.Query()) {
		if document || same && of.Path() == u.Path() && withoutParameter(of.Query(), name) == withoutParameter(u.Query(), name) {
			count(patternKey{origin: u.Origin(), parameter: name}, !document)
		}
	}
	if path := digits(u.Path()); path != "" && (document || same && of.Path() != u.Path() && digits(of.Path()) == path) {
		count(patternKey{origin: u.Origin(), path: path}, !document)
	}
	return news
}

// match is the pattern that cuts a new link off, nil if none does.
func (p *patterns) match(u weburl.URL) *Pattern {
	if p.cutting.Load() == 0 {
		return nil
	}
	keys := []patternKey{{origin: u.Origin(), path: digits(u.Path())}}
	for _, name := range parameters(u.Query()) {
		keys = append(keys, patternKey{origin: u.Origin(), parameter: name})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range keys {
		if c := p.counts[key]; c != nil && c.isCut() {
			out := *c
			return &out
		}
	}
	return nil
}

// learnt are the patterns that are known, those with most copies first; with all, also
// what is counted yet.
func (p *patterns) learnt(all bool) []Pattern {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Pattern
	for _, c := range p.counts {
		if c.isLearnt() || all && c.Copies > 0 {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Parameter, b.Parameter), cmp.Compare(a.Path, b.Path))
	})
	return out[:min(len(out), patternsStored)]
}

// learn tells the patterns of a page that was compared. Of is the original's URL, ""
// for a document.
func (v *visit) learn(of string) {
	if v.patterns == nil || v.lease.Record.Settled {
		return
	}
	u, ok := weburl.FromCanonical(of)
	if !ok && of != "" {
		return
	}
	for _, p := range v.patterns.saw(v.lease.URL, u) {
		v.log.Warn("a pattern of URLs leads to copies", "pattern", p.String())
	}
}

// cutOff is a link that a pattern cuts off: without the parameter, so that no page is
// lost, or, with ok false, not followed at all.
func (v *visit) cutOff(link scheduler.Link) (other scheduler.Link, ok bool) {
	for range maxParameters + 1 {
		p := v.patterns.match(link.URL)
		if p == nil {
			return link, true
		}
		v.patterns.count()
		if p.Parameter == "" {
			return link, false
		}
		raw := link.URL.Origin() + link.URL.Path()
		if query := withoutParameter(link.URL.Query(), p.Parameter); query != "" {
			raw += "?" + query
		}
		u, err := weburl.Parse(raw)
		if err != nil {
			return link, false
		}
		other, _, inside := v.link(crawlspace.Link{URL: u, Host: link.HostSpelling, Depth: int(link.Depth)})
		if !inside {
			return link, false
		}
		other.Referrer = link.Referrer
		link = other
	}
	return link, false
}

// followed is what becomes of links by the patterns: what is known passes, and of those
// that are one URL without a parameter the first counts.
func (v *visit) followed(ctx context.Context, links []scheduler.Link) ([]scheduler.Link, error) {
	if v.patterns == nil || v.patterns.cutting.Load() == 0 {
		return links, nil
	}
	kept, cut := links[:0], map[weburl.Key]bool{}
	for _, link := range links {
		if v.patterns.match(link.URL) == nil {
			kept = append(kept, link)
			continue
		}
		_, err := v.store.Lookup(ctx, link.URL.Key())
		switch {
		case err == nil:
			kept = append(kept, link)
		case !errors.Is(err, scheduler.ErrNotFound):
			return nil, err
		default:
			if other, ok := v.cutOff(link); ok && !cut[other.URL.Key()] {
				cut[other.URL.Key()] = true
				kept = append(kept, other)
			}
		}
	}
	return kept, nil
}

func (p *patterns) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut++
}

// restorePatterns makes what counts patterns, with what was stored.
func restorePatterns(ctx context.Context, store scheduler.Reader) (*patterns, error) {
	stored, err := StoredPatterns(ctx, store)
	if err != nil {
		return nil, err
	}
	return newPatterns(stored), nil
}

func newPatterns(stored []Pattern) *patterns {
	p := &patterns{counts: map[patternKey]*Pattern{}}
	for i := range stored {
		c := stored[i]
		p.counts[patternKey{c.Origin, c.Parameter, c.Path}] = &c
		if c.isCut() {
			p.cutting.Add(1)
		}
	}
	return p
}

// StoredPatterns are those that a store remembers, also what is not learnt yet.
func StoredPatterns(ctx context.Context, store scheduler.Reader) ([]Pattern, error) {
	var out []Pattern
	err := loadValue(ctx, store, patternsName, patternsWhat, &out)
	return out, err
}

// keepPatterns stores what was counted until ctx ends.
func (c *Crawl) keepPatterns(ctx context.Context) error {
	if c.patterns == nil {
		return nil
	}
	return c.keepValue(ctx, patternsName, patternsWhat, func() any { return c.patterns.learnt(true) })
}

// PatternsStatus tells of patterns of URLs that lead to copies.
type PatternsStatus struct {
	Learnt []Pattern `json:"learnt,omitempty"`
	// Cut is how many links were cut off since the process started.
	Cut int64 `json:"cut"`
}

// status is nil while there is none.
func (p *patterns) status() *PatternsStatus {
	learnt := p.learnt(false)
	if len(learnt) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return &PatternsStatus{Learnt: learnt[:min(len(learnt), 20)], Cut: p.cut}
}
