package actionrules

import (
	"strings"
	"testing"
)

// TestDoubtfulPatterns: what looks like a wildcard or an ordinary expression, or cannot stand
// in its part of a URL, is told with the spelling that was meant.
func TestDoubtfulPatterns(t *testing.T) {
	plain := func(c Condition) Atom {
		if or, ok := c.(Or); ok {
			c = or.Of[1]
		}
		return c.(Atom)
	}
	of := func(shortcut func(string, Norm, bool, Position) Condition, value string) Atom {
		return plain(shortcut(value, NormNorm, false, nowhere))
	}
	for _, c := range []struct {
		atom Atom
		want string // "" is no warning
	}{
		{of(Path, "/docs/*"), `* is literal here, not a wildcard; write "/docs/"`},
		{of(Path, "/docs**"), `write "/docs"`},
		{of(Path, "/*"), `write "/"`},
		{of(Path, "*"), `write ".*" with litteral="false"`},
		{of(Path, "*/old/"), `write <Atom field="path" kind="inside" value="/old/"/>`},
		{of(Path, "/*.pdf"), `write "/.*\.pdf" with`},
		{of(Path, "*.pdf"), `write <Ext val=".pdf"/>`},
		{of(Ext, "*.gif"), `write ".gif"`},
		{of(Domain, "*.foo.com"), `write <Domain val="foo.com"/>, which matches the host and its subdomains`},
		{of(Host, "*.foo.com"), `write <Domain val="foo.com"/>`},
		{of(Host, "test*"), `write <Atom field="host" kind="prefix" value="test"/>`},
		{of(URL, "*.pdf"), `write <Ext val=".pdf"/>`},
		{of(URL, "http://h/*"), `write <Atom field="url" kind="prefix" value="http://h/"/>`},
		{of(URL, "*/print"), `write <Atom field="url" kind="suffix" value="/print"/>`},
		{of(Query, "*page=*"), `write <InQuery val="page="/>`},
		{of(InQuery, "*page=*"), `write "page="`},
		{of(InQuery, "*"), ""},
		{of(Query, "q=*"), ""},
		{of(Ext, ".(zip|gz)"), `write "\.(zip|gz)" with litteral="false"`},
		{of(Path, "^/foo$"), `write "^/foo$" with`},
		{of(Path, "/a|/b"), `| is literal here; for a regular expression write "/a|/b" with`},
		{of(Path, `\[^/\]`), `write \[\^`},
		{of(Path, "/x.*"), `.* is literal here; for a regular expression write "/x.*" with`},
		{of(Path, "/[0-9]+/"), `write "/[0-9]+/" with`},
		{of(Path, `/\d{4}/`), `{4} is literal here; for a regular expression write "/\d{4}/" with`},
		{of(URL, `http://127.0.0.1:8101/\.*`), `write "http://127\.0\.0\.1:8101/.*" with`},
		{of(Path, `/\.+`), `+ is literal here and does not repeat anything; write "/.+" with`},
		{of(Path, `/x\d+`), `write "/x\d+" with`},
		{of(Path, `/x\d*/`), `write "/x\d*/" with`},
		{of(Path, `/\[0-9\]+/`), `write "/[0-9]+/" with`},
		{of(Path, `/a.\*`), `. is literal here; for any characters write "/a.*" with`},
		{of(Path, `/a.\+b`), `. is literal here; for any characters write "/a.+b" with`},
		{of(InQuery, "?id=1"), `a query begins after the ?: write "id=1"`},
		{Atom{Field: FieldQuery, Kind: KindInside, Value: `\?id=\d`, Regexp: true}, `write "id=\d"`},
		{of(Domain, ".foo.com"), `no host begins with a dot: write <Domain val="foo.com"/>`},
		{of(Scheme, "http://"), `write "http"`},
		{of(Scheme, "ftp"), "no URL has this scheme"},
		{of(Query, "?q=1"), `a query begins after the ?: write "q=1"`},
		{of(Path, "cgi-bin"), `a path begins with /: write "/cgi-bin"`},
		{of(Path, "http://r.example/a"), `write "/a", with <Host val="r.example"/>`},
		{of(Host, "http://r.example/"), `a host has no scheme, port or path: write "r.example"`},
		{of(Host, "r.example:8080"), `write "r.example"`},
		{of(Ext, ".gif?x=1"), `a path ends before the ?: write ".gif", and <InQuery val="x=1"/>`},
		{of(Path, "/a?"), `a path ends before the ?: write "/a"`},
		{of(URL, "http://r.example"), `the canonical form is "http://r.example/"`},

		{of(Path, "/docs/"), ""},
		{of(Path, `/docs/\.\*`), ""},
		{of(Path, `/x\d\+`), ""},
		{of(Path, `/c++/`), ""},
		{of(InQuery, `q=\\d+`), ""},
		{of(InQuery, `q=a+b`), ""},
		{of(Path, "/wiki/Foo_(bar)"), ""},
		{of(Path, "/$metadata"), ""},
		{of(Path, `/\[\^/\]\+/`), ""},
		{of(Path, `/\d\{4\}/`), ""},
		{of(Ext, ".gif"), ""},
		{of(Ext, "gif"), ""},
		{of(Domain, "foo.com"), ""},
		{of(Host, "[::1]"), "no canonical URL"},
		{of(Host, "::1"), ""},
		{of(InQuery, "q=*"), ""},
		{of(InQuery, "?"), ""},
		{of(Scheme, "HTTP"), ""},
		{of(Scheme, `https\?`), ""},
		{Atom{Field: FieldHost, Kind: KindSuffix, Value: ".foo.com"}, ""},
		{Atom{Field: FieldPath, Kind: KindInside, Value: "cgi-bin"}, ""},
		{Atom{Field: FieldPath, Kind: KindExact, Value: "/(a|b)/.*", Regexp: true}, ""},
		{Atom{Field: FieldURL, Kind: KindInside, Value: "/a?b=1"}, ""},
	} {
		got := doubtful(c.atom)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v %q: %q, want %q", c.atom.Field, c.atom.Value, got, c.want)
		}
	}
}
