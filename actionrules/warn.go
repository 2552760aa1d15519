package actionrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// Warning is something that is allowed but hardly meant.
type Warning struct {
	At   Position
	Text string
}

// Warnings lists probable mistakes in the rule set: DoubtfulPatterns, rules that apply to no root of their group, and
// roots that the rules do not crawl.
func (e *Engine) Warnings() []Warning {
	return slices.Concat(DoubtfulPatterns(e.set.Rules), e.strayRules(), e.excludedRoots())
}

// DoubtfulPatterns warns of patterns that look as if written for ordinary escaping or
// as file names with wildcards, and of those that no canonical URL matches. It leaves
// out patterns that do not compile.
func DoubtfulPatterns(rules []Rule) []Warning {
	var ws []Warning
	seen := map[Atom]bool{}
	for _, r := range rules {
		atoms(r.If, func(a Atom) {
			if seen[a] || a.Kind == KindLength {
				return
			}
			seen[a] = true
			at := a.At
			if at == (Position{}) {
				at = r.At
			}
			if text := doubtful(a); text != "" {
				ws = append(ws, Warning{at, "pattern " + quote(a.Value) + ": " + text})
			}
		})
	}
	return ws
}

// excludedRoots warns of roots that the rules do not crawl, beyond a hundred of
// them with their number alone.
func (e *Engine) excludedRoots() []Warning {
	const most = 100
	var ws []Warning
	more := 0
	for _, r := range e.set.Roots {
		if e.Decide(r.URL).Crawl() {
			continue
		}
		if len(ws) == most {
			more++
			continue
		}
		by := "the default"
		if rule, _ := e.ExplainMatches(r.URL).ExcludedBy(); rule >= 0 {
			by = fmt.Sprintf("rule %d", rule+1)
			if at := e.set.Rules[rule].At; at != (Position{}) {
				by = "the rule at " + at.String()
			}
		}
		ws = append(ws, Warning{r.At, fmt.Sprintf("root %s is not crawled: %s decides so", r.URL, by)})
	}
	if more > 0 {
		ws = append(ws, Warning{Text: fmt.Sprintf("%d more roots are not crawled", more)})
	}
	return ws
}

// atoms calls f for each atom of a compiled condition. In a Domain it sees only
// the value as written.
func atoms(c Condition, f func(Atom)) {
	switch t := c.(type) {
	case Atom:
		f(t)
	case Not:
		atoms(t.Of, f)
	case And:
		for _, o := range t.Of {
			atoms(o, f)
		}
	case Or:
		of := t.Of
		if isDomain(t) {
			of = of[1:]
		}
		for _, o := range of {
			atoms(o, f)
		}
	}
}

// doubtful returns the likeliest reason why an atom is not meant as written, or "".
func doubtful(a Atom) string {
	if _, _, err := expression(a.Value, a.Regexp); err != nil {
		return ""
	}
	if text := misplaced(a); text != "" {
		return text
	}
	if !a.Regexp {
		if text := starless(a); text != "" {
			return text
		}
		text := Suspicious(a.Value)
		// Queries do hold asterisks.
		if text != "" && (a.Field != FieldQuery || !strings.HasPrefix(text, "* stands")) {
			return text
		}
	}
	return unreachable(a)
}

// unreachable returns why no canonical URL can match an atom, or "" if one can or it is unknown. It canonicalizes URLs
// with the literal beginning of the pattern and checks whether the pattern still matches.
func unreachable(a Atom) string {
	kind, text := a.Kind, literalStart(a)
	switch {
	case text == "":
		return ""
	case len(text) > weburl.MaxLength:
		return "longer than any URL"
	}
	if expr, literal, _ := expression(a.Value, a.Regexp); !literal || expr == "" {
		// With operators only the beginning is known.
		if kind == KindExact {
			kind = KindPrefix
		}
		if kind == KindSuffix {
			kind = KindInside
		}
	}
	m := matcher{field: a.Field, kind: kind, norm: a.Norm, literal: normalise(text, a.Norm)}
	if a.Field == FieldURL && (kind == KindExact || kind == KindPrefix) && !urlStart(m.literal) {
		return "a URL begins with http:// or https://"
	}
	canonical := ""
	for _, s := range candidates(a.Field, kind, text) {
		u, err := weburl.Parse(s)
		if err != nil {
			continue
		}
		v := view{url: u}
		if m.matches(&v) {
			return ""
		}
		if canonical == "" {
			canonical = rawField(u, a.Field)
		}
	}
	if canonical == "" {
		return ""
	}
	return fmt.Sprintf("no canonical URL matches it; the canonical form is %q", canonical)
}

// literalStart is the text that each match of an atom begins with.
func literalStart(a Atom) string {
	expr, _, err := expression(a.Value, a.Regexp)
	if err != nil {
		return ""
	}
	var run []rune
	scan(expr, func(t token) bool {
		switch {
		case t.kind == tokenLiteral:
			run = append(run, t.char)
		case t.kind == tokenRepeat && len(run) > 0:
			run = run[:len(run)-1]
		}
		return t.kind == tokenLiteral && len(run) <= weburl.MaxLength
	})
	if strings.Contains(expr, "|") { // a later alternative may begin otherwise
		if _, literal, _ := expression(a.Value, a.Regexp); !literal {
			return ""
		}
	}
	return string(run)
}

// urlStart reports whether a URL may begin with s.
func urlStart(s string) bool {
	s = strings.ToLower(s)
	for _, scheme := range [...]string{"http://", "https://"} {
		if strings.HasPrefix(s, scheme) || strings.HasPrefix(scheme, s) {
			return true
		}
	}
	return false
}

// candidates are URLs in which a field holds text at the place that kind says,
// the plainest first.
func candidates(f Field, kind Kind, text string) []string {
	lefts, rights := []string{""}, []string{""}
	if kind == KindSuffix || kind == KindInside {
		lefts = []string{"", "a", "/", "1.1.1", "http://h/", "http://h/?", "http://", "http://h", "https:", "http:", "http", "htt"}
	}
	if kind == KindPrefix || kind == KindInside {
		rights = []string{"", "a", "/", "0", ".a", "a/", "0a", "://h/", "//h/", "p://h/", "s://h/"}
	}
	before, after := "", ""
	switch f {
	case FieldScheme:
		after = "://h/"
	case FieldHost:
		before, after = "http://", "/"
		if strings.Contains(text, "::") {
			before, after = "http://[", "]/"
		}
	case FieldPath:
		before = "http://h"
		if kind == KindSuffix || kind == KindInside {
			before = "http://h/"
			lefts = append(lefts, "a/")
		}
	case FieldQuery:
		before = "http://h/?"
	case FieldFragment:
		before = "http://h/#"
	case FieldURL:
	}
	var urls []string
	for _, l := range lefts {
		for _, r := range rights {
			urls = append(urls, before+l+text+r+after)
		}
	}
	return urls
}
