package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/weburl"
)

// ruleLines are the lines of the rules that idleRules warns of; the rules stand
// one a line.
func idleLines(t *testing.T, rules ...string) (never, overridden []int) {
	t.Helper()
	text := "<CrawlConfig><Crawler name='a'><Rules>\n" + strings.Join(rules, "\n") + "</Rules></Crawler></CrawlConfig>"
	file, report := Parse(FileName, []byte(text), Lookups{})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	for _, w := range idleRules(file.Crawlers[0].Rules.Rules) {
		if strings.Contains(w.Text, "never match") {
			never = append(never, w.At.Line-1)
		} else {
			overridden = append(overridden, w.At.Line-1)
		}
	}
	return never, overridden
}

func TestOverriddenRules(t *testing.T) {
	rule := func(condition, actions string) string { return "<Rule>" + condition + actions + "</Rule>" }
	for name, c := range map[string]struct {
		first, second string // conditions
		want          bool
	}{
		"the same":              {`<Path val="/a"/>`, `<Path val="/a"/>`, true},
		"other place in file":   {`<Path val="/a"/>`, `<Path   value="/a" norm="norm"/>`, true},
		"case that is ignored":  {`<Path val="/A"/>`, `<Path val="/a"/>`, true},
		"case that counts":      {`<Path norm="none" val="/A"/>`, `<Path norm="none" val="/a"/>`, false},
		"other norm":            {`<Path norm="none" val="/a"/>`, `<Path val="/a"/>`, false},
		"other field":           {`<Atom field="path" kind="inside" val="a"/>`, `<Atom field="query" kind="inside" val="a"/>`, false},
		"longer prefix":         {`<Path val="/a"/>`, `<Path val="/a/b"/>`, false},
		"shorter prefix":        {`<Path val="/a/b"/>`, `<Path val="/a"/>`, true},
		"prefix with escape":    {`<Path val="/a\.b"/>`, `<Path val="/a"/>`, false},
		"same with escape":      {`<Path val="/a\.b"/>`, `<Path val="/a\.b"/>`, true},
		"same text, expression": {`<Path val="/a.b" litteral="false"/>`, `<Path val="/a.b"/>`, false},
		"decoded":               {`<Path val="/%41b"/>`, `<Path val="/%4"/>`, false},
		"exact in prefix":       {`<Atom field="path" kind="exact" val="/a/b"/>`, `<Path val="/a"/>`, true},
		"exact in suffix":       {`<Atom field="path" kind="exact" val="/a.gif"/>`, `<Ext val=".gif"/>`, true},
		"suffix":                {`<Ext val=".tar.gz"/>`, `<Ext val=".gz"/>`, true},
		"wider domain":          {`<Domain val="a.example.com"/>`, `<Domain val="example.com"/>`, true},
		"narrower domain":       {`<Domain val="example.com"/>`, `<Domain val="a.example.com"/>`, false},
		"domain alike":          {`<Domain val="badexample.com"/>`, `<Domain val="example.com"/>`, false},
		"host in domain":        {`<Host val="www.example.com"/>`, `<Domain val="example.com"/>`, true},
		"one of an Or":          {`<Path val="/a/x"/>`, `<Or><Path val="/b"/><Or><Path val="/a"/></Or></Or>`, true},
		"none of an Or":         {`<Path val="/c"/>`, `<Or><Path val="/b"/><Path val="/a"/></Or>`, false},
		"an Or of more":         {`<Or><Path val="/a"/><Path val="/b"/></Or>`, `<Path val="/a"/>`, false},
		"an Or of narrower":     {`<Or><Path val="/a/1"/><Path val="/a/2"/></Or>`, `<Path val="/a"/>`, true},
		"And of more":           {`<And><Path val="/a"/><Ext val=".b"/></And>`, `<Ext val=".b"/>`, true},
		"And of less":           {`<Ext val=".b"/>`, `<And><Path val="/a"/><Ext val=".b"/></And>`, false},
		"Not the same":          {`<Not><Path val="/a"/></Not>`, `<Path val="/a"/>`, false},
		"the same Not":          {`<Not><Path val="/a"/></Not>`, `<Not><Path val="/a"/></Not>`, true},
		"Not narrower":          {`<Not><Path val="/a/b"/></Not>`, `<Not><Path val="/a"/></Not>`, false},
		"always":                {`<Not><Path val="/a"/></Not>`, `<Url val="\.\*"/>`, true},
		"always, by text":       {`<Path val="/a"/>`, `<Url val=".*"/>`, false},
		"the same length":       {`<Length val="[5]"/>`, `<Length val="[5]"/>`, true},
		"other length":          {`<Length val="[5:6]"/>`, `<Length val="[5]"/>`, false},
	} {
		_, got := idleLines(t, rule(c.first, "<Index/>"), rule(c.second, "<NoIndex/>"))
		if (len(got) > 0) != c.want {
			t.Errorf("%s: warned of %v, want %v", name, got, c.want)
		}
	}
}

func TestOverriddenActions(t *testing.T) {
	for name, c := range map[string]struct {
		rules []string
		want  []int
	}{
		"other dimension": {[]string{"<Index/>", "<Follow/>"}, nil},
		"one of two":      {[]string{"<Index/><Follow/>", "<NoFollow/>"}, nil},
		"by two rules":    {[]string{"<Index/><Follow/>", "<NoFollow/>", "<NoIndex/>"}, []int{1}},
		"all in a row":    {[]string{"<Index/>", "<NoIndex/>", "<Index/>"}, []int{2, 1}},
		"source":          {[]string{`<Source name="a"/>`, `<Source name=""/>`}, []int{1}},
		"shift":           {[]string{`<Priority shift="1"/>`, `<Priority shift="0"/>`}, []int{1}},
		"metas add up":    {[]string{`<AddMeta name="a" value="b"/>`, `<AddMeta name="a" value="b"/>`}, nil},
		"with a meta":     {[]string{`<Index/><AddMeta name="a" value="b"/>`, `<NoIndex/>`}, nil},
	} {
		var rules []string
		for _, actions := range c.rules {
			rules = append(rules, `<Rule><Path val="/a"/>`+actions+`</Rule>`)
		}
		_, got := idleLines(t, rules...)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRulesThatNeverMatch(t *testing.T) {
	for condition, want := range map[string]bool{
		`<And><Host val="a"/><Host val="b"/></And>`:                                                              true,
		`<And><Host val="a"/><Host val="A"/></And>`:                                                              false,
		`<And><Host val="a" norm="none"/><Host val="A" norm="none"/></And>`:                                      true,
		`<And><Path val="/a"/><Path val="/b"/></And>`:                                                            true,
		`<And><Path val="/a"/><Path val="/a/b"/></And>`:                                                          false,
		`<And><Path val="/a"/><Ext val=".gif"/></And>`:                                                           false,
		`<And><Ext val=".gif"/><Ext val=".png"/></And>`:                                                          true,
		`<And><Ext val=".gz"/><Ext val=".tar.gz"/></And>`:                                                        false,
		`<And><Query val="a=b"/><InQuery val="c"/></And>`:                                                        true,
		`<And><Query val="a=b"/><InQuery val="b"/></And>`:                                                        false,
		`<And><Path val="/%41"/><Path val="/a"/></And>`:                                                          false,
		`<And><Path val="/\.a"/><Path val="/b"/></And>`:                                                          false,
		`<And><Path val="/a"/><Not><Path val="/a"/></Not></And>`:                                                 true,
		`<And><Not><Path val="/a"/></Not><Path val="/a/b"/></And>`:                                               true,
		`<And><Path val="/a"/><Not><Path val="/a/b"/></Not></And>`:                                               false,
		`<And><Path val="/a/x"/><Not><Or><Path val="/b"/><Path val="/a"/></Or></Not></And>`:                      true,
		`<And><Domain val="a.com"/><Not><Domain val="a.com"/></Not></And>`:                                       true,
		`<Or><And><Host val="a"/><Host val="b"/></And><Host val="c"/></Or>`:                                      false,
		`<Or><And><Host val="a"/><Host val="b"/></And><And><Scheme val="http"/><Scheme val="https"/></And></Or>`: true,
		`<Not><And><Host val="a"/><Host val="b"/></And></Not>`:                                                   false,
	} {
		never, _ := idleLines(t, "<Rule>"+condition+"<Index/></Rule>")
		if (len(never) > 0) != want {
			t.Errorf("%s: warned %v, want %v", condition, never, want)
		}
	}
}

// A rule that is warned of can be left out: no decision changes.
func TestIdleRulesChangeNothing(t *testing.T) {
	var urls []weburl.URL
	for _, host := range []string{"a.com", "www.a.com", "b.com"} {
		for _, path := range []string{"/", "/a", "/a/b", "/A/b.gif", "/ab?q=a", "/b?a", "/b.gif?q=b"} {
			urls = append(urls, mustURL(t, "http://"+host+path))
		}
	}
	warned, lists := 0, 0
	seeded.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(drawRule(), 5, 25).Draw(t, "rules")
		for i := range rules {
			rules[i].At.Line = i + 1
		}
		lists++ // fewer with -short
		all := compiled(t, rules)
		for _, w := range idleRules(rules) {
			warned++
			i := w.At.Line - 1
			without := compiled(t, append(append([]actionrules.Rule{}, rules[:i]...), rules[i+1:]...))
			for _, u := range urls {
				if diff := cmp.Diff(without.Decide(u), all.Decide(u)); diff != "" {
					t.Fatalf("%s: without the rule %d, %s (-without +with):\n%s", u, i, w.Text, diff)
				}
			}
		}
	})
	t.Logf("%d warnings of %d lists of rules", warned, lists)
	if warned < lists/2 {
		t.Errorf("only %d warnings looked at", warned)
	}
}

func compiled(t *rapid.T, rules []actionrules.Rule) *actionrules.Engine {
	e, errs := actionrules.Compile(actionrules.RuleSet{Rules: rules})
	if len(errs) > 0 {
		t.Fatalf("%v", errs)
	}
	return e
}

func drawRule() *rapid.Generator[actionrules.Rule] {
	return rapid.Custom(func(t *rapid.T) actionrules.Rule {
		verbs := rapid.SliceOfN(rapid.SampledFrom([]actionrules.Verb{
			actionrules.Accept, actionrules.Ignore, actionrules.Index, actionrules.NoIndex, actionrules.Follow,
		}), 1, 2).Draw(t, "verbs")
		r := actionrules.Rule{If: drawCondition(2).Draw(t, "if")}
		for _, v := range verbs {
			r.Then = append(r.Then, actionrules.Action{Verb: v})
		}
		return r
	})
}

func drawCondition(depth int) *rapid.Generator[actionrules.Condition] {
	return rapid.Custom(func(t *rapid.T) actionrules.Condition {
		op := "atom"
		if depth > 0 {
			op = rapid.SampledFrom([]string{"atom", "atom", "domain", "and", "or", "not"}).Draw(t, "op")
		}
		several := rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[actionrules.Condition] { return drawCondition(depth - 1) }), 1, 3)
		switch op {
		case "and":
			return actionrules.And{Of: several.Draw(t, "of")}
		case "or":
			return actionrules.Or{Of: several.Draw(t, "of")}
		case "not":
			return actionrules.Not{Of: drawCondition(depth-1).Draw(t, "of")}
		case "domain":
			return actionrules.Domain(rapid.SampledFrom([]string{"a.com", "com", "www.a.com"}).Draw(t, "domain"), 0, false, actionrules.Position{})
		}
		return actionrules.Atom{
			Field: rapid.SampledFrom([]actionrules.Field{actionrules.FieldPath, actionrules.FieldQuery, actionrules.FieldHost}).Draw(t, "field"),
			Kind:  actionrules.Kind(rapid.IntRange(0, 3).Draw(t, "kind")),
			Norm:  actionrules.Norm(rapid.IntRange(0, 2).Draw(t, "norm")),
			Value: rapid.SampledFrom([]string{"/", "/a", "/A", "/a/b", "/ab", "b", "a", "a.com", ".gif", `\.\*`, `a\.`, "/%61"}).Draw(t, "value"),
		}
	})
}
