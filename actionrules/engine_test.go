package actionrules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sextant-crawler/sextant/weburl"
)

func compile(t testing.TB, set RuleSet) *Engine {
	t.Helper()
	e, errs := Compile(set)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return e
}

func when(c Condition, then ...Action) Rule { return Rule{If: c, Then: then} }

func do(verbs ...Verb) []Action {
	var as []Action
	for _, v := range verbs {
		as = append(as, Action{Verb: v})
	}
	return as
}

var anything = atom(FieldURL, KindExact, NormNorm, `\.\*`)

// decide compiles and decides, and checks that Explain agrees.
func decide(t testing.TB, set RuleSet, url string) Decision {
	t.Helper()
	e := compile(t, set)
	d := e.Decide(mustURL(t, url))
	if diff := cmp.Diff(d, e.Explain(mustURL(t, url)).Decision); diff != "" {
		t.Errorf("%s: Decide and Explain differ:\n%s", url, diff)
	}
	return d
}

func TestEveryRuleIsApplied(t *testing.T) {
	set := RuleSet{Rules: []Rule{
		when(anything, do(Accept, Index, Follow)...),
		when(Path("/a", NormNorm, false, nowhere), do(NoIndex)...),
		when(Path("/a/b", NormNorm, false, nowhere), do(Ignore)...),
		when(Path("/a/b/c", NormNorm, false, nowhere), do(Accept)...),
	}}
	for url, want := range map[string]Decision{
		"http://h/":      {Accept: true, Index: true, Follow: true},
		"http://h/a":     {Accept: true, Follow: true},
		"http://h/a/b":   {Follow: true},
		"http://h/a/b/c": {Accept: true, Follow: true},
	} {
		if diff := cmp.Diff(want, decide(t, set, url)); diff != "" {
			t.Errorf("%s:\n%s", url, diff)
		}
	}
}

func TestActions(t *testing.T) {
	m := func(n, v string) Action { return Action{Verb: AddMeta, Name: n, Value: v} }
	all := Decision{Accept: true, Index: true, Follow: true}
	with := func(d Decision, f func(*Decision)) Decision { f(&d); return d }
	for name, c := range map[string]struct {
		start Decision
		then  []Action
		want  Decision
	}{
		"Accept":   {Decision{}, do(Accept), Decision{Accept: true}},
		"Ignore":   {all, do(Ignore), Decision{Index: true, Follow: true}},
		"Index":    {Decision{}, do(Index), Decision{Index: true}},
		"NoIndex":  {all, do(NoIndex), Decision{Accept: true, Follow: true}},
		"Follow":   {Decision{}, do(Follow), Decision{Follow: true}},
		"NoFollow": {all, do(NoFollow), Decision{Accept: true, Index: true}},
		"Source":   {all, []Action{{Verb: SetSource, Name: "s"}}, with(all, func(d *Decision) { d.Source = "s" })},
		"AddMeta":  {all, []Action{m("a", "1")}, with(all, func(d *Decision) { d.Metas = []Meta{{"a", "1"}} })},
		"metas accumulate, no exact duplicates": {
			all, []Action{m("b", "1"), m("a", "1"), m("a", "2"), m("a", "1")},
			with(all, func(d *Decision) { d.Metas = []Meta{{"b", "1"}, {"a", "1"}, {"a", "2"}} }),
		},
		"Priority":        {all, []Action{{Verb: Priority, Shift: -2}}, with(all, func(d *Decision) { d.Shift, d.ShiftSet = -2, true })},
		"Priority normal": {all, []Action{{Verb: Priority}}, with(all, func(d *Decision) { d.ShiftSet = true })},
		"the last wins":   {all, do(Ignore, Accept, NoIndex, NoFollow, Follow), Decision{Accept: true, Follow: true}},
	} {
		set := RuleSet{
			DefaultAccept: c.start.Accept, DefaultIndex: c.start.Index, DefaultFollow: c.start.Follow,
			Rules: []Rule{when(anything, c.then...)},
		}
		if diff := cmp.Diff(c.want, decide(t, set, "http://h/")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestCrawl(t *testing.T) {
	for d, want := range map[[3]bool]bool{
		{true, true, true}: true, {true, true, false}: true, {true, false, true}: true, {true, false, false}: false,
		{false, true, true}: false, {false, false, false}: false,
	} {
		if got := (Decision{Accept: d[0], Index: d[1], Follow: d[2]}).Crawl(); got != want {
			t.Errorf("%v: %v", d, got)
		}
	}
}

func root(t testing.TB, url string, site bool) Root {
	return Root{URL: mustURL(t, url), Site: site, Group: "default"}
}

func TestSiteOfRoot(t *testing.T) {
	for _, c := range []struct {
		root, url string
		in        bool
	}{
		{"http://foo.com/bar", "http://foo.com/bar", true},
		{"http://foo.com/bar", "http://foo.com/bar/x", true},
		{"http://foo.com/bar", "http://foo.com/barber", true},
		{"http://foo.com/bar", "http://foo.com/ba", false},
		{"http://foo.com/bar", "http://www.foo.com/bar", false},
		{"http://foo.com", "http://foo.com/x", true},
		{"http://foo.com/", "http://www.foo.com/x", true},
		{"http://foo.com", "https://foo.com/x", false},
		{"http://foo.com", "http://foo.com:8080/x", false},
		{"http://foo.com:8080", "http://www.foo.com:8080/x", true},
		{"http://foo.com:8080", "http://www.foo.com/x", false},
		{"http://foo.com", "http://bar.foo.com/x", false},
		{"http://foo.com", "http://foo.com.evil.org/", false},
		{"http://www.foo.com", "http://foo.com/", false},
		{"http://www.foo.com", "http://www.www.foo.com/", false},
		{"http://foo.com/?q=1", "http://foo.com/x", false},
		{"http://foo.com/?q=1", "http://foo.com/?q=12", true},
		{"http://[::1]/", "http://[::1]/x", true},
	} {
		d := decide(t, RuleSet{Roots: []Root{root(t, c.root, true)}}, c.url)
		if d.Accept != c.in || d.Index != c.in || d.Follow != c.in {
			t.Errorf("%s in the site of %s: %+v, want %v", c.url, c.root, d, c.in)
		}
	}
}

func TestRootItself(t *testing.T) {
	page := root(t, "http://foo.com/a", false)
	page.Priority, page.KVs = -1, []Meta{{"k", "v"}}
	want := Decision{Accept: true, Root: true, Shift: -1, Metas: []Meta{{"k", "v"}}}
	set := RuleSet{Roots: []Root{page}}
	if diff := cmp.Diff(want, decide(t, set, "http://foo.com/a")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Decision{}, decide(t, set, "http://foo.com/a/b")); diff != "" {
		t.Errorf("site=false:\n%s", diff)
	}
	set.DefaultFollowRoots, want.Follow = true, true
	if diff := cmp.Diff(want, decide(t, set, "http://foo.com/a")); diff != "" {
		t.Errorf("defaultFollowRoots:\n%s", diff)
	}
	set.DefaultIndex, want.Index = true, true
	if diff := cmp.Diff(want, decide(t, set, "http://foo.com/a")); diff != "" {
		t.Errorf("indexed as the start state says:\n%s", diff)
	}
	set.Rules = []Rule{
		when(anything, do(NoFollow, Ignore)...),
		when(Path("/a", NormNorm, false, nowhere), Action{Verb: Priority, Shift: 2}),
	}
	want = Decision{Index: true, Root: true, Shift: 2, ShiftSet: true, Metas: want.Metas}
	if diff := cmp.Diff(want, decide(t, set, "http://foo.com/a")); diff != "" {
		t.Errorf("rules override:\n%s", diff)
	}
}

func TestKVsOfSites(t *testing.T) {
	a, b, c := root(t, "http://foo.com/", true), root(t, "http://foo.com/a", true), root(t, "http://foo.com/a/b", false)
	a.KVs, b.KVs, c.KVs = []Meta{{"k", "1"}}, []Meta{{"k", "2"}, {"k", "1"}}, []Meta{{"k", "3"}}
	set := RuleSet{Roots: []Root{c, b, a}, Rules: []Rule{when(anything, Action{Verb: AddMeta, Name: "k", Value: "4"})}}
	for url, want := range map[string][]Meta{
		"http://foo.com/x":       {{"k", "1"}, {"k", "4"}},
		"http://foo.com/a/x":     {{"k", "2"}, {"k", "1"}, {"k", "4"}},
		"http://foo.com/a/b":     {{"k", "2"}, {"k", "1"}, {"k", "3"}, {"k", "4"}},
		"http://www.foo.com/a/b": {{"k", "1"}, {"k", "4"}},
		"http://bar.com/":        {{"k", "4"}},
	} {
		if diff := cmp.Diff(want, decide(t, set, url).Metas); diff != "" {
			t.Errorf("%s:\n%s", url, diff)
		}
	}
}

func TestGroupsDoNotIsolate(t *testing.T) {
	r := when(Path("/x", NormNorm, false, nowhere), do(Ignore)...)
	r.Group = "A"
	b := root(t, "http://b.com/", true)
	b.Group = "B"
	if d := decide(t, RuleSet{Roots: []Root{b}, Rules: []Rule{r}}, "http://b.com/x"); d.Accept {
		t.Error("a rule of group A does not apply to group B")
	}
}

func TestZeroURLAndFragment(t *testing.T) {
	set := RuleSet{Roots: []Root{root(t, "http://h/", true)}, Rules: []Rule{
		when(atom(FieldFragment, KindExact, NormNorm, "f"), do(Ignore)...),
		when(Not{anything}, do(Index)...),
	}}
	if d := compile(t, set).Decide(weburl.URL{}); d.Accept || d.Root {
		t.Errorf("zero URL: %+v", d)
	}
	if d := decide(t, set, "http://h/#f"); d.Accept || !d.Root {
		t.Errorf("fragment: %+v", d)
	}
	if d := decide(t, set, "http://h/#g"); !d.Accept {
		t.Errorf("other fragment: %+v", d)
	}
}

func TestConcurrentUse(t *testing.T) {
	set := RuleSet{Roots: []Root{root(t, "http://h/", true)}, Rules: []Rule{
		when(atom(FieldPath, KindInside, NormNorm, `\d\+é`), Action{Verb: AddMeta, Name: "a", Value: "b"}),
	}}
	set.Roots[0].KVs = []Meta{{"k", "v"}}
	e, u := compile(t, set), mustURL(t, "http://h/12%C3%A9")
	want := e.Decide(u)
	done := make(chan Decision)
	for range 8 {
		go func() {
			var d Decision
			for range 100 {
				d = e.Decide(u)
				e.Explain(u)
			}
			done <- d
		}()
	}
	for range 8 {
		if diff := cmp.Diff(want, <-done); diff != "" {
			t.Error(diff)
		}
	}
}

// nested is a condition with depth Not, And and Or around an atom.
func nested(depth int, c Condition) Condition {
	for i := range depth {
		switch i % 4 {
		case 0, 2:
			c = Not{c}
		case 1:
			c = And{[]Condition{c}}
		default:
			c = Or{[]Condition{c}}
		}
	}
	return c
}

func TestDepth(t *testing.T) {
	set := func(depth int) RuleSet {
		return RuleSet{Rules: []Rule{when(nested(depth, anything), do(Accept)...)}}
	}
	if d := decide(t, set(MaxDepth), "http://h/"); !d.Accept { // an even number of Not
		t.Error("depth 1000 does not hold")
	}
	if d := decide(t, set(MaxDepth-2), "http://h/"); d.Accept { // an odd number
		t.Error("depth 998 holds")
	}
	for _, depth := range []int{MaxDepth + 1, 1_000_000} {
		_, errs := Compile(set(depth))
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), "deeper than 1000") {
			t.Errorf("depth %d: %v", depth, errs)
		}
	}
}
