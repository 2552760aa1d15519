package actionrules

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/weburl"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// oracle decides as the specification reads, with regular expressions for all
// that is compared and without any of the package's normalisation.
func oracle(set RuleSet, u weburl.URL) Decision {
	d := Decision{Accept: set.DefaultAccept, Index: set.DefaultIndex, Follow: set.DefaultFollow}
	meta := func(ms ...Meta) {
		for _, m := range ms {
			if !slices.Contains(d.Metas, m) {
				d.Metas = append(d.Metas, m)
			}
		}
	}
	s := u.String()
	for _, r := range set.Roots {
		own := r.URL.String()
		host, isHost := strings.CutSuffix(own, r.URL.Host()+"/")
		www := host + "www." + r.URL.Host() + "/"
		bare := isHost && !strings.HasPrefix(r.URL.Host(), "www.")
		if r.Site && (strings.HasPrefix(s, own) || bare && strings.HasPrefix(s, www)) {
			d.Accept, d.Index, d.Follow = true, true, true
			meta(r.KVs...)
		}
	}
	for _, r := range set.Roots {
		if r.URL.String() == s {
			d.Root, d.Accept, d.Shift = true, true, r.Priority
			d.Follow = d.Follow || set.DefaultFollowRoots
			meta(r.KVs...)
		}
	}
	for _, r := range set.Rules {
		if !oracleHolds(r.If, u) {
			continue
		}
		for _, a := range r.Then {
			switch a.Verb {
			case Accept:
				d.Accept = true
			case Ignore:
				d.Accept = false
			case Index:
				d.Index = true
			case NoIndex:
				d.Index = false
			case Follow:
				d.Follow = true
			case NoFollow:
				d.Follow = false
			case SetSource:
				d.Source = a.Name
			case AddMeta:
				meta(Meta{a.Name, a.Value})
			case Priority:
				d.Shift, d.ShiftSet = a.Shift, true
			}
		}
	}
	return d
}

func oracleHolds(c Condition, u weburl.URL) bool {
	switch c := c.(type) {
	case And:
		return !slices.ContainsFunc(c.Of, func(o Condition) bool { return !oracleHolds(o, u) })
	case Or:
		return slices.ContainsFunc(c.Of, func(o Condition) bool { return oracleHolds(o, u) })
	case Not:
		return !oracleHolds(c.Of, u)
	}
	a := c.(Atom)
	text := map[Field]string{
		FieldURL: u.String(), FieldScheme: u.Scheme(), FieldHost: u.Host(),
		FieldPath: u.Path(), FieldQuery: u.Query(), FieldFragment: u.Fragment(),
	}[a.Field]
	if a.Kind == KindLength {
		low, high, _ := parseRange(a.Value)
		n := utf8.RuneCountInString(oracleDecode(text))
		return low <= n && n <= high
	}
	expr := a.Value
	if !a.Regexp {
		expr, _ = Translate(a.Value)
	}
	if a.Norm == NormNorm {
		text, expr = oracleStrip(oracleDecode(text)), oracleStrip(oracleDecode(expr))
	}
	expr = map[Kind]string{KindExact: "^(?:" + expr + ")$", KindPrefix: "^(?:" + expr + ")", KindSuffix: "(?:" + expr + ")$", KindInside: expr}[a.Kind]
	flags := "(?is)"
	if a.Norm == NormNone {
		flags = "(?s)"
	}
	return regexp.MustCompile(flags + expr).MatchString(text)
}

// encoded are the characters that the generated URLs and patterns encode and
// that are decoded; %2F, and the %FF that is not UTF-8, are not.
var encoded = regexp.MustCompile(`(?i)%C3%[A8]9|%E2%84%AA|%20`)

func oracleDecode(s string) string {
	return encoded.ReplaceAllStringFunc(s, func(run string) string {
		return map[string]string{"%C3%A9": "é", "%C3%89": "É", "%E2%84%AA": "\u212a", "%20": " "}[strings.ToUpper(run)]
	})
}

func oracleStrip(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

// Few words, so that patterns and URLs often meet.
var (
	words    = []string{"a", "A", "b", "é", "E", "/", "a/b", "h", "http", "k", "\u212a", "q=a", "1", "?", ".", "%C3%A9", "%2F", "%FF", "www."}
	patterns = []string{`\.`, `\.\*`, `\[a-c\]`, `\(a\|b\)`, `\d\+`, `\w`, `\[\^a\]`, `\(h\|é\)\?`, `\$`, `\^`, `é\|b`}
	plainRE  = []string{`.`, `.*`, `[a-c]`, `(a|é)+`, `\d`, `a`, `/`, `\.`, `(?:b|h)?`, `\x61`, `\Qa/b\E`}
	pieces   = []string{"a", "A", "b", "%C3%A9", "%C3%89", "%2F", "%2f", "%FF", "1", "c", ".", "k", "%E2%84%AA", "%20", "e", "é"}
)

func genPattern(t *rapid.T, re bool) string {
	from := append(slices.Clone(words), patterns...)
	if re {
		from = plainRE
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(from), 1, 3).Draw(t, "pattern"), "")
}

func genAtom(t *rapid.T) Condition {
	a := Atom{
		Field: Field(rapid.IntRange(0, len(fieldNames)-1).Draw(t, "field")),
		Kind:  Kind(rapid.IntRange(0, len(kindNames)-1).Draw(t, "kind")),
		Norm:  Norm(rapid.IntRange(0, len(normNames)-1).Draw(t, "norm")),
	}
	if a.Kind == KindLength {
		a.Value = rapid.SampledFrom([]string{"[:3]", "[2:5]", "[4:]", "[1]", "[0]", "[20:]"}).Draw(t, "range")
		return a
	}
	a.Regexp = rapid.Bool().Draw(t, "regexp")
	a.Value = genPattern(t, a.Regexp)
	if _, err := compileAtom(a); err != nil {
		a.Value, a.Regexp = "a", false
	}
	if rapid.IntRange(0, 5).Draw(t, "domain") == 0 {
		return Domain(a.Value, a.Norm, a.Regexp, nowhere)
	}
	return a
}

func genCondition(t *rapid.T, depth int) Condition {
	kind := rapid.IntRange(0, 6).Draw(t, "op")
	if depth == 0 || kind > 3 {
		return genAtom(t)
	}
	if kind == 0 {
		return Not{genCondition(t, depth-1)}
	}
	of := make([]Condition, rapid.IntRange(1, 3).Draw(t, "of"))
	for i := range of {
		of[i] = genCondition(t, depth-1)
	}
	if kind == 1 {
		return Or{of}
	}
	return And{of}
}

func genURL(t *rapid.T) weburl.URL {
	part := func(most int) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, most).Draw(t, "piece"), "")
	}
	s := rapid.SampledFrom([]string{"http://", "https://"}).Draw(t, "scheme") +
		rapid.SampledFrom([]string{"h", "a.h", "www.h", "h:8080", "b.com"}).Draw(t, "host") +
		"/" + part(3) + "/" + part(2)
	s = strings.TrimSuffix(s, "/")
	if rapid.Bool().Draw(t, "query") {
		s += "?" + rapid.SampledFrom([]string{"", "q="}).Draw(t, "name") + part(3)
	}
	if rapid.Bool().Draw(t, "fragment") {
		s += "#" + part(2)
	}
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func genSet(t *rapid.T) RuleSet {
	metas := []Meta{{"a", "1"}, {"a", "2"}, {"b", "1"}}
	shift := rapid.IntRange(-2, 2)
	set := RuleSet{
		DefaultAccept: rapid.Bool().Draw(t, "accept"), DefaultIndex: rapid.Bool().Draw(t, "index"),
		DefaultFollow: rapid.Bool().Draw(t, "follow"), DefaultFollowRoots: rapid.Bool().Draw(t, "roots"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "nroots") {
		set.Roots = append(set.Roots, Root{
			URL: genURL(t), Site: rapid.Bool().Draw(t, "site"), Priority: shift.Draw(t, "priority"),
			KVs: rapid.SliceOfN(rapid.SampledFrom(metas), 0, 2).Draw(t, "kvs"),
		})
	}
	for range rapid.IntRange(0, 8).Draw(t, "nrules") {
		r := Rule{If: genCondition(t, 4)}
		for range rapid.IntRange(1, 3).Draw(t, "nactions") {
			m := rapid.SampledFrom(metas).Draw(t, "meta")
			r.Then = append(r.Then, Action{
				Verb: Verb(rapid.IntRange(0, len(verbNames)-1).Draw(t, "verb")), Name: m.Name, Value: m.Value, Shift: shift.Draw(t, "shift"),
			})
		}
		set.Rules = append(set.Rules, r)
	}
	return set
}

func TestDecideExplainAndOracleAgree(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		set := genSet(t)
		e, errs := Compile(set)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for range 4 {
			u := genURL(t)
			if len(set.Roots) > 0 && rapid.Bool().Draw(t, "ofRoot") {
				u = set.Roots[0].URL
			}
			got, x := e.Decide(u), e.Explain(u)
			sameMatches(t, x, e.ExplainMatches(u))
			if diff := cmp.Diff(oracle(set, u), got); diff != "" {
				t.Fatalf("%s: Decide is not what the specification says:\n%s", u, diff)
			}
			if diff := cmp.Diff(got, x.Decision); diff != "" {
				t.Fatalf("%s: Explain differs from Decide:\n%s", u, diff)
			}
			for i, r := range set.Rules {
				if held := oracleHolds(r.If, u); x.Rules[i].Matched != held || len(x.Rules[i].Changed) > 0 != held {
					t.Fatalf("%s: rule %d: %+v, want %v", u, i, x.Rules[i], held)
				}
			}
			if _, excluded := x.ExcludedBy(); excluded == got.Crawl() {
				t.Fatalf("%s: excluded is %v of %+v", u, excluded, got)
			}
		}
		e.Warnings()
	})
}

func FuzzDecide(f *testing.F) {
	f.Add("http://h/caf%C3%A9?q=1#f", `/caf\.`, uint8(0), uint8(1), uint8(0), false)
	f.Add("https://h:8080/%FF%2F", "%ff", uint8(3), uint8(3), uint8(0), false)
	f.Add("http://h/aaa", "[a-é]+", uint8(3), uint8(0), uint8(1), true)
	f.Add("http://h/", "[:10]", uint8(2), uint8(4), uint8(2), false)
	f.Fuzz(func(t *testing.T, url, value string, field, kind, n uint8, re bool) {
		u, err := weburl.Parse(url)
		if err != nil || len(value) > 1000 {
			return
		}
		a := Atom{Field: Field(field), Kind: Kind(kind), Norm: Norm(n), Value: value, Regexp: re}
		set := RuleSet{
			Roots: []Root{{URL: u, Site: true}},
			Rules: []Rule{when(a, do(Ignore)...), when(Not{Domain(value, Norm(n), re, nowhere)}, do(NoIndex)...)},
		}
		e, errs := Compile(set)
		if len(errs) > 0 {
			return
		}
		if diff := cmp.Diff(e.Decide(u), e.Explain(u).Decision); diff != "" {
			t.Fatal(diff)
		}
		e.Warnings()
	})
}

// sameMatches fails unless brief is full without the rules that do not match.
func sameMatches(t interface{ Fatalf(string, ...any) }, full, brief Explanation) {
	full.Rules = slices.DeleteFunc(slices.Clone(full.Rules), func(r RuleTrace) bool { return !r.Matched })
	if diff := cmp.Diff(full, brief, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("the index finds other rules (-all +index):\n%s", diff)
	}
}
