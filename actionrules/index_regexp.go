package actionrules

import (
	"math/bits"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// simplified returns the matcher of a literal for a regular expression that is equivalent to one, such as `http://h/.*`
// to a prefix.
func (m *matcher) simplified() *matcher {
	if m.re == nil {
		return m
	}
	parts := m.parse()
	if parts == nil {
		return m
	}
	if parts.Op != syntax.OpConcat {
		parts = &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{parts}}
	}
	sub := parts.Sub
	begin, sub := cutEnd(sub, 0, syntax.OpBeginText)
	open, sub := cutEnd(sub, 0, syntax.OpStar)
	end, sub := cutEnd(sub, len(sub)-1, syntax.OpEndText)
	openEnd, sub := cutEnd(sub, len(sub)-1, syntax.OpStar)
	text := ""
	switch {
	case len(sub) == 1 && sub[0].Op == syntax.OpLiteral:
		exact := inspect(sub[0], m.norm != NormNone).exact
		if len(exact) != 1 {
			return m
		}
		text = exact[0]
	case len(sub) > 0:
		return m
	}
	kind := KindInside
	switch left, right := begin && !open, end && !openEnd; {
	case left && right:
		kind = KindExact
	case left:
		kind = KindPrefix
	case right:
		kind = KindSuffix
	}
	return &matcher{field: m.field, kind: kind, norm: m.norm, literal: text}
}

// parse returns the syntax tree of the expression, or nil.
func (m *matcher) parse() *syntax.Regexp {
	tree, err := syntax.Parse(m.re.String(), syntax.Perl)
	if err != nil {
		return nil
	}
	return tree
}

// cutEnd removes the operator op (of stars only `.*`) at index i of a list.
func cutEnd(list []*syntax.Regexp, i int, op syntax.Op) (cut bool, rest []*syntax.Regexp) {
	if i < 0 || i >= len(list) || list[i].Op != op || op == syntax.OpStar && list[i].Sub[0].Op != syntax.OpAnyChar {
		return false, list
	}
	if i == 0 {
		return true, list[1:]
	}
	return true, list[:i]
}

const (
	maxAlternatives = 16  // literals that stand for one expression
	maxRequired     = 256 // bytes of one, about
	maxInClass      = 4   // members of a class that literals are made longer by
)

// contents describes the texts that a part of an expression matches.
type contents struct {
	exact []string // all texts; nil if unknown or too many
	need  []string // every text contains one of these; nil if unknown
}

// required returns literals, at least one of which occurs in every normalised text that the expression matches; nil if
// there are none.
func (m *matcher) required() []string {
	tree := m.parse()
	if tree == nil {
		return nil
	}
	return inspect(tree, m.norm != NormNone).needed()
}

// needed returns the more selective of two descriptions of the texts.
func (p contents) needed() []string { return better(p.need, p.exact) }

// better returns the list with the rarer literals. A list with an empty literal is useless.
func better(a, b []string) []string {
	if rarity(b) > rarity(a) {
		return b
	}
	if rarity(a) > 0 {
		return a
	}
	return nil
}

// rarity is higher for literals that occur in fewer URLs.
func rarity(literals []string) int {
	if len(literals) == 0 {
		return 0
	}
	least := maxRequired
	for _, l := range literals {
		if l == "" {
			return 0
		}
		least = min(least, weight(l))
	}
	return max(1, 4*least-bits.Len(uint(len(literals)-1)))
}

// weight returns the length of a literal without the parts that nearly all URLs contain, at least 1.
func weight(literal string) int {
	n := len(literal)
	for _, common := range [...]string{"http", "://", "www.", ".com", ".htm", "index"} {
		if strings.Contains(literal, common) {
			n -= len(common)
		}
	}
	return max(1, n)
}

// inspect determines the contents of the texts of an expression; folded means that it is matched against case-folded
// text.
func inspect(re *syntax.Regexp, folded bool) contents {
	switch re.Op {
	case syntax.OpLiteral:
		return literalContents(re, folded)
	case syntax.OpCharClass:
		return classContents(re, folded)
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return contents{exact: []string{""}}
	case syntax.OpCapture:
		return inspect(re.Sub[0], folded)
	case syntax.OpPlus:
		return contents{need: inspect(re.Sub[0], folded).needed()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return contents{need: inspect(re.Sub[0], folded).needed()}
		}
	case syntax.OpQuest:
		if p := inspect(re.Sub[0], folded); p.exact != nil && len(p.exact) < maxAlternatives {
			return contents{exact: append([]string{""}, p.exact...)}
		}
	case syntax.OpConcat:
		return concatContents(re.Sub, folded)
	case syntax.OpAlternate:
		return alternateContents(re.Sub, folded)
	}
	return contents{}
}

func literalContents(re *syntax.Regexp, folded bool) contents {
	text := string(re.Rune)
	switch {
	case strings.ContainsRune(text, utf8.RuneError): // matches invalid UTF-8, too
		return contents{}
	case re.Flags&syntax.FoldCase == 0 || strings.IndexFunc(text, hasCase) < 0:
		return contents{exact: []string{text}}
	case folded:
		return contents{exact: []string{foldCase(text)}}
	}
	return contents{}
}

func hasCase(r rune) bool { return unicode.SimpleFold(r) != r }

func classContents(re *syntax.Regexp, folded bool) contents {
	var exact []string
	seen := map[rune]bool{}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			member := r
			if folded {
				member = foldRune(r)
			}
			if seen[member] {
				continue
			}
			if seen[member] = true; len(exact) == maxAlternatives || r == utf8.RuneError {
				return contents{}
			}
			exact = append(exact, string(member))
		}
	}
	if len(exact) > maxInClass {
		return contents{need: exact}
	}
	return contents{exact: exact}
}

func concatContents(subs []*syntax.Regexp, folded bool) contents {
	var need []string
	run, whole := []string{""}, true
	for _, sub := range subs {
		p := inspect(sub, folded)
		if len(run)*len(p.exact) <= maxAlternatives && len(p.exact) > 0 && len(run[0]) < maxRequired {
			run = product(run, p.exact)
			continue
		}
		need = better(better(need, run), p.need)
		run, whole = p.exact, false
		if run == nil {
			run = []string{""}
		}
	}
	if whole {
		return contents{exact: run}
	}
	return contents{need: better(need, run)}
}

func product(left, right []string) []string {
	all := make([]string, 0, len(left)*len(right))
	for _, l := range left {
		for _, r := range right {
			all = append(all, l+r)
		}
	}
	return all
}

func alternateContents(subs []*syntax.Regexp, folded bool) contents {
	var all contents
	exact, need := true, true
	for _, sub := range subs {
		p := inspect(sub, folded)
		n := p.needed()
		exact = exact && p.exact != nil && len(all.exact)+len(p.exact) <= maxAlternatives
		need = need && n != nil && len(all.need)+len(n) <= 4*maxAlternatives
		all.exact, all.need = append(all.exact, p.exact...), append(all.need, n...)
		if !exact {
			all.exact = nil
		}
		if !need {
			all.need = nil
		}
	}
	return all
}
