package config

import (
	"github.com/sextant-crawler/sextant/config/words"
)

// orphans reads the content of an unusable element only to report its errors with the others.
func (p *parser) orphans(e *Markup, scope *namespaces) {
	for _, child := range e.Children {
		p.orphan(child, scope)
	}
}

// orphan reads an element as if it were in its place.
func (p *parser) orphan(e *Markup, scope *namespaces) {
	spec := p.schema.elements[e.name.Local]
	scope = scope.enter(e)
	if spec == nil {
		hint := ""
		if near := words.Nearest(e.name.Local, p.schema.names); near != "" {
			hint = ": did you mean <" + near + ">?"
		}
		p.errorf(e.Start, "unknown element <%s>%s", clip(e.name.Local), hint)
		p.orphans(e, scope)
		return
	}
	if spec.Open || spec.Status == NoEffect {
		return
	}
	p.compileOrphan(p.built(spec, e, scope))
}

// as reads an element as another, which was probably meant.
func (p *parser) as(name string, e *Markup, scope *namespaces) {
	if spec := p.schema.elements[name]; spec != nil && !spec.Open && len(spec.Parents) > 0 {
		p.compileOrphan(p.built(spec, e, scope))
		return
	}
	p.orphans(e, scope)
}

// compileOrphan compiles the rules and conditions in a node that is not used.
func (p *parser) compileOrphan(n *node) {
	switch {
	case n.spec.Name == "Rule":
		if r, ok := p.rule(n, ""); ok {
			p.compiled(r.If)
		}
	case n.spec.Role == Condition:
		p.compiled(p.condition(n, 0))
	case n.spec.Role == Action:
	default:
		for _, child := range n.children {
			p.compileOrphan(child)
		}
	}
}

// passes reports whether unknown parts of elements in this namespace are ignored.
func (p *parser) passes(uri string) bool { return p.lenient && uri != "" && knownNamespace(uri) }

// passOver warns of an ignored unknown element; it returns false if the element must not be ignored.
func (p *parser) passOver(e *Markup, parent *node, scope *namespaces) bool {
	if !p.passes(scope.uri(e.name.Space)) {
		return false
	}
	if parent.spec.Role == Condition || parent.spec.Name == "Rule" && !parent.has(Condition) {
		p.errorf(e.Start, "unknown condition <%s>: a rule cannot be read without its condition, also with unknown=\"warn\"", clip(e.name.Local))
		return true
	}
	p.warnf(e.Start, "unknown element <%s> in <%s> is skipped with its contents", clip(e.name.Local), parent.spec.Name)
	return true
}
