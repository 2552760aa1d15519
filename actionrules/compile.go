package actionrules

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// MaxDepth is the deepest allowed nesting of And, Or and Not around an atom.
const MaxDepth = 1000

// compiler collects all faults of a rule set. Equal atoms share one matcher.
type compiler struct {
	matchers map[atomKey]*matcher // a nil matcher is faulty
	errs     []error
	rule     int
	at       Position
}

// atomKey is an Atom without its place.
type atomKey struct {
	field  Field
	kind   Kind
	norm   Norm
	regexp bool
	value  string
}

// newCompiler returns a compiler, sized for a number of atoms if it is known.
func newCompiler(atoms int) *compiler {
	return &compiler{matchers: make(map[atomKey]*matcher, atoms), rule: -1}
}

// fail reports a fault at the current rule or root.
func (c *compiler) fail(format string, args ...any) {
	c.errs = append(c.errs, &Error{c.at, c.rule, fmt.Errorf(format, args...)})
}

// condition compiles a condition at the given depth of nesting. The result for an invalid condition must not be used.
func (c *compiler) condition(cond Condition, depth int) node {
	if depth > MaxDepth {
		c.fail("conditions are nested deeper than %d; join nested And and Or", MaxDepth)
		return node{}
	}
	switch t := cond.(type) {
	case Atom:
		return node{op: opAtom, atom: c.atom(t)}
	case And:
		return node{op: opAnd, of: c.list("And", t.Of, depth)}
	case Or:
		if isDomain(t) && !c.valid(t.Of[1]) {
			c.condition(t.Of[1], depth) // one fault, and in the value as written
			return node{}
		}
		return node{op: opOr, of: c.list("Or", t.Of, depth)}
	case Not:
		return node{op: opNot, of: []node{c.condition(t.Of, depth+1)}}
	case nil:
		c.fail("a condition is missing; a rule and a Not have exactly one")
	default:
		c.fail("%T is no condition; use And, Or, Not or Atom, not pointers to them", cond)
	}
	return node{}
}

func (c *compiler) list(name string, of []Condition, depth int) []node {
	if len(of) == 0 {
		c.fail("%s is empty; it needs at least one condition", name)
	}
	nodes := make([]node, len(of))
	for i, o := range of {
		before := len(c.errs)
		nodes[i] = c.condition(o, depth+1)
		if depth+1 > MaxDepth && len(c.errs) > before {
			break // its siblings are as deep
		}
	}
	return nodes
}

// valid returns whether an atom compiles, without adding to the faults.
func (c *compiler) valid(cond Condition) bool {
	before := len(c.errs)
	m := c.atom(cond.(Atom))
	c.errs = c.errs[:before]
	return m != nil
}

func (c *compiler) atom(a Atom) *matcher {
	key := atomKey{a.Field, a.Kind, a.Norm, a.Regexp, a.Value}
	if m := c.matchers[key]; m != nil {
		return m
	}
	m, err := compileAtom(a)
	if err != nil {
		e := &Error{a.At, c.rule, err}
		if e.At == (Position{}) {
			e.At = c.at
		} else if p, ok := errors.AsType[*PatternError](err); ok && e.At.Column > 0 {
			e.At.Column += p.Offset
		}
		c.errs = append(c.errs, e)
		return nil
	}
	c.matchers[key] = m
	return m
}

func compileAtom(a Atom) (*matcher, error) {
	switch {
	case int(a.Field) >= len(fieldNames):
		return nil, fmt.Errorf("unknown field %v; write one of %s", a.Field, strings.Join(fieldNames[:], ", "))
	case int(a.Kind) >= len(kindNames):
		return nil, fmt.Errorf("unknown kind %v; write one of %s", a.Kind, strings.Join(kindNames[:], ", "))
	case int(a.Norm) >= len(normNames):
		return nil, fmt.Errorf("unknown norm %v; write one of %s", a.Norm, strings.Join(normNames[:], ", "))
	}
	m := &matcher{field: a.Field, kind: a.Kind, norm: a.Norm}
	var err error
	if a.Kind == KindLength {
		m.min, m.max, err = parseRange(a.Value)
		return m, err
	}
	expr, literal, err := expression(a.Value, a.Regexp)
	switch {
	case err != nil:
		return nil, err
	case !literal:
		m.re, err = anchored(a, expr)
		return m, err
	}
	if m.literal = normalise(plain(expr), a.Norm); m.literal == "" {
		return nil, &PatternError{a.Value, 0, "nothing to compare is left; accents alone are removed by the norm: write the letter, or norm none"}
	}
	return m, nil
}

// anchored compiles an expression with the anchors of the atom's kind around it
// as one group. A dot is any character, a decoded line feed too.
func anchored(a Atom, expr string) (*regexp.Regexp, error) {
	flags := "(?s)"
	if a.Norm != NormNone {
		flags = "(?is)"
	}
	if a.Norm == NormNorm {
		expr = foldExpression(expr)
	}
	left, right := "", ""
	if a.Kind == KindExact || a.Kind == KindPrefix {
		left = `\A`
	}
	if a.Kind == KindExact || a.Kind == KindSuffix {
		right = `\z`
	}
	re, err := regexp.Compile(flags + left + "(?:" + expr + ")" + right)
	if err != nil {
		return nil, &PatternError{a.Value, 0, err.Error()}
	}
	return re, nil
}

// parseRange reads a length range; both ends are included.
func parseRange(s string) (low, high int, err error) {
	bad := func(offset int, text string) (int, int, error) {
		return 0, 0, &PatternError{s, offset, text + "; write a range like [:10], [11:12], [30:] or [5]"}
	}
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return bad(0, "no length range")
	}
	first, last, colon := strings.Cut(s[1:len(s)-1], ":")
	if !colon {
		last = first
	}
	low, high = 0, math.MaxInt
	if first == "" && last == "" {
		return bad(1, "a range without a number")
	}
	if first != "" {
		if low, err = strconv.Atoi(first); err != nil || !isNumber(first) {
			return bad(1, "no number of characters")
		}
	}
	if last != "" {
		if high, err = strconv.Atoi(last); err != nil || !isNumber(last) {
			return bad(1+len(first)+min(len(s)-3-len(first), 1), "no number of characters")
		}
	}
	if low > high {
		return bad(1, "the first number is greater than the second")
	}
	return low, high, nil
}

// rule compiles a rule.
func (c *compiler) compileRule(i int, r Rule) rule {
	c.rule, c.at = i, r.At
	if len(r.Then) == 0 {
		c.fail("the rule has no action; write one of %s behind its condition", strings.Join(verbNames[:], ", "))
	}
	for _, a := range r.Then {
		switch {
		case int(a.Verb) >= len(verbNames):
			c.fail("unknown action %v; write one of %s", a.Verb, strings.Join(verbNames[:], ", "))
		case a.Verb == AddMeta && a.Name == "":
			c.fail("AddMeta without a name; write name=\"...\"")
		case a.Verb == Priority && !validShift(a.Shift):
			c.fail("shift %d is out of range; write -2 (highest) to 2 (lowest)", a.Shift)
		}
	}
	return rule{c.condition(r.If, 0), r.Then}
}

// checkRoots reports the faults of the roots.
func (c *compiler) checkRoots(roots []Root) {
	c.rule = -1
	for i, r := range roots {
		c.at = r.At
		if r.URL.IsZero() {
			c.fail("root %d has no URL", i)
		}
		if !validShift(r.Priority) {
			c.fail("priority %d is out of range; write -2 (highest) to 2 (lowest)", r.Priority)
		}
	}
}

func validShift(n int) bool { return -2 <= n && n <= 2 }

// Matcher is a compiled condition by itself. It is safe for concurrent use.
type Matcher struct{ node node }

// CompileCondition compiles a condition that belongs to no rule. The errors, all
// that there are, are *Error.
func CompileCondition(cond Condition) (*Matcher, []error) {
	c := newCompiler(0)
	n := c.condition(cond, 0)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return &Matcher{n}, nil
}

// Match reports whether the condition holds for u.
func (m *Matcher) Match(u weburl.URL) bool {
	v := view{url: u}
	return m.node.holds(&v)
}
