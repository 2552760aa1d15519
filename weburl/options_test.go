package weburl

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

var everyOption = Options{DropWWW: true, DropSessionIDs: true, DropTracking: true, SortQuery: true}

func TestOptions(t *testing.T) {
	www, session, tracking, sorted := Options{DropWWW: true}, Options{DropSessionIDs: true}, Options{DropTracking: true}, Options{SortQuery: true}
	for _, tt := range []struct {
		options   Options
		raw, want string
	}{
		{Options{}, "http://www.h.x/;jsessionid=1?sid=1&utm_a=1&a=1", "http://www.h.x/;jsessionid=1?sid=1&utm_a=1&a=1"},

		{www, "http://www.h.example/a?b#c", "http://h.example/a?b"},
		{www, "https://WWW.h.example:8443/", "https://h.example:8443/"},
		{www, "http://www.www.h.example/", "http://h.example/"},
		{www, "http://www.com/", "http://www.com/"},
		{www, "http://www.com./", "http://www.com./"},
		{www, "http://www.www.com/", "http://www.com/"},
		{www, "http://www/", "http://www/"},
		{www, "http://www2.h.example/", "http://www2.h.example/"},
		{www, "http://www..h.example/", "http://www..h.example/"},
		{www, "http://a.www.h.example/", "http://a.www.h.example/"},
		{www, "http://www.münchen.example/", "http://xn--mnchen-3ya.example/"},
		{www, "http://h.example/www.h.example", "http://h.example/www.h.example"},

		{session, "http://h/a;jsessionid=0F3.node1", "http://h/a"},
		{session, "http://h/a;JSessionID=1?b=2", "http://h/a?b=2"},
		{session, "http://h/a;jsessionid=1/b;v=2;jsessionid=3;w=4", "http://h/a/b;v=2;w=4"},
		{session, "http://h/;jsessionid=1", "http://h/"},
		{session, "http://h/a;jsessionid", "http://h/a;jsessionid"},
		{session, "http://h/a;xjsessionid=1", "http://h/a;xjsessionid=1"},
		{session, "http://h/a/..;jsessionid=1/b", "http://h/a/..;jsessionid=1/b"},
		{session, "http://h/a/.;jsessionid=1", "http://h/a/.;jsessionid=1"},
		{session, "http://h/a/..;jsessionid=1;jsessionid=2", "http://h/a/..;jsessionid=1;jsessionid=2"},
		{session, "http://h/a/..;b;jsessionid=1/c;jsessionid=2", "http://h/a/..;b;jsessionid=1/c"},
		{session, "http://h/x;jsessionid=%/%41", "http://h/x;jsessionid=%/%41"},
		{session, "http://h/?jsessionid=1", "http://h/"},
		{session, "http://h/?a=1&PHPSESSID=2&b=3", "http://h/?a=1&b=3"},
		{session, "http://h/?sid=1&SID=2&Sid&side=3&asid=4", "http://h/?side=3&asid=4"},
		{session, "http://h/?ASPSESSIONIDQQABCD=1&aspsessionid=2&a", "http://h/?a"},
		{session, "http://h/?%73id=1&a=%73id", "http://h/?a=sid"},
		{session, "http://h/?b&a&utm_source=x", "http://h/?b&a&utm_source=x"},
		{session, "http://h/?&sid=1", "http://h/"},
		{session, "http://h/?sid=1&&", "http://h/?&"},

		{tracking, "http://h/?utm_source=a&UTM_x=b&utm_=c&utm=d&id=1", "http://h/?utm=d&id=1"},
		{tracking, "http://h/?gclid=1&fbclid=2&mc_cid=3&mc_eid=4&mc_id=5", "http://h/?mc_id=5"},
		{tracking, "http://h/?gclid=%zz&sid=1", "http://h/?gclid=%zz&sid=1"},

		{sorted, "http://h/?b=1&a=2", "http://h/?a=2&b=1"},
		{sorted, "http://h/?b&a=2&a=1&a&B", "http://h/?B&a=2&a=1&a&b"},
		{sorted, "http://h/?b&a=9&a=8&a=7&a=6&a=5&a=4&a=3&a=2&a=1&b=5&b=4&b=3&b=2&b=1", "http://h/?a=9&a=8&a=7&a=6&a=5&a=4&a=3&a=2&a=1&b&b=5&b=4&b=3&b=2&b=1"},
		{sorted, "http://h/?a=1&a-b=2&a", "http://h/?a=1&a&a-b=2"},
		{sorted, "http://h/?b%&%41=1", "http://h/?b%&%41=1"},

		{everyOption, "http://www.h.example/b;jsessionid=9?z=1&sid=3&utm_a=1&c=2&gclid=7", "http://h.example/b?c=2&z=1"},
	} {
		u := mustParse(t, tt.raw)
		got := tt.options.Apply(u)
		if got.String() != tt.want || got.Fragment() != u.Fragment() {
			t.Errorf("%+v on %s: %s, want %s", tt.options, tt.raw, got, tt.want)
		}
		if fault := checkApplied(tt.options, u, got); fault != "" {
			t.Errorf("%+v on %s: %s", tt.options, tt.raw, fault)
		}
	}
	if !everyOption.Apply(URL{}).IsZero() {
		t.Error("the zero URL became one")
	}
}

// checkApplied says what no option may break.
func checkApplied(o Options, u, got URL) string {
	if fault := checkCanonical(got); fault != "" {
		return fault
	}
	again, err := Parse(got.String())
	again.fragment = got.fragment
	switch {
	case err != nil || again != got:
		return "parsed again it has other parts"
	case o.Apply(got) != got:
		return "not idempotent: " + o.Apply(got).String()
	case len(got.String()) > len(u.String()):
		return "longer than before"
	case got.Scheme() != u.Scheme() || got.Port() != u.Port():
		return "scheme or port have changed"
	}
	return ""
}

// plain does the same on the plain way, for URLs without stray '%' and dot segments.
type plain struct{ www, path, session, tracking *regexp.Regexp }

func newPlain() plain {
	return plain{
		www:      regexp.MustCompile(`^(https?://)(?:www\.)+([^./:]+\.[^./:])`),
		path:     regexp.MustCompile(`(?i);jsessionid=[^;/]*`),
		session:  regexp.MustCompile(`(?i)^(jsessionid|phpsessid|sid|aspsessionid[^=]*)(=|$)`),
		tracking: regexp.MustCompile(`(?i)^(utm_[^=]*|gclid|fbclid|mc_cid|mc_eid)(=|$)`),
	}
}

func (p plain) apply(o Options, raw string) string {
	if o.DropWWW {
		raw = p.www.ReplaceAllString(raw, "$1$2")
	}
	raw, query, _ := strings.Cut(raw, "?")
	if o.DropSessionIDs {
		raw = p.path.ReplaceAllString(raw, "")
	}
	var pairs []string
	for _, pair := range strings.Split(query, "&") {
		if o.DropSessionIDs && p.session.MatchString(pair) || o.DropTracking && p.tracking.MatchString(pair) {
			continue
		}
		pairs = append(pairs, pair)
	}
	if o.SortQuery {
		slices.SortStableFunc(pairs, func(a, b string) int {
			a, _, _ = strings.Cut(a, "=")
			b, _, _ = strings.Cut(b, "=")
			return strings.Compare(a, b)
		})
	}
	if query = strings.Join(pairs, "&"); query != "" {
		raw += "?" + query
	}
	return raw
}

func drawOptions(t *rapid.T) Options {
	b := rapid.Bool()
	return Options{b.Draw(t, "www"), b.Draw(t, "session"), b.Draw(t, "tracking"), b.Draw(t, "sort")}
}

func TestOptionsKeepTheCanonicalForm(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		";jsessionid=", ";JSESSIONID=1", "sid=", "PHPSESSID=2", "aspsessionidX", "utm_x=1", "gclid", "fbclid=", "mc_cid=1", "mc_eid=2",
		"a", "b", "&", "&", "=", "/", ".", "..", ";", "?", "%41", "%C3%A9", "#f",
	})
	stray := rapid.SampledFrom([]string{"%", "%4", "%%34"})
	oracle := newPlain()
	seeded.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(piece, 0, 14).Draw(t, "pieces")
		strays := rapid.Bool().Draw(t, "strays")
		if strays {
			pieces = rapid.SliceOfN(rapid.OneOf(piece, stray), 0, 14).Draw(t, "with strays")
		}
		start := rapid.SampledFrom([]string{"http://www.h.example/", "https://www.www.h.x:81/", "http://www.com/?", "http://h/?"}).Draw(t, "start")
		u, err := Parse(start + strings.Join(pieces, ""))
		if err != nil {
			return
		}
		o := drawOptions(t)
		got := o.Apply(u)
		if fault := checkApplied(o, u, got); fault != "" {
			t.Fatalf("%+v made %s of %s: %s", o, got, u, fault)
		}
		if want := oracle.apply(o, u.String()); !strays && !strings.Contains(u.Path(), ".") && got.String() != want {
			t.Fatalf("%+v made %s of %s, want %s", o, got, u, want)
		}
	})
}

// What a server reads out of the query is the same, except for what was dropped.
func TestOptionsKeepOtherParameters(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`(a|b|sid|utm_x|é)=[ab%é&=+ ]{0,4}`), 0, 6).Draw(t, "values")
		var query []string
		for _, v := range values {
			name, value, _ := strings.Cut(v, "=")
			query = append(query, url.QueryEscape(name)+"="+url.QueryEscape(value))
		}
		u, err := Parse("http://h/?" + strings.Join(query, "&"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := url.ParseQuery(u.Query())
		if err != nil {
			t.Fatal(err)
		}
		want.Del("sid")
		want.Del("utm_x")
		if got, err := url.ParseQuery(everyOption.Apply(u).Query()); err != nil || got.Encode() != want.Encode() {
			t.Fatalf("%s: %v, want %v", u, got, want)
		}
	})
}

func TestOptionsFingerprint(t *testing.T) {
	if got := (Options{}).Fingerprint(); got != "" {
		t.Errorf("none: %q", got)
	}
	if got := everyOption.Fingerprint(); got != "1 www session tracking sort" {
		t.Errorf("all: %q: stores would be gone through again", got)
	}
	seen := map[string]bool{}
	for i := range 16 {
		seen[Options{i&1 > 0, i&2 > 0, i&4 > 0, i&8 > 0}.Fingerprint()] = true
	}
	if len(seen) != 16 {
		t.Errorf("%d fingerprints for 16 sets of options", len(seen))
	}
}

func TestOptionsAllocateNothingForNothing(t *testing.T) {
	for _, raw := range []string{stored, "http://h.example/", "http://h/a;v=1/b?a=1&b=2&c=3", "http://h/?a=2&a=1", "http://www.com/a?x"} {
		u := mustParse(t, raw)
		o := everyOption
		o.SortQuery = raw != stored // its query is in no order
		o.DropWWW = raw != stored
		if n := testing.AllocsPerRun(100, func() { o.Apply(u) }); n != 0 || o.Apply(u) != u {
			t.Errorf("%s: %v allocations, %s", raw, n, o.Apply(u))
		}
	}
	u := mustParse(t, "http://www.h.example/b;jsessionid=9?a=1")
	if n := testing.AllocsPerRun(100, func() { everyOption.Apply(u) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzOptions(f *testing.F) {
	for _, s := range []string{
		"http://www.h.example/a;jsessionid=1/..;jsessionid=2?sid=1&b&a=%41", "http://www.www.com./%;jsessionid=%4?utm_=%&%41",
		"http://h/?&&sid&=&a", "http://h/;jsessionid=;jsessionid=;", "http://www..x/?b%&a",
	} {
		f.Add(s, uint8(15))
	}
	f.Fuzz(func(t *testing.T, raw string, on uint8) {
		u, err := Parse(raw)
		if err != nil {
			return
		}
		o := Options{on&1 > 0, on&2 > 0, on&4 > 0, on&8 > 0}
		if fault := checkApplied(o, u, o.Apply(u)); fault != "" {
			t.Fatalf("%+v made %q of %q: %s", o, o.Apply(u), u, fault)
		}
	})
}

func BenchmarkOptions(b *testing.B) {
	b.Run("off", func(b *testing.B) {
		u := mustParse(b, stored)
		b.ReportAllocs()
		for b.Loop() {
			Options{}.Apply(u)
		}
	})
	for name, raw := range map[string]string{
		"no query":  "https://docs.example.com/some/path/to/a/page.html",
		"clean":     "https://docs.example.com/some/path/page.html?a=string&of=ninety&query=x&with=y",
		"www":       "https://www.example.com/some/path/to/a/page.html",
		"session":   "https://docs.example.com/some/page.jsp;jsessionid=0F3A9C?x=1",
		"tracking":  "https://docs.example.com/some/page.html?utm_source=a&utm_medium=b&x=1",
		"unordered": "https://docs.example.com/some/page.html?with=a&query=string&of=ninety",
	} {
		u := mustParse(b, raw)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				everyOption.Apply(u)
			}
		})
	}
}
