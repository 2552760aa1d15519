package config

import "github.com/sextant-crawler/sextant/actionrules"

// conditionElements returns Rules, Rule and the conditions.
func conditionElements() []Element {
	in := []string{"Rule", "And", "Or", "Not", "Throttle", "Refresh", "Fetch", "PageField", "MainContent", "Chunks"}
	out := []Element{
		{Name: "Rules", Parents: []string{"Crawler"}, Attributes: []Attribute{
			text("group", String, "default", "Group of roots that the rules are meant for; used for checks only, it does not isolate anything."),
			text("key", String, "", "Label in CloudView's console; without effect."),
		}, Doc: "A block of rules. Several blocks apply in the order of the file."},
		{Name: "Rule", Parents: []string{"Rules"},
			Doc: "One condition, followed by one or more actions for the URLs that it matches. Later rules override earlier ones."},
		{Name: "And", Role: Condition, build: buildAnd, Parents: in, Doc: "Holds if all conditions inside hold; it has at least one."},
		{Name: "Or", Role: Condition, build: buildOr, Parents: in, Doc: "Holds if one of the conditions inside holds; it has at least one."},
		{Name: "Not", Role: Condition, build: buildNot, Parents: in, Doc: "Holds if the one condition inside does not."},
		{Name: "Atom", Role: Condition, build: buildAtom, Parents: in, Attributes: append([]Attribute{
			{Name: "field", Type: Enum, Default: "url", Values: actionrules.FieldNames(), Doc: "The part of the URL to look at."},
			{Name: "kind", Type: Enum, Required: true, Values: actionrules.KindNames(), Doc: "Where the pattern must match, or length to measure the part."},
		}, patternAttributes()...), Doc: "Matches a part of a URL."},
		{Name: "Length", Role: Condition, build: buildLength, Parents: in, Attributes: append([]Attribute{
			{Name: "field", Type: Enum, Default: "path", Values: actionrules.FieldNames(), Doc: "The part of the URL to measure."},
		}, patternAttributes()...), Doc: "Holds if the length of a part lies in a range: [:10], [11:12], [30:] or [5]."},
	}
	for _, s := range []struct {
		name  string
		build builder
		doc   string
	}{
		{"Domain", buildDomain, "Matches a host and its subdomains."},
		{"Path", atomOf(actionrules.FieldPath, actionrules.KindPrefix), "Matches the beginning of the path."},
		{"Ext", atomOf(actionrules.FieldPath, actionrules.KindSuffix), "Matches the end of the path."},
		{"Host", atomOf(actionrules.FieldHost, actionrules.KindExact), "Matches the whole host."},
		{"Url", atomOf(actionrules.FieldURL, actionrules.KindExact), "Matches the whole URL."},
		{"Scheme", atomOf(actionrules.FieldScheme, actionrules.KindExact), "Matches the scheme."},
		{"Query", atomOf(actionrules.FieldQuery, actionrules.KindExact), "Matches the whole query."},
		{"InQuery", atomOf(actionrules.FieldQuery, actionrules.KindInside), "Matches anywhere in the query."},
	} {
		out = append(out, Element{Name: s.name, Role: Condition, build: s.build, Parents: in, Attributes: patternAttributes(), Doc: s.doc})
	}
	return out
}

// patternAttributes are common to all matching conditions.
func patternAttributes() []Attribute {
	return []Attribute{
		text("value", Pattern, "", "The pattern. Special characters are literal; after a \\ they have their meaning in a regular expression."),
		text("val", Pattern, "", "Alias of value: write one of the two."),
		{Name: "norm", Type: Enum, Default: "norm", Values: actionrules.NormNames(),
			Doc: "none compares as is, lower ignores case, norm also decodes percent-encoding and strips accents."},
		boolean("litteral", "true", "With false the pattern is an ordinary regular expression (RE2)."),
	}
}

func actionElements() []Element {
	in := []string{"Rule"}
	return []Element{
		{Name: actionrules.Accept.String(), Role: Action, Parents: in, Doc: "The URL is crawled."},
		{Name: actionrules.Ignore.String(), Role: Action, Parents: in, Doc: "The URL is not crawled."},
		{Name: actionrules.Index.String(), Role: Action, Parents: in, Doc: "The document is indexed."},
		{Name: actionrules.NoIndex.String(), Role: Action, Parents: in, Doc: "The document is not indexed."},
		{Name: actionrules.Follow.String(), Role: Action, Parents: in, Doc: "The links of the page are followed."},
		{Name: actionrules.NoFollow.String(), Role: Action, Parents: in, Doc: "The links of the page are not followed."},
		{Name: actionrules.SetSource.String(), Role: Action, Parents: in, Attributes: []Attribute{
			{Name: "name", Required: true, MayBeEmpty: true, Doc: "The push source of the document; empty is the default one."},
		}, Doc: "Sets the push source, under which the document is pushed."},
		{Name: actionrules.AddMeta.String(), Role: Action, Parents: in, Attributes: []Attribute{
			required("name", String, "Name of the meta."),
			{Name: "value", Required: true, MayBeEmpty: true, Doc: "Its value."},
		}, Doc: "Adds a meta to the document."},
		{Name: actionrules.Priority.String(), Role: Action, Parents: in, Attributes: []Attribute{
			{Name: "shift", Type: Int, Required: true, Min: -2, Max: 2, Doc: "Added to the number of the fifo: -2 is most urgent, 2 least."},
		}, Doc: "Moves the URL to a more or less urgent fifo."},
	}
}
