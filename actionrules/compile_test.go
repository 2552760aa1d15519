package actionrules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllErrorsAreReported(t *testing.T) {
	at := func(line int) Position { return Position{"CrawlConfig.xml", line, 10} }
	rule := func(line int, c Condition, then ...Action) Rule { return Rule{If: c, Then: then, At: at(line)} }
	set := RuleSet{
		Roots: []Root{{At: at(1)}, {URL: mustURL(t, "http://h/"), Priority: 3, At: at(2)}},
		Rules: []Rule{
			rule(3, And{}, do(Accept)...),
			rule(4, Or{[]Condition{Or{}, Not{}}}, do(Accept)...),
			rule(5, nil, do(Accept)...),
			rule(6, anything),
			rule(7, anything, Action{Verb: 99}, Action{Verb: AddMeta}, Action{Verb: Priority, Shift: -3}),
			rule(8, Host(`a\q`, NormNorm, false, at(80)), do(Accept)...),
			rule(9, And{[]Condition{Atom{Field: 9, Value: "x"}, Atom{Kind: 9, Value: "x"}, Atom{Norm: 9, Value: "x"}}}, do(Accept)...),
			rule(10, Domain(`foo\)`, NormNorm, false, at(100)), do(Accept)...),
			rule(11, Domain("", NormNorm, false, at(110)), do(Accept)...),
			rule(12, Length(FieldPath, "[x]", NormNorm, false, at(120)), do(Accept)...),
			rule(13, &Atom{Value: "x"}, do(Accept)...),
		},
	}
	e, errs := Compile(set)
	if e != nil {
		t.Error("an engine in spite of errors")
	}
	want := []string{
		"CrawlConfig.xml:1:10: root 0 has no URL",
		"CrawlConfig.xml:2:10: priority 3",
		"CrawlConfig.xml:3:10: And is empty",
		"CrawlConfig.xml:4:10: Or is empty",
		"CrawlConfig.xml:4:10: a condition is missing",
		"CrawlConfig.xml:5:10: a condition is missing",
		"CrawlConfig.xml:6:10: the rule has no action",
		"CrawlConfig.xml:7:10: unknown action Verb(99)",
		"CrawlConfig.xml:7:10: AddMeta has no name",
		"CrawlConfig.xml:7:10: shift -3",
		`CrawlConfig.xml:80:11: pattern "a\q", character 2: \q has no meaning`,
		"CrawlConfig.xml:9:10: unknown field Field(9)",
		"CrawlConfig.xml:9:10: unknown kind Kind(9)",
		"CrawlConfig.xml:9:10: unknown norm Norm(9)",
		`CrawlConfig.xml:100:13: pattern "foo\)", character 4: unexpected )`,
		"CrawlConfig.xml:110:10: pattern \"\", character 1: the pattern is empty",
		"CrawlConfig.xml:120:11: pattern \"[x]\", character 2: not a number",
		"CrawlConfig.xml:13:10: *actionrules.Atom is not a condition",
	}
	var got []string
	for i, err := range errs {
		s := err.Error()
		if i < len(want) && strings.HasPrefix(s, want[i]) {
			s = want[i]
		}
		got = append(got, s)
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%T", err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorWithoutPosition(t *testing.T) {
	_, errs := Compile(RuleSet{Rules: []Rule{when(anything, do(Accept)...), when(And{}, do(Accept)...)}})
	if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "rule 2: And") {
		t.Error(errs)
	}
	if _, errs := CompileCondition(Or{}); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "Or is empty") {
		t.Error(errs)
	}
}

func TestNames(t *testing.T) {
	for i, n := range FieldNames() {
		if f := Field(i); f.String() != n {
			t.Errorf("field %s is %v", n, f)
		}
	}
	for i, n := range KindNames() {
		if k := Kind(i); k.String() != n {
			t.Errorf("kind %s is %v", n, k)
		}
	}
	for i, n := range NormNames() {
		if x := Norm(i); x.String() != n {
			t.Errorf("norm %s is %v", n, x)
		}
	}
	for i, n := range verbNames {
		if v, ok := ParseVerb(n); !ok || int(v) != i || v.String() != n {
			t.Errorf("verb %s is %v", n, v)
		}
	}
	for name, v := range map[string]fmt.Stringer{
		"url": FieldURL, "fragment": FieldFragment, "exact": KindExact, "length": KindLength, "norm": NormNorm, "none": NormNone,
		"Accept": Accept, "Source": SetSource, "Priority": Priority, "metas": DimensionMetas, "Verb(77)": Verb(77),
	} {
		if v.String() != name {
			t.Errorf("%v, want %s", v, name)
		}
	}
	if _, ok := ParseVerb("accept"); ok {
		t.Error("names of actions are case-sensitive")
	}
}

// TestHugeSets must not take long, whatever the patterns hold.
func TestHugeSets(t *testing.T) {
	const size = 1 << 20
	for name, c := range map[string]struct {
		value string
		re    bool
		ok    bool
	}{
		"literal":          {repeat("a.b?/", size/5), false, true},
		"decoded literal":  {repeat("%C3%A9", size/60), false, true},
		"accents":          {repeat("é", size/20), false, true},
		"operators":        {repeat(`a\.`, size/3), false, false},
		"alternation":      {repeat(`abc\|`, size/5), false, false},
		"braces":           {repeat("{", size) + ".", true, false},
		"open groups":      {repeat("(?", size/2), true, false},
		"open classes":     {repeat("[[:", size/3), true, false},
		"hex":              {repeat(`\x{`, size/3), true, false},
		"nested groups":    {repeat("(", size/2) + repeat(")", size/2), true, false},
		"repeat of repeat": {"((((((((((a{100}){100}){100}){100}){100}){100}){100}){100}){100}){100})", true, false},
		"dots":             {repeat(".", 1<<15), true, true},
	} {
		e, errs := Compile(RuleSet{Rules: []Rule{when(Atom{Kind: KindInside, Value: c.value, Regexp: c.re}, do(Accept)...)}})
		if (len(errs) == 0) != c.ok {
			t.Errorf("%s: %d errors, want success: %v", name, len(errs), c.ok)
		}
		if e != nil {
			e.Decide(mustURL(t, "http://h/"+repeat("a/", 1000)))
			e.Warnings()
		}
	}
	e := compile(t, manyRules(t, 20_000))
	d := e.Decide(mustURL(t, "http://host77.example/path/77"))
	if !slices.Equal(d.Metas, []Meta{{"rule", "77"}}) {
		t.Errorf("%+v", d)
	}
}

// manyRules is a set of n rules of all kinds, one for each host.
func manyRules(t testing.TB, n int) RuleSet {
	set := RuleSet{Roots: []Root{root(t, "http://example.com/", true)}}
	for i := range n {
		host := fmt.Sprintf("host%d.example", i)
		var c Condition
		switch i % 5 {
		case 0:
			c = Domain(host, NormNorm, false, nowhere)
		case 1:
			c = atom(FieldURL, KindPrefix, NormNone, "http://"+host+"/")
		case 2:
			c = And{[]Condition{Host(host, NormNorm, false, nowhere), Path(`/path/\[0-9\]\+`, NormNorm, false, nowhere)}}
		case 3:
			c = atom(FieldURL, KindInside, NormLower, fmt.Sprintf("//%s/", host))
		default:
			c = atom(FieldURL, KindExact, NormNorm, fmt.Sprintf(`http://%s/\.\*`, host))
		}
		set.Rules = append(set.Rules, when(c, Action{Verb: AddMeta, Name: "rule", Value: itoa(i)}))
	}
	return set
}

func TestWarningsOfManyRoots(t *testing.T) {
	var set RuleSet
	for i := range 20_000 {
		set.Roots = append(set.Roots, root(t, "http://h/"+itoa(i), false))
	}
	ws := compile(t, set).Warnings()
	if len(ws) != 101 || !strings.HasPrefix(ws[100].Text, "19900 more roots") {
		t.Errorf("%d warnings, the last %v", len(ws), ws[len(ws)-1])
	}
	if d := compile(t, set).Decide(mustURL(t, "http://h/19999")); !d.Root {
		t.Error("the last root is none")
	}
}
