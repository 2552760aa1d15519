package importer

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestLookaheadIsRewrittenExactly compares the expression without look-ahead with what look-ahead means, on all
// short texts.
func TestLookaheadIsRewrittenExactly(t *testing.T) {
	texts := []string{""}
	for from, length := 0, 0; length < 6; length++ {
		to := len(texts)
		for _, text := range texts[from:to] {
			texts = append(texts, text+"a", text+"b", text+"/")
		}
		from = to
	}
	for _, c := range []struct{ before, not, tail string }{
		{"/", "a", ".*"}, {".*/", "ab", ".*"}, {".*/", "ab", ".*$"}, {"[ab]+/?", "/a", ".*"}, {"", "ab", ".*"}, {"a(a|/b)*", "aa", ".*"},
		{"/", "a", ""}, {"/a*", "ba", ""}, {"(a|/)b", "/", ""}, {"b", "aba", ".*"},
	} {
		whole := c.tail != ""
		expression := withoutLookahead(c.before+"(?!"+c.not+")"+c.tail, whole)
		anchor := ""
		if whole {
			anchor = `\A`
		}
		got, err := regexp.Compile(`(?s)` + anchor + "(?:" + expression + ")")
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		upTo := regexp.MustCompile(`(?s)` + anchor + "(?:" + c.before + `)\z`)
		matched := 0
		for _, text := range texts {
			want := false
			for i := range len(text) + 1 {
				want = want || upTo.MatchString(text[:i]) && !strings.HasPrefix(text[i:], c.not)
			}
			if want {
				matched++
			}
			if got.MatchString(text) != want {
				t.Fatalf("%v as %s on %q: not %v", c, expression, text, want)
			}
		}
		if matched == 0 || matched == len(texts) && c.before != "" {
			t.Errorf("%v: %d of %d match: this proves nothing", c, matched, len(texts))
		}
	}
}

// TestOtherLookaroundStays, to be refused.
func TestOtherLookaroundStays(t *testing.T) {
	for _, expression := range []string{"a(?=b).*", "(?<!a)b", "a(?!b)c", "a(?!b)$", "(a(?!b)).*", "a(?![bc]).*", "a(?!b|c).*", "a(?!(?i)b).*", "a(?!).*", "a(?!b", `a\(?!b).*`, "[(?!b].*", `\Q(?!b).*`, "a(?!b).*(?!c).*", "a(?!b)+", "a(?!" + strings.Repeat("b", 101) + ").*"} {
		if got := withoutLookahead(expression, true); got != expression {
			t.Errorf("%s becomes %s", expression, got)
		}
	}
	if got := withoutLookahead("a(?!b)", true); got != "a(?!b)" {
		t.Errorf("of a whole text a(?!b) becomes %s", got)
	}
}

// TestLookaheadInExcludes: as imported, of each format that has expressions.
func TestLookaheadInExcludes(t *testing.T) {
	inside := `<referenceFilters><filter class="ReferenceFilter" onMatch="exclude"><valueMatcher method="regex">.*/docs/(?!en/).*</valueMatcher></filter></referenceFilters>`
	got := judged(t, norconexXML("", inside), "http://www.example.com/docs/en/a", "http://www.example.com/docs/fr/a", "http://www.example.com/docs/", "http://www.example.com/a")
	if want := "index ignore ignore index"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	e := engineOf(t, "http://h/\nexclude .*/docs/(?!en/).*\n")
	for raw, want := range map[string]bool{"http://h/docs/en/a": true, "http://h/docs/fr": false, "http://h/docs/": false, "http://h/docs/en": false} {
		if crawls(t, e, raw) != want {
			t.Errorf("list: %s is not crawled: %v", raw, want)
		}
	}
	text, err := Import(Funnelback, "c", []byte("start_url=http://h/\nexclude_patterns=regexp:/docs/(?!en)\n"))
	if want := `exclude="regexp:/docs/(?:\z|[^e]|e(?:\z|[^n]))"`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v, want %s in\n%s", err, want, text)
	}
}

// TestAbsentIsRewrittenExactly compares the conditions that ^(?!.*Y)Z becomes with what look-ahead means, on all short
// paths: the expression matches where Y matches at no place behind the beginning, and Z does.
func TestAbsentIsRewrittenExactly(t *testing.T) {
	paths := []string{""}
	for from, length := 0, 0; length < 4; length++ {
		to := len(paths)
		for _, path := range paths[from:to] {
			paths = append(paths, path+"a", path+"b", path+"(")
		}
		from = to
	}
	for _, c := range []struct {
		absent []string
		rest   string
		whole  bool
	}{
		{[]string{"ab"}, ".*", true}, {[]string{"ab"}, ".*$", true}, {[]string{"ab"}, "", false}, {[]string{"a+b"}, ".*", true}, {[]string{"(?:aa|bb)"}, ".*", true},
		{[]string{"aa", "b[(]"}, ".*", true}, {[]string{"ba"}, "http://h/a.*", true}, {[]string{"bb"}, "http://h/a", false}, {[]string{"a$"}, ".*", true},
		{[]string{"[^)a]b"}, ".*", false}, {[]string{`\(`}, "http://h/.*b", true}, {[]string{"?ab"}, ".*", true}, {[]string{"[]|]|a"}, ".*", true},
	} {
		expression := "^"
		for _, y := range c.absent {
			expression += "(?!.*" + y + ")"
		}
		expression += c.rest
		kind, end := actionrules.KindInside, ""
		if c.whole {
			kind, end = actionrules.KindExact, `\z`
		}
		got := conditionOf(actionrules.Atom{Field: actionrules.FieldURL, Kind: kind, Value: expression, Regexp: true})
		if len(c.absent) == 1 && strings.Contains(c.absent[0], "]|a") { // a | outside of brackets: only what is before it is behind .*
			if _, isAtom := got.(actionrules.Atom); !isAtom {
				t.Errorf("%s becomes %s", expression, conditionElement(got))
			}
			continue
		}
		m, errs := actionrules.CompileCondition(got)
		if len(errs) > 0 {
			t.Errorf("%s: %v", expression, errs)
			continue
		}
		rest := regexp.MustCompile(`(?s)\A(?:` + c.rest + ")" + end)
		var absent []*regexp.Regexp
		for _, y := range c.absent {
			absent = append(absent, regexp.MustCompile(`\A(?:`+strings.TrimPrefix(y, "?")+")"))
		}
		matched := 0
		for _, path := range paths {
			u, err := weburl.Parse("http://h/" + path)
			if err != nil {
				t.Fatal(err)
			}
			want := rest.MatchString(u.String())
			for _, y := range absent {
				for i := range len(u.String()) + 1 {
					want = want && !y.MatchString(u.String()[i:])
				}
			}
			if want {
				matched++
			}
			if m.Match(u) != want {
				t.Fatalf("%s as %s on %s: not %v", expression, conditionElement(got), u, want)
			}
		}
		if matched == 0 || matched == len(paths) {
			t.Errorf("%s: %d of %d match: this proves nothing", expression, matched, len(paths))
		}
	}
}

// TestOtherAbsenceStays, to be refused.
func TestOtherAbsenceStays(t *testing.T) {
	for _, expression := range []string{"^(?!.*a)", "^(?!.*a)b|c", "^(?!.*a|b).*", "^(?!.*a)*", "^(?!.*).*", "^(?!.*a", "^(?!.*(a).*", "^(?!.*a).*)", "x^(?!.*a).*", "^(?!.*(?=a)).*", "^(?!.*+a).*"} {
		if _, same := conditionOf(actionrules.Atom{Kind: actionrules.KindExact, Value: expression}).(actionrules.Atom); !same {
			t.Errorf("%s is rewritten", expression)
		}
	}
	if _, same := conditionOf(actionrules.Atom{Kind: actionrules.KindInside, Value: "(?!.*a)"}).(actionrules.Atom); !same {
		t.Error("a part of a text may begin behind what must not be there")
	}
}

// TestAbsenceInFilters: as imported, of each format whose rules have a Not.
func TestAbsenceInFilters(t *testing.T) {
	inside := `<referenceFilters><filter class="ReferenceFilter" onMatch="exclude"><valueMatcher method="regex">^(?!.*/docs/).*$</valueMatcher></filter></referenceFilters>`
	got := judged(t, norconexXML("", inside), "http://www.example.com/docs/a", "http://www.example.com/a", "http://www.example.com/docs")
	if want := "index ignore ignore"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	e := engineOf(t, "http://h/\nexclude ^(?!.*/docs/).*\n")
	for raw, want := range map[string]bool{"http://h/docs/a": true, "http://h/a": false} {
		if crawls(t, e, raw) != want {
			t.Errorf("list: %s is not crawled: %v", raw, want)
		}
	}
	if _, err := Import(Funnelback, "c", []byte("start_url=http://h/\nexclude_patterns=regexp:^(?!.*/docs/).*\n")); err == nil {
		t.Error("Funnelback's patterns have no Not: it must be refused")
	}
}
