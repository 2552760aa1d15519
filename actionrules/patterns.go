package actionrules

// Pattern is an atom's value beside the regular expression that it became.
type Pattern struct {
	At     Position
	Value  string
	Regexp string // RE2, not anchored: the atom's kind does that
}

// Patterns lists the patterns of a rule set, in the order of the file. Lengths
// have none. Values that do not translate are left out: Compile reports them.
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
