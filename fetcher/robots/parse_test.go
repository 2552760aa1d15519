package robots

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jimsmart/grobotstxt"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/weburl"
)

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestMatches(t *testing.T) {
	tests := []struct {
		pattern, target string
		want            bool
	}{
		{"/", "/", true}, {"/", "/a", true}, {"/a", "/", false}, {"/a$", "/a", true}, {"/a$", "/ab", false},
		{"/*", "/", true}, {"*", "/", true}, {"*$", "/x", true}, {"/*a$", "/ba", true}, {"/*a$", "/bab", false},
		{"/*a*$", "/bab", true}, {"/a*a$", "/a", false}, {"/a*a$", "/aa", true}, {"/a*b*c", "/axxbxxc", true},
		{"/a*b*c", "/axxcxxb", false}, {"/$a", "/$a", true}, {"$", "/", false}, {"/**", "/", true}, {"/a$b$", "/a$b", true},
	}
	for _, tt := range tests {
		p := newPattern(tt.pattern)
		if got := p.matches(tt.target); got != tt.want {
			t.Errorf("%q on %q: %v", tt.pattern, tt.target, got)
		}
	}
}

// Where two URLs are one to the crawler, they are one to the rules.
func TestCanonicalForms(t *testing.T) {
	const text = `
User-agent: tilde
Disallow: /
Allow: /%7Euser/
User-agent: braces
Disallow: /{id}
Disallow: /a b
User-agent: hex
Disallow: /%c3%a9
User-agent: raw
Disallow: /é
User-agent: query
Disallow: /*?
User-agent: emptyquery
Disallow: /p%41?
User-agent: dots
Disallow: /%41/..
User-agent: reserved
Disallow: /a%2fb
`
	rules := Parse([]byte(text))
	tests := []struct {
		agent, path string
		want        bool
	}{
		{"tilde", "/~user/x", true}, {"tilde", "/%7euser/x", true}, {"tilde", "/other", false},
		{"braces", "/{id}/x", false}, {"braces", "/%7Bid%7D", false}, {"braces", "/id", true}, {"braces", "/a%20b", false},
		{"hex", "/%C3%A9", false}, {"hex", "/é", false}, {"hex", "/e", true},
		{"raw", "/%c3%a9", false}, {"raw", "/é", false},
		{"query", "/a?b", false}, {"query", "/a", true},
		{"emptyquery", "/pA", true},
		{"dots", "/B", true},
		{"reserved", "/a%2Fb", false}, {"reserved", "/a/b", true},
	}
	for _, tt := range tests {
		if got := rules.Allowed(tt.agent, mustURL(t, "http://h.test"+tt.path)); got != tt.want {
			t.Errorf("%s %s: allowed %v", tt.agent, tt.path, got)
		}
	}
}

// TestCrawlDelays: a delay is for the agents named just above it, though rules below make
// one group of them and others.
func TestCrawlDelays(t *testing.T) {
	for _, tt := range []struct {
		text  string
		agent string
		want  time.Duration
		open  bool // /private
	}{
		{"User-agent: Yandex\nCrawl-delay: 500\n\nUser-agent: *\nDisallow: /private", "Sextant", 0, false},
		{"User-agent: Yandex\nCrawl-delay: 500\n\nUser-agent: *\nDisallow: /private", "yandex", 500 * time.Second, false},
		{"User-agent: a\nUser-agent: Sextant\nCrawl-delay: 5\nUser-agent: *\nDisallow: /private\nCrawl-delay: 7", "Sextant", 5 * time.Second, false},
		{"User-agent: a\nUser-agent: Sextant\nCrawl-delay: 5\nUser-agent: *\nDisallow: /private\nCrawl-delay: 7", "other", 7 * time.Second, false},
		{"User-agent: *\nDisallow: /private\nCrawl-delay: 3\nUser-agent: b\nCrawl-delay: 9", "Sextant", 3 * time.Second, false},
		{"User-agent: *\nCrawl-delay: 3\nCrawl-delay: 4", "Sextant", 4 * time.Second, true},
		{"User-agent: Sextant\nDisallow:\nUser-agent: *\nCrawl-delay: 3", "Sextant", 0, true},
		{"Crawl-delay: 3\nUser-agent: *\nDisallow: /private", "Sextant", 0, false},
	} {
		r := Parse([]byte(tt.text))
		if got := r.CrawlDelay(tt.agent); got != tt.want || r.AllowedTarget(tt.agent, "/private") != tt.open {
			t.Errorf("%q: %s waits %v and may %v, want %v and %v", tt.text, tt.agent, got, !tt.open, tt.want, tt.open)
		}
	}
}

func TestDirectives(t *testing.T) {
	const text = "\ufeffSitemap: http://a.test/1.xml#x\r\n" + `
User-agent: Sextant
User-agent: other
Crawl-delay: 2.5
Disallow: /private

user-agent: *
crawl-delay: 10
disallow: /
sitemap:/2.xml
site-map : http://b.test/3.xml

User-agent: sextant/2.0 (news)
Crawl-delay: 7
Allow: /private/open

User-agent: eager
Disallow:
Crawl-delay: soon
Crawl-delay: -1
Crawl-delay: NaN
Crawl-delay: 1e300`
	r := Parse([]byte(text))
	if d := cmp.Diff([]string{"http://a.test/1.xml", "/2.xml", "http://b.test/3.xml"}, r.Sitemaps()); d != "" {
		t.Errorf("sitemaps (-want +got):\n%s", d)
	}
	for agent, want := range map[string]time.Duration{
		"sextant": 7 * time.Second, "SEXTANT": 7 * time.Second, "other": 2500 * time.Millisecond,
		"unnamed": 10 * time.Second, "eager": 24 * time.Hour, "": 10 * time.Second,
	} {
		if got := r.CrawlDelay(agent); got != want {
			t.Errorf("crawl delay of %q: %v, want %v", agent, got, want)
		}
	}
	for _, tt := range []struct {
		agent, path string
		want        bool
	}{
		{"Sextant", "/", true}, {"Sextant", "/private/x", false}, {"Sextant", "/private/open/x", true},
		{"other", "/private/open/x", false}, {"unnamed", "/x", false}, {"unnamed", "/robots.txt", true}, {"eager", "/x", true},
	} {
		if got := r.Allowed(tt.agent, mustURL(t, "http://h.test"+tt.path)); got != tt.want {
			t.Errorf("%s %s: allowed %v", tt.agent, tt.path, got)
		}
	}
}

func TestSizeLimit(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("User-agent: *\n")
	for b.Len() < MaxBytes-30 {
		b.WriteString("Disallow: /filler/\n")
	}
	b.WriteString("Disallow: /private/" + strings.Repeat("x", 100) + "\nDisallow: /late\n")
	r := Parse(b.Bytes())
	for path, want := range map[string]bool{"/filler/x": false, "/private/": true, "/p": true, "/late": true} {
		if got := r.Allowed("Sextant", mustURL(t, "http://h.test"+path)); got != want {
			t.Errorf("%s: allowed %v", path, got)
		}
	}
}

// Google's parser, ported by others, is the oracle for what we do not do better
// (its digits in percent-encodings, and user agents with more than letters).
func TestAgainstPort(t *testing.T) {
	word := rapid.SampledFrom([]string{"/", "a", "b", "*", "$", "?", "/index.htm", "/index.html", "%AA", "é", " ", "#", "."})
	pattern := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), "") })
	line := rapid.Custom(func(t *rapid.T) string {
		key := rapid.SampledFrom([]string{"Allow", "Disallow", "disalow", "ALLOW", "allowed", "Sitemap", "Crawl-delay", "junk", ""}).Draw(t, "key")
		if rapid.Bool().Draw(t, "agent") {
			return "User-agent" + rapid.SampledFrom([]string{": ", " ", ":"}).Draw(t, "sep") +
				rapid.SampledFrom([]string{"foo", "bar", "*", "* x", "*x", "Foo x", ""}).Draw(t, "name")
		}
		return key + rapid.SampledFrom([]string{": ", ":", " ", "\t:"}).Draw(t, "sep") + pattern.Draw(t, "pattern")
	})
	seeded.Check(t, func(t *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r", "\r\n"}).Draw(t, "eol")
		text := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), eol)
		target := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"/", "a", "b", "?", "$", "%AA", "index.html"}), 0, 6).Draw(t, "target"), "")
		agent := rapid.SampledFrom([]string{"foo", "bar", "other"}).Draw(t, "agent")
		want := grobotstxt.AgentAllowed(text, agent, "http://h"+target)
		if got := Parse([]byte(text)).AllowedTarget(agent, target); got != want {
			t.Fatalf("%q for %s: allowed %v, want %v, by\n%q", target, agent, got, want, text)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "User-agent: *\nDisallow: /", "user-agent foo\rallow: /*.php$\r\ndisallow /", "\xef\xbbUser-agent: a\nDisallow: /%c3\xa9%",
		"User-agent: *\nDisallow: /a%41?\nAllow: /index.htm", "crawl-delay: 1\nuser-agent:*\ncrawl-delay: 1e999", "Disallow: //[\nUser-agent:\n:",
	} {
		f.Add([]byte(s), "/a/b?c")
	}
	f.Fuzz(func(t *testing.T, body []byte, target string) {
		r := Parse(body)
		if r.AllowedTarget("none", target) != Parse(body).AllowedTarget("NONE", target) {
			t.Error("the case of the agent decides")
		}
		if d := r.CrawlDelay("*"); d < 0 || d > maxCrawlDelay {
			t.Errorf("crawl delay %v", d)
		}
		if u, err := weburl.Parse("http://h.test" + target); err == nil {
			r.Allowed("Sextant", u)
		}
		o := ParseOriginal(body)
		if o.AllowedTarget("none", target) != o.AllowedTarget("NONE", target) || o.CrawlDelay("*") > maxCrawlDelay {
			t.Error("by the text of 1994 the case of the agent decides, or the crawl delay is too long")
		}
		if r.stricter("none", r) || o.stricter("none", o) {
			t.Error("stricter than itself")
		}
		if len(r.Sitemaps()) > 0 && !bytes.Contains(bytes.ToLower(body), []byte("map")) {
			t.Error("sitemaps out of nothing")
		}
	})
}
