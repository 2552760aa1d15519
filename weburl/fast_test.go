package weburl

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// The oracle goes through whatwg-url alone, and keeps the base as that has parsed it.

func oracleParse(raw string) (URL, error) {
	if len(raw) > MaxLength {
		return URL{}, &Error{URL: raw, Err: ErrTooLong}
	}
	return oracleCanonical(raw)(whatwg.Parse(raw))
}

func oracleCanonical(raw string) func(*whatwg.Url, error) (URL, error) {
	return func(u *whatwg.Url, err error) (URL, error) {
		if err != nil {
			return URL{}, &Error{URL: raw, Err: ErrMalformed, Detail: parserWords(err)}
		}
		return canonical(raw, u)
	}
}

func oracleResolve(base *whatwg.Url, ref string) (URL, error) {
	if len(ref) > MaxLength {
		return URL{}, &Error{URL: ref, Err: ErrTooLong}
	}
	return oracleCanonical(ref)(base.Parse(ref))
}

func oracleRebase(base *whatwg.Url, href string) *whatwg.Url {
	if len(href) > MaxLength {
		return base
	}
	u, err := base.Parse(href)
	if err != nil || (u.Scheme() != "http" && u.Scheme() != "https") {
		return base
	}
	return u
}

// same compares two results in all fields, offsets and words of errors included.
func same(what string, got URL, err error, want URL, wantErr error) string {
	gotErr, _ := errors.AsType[*Error](err)
	asked, _ := errors.AsType[*Error](wantErr)
	if got != want || (err == nil) != (wantErr == nil) || err != nil && *gotErr != *asked {
		return fmt.Sprintf("%s: got %+v %v, want %+v %v", what, got, err, want, wantErr)
	}
	return ""
}

// diverges says where base, href of a base element, and a reference give another
// result than the oracle; "" if nowhere.
func diverges(base, href, ref string) string {
	for _, raw := range []string{base, href, ref} {
		got, err := Parse(raw)
		want, wantErr := oracleParse(raw)
		if fault := same(fmt.Sprintf("Parse(%q)", raw), got, err, want, wantErr); fault != "" {
			return fault
		}
		fromWant := want
		if wantErr != nil || want.s != raw {
			fromWant = URL{}
		}
		if u, ok := FromCanonical(raw); ok == fromWant.IsZero() || u != fromWant {
			return fmt.Sprintf("FromCanonical(%q): %+v %v", raw, u, ok)
		}
	}
	b, err := NewBase(base)
	oracle, oracleErr := whatwg.Parse(base)
	if len(base) > MaxLength || oracleErr != nil {
		if err == nil {
			return fmt.Sprintf("%q is a base", base)
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("NewBase(%q): %v", base, err)
	}
	for _, rebase := range []string{"", href} {
		b, oracle = b.Rebase(rebase), oracleRebase(oracle, rebase)
		got, err := b.Resolve(ref)
		want, wantErr := oracleResolve(oracle, ref)
		if fault := same(fmt.Sprintf("%q, %q: Resolve(%q)", base, rebase, ref), got, err, want, wantErr); fault != "" {
			return fault
		}
	}
	return ""
}

// TestFastPathTakesTheOrdinary fails if an ordinary link falls back to the slow path.
func TestFastPathTakesTheOrdinary(t *testing.T) {
	base := mustParse(t, "https://www.example.com/a/b?q")
	for _, raw := range []string{
		"http://example.com", "HTTPS://Www.Example.COM/Index.html", "http://h:8080/", "http://h:80", "https://h:443/?q#f", "http://10.1.2.3:81/a",
		"http://h/a/../b/./%2e/c", "http://h/%7Ea%c3%a9%", "http://h/a?b=c&d='e'#f", " http://h/a b\n", "http://a_b.example/{x}", "http://h?q", "http://h#f",
		"http://h/\u00e9?\u00e9#\u00e9", "http://h/a?b\\c",
	} {
		if _, ok := parseFast(raw); !ok {
			t.Errorf("%q takes the slow path", raw)
		}
		if _, ok := resolveFast(&base, raw); !ok {
			t.Errorf("%q takes the slow path as a reference", raw)
		}
	}
	for _, ref := range []string{
		"", "#f", "?r", "?", "c", "c.html", "../c", "./", "/c", "/", "//h/c", "//H:81?x", "c:d/e"[1:], "./a:b", "\tc ", "c?d#e", "1:2", "\u00e9", ";x", "..", "",
	} {
		if _, ok := resolveFast(&base, ref); !ok {
			t.Errorf("%q takes the slow path", ref)
		}
	}
	for _, raw := range []string{"mailto:a@b", "JavaScript:void(0)", "tel:+1", "data:text/plain,x"} {
		if opaqueScheme(raw) == "" {
			t.Errorf("%q takes the slow path", raw)
		}
	}
}

// TestFastPathLeavesTheRest fails if the fast path takes what it has no rules for.
func TestFastPathLeavesTheRest(t *testing.T) {
	base := mustParse(t, "https://www.example.com/a/b?q")
	for _, raw := range []string{
		"http:h", "http:/h", "http:///h", "http://", "http://u@h/", "http://u:p@h/", "http://h:/", "http://h:0/", "http://h:080/", "http://h:65536/", "http://h:8x/",
		"http://h\\a", "http://h/\\a", "http://h/a\tb", "http://h/a?b\nc", "http://h/a#b\rc", "http://1/", "http://1.2.3/", "http://1.2.3.04/",
		"http://1.2.3.256/", "http://a.0x1/", "http://a.-5/", "http://[::1]/", "http://%41/", "http://xn--a/", "http://a.XN--b/", "http://\u00e9/", "http://a..b/",
		"http://a./", "http://.a/", "http://a b/", "ftp://h/", "file:///a", "ws://h/", "http://h/\xff", "http://h/?\xc3", "http://h/#\x80", "ht\ttp://h/",
	} {
		if u, ok := parseFast(raw); ok {
			t.Errorf("%q became %q", raw, u)
		}
		if u, ok := resolveFast(&base, raw); ok && !strings.Contains(raw, "\t") {
			t.Errorf("%q became %q as a reference", raw, u)
		}
	}
	for _, raw := range []string{"a:/b", "a:\t/b", "http:a", "FTP:a", "ws:a", "wss:a", "file:a", "https:", "a", "", ":a", "1a:b"} {
		if scheme := opaqueScheme(raw); scheme != "" {
			t.Errorf("%q: scheme %q", raw, scheme)
		}
	}
}

// TestClassesFollowTheStandard compares the table with the sets of the slow path.
func TestClassesFollowTheStandard(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		for name, set := range map[string]struct {
			encode *whatwg.PercentEncodeSet
			class  uint8
			apart  string // bytes that are not members though they are not encoded
		}{
			"path":     {whatwg.PathPercentEncodeSet, pathByte, "%/\\"},
			"query":    {whatwg.SpecialQueryPercentEncodeSet, queryByte, "%"},
			"fragment": {whatwg.FragmentPercentEncodeSet, fragmentByte, ""},
		} {
			want := !set.encode.ByteShouldBeEncoded(c) && !strings.Contains(set.apart, string(rune(c)))
			if is(c, set.class) != want {
				t.Errorf("%q in %s: %v, want %v", c, name, !want, want)
			}
		}
		if ignored := trim(string(rune(c))) == ""; ignored != !whatwg.C0OrSpacePercentEncodeSet.RuneNotInSet(rune(c)) {
			t.Errorf("%q is trimmed: %v", c, ignored)
		}
	}
}

func TestFromCanonical(t *testing.T) {
	for s, want := range map[string]bool{
		"http://h/": true, "https://h:81/a?b": true, "http://[::1]/": true, "http://xn--mnchen-3ya.de/": true, "http://10.0.0.1/%C3%A9%": true,
		"": false, "a": false, "http://h": false, "http://h/#": false, "http://h/#f": false, "http://h/?": false, "http://H/": false, " http://h/": false,
		"http://h/ ": false, "http://h:80/": false, "http://h/%7e": false, "http://h/%c3": false, "http://h/./": false, "http://h/ a": false,
		"http://u@h/": false, "http://h/\u00e9": false, "mailto:a@b": false, "http://h/" + strings.Repeat("a", MaxLength): false,
	} {
		u, ok := FromCanonical(s)
		if ok != want || ok && u != mustParse(t, s) || !ok && !u.IsZero() {
			t.Errorf("%.40q: %+v %v, want %v", s, u, ok, want)
		}
	}
}

// TestConformanceOfFastPath runs all inputs and bases of the standard's cases, the
// failing ones too, through both paths.
func TestConformanceOfFastPath(t *testing.T) {
	fast := 0
	for _, c := range cases[urlCase](t, "urltestdata.json") {
		base := "http://u:p@h.example:81/%41/%/b?q#f"
		if c.Base != nil {
			base = *c.Base
		}
		if fault := diverges(base, c.Href, c.Input); fault != "" {
			t.Error(fault)
		}
		if _, ok := parseFast(c.Href); ok {
			fast++
		}
	}
	if fast < 150 {
		t.Errorf("only %d results are ordinary URLs", fast)
	}
}

// pieces are what URLs are made of, and what makes them go wrong.
var pieces = []string{
	"a", "B", "c1", "index.html", "/", "/", "//", "..", ".", "...", "%2e", "%2E.", "%41", "%7e", "%c3%a9", "%", "%%", "%4", "4", "1", "%31", "%2f", "\u00e9", "\u20ac",
	"\ufffd", "\xff", "\xc3", "?", "?", "#", "#", ":", "@", "\\", " ", "\t", "\n", "\x00", "\x7f", "[", "]", "{", "}", "'", "\"", "|", "^", "`", "<", ">", "80", "443",
	":80", ":8080", ":65535", ":65536", ":0", "xn--", "0x7f", "1.2.3.4", "01.2.3.4", ".5", ".-5", "_", "-", ";", "&a=b", "+", "$", "~", "*",
}

func urlLike() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		start := rapid.SampledFrom([]string{
			"http://h", "https://www.Example.com", "http://h/", "HTTPS://h:443/a/", "http://", "//h/", "//", "/", "", "", "../", "?", "#", "http:", "https:/",
			"http://10.0.0.1/", "http://u:p@h/", "mailto:", "ftp://h/", "about:blank", "file:///", " http://h/a", "javascript:", "x:/",
		}).Draw(t, "start")
		return start + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 10).Draw(t, "pieces"), "")
	})
}

func TestFastPathIsTheSlowPath(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		g := urlLike()
		if fault := diverges(g.Draw(t, "base"), g.Draw(t, "href"), g.Draw(t, "ref")); fault != "" {
			t.Fatal(fault)
		}
	})
}

// TestLongest goes to the limit of length from both sides, by what makes a URL
// longer and what makes it shorter.
func TestLongest(t *testing.T) {
	dir := strings.Repeat("d", 2000)
	for _, base := range []string{"http://h/a", "http://h/" + dir + "/e?q", "http://h/" + strings.Repeat("\u00e9", 1500)} {
		for _, c := range []struct {
			part, end string
			length    int // of a part in the result
		}{{"a", "", 1}, {"a", "?q", 1}, {"a", "?", 1}, {"a", "#f", 1}, {" ", "#", 3}, {"\u00e9", "?\u00e9#\u00e9", 6}, {"a/../", "", 0}, {"%41", "?", 1}, {"?", "", 1}} {
			for _, room := range []int{MaxLength, MaxLength - len(base), MaxLength - len("http://h/"), MaxLength - len("http://h/"+dir+"/")} {
				n := room / max(c.length, len(c.part))
				for count := max(n-3, 0); count <= n+1; count++ {
					if fault := diverges(base, "", strings.Repeat(c.part, count)+c.end); fault != "" {
						t.Fatalf("%d times %q with %q at %.20q: %.300s", count, c.part, c.end, base, fault)
					}
				}
			}
		}
	}
}

func mustBase(raw string) Base {
	b, err := NewBase(raw)
	if err != nil {
		panic(err)
	}
	return b
}

// TestResolveOwnsItsMemory: a link must not keep the page that it stands on.
func TestResolveOwnsItsMemory(t *testing.T) {
	base := mustBase("http://h/")
	for _, ref := range []string{"http://h/a?b#c", "http://h/a", "/a#c", "#c"} {
		u, err := base.Resolve(ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{u.s, u.fragment} {
			for i := range len(ref) {
				if part != "" && unsafe.StringData(part) == unsafe.StringData(ref[i:]) {
					t.Errorf("%q in the result of %q is a part of it", part, ref)
				}
			}
		}
	}
	const s = "http://h/a?b"
	if u := mustParse(t, s); unsafe.StringData(u.s) != unsafe.StringData(s) {
		t.Errorf("Parse copies %q", s)
	}
}

func TestAllocations(t *testing.T) {
	const canonicalURL, ordinary = "https://www.example.com/some/path?with=query", "HTTPS://www.example.com/some/../path?with=query#fragment"
	base := mustBase(canonicalURL)
	u := mustParse(t, canonicalURL)
	long := "https://www.example.com" + strings.Repeat("/long", 300)
	unusual := strings.ToUpper(long[:8]) + long[8:]
	tail := long[len("https://www.example.com"):] + "#f"
	for name, c := range map[string]struct {
		most float64
		do   func()
	}{
		"Parse canonical":   {0, func() { _, _ = Parse(canonicalURL) }},
		"Parse fragment":    {0, func() { _, _ = Parse(canonicalURL + "#f") }},
		"Parse ordinary":    {1, func() { _, _ = Parse(ordinary) }},
		"Parse long":        {1, func() { _, _ = Parse(long) }},
		"Parse unusual":     {2, func() { _, _ = Parse(unusual) }},
		"Resolve long":      {3, func() { _, _ = base.Resolve(tail) }},
		"FromCanonical":     {0, func() { FromCanonical(canonicalURL) }},
		"NewBase":           {0, func() { _, _ = NewBase(canonicalURL) }},
		"Resolve absolute":  {2, func() { _, _ = base.Resolve(ordinary) }},
		"Resolve relative":  {1, func() { _, _ = base.Resolve("../a/b?c") }},
		"Resolve fragment":  {1, func() { _, _ = base.Resolve("#top") }},
		"Resolve empty":     {0, func() { _, _ = base.Resolve("") }},
		"Resolve with both": {2, func() { _, _ = base.Resolve("/a?b#c") }},
		"Resolve mailto":    {1, func() { _, _ = base.Resolve("mailto:a@b.example") }},
		"Key":               {0, func() { u.Key() }},
		"HostKey":           {0, func() { u.HostKey() }},
	} {
		if n := testing.AllocsPerRun(100, c.do); n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, c.most)
		}
	}
}

func FuzzFastPath(f *testing.F) {
	for _, s := range [][3]string{
		{"http://h/a/b?q#f", "sub/", "../c?d#e"}, {"https://H:443/%/", "%41", "%2e%2E/%"}, {"about:blank", "#x", "//h"}, {"http://u:p@h:81", "?", "http:c"},
		{"http://10.0.0.1/", "mailto:a", "a:b"}, {"http://a.-5/", "http://1.2.3.04", "http://xn--a"}, {"ftp://h/", "\\\\h", "/\t/h"},
		{"http://h/%4/%31", "./%/%2e/%41", "%?%41#%"}, {"http://h/\u00e9", "\xff", "{`^'\"<>|}?{`^'\"<>|}#{`^'\"<>|}"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, base, href, ref string) {
		if fault := diverges(base, href, ref); fault != "" {
			t.Fatal(fault)
		}
		if u, err := Parse(ref); err == nil {
			if fault := checkCanonical(u); fault != "" {
				t.Fatalf("%q became %q: %s", ref, u, fault)
			}
		}
	})
}
