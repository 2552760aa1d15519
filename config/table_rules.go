package config

// conditionElements are Rules, Rule and the conditions.
func conditionElements() []Element {
	in := []string{"Rule", "And", "Or", "Not", "Throttle", "Fetch"}
	out := []Element{
		{Name: "Rules", Parents: []string{"Crawler"}, Attributes: []Attribute{
			text("group", String, "default", "Group of roots that the rules are meant for; it isolates nothing."),
			text("key", String, "", "Label of CloudView's console; decides nothing."),
		}, Doc: "A block of rules; several apply in the order of the file."},
		{Name: "Rule", Parents: []string{"Rules"},
			Doc: "One condition, then one or more actions that are applied to the URLs for which it holds; later rules override earlier ones."},
		{Name: "And", Role: Condition, Parents: in, Doc: "Holds if all conditions inside hold; it has at least one."},
		{Name: "Or", Role: Condition, Parents: in, Doc: "Holds if one of the conditions inside holds; it has at least one."},
		{Name: "Not", Role: Condition, Parents: in, Doc: "Holds if the one condition inside does not."},
		{Name: "Atom", Role: Condition, Parents: in, Attributes: append([]Attribute{
			{Name: "field", Type: Enum, Default: "url", Values: fieldNames(), Doc: "The part of the URL that is looked at."},
			{Name: "kind", Type: Enum, Required: true, Values: kindNames(), Doc: "How the pattern is anchored, or that a length is measured."},
		}, patternAttributes()...), Doc: "Matches a part of a URL."},
		{Name: "Length", Role: Condition, Parents: in, Attributes: append([]Attribute{
			{Name: "field", Type: Enum, Default: "path", Values: fieldNames(), Doc: "The part of the URL whose length is measured."},
		}, patternAttributes()...), Doc: "Holds if the length of a part lies in a range: [:10], [11:12], [30:] or [5]."},
	}
	for _, s := range [][2]string{
		{"Domain", "Matches a host and all hosts below it."},
		{"Path", "Matches the beginning of the path."},
		{"Ext", "Matches the end of the path."},
		{"Host", "Matches the whole host."},
		{"Url", "Matches the whole URL."},
		{"Scheme", "Matches the scheme."},
		{"Query", "Matches the whole query."},
		{"InQuery", "Matches anywhere in the query."},
	} {
		out = append(out, Element{Name: s[0], Role: Condition, Parents: in, Attributes: patternAttributes(), Doc: s[1]})
	}
	return out
}

// patternAttributes are common to all conditions that match.
func patternAttributes() []Attribute {
	return []Attribute{
		text("value", Pattern, "", "The pattern: special characters stand for themselves, and \\ before one gives it its meaning in a regular expression."),
		text("val", Pattern, "", "The same as value; one of the two is written."),
		{Name: "norm", Type: Enum, Default: "norm", Values: normNames(),
			Doc: "none compares as is, lower ignores case, norm also decodes percent-encoding and strips accents."},
		boolean("litteral", "true", "With false the pattern is an ordinary regular expression (RE2)."),
	}
}

// The names below are in the order of the constants of actionrules.

func fieldNames() []string { return []string{"url", "scheme", "host", "path", "query", "fragment"} }
func kindNames() []string  { return []string{"exact", "prefix", "suffix", "inside", "length"} }
func normNames() []string  { return []string{"norm", "lower", "none"} }

func actionElements() []Element {
	in := []string{"Rule"}
	return []Element{
		{Name: "Accept", Role: Action, Parents: in, Doc: "The URL is crawled."},
		{Name: "Ignore", Role: Action, Parents: in, Doc: "The URL is not crawled."},
		{Name: "Index", Role: Action, Parents: in, Doc: "The document is indexed."},
		{Name: "NoIndex", Role: Action, Parents: in, Doc: "The document is not indexed."},
		{Name: "Follow", Role: Action, Parents: in, Doc: "The links of the page are followed."},
		{Name: "NoFollow", Role: Action, Parents: in, Doc: "The links of the page are not followed."},
		{Name: "Source", Role: Action, Parents: in, Attributes: []Attribute{
			{Name: "name", Required: true, MayBeEmpty: true, Doc: "The source that the document is pushed under; empty is the default one."},
		}, Doc: "Sets the source."},
		{Name: "AddMeta", Role: Action, Parents: in, Attributes: []Attribute{
			required("name", String, "Name of the meta."),
			{Name: "value", Required: true, MayBeEmpty: true, Doc: "Its value."},
		}, Doc: "Adds a meta to the document."},
		{Name: "Priority", Role: Action, Parents: in, Attributes: []Attribute{
			{Name: "shift", Type: Int, Required: true, Min: -2, Max: 2, Doc: "Added to the number of the fifo: -2 is taken first, 2 last."},
		}, Doc: "Shifts the URL to another fifo."},
	}
}
