package crawlspace

import (
	"maps"
	"slices"
	"strconv"
)

// Part is an element of a Space that decides which links it allows.
type Part struct {
	// List is the list to which the part belongs. Within a list, parts are in order of precedence.
	List string
	Text string
	// Opens reports whether the part allows URLs that would otherwise be outside. Other parts exclude URLs.
	Opens bool
}

// Parts returns the parts of the space. A space is wider than another if it has additional parts that open, or lacks
// parts that do not. Depths are excluded, and so are gates for addresses and responses.
func (s *Space) Parts() []Part {
	var all []Part
	add := func(list string, opens bool, texts ...string) {
		for _, t := range texts {
			all = append(all, Part{list, t, opens})
		}
	}
	// With case or without: each rule for hosts is another one.
	add("case "+strconv.FormatBool(s.settings.FoldHost), true, "")
	if q := s.names.query; q != nil {
		add("query", false, "")
		add("query", true, slices.Sorted(maps.Keys(q.keep))...)
	}
	if f := s.names.options.Fingerprint(); f != "" {
		add("canonical", false, f)
	}
	for _, g := range s.gates {
		switch g := g.(type) {
		case *startGate:
			add("start", false, strconv.FormatBool(g.match.Host)+" "+strconv.FormatBool(g.match.Scheme))
		case *patternGate:
			if g.want {
				add(string(g.missing.Gate), false, "")
			}
			add(string(g.missing.Gate), g.want, g.list.texts()...)
		case *extensionGate:
			add("extensions", false, slices.Sorted(maps.Keys(g.ignored))...)
		}
	}
	for i := range s.domain.size() {
		add("domain", s.domain.rules[i].allow, s.domain.rules[i].reason.Rule)
	}
	if s.prefix != nil {
		for _, r := range s.prefix.rules {
			add("prefix", r.allow, r.reason.Rule)
		}
	}
	return all
}

// texts are the entries in an order that does not depend on theirs.
func (l *patternList) texts() []string {
	texts := make([]string, len(l.entries))
	for i := range l.entries {
		texts[i] = l.entries[i].reason.Rule
	}
	slices.Sort(texts)
	return texts
}

// Depths returns the maximum depths of paths and of links, -1 for no limit.
func (s *Space) Depths() (path, link int) {
	return s.settings.MaxPathDepth.most(), s.settings.MaxLinkDepth.most()
}

func (l *Limit) most() int {
	if l == nil {
		return -1
	}
	return l.Max
}
