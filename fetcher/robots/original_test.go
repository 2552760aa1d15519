package robots

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func TestOriginal(t *testing.T) {
	const text = "\ufeff# robots.txt for http://www.example.com/\r\n" + `
User-agent: webcrawler/3.0	# of whatever version
Disallow:

User-agent: Sext
# a comment alone ends no record
Crawl-delay: 2
Disallow: /private # the rest is comment
Disallow: /a*b
Disallow: /end$
Disallow: /%7Euser
Disallow: /q?x
Allow: /private/open
Disalow: /misspelt
Sitemap: /s.xml

Disallow: /of-no-record

User-agent: sextant
Disallow: /never: an earlier record names it

User-agent: first
USER-AGENT: Second
DISALLOW: /both
User-agent: third
Disallow: /third

User-agent: empty

User-agent: slow
Crawl-delay: 9

User-agent:
Disallow: /nobody

User-agent: *
Disallow: /

User-agent: *
Disallow: /second-default
`
	r := ParseOriginal([]byte(text))
	for _, tt := range []struct {
		agent, path string
		want        bool
	}{
		{"WebCrawler", "/any", true}, {"WebCrawler-news", "/any", true},
		{"Sextant", "/", true}, {"sextant", "/private", false}, {"SEXTANT", "/private/open", false}, {"Sextant", "/privates", false},
		{"Sextant", "/a*b", false}, {"Sextant", "/axb", true}, {"Sextant", "/end$", false}, {"Sextant", "/end", true},
		{"Sextant", "/~user/x", false}, {"Sextant", "/q?xy", false}, {"Sextant", "/q", true},
		{"Sextant", "/misspelt", true}, {"Sextant", "/of-no-record", true}, {"Sextant", "/never", true},
		{"Sex", "/private", false}, // the default's
		{"First", "/both", false}, {"second", "/both", false}, {"first", "/third", true}, {"third", "/third", false}, {"third", "/both", true},
		{"empty", "/x", false}, {"slow", "/x", true}, {"other", "/x", false}, {"other", "/robots.txt", true}, {"", "/x", false},
	} {
		if got := r.Allowed(tt.agent, mustURL(t, "http://h.test"+tt.path)); got != tt.want {
			t.Errorf("%s %s: allowed %v", tt.agent, tt.path, got)
		}
	}
	if d := r.CrawlDelay("Sextant"); d != 2*time.Second {
		t.Errorf("crawl delay %v", d)
	}
	if d := cmp.Diff([]string{"/s.xml"}, r.Sitemaps()); d != "" {
		t.Errorf("sitemaps: %s", d)
	}
	if r := ParseOriginal(nil); !r.Allowed("Sextant", mustURL(t, "http://h.test/")) {
		t.Error("an empty file forbids something")
	}
}

// Without what the two texts see differently, they agree.
func TestOriginalAgreesWithRFC(t *testing.T) {
	path := rapid.StringMatching(`/[ab]{0,3}/?`)
	seeded.Check(t, func(t *rapid.T) {
		text := ""
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"foo", "bar", "*"}), 0, 3, rapid.ID[string]).Draw(t, "agents") {
			text += "User-agent: " + name + "\n"
			for range rapid.IntRange(1, 3).Draw(t, "rules") {
				text += "Disallow: " + rapid.OneOf(path, rapid.Just("")).Draw(t, "path") + "\n"
			}
			text += rapid.SampledFrom([]string{"\n", "\r\n\r\n", "# x\n\n"}).Draw(t, "end")
		}
		agent, target := rapid.SampledFrom([]string{"Foo", "bar", "other"}).Draw(t, "agent"), path.Draw(t, "target")
		if got, want := ParseOriginal([]byte(text)).AllowedTarget(agent, target), Parse([]byte(text)).AllowedTarget(agent, target); got != want {
			t.Fatalf("%s for %s: %v, by RFC 9309 %v, by\n%s", target, agent, got, want, text)
		}
	})
}

func TestEncodings(t *testing.T) {
	// Euro signs take two bytes of UTF-16 and three of UTF-8.
	utf16 := func(bigEndian bool, text string) []byte {
		out := []byte("\xff\xfe")
		for _, r := range text { // of the basic plane
			out = append(out, byte(r), byte(r>>8))
		}
		for i := 0; bigEndian && i < len(out); i += 2 {
			out[i], out[i+1] = out[i+1], out[i]
		}
		return out
	}
	const text = "User-agent: *\r\nDisallow: /caf\u00e9\r\n"
	for name, body := range map[string][]byte{
		"UTF-8": []byte(text), "with BOM": []byte("\ufeff" + text), "with half a BOM": []byte("\xef\xbb" + text),
		"UTF-16LE": utf16(false, text), "UTF-16BE": utf16(true, text), "UTF-16 and an odd byte": append(utf16(false, text), 'x'),
		"Latin-1": []byte("User-agent: *\nDisallow: /caf\xe9"),
	} {
		for _, r := range []*Rules{Parse(body), ParseOriginal(body), Parse([]byte(Parse(body).text))} {
			forbidden := "http://h.test/caf%C3%A9"
			if name == "Latin-1" {
				forbidden = "http://h.test/caf%E9"
			}
			if r.Allowed("Sextant", mustURL(t, forbidden)) || !r.Allowed("Sextant", mustURL(t, "http://h.test/cafe")) {
				t.Errorf("%s is not read", name)
			}
		}
	}
	long := Parse(utf16(false, "User-agent: *\n"+strings.Repeat("#"+strings.Repeat("\u20ac", 30)+"\n", MaxBytes/64)))
	if n := len(long.text); n > MaxBytes || n < MaxBytes-100 || long.text[n-1] != '\n' {
		t.Errorf("%d bytes are kept, to the end %q", n, long.text[n-20:])
	}
	cut := parse(utf16(false, "User-agent: *\nDisallow: /a\nDisallow: /b"), true, false)
	if cut.Allowed("x", mustURL(t, "http://h.test/a")) || !cut.Allowed("x", mustURL(t, "http://h.test/b")) {
		t.Error("a line that was cut is read, or one before it is not")
	}
}
