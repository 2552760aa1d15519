package importer

import (
	"regexp"
	"strings"
	"testing"
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
