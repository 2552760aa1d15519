package config

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/actionrules"
)

// rules builds and compiles the rule set of a Crawler.
func (p *parser) rules(crawler *node, c *Crawler) {
	limited := isLimited(&c.Space) || isListed(crawler)
	c.Rules = actionrules.RuleSet{
		DefaultAccept:      crawler.boolean("defaultAccept") || limited && !c.Written.Accept,
		DefaultIndex:       crawler.boolean("defaultIndex") || limited && !c.Written.Index,
		DefaultFollow:      crawler.boolean("defaultFollow") || limited && !c.Written.Follow,
		DefaultFollowRoots: crawler.boolean("defaultFollowRoots"),
		Roots:              p.roots(crawler),
	}
	for block := range crawler.all("Rules") {
		c.Rules.Rules = slices.Grow(c.Rules.Rules, len(block.children))
		for _, n := range block.children {
			if r, ok := p.rule(n, block.str("group")); ok {
				c.Rules.Rules = append(c.Rules.Rules, r)
			}
		}
	}
	if p.quick {
		return
	}
	engine, errs := actionrules.Compile(c.Rules)
	c.Engine = engine
	p.compileErrors(errs)
}

// rule builds one rule; ok is false if its structure is invalid. Then its conditions are compiled separately, so that
// their errors are reported, too.
func (p *parser) rule(n *node, group string) (r actionrules.Rule, ok bool) {
	r = actionrules.Rule{Group: group, At: p.position(n.at)}
	if len(n.children) == 0 {
		if !n.lost {
			p.errorf(n.at, "<Rule> is empty: write one condition, then one or more actions")
		}
		return r, false
	}
	conditions := p.ruleParts(n, &r)
	ok = len(conditions) == 1 && conditions[0] != nil && len(r.Then) > 0
	if ok {
		r.If = conditions[0]
		return r, true
	}
	for _, c := range conditions {
		p.compiled(c)
	}
	return r, false
}

// ruleParts separates the children of a rule into conditions and actions, and reports an order other than one condition
// and then actions.
func (p *parser) ruleParts(n *node, r *actionrules.Rule) []actionrules.Condition {
	var conditions []actionrules.Condition
	first, early := -1, false
	for i, child := range n.children {
		name := child.spec.Name
		switch {
		case child.spec.Role == Action:
			if len(conditions) == 0 && !early {
				early = true
				p.actionFirst(n, child, i)
			}
			if a, ok := actionOf(child); ok {
				r.Then = append(r.Then, a)
			}
			continue
		case len(conditions) > 0 && n.children[i-1].spec.Role == Action:
			p.errorf(child.at, "<%s> is a condition in the place of an action: a <Rule> has one condition, then actions; begin another <Rule>, or join conditions with <And> or <Or>", name)
		case len(conditions) > 0:
			p.errorf(child.at, "<%s> is a second condition (the first is at %s): a <Rule> has one; join them with <And> or <Or>", name, p.lineAndColumn(first))
		default:
			first = child.at
		}
		conditions = append(conditions, p.condition(child, 0))
	}
	if len(conditions) > 0 && len(r.Then) == 0 && !n.has(Action) && !n.lost {
		p.errorf(n.at, "<Rule> has no action: write one or more, such as <Accept/>, after its condition")
	}
	return conditions
}

// actionFirst reports an action without a preceding condition.
func (p *parser) actionFirst(rule, action *node, index int) {
	for _, later := range rule.children[index:] {
		if later.spec.Role == Condition {
			p.errorf(action.at, "<%s> is an action before the condition: write the condition first", action.spec.Name)
			return
		}
	}
	if !rule.lost {
		p.errorf(rule.at, "<Rule> has no condition: write one before its actions")
	}
}

// actionOf builds an action; ok is false if an attribute is invalid.
func actionOf(n *node) (a actionrules.Action, ok bool) {
	for _, spec := range n.spec.Attributes {
		if spec.Required && !n.written(spec.Name) {
			return a, false
		}
	}
	verb, _ := actionrules.ParseVerb(n.spec.Name)
	a.Verb = verb
	switch verb {
	case actionrules.SetSource:
		a.Name = n.str("name")
	case actionrules.AddMeta:
		a.Name, a.Value = n.str("name"), n.str("value")
	case actionrules.Priority:
		a.Shift = int(n.number("shift"))
	case actionrules.Accept, actionrules.Ignore, actionrules.Index, actionrules.NoIndex, actionrules.Follow, actionrules.NoFollow:
	}
	return a, true
}

// builder builds the condition of an element inside depth others; nil if it has errors, which are reported.
type builder func(p *parser, n *node, depth int) actionrules.Condition

// condition builds a condition inside depth others; nil if it has errors, which are reported.
func (p *parser) condition(n *node, depth int) actionrules.Condition {
	if depth > maxConditionDepth {
		p.errorf(n.at, "conditions are nested deeper than %d: join nested <And> and <Or>", maxConditionDepth)
		return nil
	}
	return n.spec.build(p, n, depth)
}

func buildAnd(p *parser, n *node, depth int) actionrules.Condition {
	if of := p.conditions(n, depth); len(of) > 0 {
		return actionrules.And{Of: of}
	}
	return nil
}

func buildOr(p *parser, n *node, depth int) actionrules.Condition {
	if of := p.conditions(n, depth); len(of) > 0 {
		return actionrules.Or{Of: of}
	}
	return nil
}

func buildNot(p *parser, n *node, depth int) actionrules.Condition {
	of := p.conditions(n, depth)
	if len(n.children) > 1 {
		p.errorf(n.children[1].at, "<%s> is a second condition in <Not>, which has one: join them with <And> or <Or>", n.children[1].spec.Name)
	}
	if len(of) > 0 {
		return actionrules.Not{Of: of[0]}
	}
	return nil
}

// conditions builds the conditions inside And, Or or Not.
func (p *parser) conditions(n *node, depth int) []actionrules.Condition {
	if len(n.children) == 0 && !n.lost {
		p.errorf(n.at, "<%s> is empty: write a condition inside", n.spec.Name)
	}
	out := make([]actionrules.Condition, 0, len(n.children))
	for _, child := range n.children {
		if c := p.condition(child, depth+1); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// pattern is the common part of matching conditions.
type pattern struct {
	value  string
	norm   actionrules.Norm
	regexp bool
	at     actionrules.Position
}

// pattern reads the attributes of a matching condition; false if they have errors, which are reported.
func (p *parser) pattern(n *node) (pattern, bool) {
	value := n.attr("value")
	if val := n.attr("val"); val != nil {
		if value != nil {
			p.errorf(val.name, "<%s> has both value (at %s) and its alias val: remove one", n.spec.Name, p.lineAndColumn(value.name))
		}
		value = val
	}
	if value == nil {
		if n.missing("value") && n.missing("val") {
			p.errorf(n.at, "<%s> needs the attribute value (or val)", n.spec.Name)
		}
		return pattern{}, false
	}
	return pattern{value.text, actionrules.Norm(n.choice("norm")), !n.boolean("litteral"), p.position(value.value)}, true
}

func buildAtom(p *parser, n *node, depth int) actionrules.Condition {
	if !n.written("kind") {
		p.pattern(n) // reports errors in it
		return nil
	}
	return atomOf(actionrules.Field(n.choice("field")), actionrules.Kind(n.choice("kind")))(p, n, depth)
}

func buildLength(p *parser, n *node, depth int) actionrules.Condition {
	return atomOf(actionrules.Field(n.choice("field")), actionrules.KindLength)(p, n, depth)
}

// atomOf builds the atom of a field and kind.
func atomOf(field actionrules.Field, kind actionrules.Kind) builder {
	return func(p *parser, n *node, _ int) actionrules.Condition {
		m, ok := p.pattern(n)
		if !ok {
			return nil
		}
		return actionrules.Atom{Field: field, Kind: kind, Norm: m.norm, Value: m.value, Regexp: m.regexp, At: m.at}
	}
}

func buildDomain(p *parser, n *node, _ int) actionrules.Condition {
	m, ok := p.pattern(n)
	if !ok {
		return nil
	}
	return actionrules.Domain(m.value, m.norm, m.regexp, m.at)
}

// compiled compiles a condition; nil if it is nil or has errors, which are reported.
func (p *parser) compiled(c actionrules.Condition) *actionrules.Matcher {
	if c == nil {
		return nil
	}
	matcher, errs := actionrules.CompileCondition(c)
	p.compileErrors(errs)
	return matcher
}

// compileErrors reports the errors of actionrules. Their positions count characters of the value as read; the file may
// spell them longer (&amp;, ${ENV}).
func (p *parser) compileErrors(errs []error) {
	for _, err := range errs {
		var fault *actionrules.Error
		if !errors.As(err, &fault) {
			p.errorf(0, "%v", err)
			continue
		}
		pattern, ok := errors.AsType[*actionrules.PatternError](fault.Err)
		if !ok {
			p.report.errorf(fault.At, "%v", fault.Err)
			continue
		}
		begin := fault.At
		begin.Column -= pattern.Offset
		p.errorf(p.patternOffset(p.src.offset(begin), pattern), "in the pattern: %s", pattern.Text)
	}
}

// patternOffset returns the offset in the file of an error inside the value that begins at start.
func (p *parser) patternOffset(start int, fault *actionrules.PatternError) int {
	data := p.src.data
	if start == 0 {
		return 0
	}
	length := bytes.IndexByte(data[start:], data[start-1]) // the opening quote
	if length < 0 || bytes.Contains(data[start:start+length], []byte("${")) {
		return start
	}
	n := 0
	for i := 0; i < fault.Offset && n < len(fault.Value); i++ {
		_, size := utf8.DecodeRuneInString(fault.Value[n:])
		n += size
	}
	return start + rawLength(data[start:start+length], n)
}
