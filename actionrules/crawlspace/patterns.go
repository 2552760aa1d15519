package crawlspace

import (
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
)

// regexpMark begins a value that is a regular expression (Funnelback, "Regular
// expressions in include/exclude patterns").
const regexpMark = "regexp:"

// entry is one pattern: a substring of the URL, or an expression.
type entry struct {
	literal string
	expr    *expression // nil for a substring
	reason  Reason
}

// patternList finds the first of its entries that a URL matches.
type patternList struct {
	entries  []entry
	literals *matcher
	regexps  []int32
}

func newPatternList(entries []entry) patternList {
	l := patternList{entries: entries}
	var literals []pattern
	for i, e := range entries {
		if e.expr != nil {
			l.regexps = append(l.regexps, int32(i))
		} else {
			literals = append(literals, pattern{e.literal, int32(i)})
		}
	}
	l.literals = newMatcher(literals, anywhere)
	return l
}

// first returns the first entry that matches, or nil.
func (l *patternList) first(text string) *entry {
	best := l.literals.first(text)
	for _, i := range l.regexps {
		if i < best && l.entries[i].expr.match(text) {
			best = i
			break
		}
	}
	if best == none {
		return nil
	}
	return &l.entries[best]
}

// patternGate refuses URLs that match an entry or, with want, those that match none.
type patternGate struct {
	list    patternList
	want    bool
	missing Reason // with want: reason for URLs that no entry matches
}

func (g *patternGate) judge(l Link) (Reason, bool) {
	e := g.list.first(l.URL.String())
	switch {
	case e != nil:
		return e.reason, g.want
	case g.want:
		return g.missing, false
	default:
		return Reason{Gate: g.missing.Gate}, true
	}
}

// newPatternGate returns nil without entries: the gate is off.
func newPatternGate(entries []entry, want bool, missing Reason) *patternGate {
	if len(entries) == 0 {
		return nil
	}
	return &patternGate{newPatternList(entries), want, missing}
}

// reasonAt returns a reason for a rule in the configuration.
func reasonAt(g Gate, at actionrules.Position, text string) Reason {
	return Reason{Gate: g, File: at.File, Line: at.Line, Rule: text}
}

// parseValue reads an include or exclude value: substrings separated by commas,
// or one expression.
func parseValue(t Text, g Gate) ([]entry, []error) {
	value := strings.TrimSpace(t.Value)
	if strings.HasPrefix(value, regexpMark) {
		if strings.Contains(value, ","+regexpMark) {
			return nil, []error{fault(t.At, "%s has %s twice; write it once, and | between the alternatives", clip(value), regexpMark)}
		}
		e, err := parseEntry(value, reasonAt(g, t.At, value))
		if err != nil {
			return nil, []error{fault(t.At, "%w", err)}
		}
		return []entry{e}, nil
	}
	var texts []Text
	for _, s := range strings.Split(value, ",") {
		if strings.HasPrefix(strings.TrimSpace(s), regexpMark) {
			return nil, []error{fault(t.At, "%s mixes substrings and %s in one value; write all as one expression, with | between the alternatives", clip(value), regexpMark)}
		}
		texts = append(texts, Text{s, t.At})
	}
	return parseTexts(texts, g)
}

// parseEntry reads a substring or an expression.
func parseEntry(s string, reason Reason) (entry, error) {
	expr, isRegexp := strings.CutPrefix(s, regexpMark)
	if !isRegexp {
		return entry{literal: spelled(s), reason: reason}, nil
	}
	e, err := compile(expr)
	return entry{expr: e, reason: reason}, err
}

// spelled returns a substring as canonical URLs spell it, with blanks and non-ASCII characters escaped.
func spelled(s string) string { return escape(strings.ReplaceAll(s, " ", "%20")) }

// parseTexts reads substrings; empty ones are left out.
func parseTexts(texts []Text, g Gate) (all []entry, errs []error) {
	for _, t := range texts {
		s := strings.TrimSpace(t.Value)
		if _, what := notText(s); what != "" {
			errs = append(errs, fault(t.At, "%s holds %s, which no URL does; write it percent-encoded", clip(s), what))
		} else if s != "" {
			all = append(all, entry{literal: spelled(s), reason: reasonAt(g, t.At, s)})
		}
	}
	return all, errs
}

// parseList reads a file with one pattern a line.
func parseList(f *File, g Gate) ([]entry, []error) {
	if f == nil {
		return nil, nil
	}
	p := faults{file: f.Name}
	var all []entry
	p.readLines(f.Content, func(l line) {
		text := l.text()
		if len(l.words) > 1 && !strings.HasPrefix(text, regexpMark) {
			p.add(l.number, l.words[1].column, "%s holds a blank, which no URL does; write one pattern a line, and %%20 for a blank", clip(text))
			return
		}
		e, err := parseEntry(text, Reason{Gate: g, File: f.Name, Line: l.number, Rule: text})
		if err != nil {
			p.add(l.number, l.words[0].column, "%w", err)
			return
		}
		all = append(all, e)
	})
	return all, p.errs
}
