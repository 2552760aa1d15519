package actionrules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func explainSet(t testing.TB) RuleSet {
	at := func(line int) Position { return Position{"CrawlConfig.xml", line, 5} }
	return RuleSet{
		Roots: []Root{root(t, "http://example.com/", true), root(t, "http://example.com/start", false)},
		Rules: []Rule{
			{Path("/a", NormNorm, false, nowhere), append(do(Follow, Index), Action{Verb: AddMeta, Name: "k", Value: "v"}), "g", at(1)},
			{Ext(".gif", NormNorm, false, nowhere), do(NoIndex, NoFollow, Ignore), "g", at(2)},
			{Path("/a/ok", NormNorm, false, nowhere), append(do(Accept), Action{Verb: SetSource, Name: "s"}, Action{Verb: Priority, Shift: 1}), "h", at(3)},
			{Path("/none", NormNorm, false, nowhere), do(NoFollow, NoIndex), "h", at(4)},
		},
	}
}

func TestExplain(t *testing.T) {
	set := explainSet(t)
	x := compile(t, set).Explain(mustURL(t, "http://www.example.com/a/ok.gif"))
	want := Explanation{
		Decision: Decision{Accept: true, Source: "s", Shift: 1, ShiftSet: true, Metas: []Meta{{"k", "v"}}},
		Start:    Start{true, true, true, 0, -1, "site of root http://example.com/"},
		Rules: []RuleTrace{
			{0, set.Rules[0].At, "g", true, []Dimension{DimensionIndex, DimensionFollow, DimensionMetas}, nil},
			{1, set.Rules[1].At, "g", true, []Dimension{DimensionAccept, DimensionIndex, DimensionFollow}, nil},
			{2, set.Rules[2].At, "h", true, []Dimension{DimensionAccept, DimensionSource, DimensionPriority}, []string{"Accept", "Source s", "Priority 1"}},
			{3, set.Rules[3].At, "h", false, []Dimension{}, nil},
		},
		Last: [dimensions]int{2, 1, 1, 2, 2, 0},
	}
	for i := range want.Rules { // of the others, how many
		if len(want.Rules[i].Actions) == 0 {
			if x.Rules[i].Matched != (len(x.Rules[i].Actions) > 0) {
				t.Errorf("rule %d: actions %q", i, x.Rules[i].Actions)
			}
			x.Rules[i].Actions = nil
		}
	}
	if diff := cmp.Diff(want, x); diff != "" {
		t.Error(diff)
	}
}

func TestStartAndExcludedBy(t *testing.T) {
	e := compile(t, explainSet(t))
	for _, c := range []struct {
		url, why string
		rule     int
		excluded bool
	}{
		{"http://example.com/x", "site of root http://example.com/", 0, false},
		{"http://example.com/start", "root itself", 0, false},
		{"http://other.com/x", "default", -1, true},
		{"http://other.com/a", "default", -1, true}, // followed, but nothing accepted it
		{"http://example.com/x.gif", "site of root http://example.com/", 1, true},
		{"http://example.com/a/ok.gif", "site of root http://example.com/", 1, true}, // accepted, neither indexed nor followed
		{"http://example.com/none", "site of root http://example.com/", 3, true},
		{"http://example.com/none.gif", "site of root http://example.com/", 1, true},
	} {
		x := e.Explain(mustURL(t, c.url))
		rule, excluded := x.ExcludedBy()
		if x.Start.Why != c.why || excluded != c.excluded || excluded && rule != c.rule {
			t.Errorf("%s: %q, rule %d, excluded %v; want %+v", c.url, x.Start.Why, rule, excluded, c)
		}
	}
}

func TestUnreachable(t *testing.T) {
	for _, c := range []struct {
		atom Atom
		want string // a piece of the warning, "" for none
	}{
		{atom(FieldURL, KindExact, NormNone, "http://Foo.com/"), `"http://foo.com/"`},
		{atom(FieldURL, KindExact, NormNorm, "http://Foo.com/"), ""},
		{atom(FieldURL, KindPrefix, NormNone, "http://Foo.com/a"), `"http://foo.com/a"`},
		{atom(FieldURL, KindPrefix, NormNone, `http://Foo.com/\.\*`), `"http://foo.com/"`},
		{atom(FieldURL, KindExact, NormNorm, "http://foo.com"), `"http://foo.com/"`},
		{atom(FieldURL, KindPrefix, NormNorm, "http://foo.com"), ""},
		{atom(FieldURL, KindExact, NormNorm, "http://foo.com:80/"), `"http://foo.com/"`},
		{atom(FieldURL, KindPrefix, NormNorm, "http://foo.com:80/a"), `"http://foo.com/a"`},
		{atom(FieldURL, KindPrefix, NormNorm, "https://foo.com:80/a"), ""},
		{atom(FieldURL, KindExact, NormNorm, "http://foo.com/a#b"), `"http://foo.com/a"`},
		{atom(FieldURL, KindPrefix, NormNorm, "foo.com/"), "begins with http://"},
		{atom(FieldURL, KindPrefix, NormNorm, "ht"), ""},
		{atom(FieldURL, KindInside, NormNorm, "foo.com/"), ""},
		{atom(FieldURL, KindInside, NormNorm, "://foo"), ""},
		{atom(FieldURL, KindInside, NormNorm, "?q="), ""},
		{atom(FieldURL, KindSuffix, NormNorm, ".gif"), ""},
		{atom(FieldURL, KindExact, NormNorm, `http://foo.com/\|http://bar.com`), ""}, // alternatives are not judged
		{atom(FieldURL, KindExact, NormNorm, `http://foo.com/\?`), ""},
		{atom(FieldHost, KindExact, NormNone, "Foo.com"), `"foo.com"`},
		{atom(FieldHost, KindExact, NormNorm, "foo.com:80"), `"foo.com"`},
		{atom(FieldHost, KindSuffix, NormNorm, ".foo.com"), ""},
		{atom(FieldHost, KindSuffix, NormNorm, ".1"), ""},
		{atom(FieldHost, KindExact, NormNorm, "::1"), ""},
		{atom(FieldHost, KindExact, NormNone, "münchen.de"), `"xn--mnchen-3ya.de"`},
		{atom(FieldHost, KindPrefix, NormNorm, "192.168."), ""},
		{atom(FieldPath, KindPrefix, NormNorm, "/watch?v=1"), `"/watch"`},
		{atom(FieldPath, KindPrefix, NormNorm, "/cgi-bin"), ""},
		{atom(FieldPath, KindExact, NormNone, "/a b"), `"/a%20b"`},
		{atom(FieldPath, KindExact, NormNorm, "/a b"), ""},
		{atom(FieldPath, KindInside, NormNorm, "//"), ""},
		{atom(FieldPath, KindSuffix, NormNorm, "."), ""},
		{atom(FieldQuery, KindInside, NormNorm, "q=foo"), ""},
		{atom(FieldScheme, KindExact, NormNorm, "http"), ""},
		{atom(FieldScheme, KindPrefix, NormNorm, "http"), ""},
		{atom(FieldScheme, KindInside, NormNorm, "s"), ""},
		{atom(FieldFragment, KindExact, NormNorm, "top"), ""},
	} {
		got := unreachable(c.atom)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.atom, got, c.want)
		}
	}
}

// TestRulesBesideTheFolder: a rule of a group is told that it can hold for nothing in the folders of the group's
// sites, unless it accepts links out of them.
func TestRulesBesideTheFolder(t *testing.T) {
	in := func(val string, verb Verb) Rule {
		return Rule{If: Path(val, NormNorm, false, nowhere), Then: do(verb), Group: "g"}
	}
	set := func(rule Rule, site bool, roots ...string) (s RuleSet) {
		for _, raw := range roots {
			r := root(t, raw, site)
			r.Group = "g"
			s.Roots = append(s.Roots, r)
		}
		s.Rules = []Rule{rule}
		return s
	}
	url := in("", Ignore)
	url.If = atom(FieldURL, KindPrefix, NormNorm, "http://r/news/")
	for _, c := range []struct {
		set   RuleSet
		stray bool
	}{
		{set(in("/news", Ignore), true, "http://r/docs/"), true},
		{set(in("/news", NoIndex), true, "http://r/docs/a.html", "http://r/docs/b/"), true},
		{set(url, true, "http://r/docs/"), true},
		{set(in("/news", Accept), true, "http://r/docs/"), false},
		{set(in("/news", Ignore), false, "http://r/docs/"), false},
		{set(in("/news", Ignore), true, "http://r/docs/", "http://r/news/"), false},
		{set(in("/doc", Ignore), true, "http://r/docs/"), false},
		{set(in("/docs/b/", Ignore), true, "http://r/docs/index.html"), false},
		{set(in("/DOCS/a", Ignore), true, "http://r/docs/"), false},
		{set(in("/news", Ignore), true, "http://r/"), false},
	} {
		stray := slices.ContainsFunc(compile(t, c.set).Warnings(), func(w Warning) bool { return strings.Contains(w.Text, "matches no root") })
		if stray != c.stray {
			t.Errorf("%v below %v: told %v", c.set.Rules[0].If, c.set.Roots, stray)
		}
	}
}

func TestWarnings(t *testing.T) {
	in := func(group string, line int, c Condition, then ...Action) Rule {
		return Rule{c, then, group, Position{"f", line, 1}}
	}
	a, b := root(t, "http://a.com/", true), root(t, "http://b.com/x", false)
	a.Group, b.Group, b.At = "A", "B", Position{"f", 99, 1}
	set := RuleSet{Roots: []Root{a, b}, Rules: []Rule{
		in("A", 1, Ext(`\.gif`, NormNorm, false, Position{"f", 1, 20}), do(Ignore)...),
		in("A", 2, Domain("A.com", NormNone, false, Position{"f", 2, 20}), do(Index)...),
		in("B", 3, Host("a.com", NormNorm, false, nowhere), do(Index)...),
		in("A", 4, Host("www.a.com", NormNorm, false, nowhere), do(Index)...),
		in("A", 5, Path("/anything", NormNorm, false, nowhere), do(Index)...),
		in("A", 6, atom(FieldURL, KindPrefix, NormNone, "http://b.com/"), do(Index)...),
		in("A", 7, Not{Not{Or{[]Condition{Scheme("https", NormNorm, false, nowhere), Host("b.com", NormNorm, false, nowhere)}}}}, do(Index)...),
		in("B", 8, Host("b.com", NormNorm, false, nowhere), do(Ignore)...),
		in("C", 9, Host("nobody", NormNorm, false, nowhere), do(Index)...),
	}}
	var got []string
	for _, w := range compile(t, set).Warnings() {
		got = append(got, w.At.String()+" "+w.Text)
	}
	want := []string{
		`f:1:20 pattern "\.gif": \. is an operator`,
		`f:2:20 pattern "A.com": no canonical URL matches it; the canonical form is "a.com"`,
		"f:2:1 the rule matches no root",
		"f:3:1 the rule matches no root of its group \"B\"",
		"f:6:1 the rule matches no root",
		"f:7:1 the rule matches no root",
		`f:9:1 no root has the group "C" of the rule (they have A, B)`,
		"f:99:1 root http://b.com/x is not crawled: excluded by the rule at f:8:1",
	}
	for i := range min(len(got), len(want)) {
		if strings.HasPrefix(got[i], want[i]) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
