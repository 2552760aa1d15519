package actionrules

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/weburl"
)

// view is one URL while it is judged: its fields in the requested norms, each computed once.
type view struct {
	url     weburl.URL
	text    [len(fieldNames)][len(normNames)]string
	known   [len(fieldNames)][len(normNames)]bool
	length  [len(fieldNames)]int // number of characters plus one; 0 if not counted yet
	plain   bool                 // no norm changes the URL without its fragment
	buffers *buffers             // nil if texts are allocated
}

// field returns the part of the URL, normalised.
func (v *view) field(f Field, n Norm) string {
	if n == NormNone || v.plain && f != FieldFragment {
		return rawField(v.url, f)
	}
	if !v.known[f][n] {
		v.text[f][n] = v.normalised(f, n)
		v.known[f][n] = true
	}
	return v.text[f][n]
}

func (v *view) normalised(f Field, n Norm) string {
	raw := rawField(v.url, f)
	if v.buffers == nil {
		return normalise(raw, n)
	}
	return v.buffers.normalised(raw, f, n, traitsOf(raw))
}

// characters returns the length of the decoded part.
func (v *view) characters(f Field) int {
	if v.length[f] == 0 {
		v.length[f] = 1
		if raw := rawField(v.url, f); v.buffers == nil {
			v.length[f] += utf8.RuneCountInString(decode(raw))
		} else {
			v.length[f] += v.buffers.characters(raw)
		}
	}
	return v.length[f] - 1
}

func rawField(u weburl.URL, f Field) string {
	switch f {
	case FieldScheme:
		return u.Scheme()
	case FieldHost:
		return u.Host()
	case FieldPath:
		return u.Path()
	case FieldQuery:
		return u.Query()
	case FieldFragment:
		return u.Fragment()
	case FieldURL:
	}
	return u.String()
}

// matcher is a compiled atom.
type matcher struct {
	field    Field
	kind     Kind
	norm     Norm
	literal  string         // normalised; unused with re
	re       *regexp.Regexp // anchored; nil for a literal
	min, max int            // of KindLength
}

func (m *matcher) matches(v *view) bool {
	if m.kind == KindLength {
		n := v.characters(m.field)
		return m.min <= n && n <= m.max
	}
	s := v.field(m.field, m.norm)
	if m.re != nil {
		return m.re.MatchString(s)
	}
	switch m.kind {
	case KindPrefix:
		return strings.HasPrefix(s, m.literal)
	case KindSuffix:
		return strings.HasSuffix(s, m.literal)
	case KindInside:
		return strings.Contains(s, m.literal)
	case KindExact, KindLength:
	}
	return s == m.literal
}

type operator uint8

const (
	opAtom operator = iota
	opAnd
	opOr
	opNot
)

// node is a compiled condition.
type node struct {
	op   operator
	atom *matcher // of opAtom
	of   []node   // of the others
}

func (n *node) holds(v *view) bool {
	switch n.op {
	case opAtom:
		return n.atom.matches(v)
	case opNot:
		return !n.of[0].holds(v)
	case opAnd, opOr:
	}
	// And looks for a condition that fails, Or for one that holds.
	for i := range n.of {
		if n.of[i].holds(v) == (n.op == opOr) {
			return n.op == opOr
		}
	}
	return n.op == opAnd
}
