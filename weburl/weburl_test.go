package weburl

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func mustParse(t testing.TB, raw string) URL {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCanonicalForm(t *testing.T) {
	for raw, want := range map[string]string{
		"HTTP://EXAMPLE.com":                "http://example.com/",
		"http://münchen.de/":                "http://xn--mnchen-3ya.de/",
		"http://h:80/":                      "http://h/",
		"https://h:443/":                    "https://h/",
		"https://h:80/":                     "https://h:80/",
		"http://h/a#f":                      "http://h/a",
		"http://h/a?":                       "http://h/a",
		"http://h/a?#f":                     "http://h/a",
		"http://user:pass@h/":               "http://h/",
		"http://h/a/./b/../c":               "http://h/a/c",
		"http://h/a/b/..":                   "http://h/a/",
		"http://h/a/.":                      "http://h/a/",
		"http://h/a/%2e%2E/c":               "http://h/c",
		"http://h/%7Euser/%c3%a9/%2f/%41":   "http://h/~user/%C3%A9/%2F/A",
		"http://h/?a=%7e%2d&b=%26":          "http://h/?a=~-&b=%26",
		"http://h/é b":                      "http://h/%C3%A9%20b",
		"http://h\\a\\b":                    "http://h/a/b",
		" http://h/a\n ":                    "http://h/a",
		"http://0x7f.1/":                    "http://127.0.0.1/",
		"http://[0:0:0:0:0:0:0:1]/":         "http://[::1]/",
		"http://h/%":                        "http://h/%",
		"http://h/%%34%31":                  "http://h/%%341",
		"http://h/%4%31":                    "http://h/%4%31",
		"http://h//a//":                     "http://h//a//",
		"http://h/a;jsessionid=1?B=2&A=1&A": "http://h/a;jsessionid=1?B=2&A=1&A",
	} {
		u, err := Parse(raw)
		if err != nil || u.String() != want {
			t.Errorf("%q: %q %v, want %q", raw, u, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	long := "http://h/" + strings.Repeat("a", MaxLength-len("http://h/"))
	for raw, want := range map[string]error{
		"": ErrMalformed, "h/a": ErrMalformed, "//h/a": ErrMalformed, "http://": ErrMalformed, "http://a b/": ErrMalformed,
		"http://h:99999/": ErrMalformed, "http://[::1/": ErrMalformed, "http://1.2.3.256/": ErrMalformed,
		"ftp://h/": ErrScheme, "mailto:a@b": ErrScheme, "javascript:x()": ErrScheme, "data:,": ErrScheme, "file:///x": ErrScheme,
		long: nil, long + "a": ErrTooLong, long[:len(long)-1] + "é": ErrTooLong, long[:len(long)-1] + "?": nil,
		long[:len(long)-2] + "?a": nil, long[:len(long)-100] + strings.Repeat("\u00e9", 50): ErrTooLong,
	} {
		u, err := Parse(raw)
		if !errors.Is(err, want) || err != nil && want == nil {
			t.Errorf("%.40q (%d bytes): %v, want %v", raw, len(raw), err, want)
		}
		e, ok := errors.AsType[*Error](err)
		if err != nil && (!ok || e.URL != raw || !u.IsZero() || len(err.Error()) > 1000) {
			t.Errorf("%.40q: %#v", raw, err)
		}
	}
}

func TestParts(t *testing.T) {
	type parts struct{ scheme, host, port, path, query, fragment, target, origin string }
	for raw, want := range map[string]parts{
		"http://h.example:8080/a/b?q=1#f": {"http", "h.example", "8080", "/a/b", "q=1", "f", "/a/b?q=1", "http://h.example:8080"},
		"https://h":                       {"https", "h", "443", "/", "", "", "/", "https://h"},
		"http://[::1]/?#":                 {"http", "::1", "80", "/", "", "", "/", "http://[::1]"},
		"http://[::1]:81/a":               {"http", "::1", "81", "/a", "", "", "/a", "http://[::1]:81"},
	} {
		u := mustParse(t, raw)
		got := parts{u.Scheme(), u.Host(), u.Port(), u.Path(), u.Query(), u.Fragment(), u.PathAndQuery(), u.Origin()}
		if got != want {
			t.Errorf("%q: %+v, want %+v", raw, got, want)
		}
	}
	var zero URL
	if !zero.IsZero() || zero.String()+zero.Scheme()+zero.Host()+zero.Path()+zero.Query()+zero.Origin() != "" {
		t.Error("the zero URL has parts")
	}
}

func TestKeys(t *testing.T) {
	a, b := mustParse(t, "http://h/a#x"), mustParse(t, "HTTP://H:80/a#y")
	c, d := mustParse(t, "http://h/b"), mustParse(t, "https://h/a")
	if a.Key() != b.Key() || a.HostKey() != c.HostKey() {
		t.Error("the same URL or origin has different keys")
	}
	if a.Key() == c.Key() || a.HostKey() == d.HostKey() {
		t.Error("different URLs or origins have the same key")
	}
	// 2 bytes of printf h | sha256sum, then 14 of printf http://h/a | sha256sum
	if got := a.Key().String(); got != "aaa9c43fa283946b81455781ee66e242" {
		t.Errorf("the key of %s has changed to %s: stores would lose their URLs", a, got)
	}
}

func TestResolve(t *testing.T) {
	base, err := NewBase("http://h/a/b?q#f")
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"c": "http://h/a/c", "../c": "http://h/c", "/c": "http://h/c", "//x/c": "http://x/c", "?r": "http://h/a/b?r",
		"#g": "http://h/a/b?q", "": "http://h/a/b?q", "https://y": "https://y/", "../../../c": "http://h/c", " c\n": "http://h/a/c",
		`\c`: "http://h/c", "http:c": "http://h/a/c", "./a:b": "http://h/a/a:b",
	} {
		if u, err := base.Resolve(ref); err != nil || u.String() != want {
			t.Errorf("%q: %q %v, want %q", ref, u, err, want)
		}
	}
	for ref, want := range map[string]error{
		"mailto:a@b": ErrScheme, "http://": ErrMalformed, "//": ErrMalformed, strings.Repeat("a", MaxLength+1): ErrTooLong,
		strings.Repeat("a", MaxLength): ErrTooLong,
	} {
		if _, err := base.Resolve(ref); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", ref, err, want)
		}
	}
	for _, raw := range []string{"", "a", strings.Repeat("a", MaxLength+1)} {
		if _, err := NewBase(raw); err == nil {
			t.Errorf("%.40q is a base", raw)
		}
	}
}

func TestRebase(t *testing.T) {
	base, err := NewBase("http://h/a/b")
	if err != nil {
		t.Fatal(err)
	}
	for href, want := range map[string]string{
		"/x/": "http://h/x/c", "http://y/z/": "http://y/z/c", "sub/": "http://h/a/sub/c",
		"http://": "http://h/a/c", "data:,": "http://h/a/c", "javascript:x": "http://h/a/c", strings.Repeat("a", MaxLength+1): "http://h/a/c",
	} {
		if u, err := base.Rebase(href).Resolve("c"); err != nil || u.String() != want {
			t.Errorf("base %.40q: %q %v, want %q", href, u, err, want)
		}
	}
}

// checkCanonical says what is wrong with an accepted URL.
func checkCanonical(u URL) string {
	again, err := Parse(u.String())
	rejoined := u.Origin() + u.Path()
	if u.Query() != "" {
		rejoined += "?" + u.Query()
	}
	host := u.Host()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	std, stdErr := url.Parse(u.Origin())
	switch {
	case err != nil:
		return "not parsed again: " + err.Error()
	case again.String() != u.String():
		return "not idempotent: " + again.String()
	case rejoined != u.String() || u.Origin()+u.PathAndQuery() != u.String():
		return "parts do not join: " + rejoined
	case !strings.HasPrefix(u.Origin(), u.Scheme()+"://"+host):
		return "origin is " + u.Origin()
	case u.Host() != strings.ToLower(u.Host()) || u.Host() == "":
		return "host " + u.Host()
	case strings.ContainsAny(u.String(), "#@ \t\r\n") && strings.ContainsAny(u.Origin(), "@") || strings.ContainsAny(u.String(), "# \t\r\n"):
		return "a fragment, user or space is left"
	case u.Path() == "" || u.Path()[0] != '/':
		return "path " + u.Path()
	case len(u.String()) > MaxLength:
		return "too long"
	case stdErr == nil && std.Hostname() != u.Host():
		return "net/url sees host " + std.Hostname()
	}
	for i := range len(u.String()) {
		if u.String()[i] >= 0x80 {
			return "not ASCII"
		}
	}
	return ""
}

func TestCanonicalFormIsIdempotent(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "B", "/", "..", ".", "%2e", "%41", "%", "%4", "%c3%a9", "%FF", "é", "?", "#", ":", "@", "\\", " ", "\t", "[", "]", "{", "'", "|", "^", "`",
		"8080", "80", "xn--", "0x7f", "::1", "ß", "\u00ad", "\u200d", "。", "%00", ";", "&=", "+", "-",
	})
	seeded.Check(t, func(t *rapid.T) {
		raw := rapid.SampledFrom([]string{"http://", "https://h", "HTTP://h/", "http://h:81/?", "http:"}).Draw(t, "start") +
			strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		if u, err := Parse(raw); err == nil {
			if fault := checkCanonical(u); fault != "" {
				t.Fatalf("%q became %q: %s", raw, u, fault)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"http://user:pass@EXAMPLE.com:80/a/../b?c=%41#d", "https://[::1]:8443/", "http://münchen.de/é", "http://h/%%34%31", "http://0x7f.1",
		"ftp://h/", "http:\\\\h\\a", "//h", "http://h?q", "http://h/'?'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Parse(raw)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrScheme) && !errors.Is(err, ErrTooLong) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if fault := checkCanonical(u); fault != "" {
			t.Fatalf("%q became %q: %s", raw, u, fault)
		}
		if base, err := NewBase("http://other.example/x/"); err != nil {
			t.Fatal(err)
		} else if v, err := base.Resolve(u.String()); err != nil || v.String() != u.String() {
			t.Fatalf("%q resolved to %q %v", u, v, err)
		}
	})
}

// The parser's words are part of a sentence: they do not say again that there is an
// error, nor which URL is meant.
func TestErrorWords(t *testing.T) {
	for raw, want := range map[string]string{
		"http://1.2.3.4.5/":       `"http://1.2.3.4.5/": malformed URL: an IPv4 address has more than four parts`,
		"http://a b/":             `"http://a b/": malformed URL: the host contains a forbidden domain code point: ' '`,
		"http://a.example:99999/": `"http://a.example:99999/": malformed URL: the input's port is outside the range [0-65535]`,
		"ftp://a.example/":        `"ftp://a.example/": not an http or https URL: ftp:`,
	} {
		if _, err := Parse(raw); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"localhost.test": false, "128.0.0.1": false, "[::1]": false, "::1%lo": false, "0.0.0.0": false, "": false,
	} {
		if IsLoopback(host) != want {
			t.Errorf("%q: want %t", host, want)
		}
	}
}
