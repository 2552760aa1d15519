package importer

import (
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/weburl"
)

// section holds start URLs and the rules for their hosts.
type section struct {
	origins []string
	rules   []listRule
}

// listRule is a line allow or deny, or include or exclude.
type listRule struct {
	line
	policy string
	holds  actionrules.Condition
}

// listReader reads a flat list.
type listReader struct {
	d                *document
	sections         []section
	elastic, filters bool // which kinds of lines occurred
	include          bool // there is an include, translated or not
	roots            map[string]bool
	errs             []error
}

// ruleList translates a flat list; see Import.
func ruleList(d *document, file *crawlspace.File) []error {
	r := listReader{d: d, sections: make([]section, 1), roots: make(map[string]bool)}
	for _, l := range lines(file) {
		r.line(l)
	}
	if len(r.errs) > 0 {
		return r.errs
	}
	for _, name := range []string{"defaultAccept", "defaultIndex", "defaultFollow"} {
		d.set(name, "true")
	}
	if len(r.roots) == 0 {
		d.comment("The list names no start URL, so no host is excluded: write a Root for each.")
	}
	rules := r.hosts()
	if r.filters {
		rules = append(rules, r.filterRules()...)
	} else {
		rules = append(rules, r.orderedRules()...)
	}
	d.rules(rules)
	return nil
}

func (r *listReader) line(l line) {
	first, rest, _ := strings.Cut(strings.ReplaceAll(l.text, "\t", " "), " ")
	rest = strings.TrimSpace(rest)
	switch policy := strings.ToLower(first); policy {
	case "allow", "deny":
		r.elastic = true
		kind, pattern, _ := strings.Cut(rest, " ")
		r.rule(l, policy, strings.ToLower(kind), strings.TrimSpace(pattern))
	case "include", "exclude":
		r.filters = true
		r.rule(l, policy, "url", rest)
	default:
		r.root(l)
	}
	if r.elastic && r.filters {
		r.errs = append(r.errs, l.errorf("%s is mixed with lines of the other kind: write either allow and deny, or include and exclude", clip(first)))
		r.filters, r.elastic = !r.filters, !r.elastic // reported once for each change
	}
}

// root reads a start URL. The first one after rules begins a section.
func (r *listReader) root(l line) {
	u, err := weburl.Parse(l.text)
	if err != nil || strings.ContainsAny(l.text, " \t") {
		r.errs = append(r.errs, l.errorf("%s is neither a start URL nor a rule: write a URL with http:// or https://, or allow, deny, include or exclude and a pattern", clip(l.text)))
		return
	}
	if len(r.sections[len(r.sections)-1].rules) > 0 {
		r.sections = append(r.sections, section{})
	}
	s := &r.sections[len(r.sections)-1]
	if origin := u.Origin() + "/"; !slices.Contains(s.origins, origin) {
		s.origins = append(s.origins, origin)
	}
	if !r.roots[u.String()] {
		r.roots[u.String()] = true
		r.d.add("Root", attribute{"url", u.String()}, attribute{"site", "false"})
	}
}

func (r *listReader) rule(l line, policy, kind, pattern string) {
	a := actionrules.Atom{Field: actionrules.FieldPath, Norm: actionrules.NormNone, Value: wildcards(pattern)}
	switch kind {
	case "begins":
		a.Kind = actionrules.KindPrefix
	case "ends":
		a.Kind = actionrules.KindSuffix
	case "contains":
		a.Kind = actionrules.KindInside
	case "regex":
		a.Kind, a.Value, a.Regexp = actionrules.KindPrefix, pattern, true
	case "url":
		a.Field, a.Kind, a.Value, a.Regexp = actionrules.FieldURL, actionrules.KindExact, pattern, true
	default:
		r.errs = append(r.errs, l.errorf("%s is not a type of rule: write %s begins, ends, contains or regex, then a pattern", clip(kind), policy))
		return
	}
	if pattern == "" {
		example := policy + " begins /blog"
		if kind == "url" {
			example = policy + ` .*\.pdf`
		}
		r.errs = append(r.errs, l.errorf("a pattern is missing: write one such as %s", example))
		return
	}
	holds := actionrules.Condition(a)
	if kind == "url" {
		holds = conditionOf(a)
	}
	if _, errs := actionrules.CompileCondition(holds); len(errs) > 0 {
		if policy == "deny" || policy == "exclude" { // never dropped: the URLs it excludes would be crawled
			r.errs = append(r.errs, l.errorf("%s cannot be imported: %v", policy, errs[0]))
			return
		}
		r.include = r.include || policy == "include" // it allows only what it matches
		r.d.untranslated = append(r.d.untranslated, l.errorf("%s cannot be imported: %v", policy, errs[0]))
		r.d.comment("Not translated: %s (%v)", l.text, errs[0])
		return
	}
	r.include = r.include || policy == "include"
	s := &r.sections[len(r.sections)-1]
	s.rules = append(s.rules, listRule{l, policy, holds})
}

// wildcards writes a pattern with the wildcard * in reversed escaping.
func wildcards(pattern string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\.\*`).Replace(pattern)
}

// hosts returns a rule that limits the crawl to the hosts of the start URLs.
func (r *listReader) hosts() []string {
	var origins []string
	for _, s := range r.sections {
		for _, o := range s.origins {
			if !slices.Contains(origins, o) {
				origins = append(origins, o)
			}
		}
	}
	if len(origins) == 0 {
		return nil
	}
	return []string{rule("<ar:Not>"+anyOf(originAtoms(origins))+"</ar:Not>", "Ignore")}
}

// orderedRules writes rules where the first match decides: here the last match decides, so their order is reversed.
func (r *listReader) orderedRules() []string {
	var rules []string
	for _, s := range r.sections {
		for _, l := range slices.Backward(s.rules) {
			condition := conditionElement(l.holds)
			if len(s.origins) > 0 {
				condition = "<ar:And>" + anyOf(originAtoms(s.origins)) + condition + "</ar:And>"
			}
			action := "Accept"
			if l.policy == "deny" {
				action = "Ignore"
			}
			rules = append(rules, rule(condition, action))
		}
	}
	return rules
}

// filterRules writes include and exclude.
func (r *listReader) filterRules() []string {
	f := filters{included: r.include}
	for _, s := range r.sections {
		for _, l := range s.rules {
			if l.policy == "include" {
				f.include = append(f.include, conditionElement(l.holds))
			} else {
				f.exclude = append(f.exclude, conditionElement(l.holds))
			}
		}
	}
	return f.rules("Ignore")
}

func originAtoms(origins []string) []string {
	atoms := make([]string, len(origins))
	for i, o := range origins {
		atoms[i] = atom(actionrules.Atom{Field: actionrules.FieldURL, Kind: actionrules.KindPrefix, Norm: actionrules.NormNone, Value: o})
	}
	return atoms
}

func rule(condition, action string) string {
	return "<Rule>" + condition + element(action) + "</Rule>"
}

// anyOf returns an Or, or a single condition itself.
func anyOf(conditions []string) string {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "<ar:Or>" + strings.Join(conditions, "") + "</ar:Or>"
}

func atom(a actionrules.Atom) string {
	attributes := []attribute{
		{"field", a.Field.String()},
		{"kind", a.Kind.String()},
		{"norm", a.Norm.String()},
		{"value", a.Value},
	}
	if a.Regexp {
		attributes = append(attributes, attribute{"litteral", "false"})
	}
	return element("ar:Atom", attributes...)
}

func clip(s string) string {
	const most = 80
	for i := range s {
		if i >= most {
			return `"` + s[:i] + `..."`
		}
	}
	return `"` + s + `"`
}
