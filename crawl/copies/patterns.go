package copies

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Some sites have the same page under any number of URLs: with the number of a session
// in a parameter, or for each day of a calendar. Patterns learns them from copies whose URL
// differs from their original's in one parameter, or in digits of the path. All workers
// share it; mu guards the counts, and links that nothing cuts off do not take it.

const (
	// PatternsValue is the key of the stored value with the patterns.
	PatternsValue = "crawl.patterns"
	// PatternsWhat is the name of that value in messages.
	PatternsWhat = "the patterns of copies"
	// A pattern is established after patternLearnt copies, if most of its URLs were copies. Up to patternBudget copies are
	// fetched before new links are cut off.
	patternLearnt = 20
	patternBudget = 100
	// patternShare is the least share of copies, in percent.
	patternShare = 80
	// patternsKept and patternsStored limit the number of patterns that are counted and stored.
	patternsKept   = 20_000
	patternsStored = 1000
	// MaxParameters is the number of parameters of a URL that are considered.
	MaxParameters = 16
)

// Pattern is learnt from URLs of a site: those with a parameter, or those with a path of this form, in which # is a run
// of digits.
type Pattern struct {
	Origin    string `json:"origin"`
	Parameter string `json:"parameter,omitempty"`
	Path      string `json:"path,omitempty"`
	Documents int    `json:"documents"` // documents with such a URL when they were first fetched
	Copies    int    `json:"copies"`    // copies with such a URL when they were first fetched
}

func (p *Pattern) isLearnt() bool {
	return p.Copies >= patternLearnt && 100*p.Copies >= patternShare*(p.Copies+p.Documents)
}

func (p *Pattern) isCut() bool { return p.isLearnt() && p.Copies >= patternBudget }

// String describes the pattern to a person.
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
		return s + "; new links are followed without the parameter"
	}
	return s + "; new links are not followed"
}

type patternKey struct{ origin, parameter, path string }

// Patterns counts copies by the form of their URLs.
type Patterns struct {
	cutting atomic.Int64 // patterns of counts that cut links off

	mu     sync.Mutex
	counts map[patternKey]*Pattern
	cut    int64 // links, since the process started
}

// digits returns a path with # for each run of digits, or "" for a path without digits.
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

// withoutParameter returns a query without the pairs of a name.
func withoutParameter(query, name string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		if n, _, _ := strings.Cut(pair, "="); n != name {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// parameters returns the first few distinct names in a query.
func parameters(query string) []string {
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name != "" && !slices.Contains(names, name) && len(names) < MaxParameters {
			names = append(names, name)
		}
	}
	return names
}

// Observe counts a page that was fetched for the first time: a copy of another URL, or, if
// that is zero, a document. It returns the patterns that are now learnt or cut links off.
func (p *Patterns) Observe(u, of weburl.URL) (news []Pattern) {
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

// Cuts reports whether there are patterns that cut links off.
func (p *Patterns) Cuts() bool { return p != nil && p.cutting.Load() > 0 }

// Match returns the pattern that cuts a new link off, or nil.
func (p *Patterns) Match(u weburl.URL) *Pattern {
	if !p.Cuts() {
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

// Learnt returns the known patterns, those with most copies first; if all is set, also those that are not established
// yet.
func (p *Patterns) Learnt(all bool) []Pattern {
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

// Cut reports whether a pattern excludes a new link, and counts it if so. It returns the link without the parameter, so
// that no page is lost, or zero if the link is not followed at all.
func (p *Patterns) Cut(u weburl.URL) (left weburl.URL, cut bool) {
	by := p.Match(u)
	if by == nil {
		return u, false
	}
	p.count()
	if by.Parameter == "" {
		return left, true
	}
	raw := u.Origin() + u.Path()
	if query := withoutParameter(u.Query(), by.Parameter); query != "" {
		raw += "?" + query
	}
	left, err := weburl.Parse(raw)
	if err != nil {
		return weburl.URL{}, true
	}
	return left, true
}

func (p *Patterns) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut++
}

// NewPatterns returns Patterns that continue from the stored state.
func NewPatterns(stored []Pattern) *Patterns {
	p := &Patterns{counts: map[patternKey]*Pattern{}}
	for i := range stored {
		c := stored[i]
		p.counts[patternKey{c.Origin, c.Parameter, c.Path}] = &c
		if c.isCut() {
			p.cutting.Add(1)
		}
	}
	return p
}

// StoredPatterns returns the stored patterns, including those that are not established yet.
func StoredPatterns(ctx context.Context, store scheduler.ValueReader) ([]Pattern, error) {
	var out []Pattern
	err := scheduler.LoadValue(ctx, store, scheduler.CrawlValue(PatternsValue), PatternsWhat, &out)
	return out, err
}

// PatternsStatus describes the patterns of URLs that lead to copies.
type PatternsStatus struct {
	Learnt []Pattern `json:"learnt,omitempty"`
	// Cut is the number of links cut off since the process started.
	Cut int64 `json:"cut"`
}

// Status returns nil while no pattern is learnt.
func (p *Patterns) Status() *PatternsStatus {
	learnt := p.Learnt(false)
	if len(learnt) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return &PatternsStatus{Learnt: learnt[:min(len(learnt), 20)], Cut: p.cut}
}
