package actionrules

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/weburl"
	"pgregory.net/rapid"
)

// scanRules decides by looking at one rule after the other.
func scanRules(e *Engine, u weburl.URL) Decision {
	v := view{url: u}
	d := e.start(u, nil)
	for i := range e.rules {
		if !e.rules[i].cond.holds(&v) {
			continue
		}
		for _, a := range e.rules[i].then {
			if d.apply(&a); a.Verb == AddMeta {
				d.addMetas([]Meta{{a.Name, a.Value}})
			}
		}
	}
	return d
}

// genLargeSet makes hundreds of rules whose conditions are made of few, so that
// atoms and whole conditions are shared.
func genLargeSet(t *rapid.T) RuleSet {
	set := genSet(t)
	some := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Condition { return genCondition(t, 2) }), 5, 40).Draw(t, "some")
	some = append(some, anything, atom(FieldURL, KindLength, NormNorm, "[0:]"), atom(FieldPath, KindPrefix, NormNone, "/"))
	pick := rapid.SampledFrom(some)
	metas := []Meta{{"a", "1"}, {"a", "2"}, {"b", "1"}, {"c", "1"}}
	for range rapid.IntRange(100, 400).Draw(t, "nrules") {
		c := pick.Draw(t, "condition")
		switch rapid.IntRange(0, 5).Draw(t, "shape") {
		case 0:
			c = And{[]Condition{c, pick.Draw(t, "second")}}
		case 1:
			c = Or{[]Condition{c, pick.Draw(t, "second")}}
		case 2:
			c = Not{c}
		case 3:
			c = And{[]Condition{Not{c}, Not{pick.Draw(t, "second")}}}
		}
		m := rapid.SampledFrom(metas).Draw(t, "meta")
		set.Rules = append(set.Rules, when(c, Action{
			Verb: Verb(rapid.IntRange(0, len(verbNames)-1).Draw(t, "verb")), Name: m.Name, Value: m.Value,
			Shift: rapid.IntRange(-2, 2).Draw(t, "shift"),
		}))
	}
	return set
}

func TestIndexDecidesAsTheScan(t *testing.T) {
	scratch := new(Scratch) // one for all, as a worker has over reloads
	seeded.Check(t, func(t *rapid.T) {
		set := genLargeSet(t)
		e, errs := Compile(set)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for range 6 {
			u := genURL(t)
			want := scanRules(e, u)
			if diff := cmp.Diff(want, e.DecideInto(u, scratch)); diff != "" {
				t.Fatalf("%s: DecideInto differs from the scan:\n%s", u, diff)
			}
			if diff := cmp.Diff(want, e.Decide(u)); diff != "" {
				t.Fatalf("%s: Decide differs from the scan:\n%s", u, diff)
			}
			if diff := cmp.Diff(want, e.Explain(u).Decision); diff != "" {
				t.Fatalf("%s: Explain differs from the scan:\n%s", u, diff)
			}
		}
	})
}

func TestSimplified(t *testing.T) {
	type shape struct {
		kind    Kind
		literal string
		regexp  bool
	}
	for value, want := range map[string]map[Kind]shape{
		`http://h/\.\*`: {
			KindExact: {KindPrefix, "http://h/", false}, KindPrefix: {KindPrefix, "http://h/", false},
			KindSuffix: {KindInside, "http://h/", false}, KindInside: {KindInside, "http://h/", false},
		},
		`\.\*X`:        {KindExact: {KindSuffix, "x", false}, KindPrefix: {KindInside, "x", false}},
		`\^x\$`:        {KindInside: {KindExact, "x", false}},
		`\.\*`:         {KindExact: {KindSuffix, "", false}, KindInside: {KindInside, "", false}},
		`\^\$`:         {KindInside: {KindExact, "", false}},
		`a\.b`:         {KindExact: {KindExact, "", true}},
		`a\.\*b`:       {KindExact: {KindExact, "", true}},
		`a\|b`:         {KindExact: {KindExact, "", true}},
		`\(a\)\.\*\.+`: {KindPrefix: {KindPrefix, "", true}},
	} {
		for kind, want := range want {
			m, err := compileAtom(Atom{Kind: kind, Value: value})
			if err != nil {
				t.Fatal(err)
			}
			m = m.simplified()
			if got := (shape{m.kind, m.literal, m.re != nil}); got != want {
				t.Errorf("%s %s: %+v, want %+v", kind, value, got, want)
			}
		}
	}
}

func TestRequired(t *testing.T) {
	for _, c := range []struct {
		expr string
		norm Norm
		want []string
	}{
		{`a\d+bcd\d`, NormNone, []string{"bcd"}},
		{`(foo|bar)+/x`, NormNone, []string{"foo", "bar"}},
		{`/(en|fr)/news-\d`, NormNone, []string{"/en/news-", "/fr/news-"}},
		{`News\d`, NormNorm, []string{"news"}},
		{`É\d`, NormNorm, []string{"e"}},
		{`É\d`, NormLower, []string{"é"}},
		{`(?i)news\w`, NormNone, nil},
		{`(?i)12-3\w`, NormNone, []string{"12-3"}},
		{`(?i)[a-z]\w`, NormNone, nil},
		{`[ab]c?d\d`, NormNone, []string{"ad", "acd", "bd", "bcd"}},
		{`(ab){2,}`, NormNone, []string{"ab"}},
		{`(abc|\w)`, NormNone, nil},
		{`(abc|\dd)x`, NormNone, []string{"x"}},
		{`(abc)*\w`, NormNone, nil},
		{`[1-5]{4}`, NormNone, []string{"1", "2", "3", "4", "5"}},
		{`http://www\..+zebra.*`, NormNone, []string{"zebra"}},
		{"\ufffd\\w", NormNone, nil},
		{`[^x]yz(|q)\d`, NormNone, []string{"yz", "yzq"}},
	} {
		m, err := compileAtom(Atom{Kind: KindInside, Norm: c.norm, Value: c.expr, Regexp: true})
		if err != nil {
			t.Fatal(err)
		}
		got := m.required()
		slices.Sort(got)
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (%s):\n%s", c.expr, c.norm, diff)
		}
	}
}

func TestDecideIntoAllocatesNothing(t *testing.T) {
	m := newMix(t, 1000)
	e, s, i := compile(t, m.set), new(Scratch), 0
	next := func() {
		e.DecideInto(m.urls[i%len(m.urls)], s)
		i++
	}
	for range m.urls {
		next()
	}
	if n := testing.AllocsPerRun(len(m.urls), next); n > 0 {
		t.Errorf("%v allocations a URL", n)
	}
}

// TestMetasBelongToTheCaller also goes from one engine to another, as after a reload.
func TestMetasBelongToTheCaller(t *testing.T) {
	set := func(value string) RuleSet {
		return RuleSet{Rules: []Rule{
			when(Not{atom(FieldPath, KindInside, NormNone, "b")}, Action{Verb: AddMeta, Name: "n", Value: value}),
			when(atom(FieldPath, KindInside, NormNone, "b"), Action{Verb: AddMeta, Name: "b", Value: value}),
		}}
	}
	first, second := compile(t, set("1")), compile(t, set("2"))
	a, b := mustURL(t, "http://h/a"), mustURL(t, "http://h/b")
	got := first.Decide(a).Metas
	first.Decide(b)
	if diff := cmp.Diff([]Meta{{"n", "1"}}, got); diff != "" {
		t.Errorf("metas were overwritten:\n%s", diff)
	}
	s := new(Scratch)
	for _, c := range []struct {
		e    *Engine
		u    weburl.URL
		want []Meta
	}{
		{first, b, []Meta{{"b", "1"}}}, {second, a, []Meta{{"n", "2"}}}, {first, a, []Meta{{"n", "1"}}}, {first, b, []Meta{{"b", "1"}}},
	} {
		if diff := cmp.Diff(c.want, c.e.DecideInto(c.u, s).Metas); diff != "" {
			t.Errorf("%s:\n%s", c.u, diff)
		}
	}
	s.epoch = 1<<31 - 1 // the last one
	s.failed[0] = 1     // the next URL's number, from long ago
	if diff := cmp.Diff([]Meta{{"n", "1"}}, first.DecideInto(a, s).Metas); diff != "" {
		t.Errorf("behind the last epoch:\n%s", diff)
	}
}

// TestNormsStayApart has the same literals in all norms, and URLs of which only
// some norms make the same.
func TestNormsStayApart(t *testing.T) {
	var set RuleSet
	for f := range Field(len(fieldNames)) {
		for k := range KindLength {
			for n := range Norm(len(normNames)) {
				for _, value := range []string{"a", "A", "/a", "/caf%C3%A9", "/café", "/cafe", "/CAFE"} {
					m := Action{Verb: AddMeta, Name: f.String() + " " + k.String() + " " + n.String(), Value: value}
					set.Rules = append(set.Rules, when(atom(f, k, n, value), m))
				}
			}
		}
	}
	e := compile(t, set)
	for _, raw := range []string{"http://a/a", "http://a/A?A#a", "http://A/a?a#A", "http://h/caf%C3%A9", "http://h/Caf%C3%A9", "http://h/CAFE", "http://h/cafe"} {
		u := mustURL(t, raw)
		if diff := cmp.Diff(scanRules(e, u), e.Decide(u)); diff != "" {
			t.Errorf("%s:\n%s", u, diff)
		}
	}
}
