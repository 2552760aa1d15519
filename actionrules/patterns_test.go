package actionrules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatterns(t *testing.T) {
	at := Position{File: "c.xml", Line: 3, Column: 9}
	set := RuleSet{Rules: []Rule{
		{If: And{[]Condition{Path(`/a?\.\*`, NormNorm, false, at), Not{Ext(".gif", NormNone, false, Position{})}}}},
		{If: Or{[]Condition{Length(FieldPath, "[:10]", NormNorm, false, Position{}), Atom{Kind: KindInside, Value: "a|b", Regexp: true}}}},
	}}
	want := []Pattern{
		{at, `/a?\.\*`, `/a\?.*`},
		{Position{}, ".gif", `\.gif`},
		{Position{}, "a|b", "a|b"},
	}
	if diff := cmp.Diff(want, Patterns(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
