package wire

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestErrorWords(t *testing.T) {
	long := strings.Repeat("é", 1000)
	tests := map[string]struct{ body, want string }{
		"empty":       {"", ""},
		"plain":       {"no such\r\n\tthing\x00 here", "no such thing here"},
		"elements":    {"<?xml version=\"1.0\"?>\n<e><code> 17 </code>\n<m>a &lt;b&gt; &amp; c</m></e>", "17 a <b> & c"},
		"attribute":   {`<error code="17" message="bad date"/>`, "bad date"},
		"cdata":       {"<e><![CDATA[<raw>]]></e>", "<raw>"},
		"entity":      {`<!DOCTYPE e [<!ENTITY x SYSTEM "file:///etc/passwd">]><e>see &x;</e>`, "see &x;"},
		"cut off":     {"<e><m>the beginning", "the beginning"},
		"html":        {"<html><body><p>Bad Gateway<br></body></html>", "Bad Gateway"},
		"not closed":  {"<a><b>text</a>", "text"},
		"no text":     {"<e/>", "<e/>"},
		"latin1":      {"<?xml version='1.0' encoding='ISO-8859-1'?><e>caf\xe9</e>", "caf\ufffd"},
		"not UTF-8":   {"\xff\xfe!", "\ufffd!"},
		"long":        {"<e>" + long + "</e>", strings.Repeat("é", MaxWords/2)},
		"escape code": {"<e>\x1b[31mred</e>", "<e> [31mred</e>"},
	}
	for name, test := range tests {
		if got := Words([]byte(test.body)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func FuzzErrorWords(f *testing.F) {
	f.Add([]byte("<e><m>words</m></e>"))
	f.Add([]byte("<!DOCTYPE e [<!ENTITY x \"xx\">]><e a=\"&x;\" message='m'>&x;</e>"))
	f.Add([]byte("<e>\xff&#0;&#x1b;</e"))
	f.Add([]byte("plain \x00 text"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := Words(body)
		if len(s) > MaxWords || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("words %q", s)
		}
	})
}
