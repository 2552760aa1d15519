package actionrules

import (
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

func mustURL(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// holds compiles a condition and asks it about a URL.
func holds(t testing.TB, c Condition, url string) bool {
	t.Helper()
	m, errs := CompileCondition(c)
	if len(errs) > 0 {
		t.Fatalf("%v: %v", c, errs)
	}
	return m.Match(mustURL(t, url))
}

type matchCase struct {
	name string
	cond Condition
	url  string
	want bool
}

func runMatches(t *testing.T, cases []matchCase) {
	t.Helper()
	for _, c := range cases {
		if got := holds(t, c.cond, c.url); got != c.want {
			t.Errorf("%s: %v on %s is %v, want %v", c.name, c.cond, c.url, got, c.want)
		}
	}
}

func atom(f Field, k Kind, n Norm, value string) Atom {
	return Atom{Field: f, Kind: k, Norm: n, Value: value}
}

var nowhere Position

func TestSeedExamples(t *testing.T) {
	runMatches(t, []matchCase{
		{"Domain", Domain("foo.com", NormNorm, false, nowhere), "http://foo.com/", true},
		{"Domain", Domain("foo.com", NormNorm, false, nowhere), "http://bar.foo.com", true},
		{"Domain", Domain("foo.com", NormNorm, false, nowhere), "http://barfoo.com", false},
		{"Path", Path("/cgi-bin", NormNorm, false, nowhere), "http://h/cgi-bin/x", true},
		{"Path", Path("/cgi-bin", NormNorm, false, nowhere), "http://h/a/cgi-bin", false},
		{"Ext", Ext(".gif", NormNorm, false, nowhere), "http://h/a.gif", true},
		{"Ext", Ext(".gif", NormNorm, false, nowhere), "http://h/a.GIF", true},
		{"Ext", Ext(".gif", NormNorm, false, nowhere), "http://h/agif", false},
		{"Ext", Ext(".gif", NormNorm, false, nowhere), "http://h/a.gif/b", false},
		{"Ext sees no query", Ext(".gif", NormNorm, false, nowhere), "http://h/a.gif?x", true},
		{"Host", Host("www.wikipedia.org", NormNorm, false, nowhere), "https://www.wikipedia.org/wiki", true},
		{"Host", Host("www.wikipedia.org", NormNorm, false, nowhere), "https://de.www.wikipedia.org/", false},
		{"Url", URL("http://en.wikipedia.org/wiki", NormNorm, false, nowhere), "http://en.wikipedia.org/wiki", true},
		{"Url", URL("http://en.wikipedia.org/wiki", NormNorm, false, nowhere), "http://en.wikipedia.org/wiki/Go", false},
		{"Scheme", Scheme("http", NormNorm, false, nowhere), "http://h/", true},
		{"Scheme is exact", Scheme("http", NormNorm, false, nowhere), "https://h/", false},
		{"Query", Query("q=foo", NormNorm, false, nowhere), "http://h/?q=foo", true},
		{"Query", Query("q=foo", NormNorm, false, nowhere), "http://h/?q=foo&a=b", false},
		{"InQuery", InQuery("q=foo", NormNorm, false, nowhere), "http://h/?a=b&q=foo&c=d", true},
		{"InQuery", InQuery("q=foo", NormNorm, false, nowhere), "http://h/q=foo", false},
		{"Length", Length(FieldPath, "[30:]", NormNorm, false, nowhere), "http://h/23456789012345678901234567890", true},
		{"Length", Length(FieldPath, "[30:]", NormNorm, false, nowhere), "http://h/2345678901234567890123456789", false},
		{"Atom", atom(FieldPath, KindPrefix, NormNone, "/watch"), "http://h/watch?v=1", true},
		{"Atom", atom(FieldPath, KindPrefix, NormNone, "/watch"), "http://h/Watch", false},
		{"rule of the actions table", atom(FieldURL, KindPrefix, NormNone, "http://www.example.com/"), "http://www.example.com/a", true},
		{"rule of the actions table", atom(FieldURL, KindPrefix, NormNone, "http://www.example.com/"), "http://example.com/a", false},
	})
}

func TestShortcutsAreAtoms(t *testing.T) {
	at := Position{"f", 1, 2}
	a := func(f Field, k Kind) Condition { return Atom{f, k, NormLower, "v", true, at} }
	for name, c := range map[string][2]Condition{
		"Path":    {Path("v", NormLower, true, at), a(FieldPath, KindPrefix)},
		"Ext":     {Ext("v", NormLower, true, at), a(FieldPath, KindSuffix)},
		"Host":    {Host("v", NormLower, true, at), a(FieldHost, KindExact)},
		"Url":     {URL("v", NormLower, true, at), a(FieldURL, KindExact)},
		"Scheme":  {Scheme("v", NormLower, true, at), a(FieldScheme, KindExact)},
		"Query":   {Query("v", NormLower, true, at), a(FieldQuery, KindExact)},
		"InQuery": {InQuery("v", NormLower, true, at), a(FieldQuery, KindInside)},
		"Length":  {Length(FieldHost, "v", NormLower, true, at), a(FieldHost, KindLength)},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %v, want %v", name, c[0], c[1])
		}
	}
}

func TestDomainOfAlternatives(t *testing.T) {
	reversed := Domain(`foo.com\|bar.org`, NormNorm, false, nowhere)
	ordinary := Domain(`foo\.com|bar\.org`, NormNorm, true, nowhere)
	for url, want := range map[string]bool{
		"http://foo.com/": true, "http://a.foo.com/": true, "http://bar.org/": true, "http://a.b.bar.org/": true,
		"http://xbar.org/": false, "http://xfoo.com/": false, "http://fooxcom/": false,
	} {
		if holds(t, reversed, url) != want || holds(t, ordinary, url) != want {
			t.Errorf("%s: want %v", url, want)
		}
	}
}

func TestOpenQuote(t *testing.T) {
	for n := range Norm(len(normNames)) {
		runMatches(t, []matchCase{
			{`\Q without \E`, Atom{FieldPath, KindExact, n, `/.\Qa)`, true, nowhere}, "http://h/xa)", true},
			{`\Q without \E`, Domain(`h.\Q.com`, n, true, nowhere), "http://a.h1.com/", true},
			{`\Q without \E`, Domain(`h.\Q.com`, n, true, nowhere), "http://a.h1xcom/", false},
		})
	}
}

func TestFieldsAndKinds(t *testing.T) {
	const u = "http://h.example:8080/a/b?q=1#f"
	exact := map[Field]string{
		FieldScheme: "http", FieldHost: "h.example", FieldPath: "/a/b", FieldQuery: "q=1", FieldFragment: "f",
		FieldURL: "http://h.example:8080/a/b?q=1",
	}
	for f, v := range exact {
		n := len(v)
		runMatches(t, []matchCase{
			{f.String() + " exact", atom(f, KindExact, NormNone, v), u, true},
			{f.String() + " exact is anchored right", atom(f, KindExact, NormNone, v[:n-1]+"~"), u, false},
			{f.String() + " prefix", atom(f, KindPrefix, NormNone, v[:max(n-1, 1)]), u, true},
			{f.String() + " suffix", atom(f, KindSuffix, NormNone, v[min(1, n-1):]), u, true},
			{f.String() + " inside", atom(f, KindInside, NormNone, v[n/2:]), u, true},
			{f.String() + " regexp exact", Atom{f, KindExact, NormNone, ".{" + itoa(n) + "}", true, nowhere}, u, true},
			{f.String() + " regexp exact", Atom{f, KindExact, NormNone, ".{" + itoa(n+1) + "}", true, nowhere}, u, false},
		})
		if n > 2 {
			mid := v[1 : n-1]
			runMatches(t, []matchCase{
				{f.String() + " exact", atom(f, KindExact, NormNone, mid), u, false},
				{f.String() + " prefix", atom(f, KindPrefix, NormNone, mid), u, false},
				{f.String() + " suffix", atom(f, KindSuffix, NormNone, mid), u, false},
				{f.String() + " inside", atom(f, KindInside, NormNone, mid), u, true},
			})
		}
	}
	runMatches(t, []matchCase{
		{"path is at least /", atom(FieldPath, KindExact, NormNone, "/"), "http://h", true},
		{"IPv6 without brackets", atom(FieldHost, KindExact, NormNone, "::1"), "http://[::1]:80/", true},
		{"empty query", Length(FieldQuery, "[0]", NormNorm, false, nowhere), "http://h/a", true},
		{"+ is not a space", atom(FieldQuery, KindExact, NormNorm, "a b"), "http://h/?a+b", false},
		{"%20 is a space", atom(FieldQuery, KindExact, NormNorm, "a b"), "http://h/?a%20b", true},
	})
}

func TestBooleans(t *testing.T) {
	yes, no := Host("h", NormNorm, false, nowhere), Host("x", NormNorm, false, nowhere)
	for _, c := range []matchCase{
		{"And", And{[]Condition{yes, yes}}, "", true},
		{"And", And{[]Condition{yes, no}}, "", false},
		{"And of one", And{[]Condition{yes}}, "", true},
		{"Or", Or{[]Condition{no, yes}}, "", true},
		{"Or", Or{[]Condition{no, no}}, "", false},
		{"Not", Not{no}, "", true},
		{"Not", Not{yes}, "", false},
		{"nested", And{[]Condition{Or{[]Condition{no, Not{no}}}, Not{And{[]Condition{yes, no}}}}}, "", true},
	} {
		if got := holds(t, c.cond, "http://h/"); got != c.want {
			t.Errorf("%s: %v is %v", c.name, c.cond, got)
		}
	}
}

func TestLength(t *testing.T) {
	for value, want := range map[string][2]int{ // the shortest and the longest query up to 40
		"[:10]": {0, 10}, "[11:12]": {11, 12}, "[30:]": {30, 40}, "[5]": {5, 5}, "[0]": {0, 0}, "[7:7]": {7, 7},
	} {
		c := Length(FieldQuery, value, NormNorm, false, nowhere)
		for n := range 41 {
			url := "http://h/?" + repeat("x", n)
			if got, in := holds(t, c, url), want[0] <= n && n <= want[1]; got != in {
				t.Errorf("%s of %d characters is %v", value, n, got)
			}
		}
	}
	for url, n := range map[string]int{
		"http://h/%C3%A9":       2, // one character of two bytes
		"http://h/é":            2,
		"http://h/%20":          2,
		"http://h/%F0%9F%98%80": 2,
		"http://h/a%2Fb":        6, // an encoded delimiter stays encoded
		"http://h/%FF":          4, // no UTF-8
		"http://h/%EF%AC%81":    2, // the ligature fi: decoded, not decomposed
	} {
		if !holds(t, Length(FieldPath, "["+itoa(n)+"]", NormNone, false, nowhere), url) {
			t.Errorf("%s has not %d characters", url, n)
		}
	}
}

func TestNorm(t *testing.T) {
	path := func(n Norm, v string) Condition { return atom(FieldPath, KindExact, n, v) }
	runMatches(t, []matchCase{
		{"none is case-sensitive", path(NormNone, "/A"), "http://h/a", false},
		{"none", path(NormNone, "/A"), "http://h/A", true},
		{"none does not decode", path(NormNone, "/é"), "http://h/%C3%A9", false},
		{"none", path(NormNone, "/%C3%A9"), "http://h/%c3%a9", true},
		{"lower", path(NormLower, "/A"), "http://h/a", true},
		{"lower", path(NormLower, "/a"), "http://h/A", true},
		{"lower does not decode", path(NormLower, "/é"), "http://h/%C3%A9", false},
		{"lower ignores the case of hex", path(NormLower, "/%c3%a9"), "http://h/%C3%A9", true},
		{"norm ignores case", path(NormNorm, "/A"), "http://h/a", true},
		{"norm: pattern accent", path(NormNorm, "/é"), "http://h/e", true},
		{"norm: URL accent", path(NormNorm, "/E"), "http://h/%C3%A9", true},
		{"norm: accents of both", path(NormNorm, "/É"), "http://h/%C3%A8", true},
		{"norm: combining accent", path(NormNorm, "/e\u0301"), "http://h/%C3%A9", true},
		{"norm: encoded pattern", path(NormNorm, "/%C3%A9"), "http://h/e", true},
		{"norm: %2F stays", path(NormNorm, "/a/b"), "http://h/a%2Fb", false},
		{"norm: %2F stays", path(NormNorm, "/a%2fb"), "http://h/a%2Fb", true},
		{"norm: %3F stays", path(NormNorm, "/a?b"), "http://h/a%3Fb", false},
		{"norm: %26 stays", Query("a&b", NormNorm, false, nowhere), "http://h/?a%26b", false},
		{"norm: %3D stays", Query("a=b", NormNorm, false, nowhere), "http://h/?a%3Db", false},
		{"norm decodes once", path(NormNorm, "/é"), "http://h/%25C3%25A9", false},
		{"norm decodes once, both", path(NormNorm, "/%25C3"), "http://h/%25C3", true},
		{"norm: ß is no ss", path(NormNorm, "/ss"), "http://h/%C3%9F", false},
		{"norm: ß and capital ß", path(NormNorm, "/ẞ"), "http://h/%C3%9F", true},
		{"norm: Kelvin sign", path(NormNorm, "/\u212a"), "http://h/k", true},
		{"norm: Kelvin sign in the URL", path(NormNorm, "/k"), "http://h/%E2%84%AA", true},
		{"lower: Kelvin sign", path(NormLower, "/\u212a"), "http://h/k", true},
		{"none: Kelvin sign", path(NormNone, "/\u212a"), "http://h/k", false},
		{"norm: İ", path(NormNorm, "/\u0130"), "http://h/i", true},
		{"norm: ligature", path(NormNorm, "/ﬁ"), "http://h/FI", true},
		{"norm: full width", path(NormNorm, "/\uff41"), "http://h/%EF%BC%A1", true},
		{"norm: final sigma", path(NormNorm, "/ς"), "http://h/%CE%A3", true},
		{"norm: no UTF-8 stays encoded", path(NormNorm, "/%ff"), "http://h/%FF", true},
		{"norm: half a character stays encoded", path(NormNorm, "/%c3x"), "http://h/%C3x", true},
		{"norm: fragment", atom(FieldFragment, KindExact, NormNorm, "é"), "http://h/#E", true},
		{"absent norm is norm", Atom{Kind: KindSuffix, Value: "/É"}, "http://h/e", true},
	})
}

func TestNormOfRegexps(t *testing.T) {
	re := func(n Norm, v string) Condition { return atom(FieldPath, KindExact, n, v) }
	runMatches(t, []matchCase{
		{"none", re(NormNone, `/A\+`), "http://h/AAA", true},
		{"none", re(NormNone, `/A\+`), "http://h/aaa", false},
		{"lower", re(NormLower, `/A\+`), "http://h/aAa", true},
		{"literal", re(NormNorm, `/é\+`), "http://h/e%C3%A9E", true},
		{"combining accent before +", re(NormNorm, "/e\u0301\\+"), "http://h/ee", true},
		{"encoded before +", re(NormNorm, `/%C3%A9\+`), "http://h/eee", true},
		{"ligature before +", re(NormNorm, `/ﬁ\+`), "http://h/fifi", true},
		{"accent alone before *", re(NormNorm, "/\\(\u0301\\*\\)x"), "http://h/x", true},
		{"operators stay", re(NormNorm, `/\D\+`), "http://h/abc", true},
		{"operators stay", re(NormNorm, `/\D\+`), "http://h/123", false},
		{"single member", re(NormNorm, `/\[éà\]`), "http://h/E", true},
		{"negated member", re(NormNorm, `/\[\^é\]`), "http://h/%C3%A9", false},
		{"range stays", re(NormNorm, `/\[à-ü\]`), "http://h/e", false},
		{"ASCII range", re(NormNorm, `/\[A-Z\]`), "http://h/%C3%A9", true},
		{"special decoded from %", re(NormNorm, `/%5B\.`), "http://h/%5Bx", true},
		{"dot is a line feed too", re(NormNorm, `/a\.\*z`), "http://h/a%0Az", true},
		{"alternation is one group", re(NormNorm, `/a\|/b`), "http://h/bc", false},
		{"alternation is one group", re(NormNorm, `/a\|/b`), "http://h/b", true},
		{"written anchors", atom(FieldPath, KindInside, NormNorm, `\^/a\$`), "http://h/a", true},
		{"written anchors", atom(FieldPath, KindInside, NormNorm, `\^/a\$`), "http://h/ab", false},
		{"prefix", atom(FieldPath, KindPrefix, NormNorm, `/\d\d`), "http://h/12x", true},
		{"prefix", atom(FieldPath, KindPrefix, NormNorm, `\d`), "http://h/12x", false},
		{"suffix", atom(FieldPath, KindSuffix, NormNorm, `\d`), "http://h/a1", true},
		{"suffix", atom(FieldPath, KindSuffix, NormNorm, `\d`), "http://h/1a", false},
	})
}
