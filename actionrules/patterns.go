package actionrules

// Pattern is an atom's value with the regular expression that it is translated to.
type Pattern struct {
	At     Position
	Value  string
	Regexp string // RE2, without the anchors of the atom's kind
}

// Patterns lists the patterns of a rule set, in the order of the file. Lengths have no pattern. Values that do not
// translate are left out: Compile reports them.
func Patterns(set RuleSet) []Pattern {
	var all []Pattern
	for _, r := range set.Rules {
		all = appendPatterns(all, r.If)
	}
	return all
}

func appendPatterns(all []Pattern, c Condition) []Pattern {
	switch c := c.(type) {
	case And:
		for _, of := range c.Of {
			all = appendPatterns(all, of)
		}
	case Or:
		for _, of := range c.Of {
			all = appendPatterns(all, of)
		}
	case Not:
		return appendPatterns(all, c.Of)
	case Atom:
		if c.Kind == KindLength {
			return all
		}
		if expr, _, err := expression(c.Value, c.Regexp); err == nil {
			all = append(all, Pattern{c.At, c.Value, expr})
		}
	}
	return all
}
