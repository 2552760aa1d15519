package extract

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// TestPrescan has the beginnings of pages and the charset that they declare (WHATWG
// HTML section 13.2.3.2).
func TestPrescan(t *testing.T) {
	pad := strings.Repeat(" ", 1024)
	for page, want := range map[string]string{
		"":                                      "",
		"<meta charset=koi8-r>":                 "koi8-r",
		"<META CHARSET = ' KOI8-R ' >":          "koi8-r",
		"<meta/charset=koi8-r/>x":               "", // the slash is of the value
		"<meta/charset=koi8-r />x":              "koi8-r",
		"<meta charset=koi8-r":                  "", // the end is not known
		"<metacharset=koi8-r>":                  "",
		"<meta charset=none><meta charset=gbk>": "gbk",
		"<meta charset=none charset=gbk>":       "",
		"<meta charset='gbk>":                   "",
		"<meta charset>":                        "",
		"<meta name=a charset=gbk>":             "gbk",
		"<meta http-equiv=Content-Type content='text/html; charset=gbk'>":                   "gbk",
		"<meta content='text/html; charset=gbk' http-equiv=content-type>":                   "gbk",
		"<meta content='text/html; charset=gbk'>":                                           "",
		"<meta http-equiv=refresh content='charset=gbk'>":                                   "",
		"<meta http-equiv=content-type content=charset=gbk>":                                "gbk",
		"<meta http-equiv=content-type content='charset charset = \"gbk\"x'>":               "gbk",
		"<meta http-equiv=content-type content='charset=\"gbk'>":                            "",
		"<meta http-equiv=content-type content='charset=gbk;x'>":                            "gbk",
		"<meta http-equiv=content-type content='charset='>":                                 "",
		"<meta http-equiv=content-type content='charset=gbk' charset=koi8-r>":               "koi8-r",
		"<meta charset=utf-16le>":                                                           "utf-8",
		"<meta charset=UTF-16BE>":                                                           "utf-8",
		"<meta charset=x-user-defined>":                                                     "windows-1252",
		"<!-- <meta charset=gbk> --><meta charset=koi8-r>":                                  "koi8-r",
		"<!--><meta charset=gbk>-->":                                                        "gbk",
		"<!-- <meta charset=gbk>":                                                           "",
		"<a title='<meta charset=gbk>'><meta charset=koi8-r>":                               "koi8-r",
		"<a title='<meta charset=gbk>":                                                      "",
		"</a title='<meta charset=gbk>'><meta charset=koi8-r>":                              "koi8-r",
		"<!doctype '<meta charset=gbk>'><meta charset=koi8-r>":                              "koi8-r",
		"<?xml version='1.0'?><meta charset=koi8-r>":                                        "koi8-r",
		"<? <meta charset=koi8-r":                                                           "",
		"< meta charset=gbk>< <meta charset=koi8-r>":                                        "koi8-r",
		"<1meta charset=gbk>":                                                               "",
		"<script>'<meta charset=gbk>'</script>":                                             "gbk", // that too
		"<meta charset=utf8>":                                                               "utf-8",
		"<meta charset=latin1>":                                                             "windows-1252",
		"\x00<\x00m\x00e\x00t\x00a":                                                         "",
		pad[:1024-len("<meta charset=gbk> ")] + "<meta charset=gbk> ":                       "gbk",
		pad + "<meta charset=gbk>":                                                          "",
		"<meta =x charset=gbk>":                                                             "gbk",
		"<meta ==x charset=gbk>":                                                            "gbk",
		"<title><meta charset=gbk></title>":                                                 "gbk",
		"<meta name=\"viewport\" content=\"width=device-width\">\n<meta charset=\"utf-8\">": "utf-8",
	} {
		if _, got := prescan([]byte(page)[:min(len(page), 1024)]); got != want {
			t.Errorf("%.100q: %q, want %q", page, got, want)
		}
	}
}

func TestHeaderCharset(t *testing.T) {
	for header, want := range map[string]string{
		"text/html":                              "windows-1252",
		"text/html; charset=gbk":                 "gbk",
		"text/html;CHARSET=\"GBK\"":              "gbk",
		"text/html; boundary=x; charset = gbk":   "gbk",
		"text/html; charset=gbk; charset=koi8-r": "gbk",
		"text/html; charset=none":                "windows-1252",
		"text/html; charset=":                    "windows-1252",
		"text/html; charset=utf-16le":            "utf-16le",
		"text/html; charset='utf-8'":             "utf-8",
		"charset":                                "windows-1252",
	} {
		if _, got, _ := encodingOf(nil, header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// TestLateCharset: a meta behind the first KiB counts where nothing else says the charset,
// and only the first that names one.
func TestLateCharset(t *testing.T) {
	pad := "<!--" + strings.Repeat(" ", 1024) + "-->"
	const hello = "\xcf\xf0\xe8\xe2\xe5\xf2" // windows-1251
	const russian, latin = "\u041f\u0440\u0438\u0432\u0435\u0442", "\u00cf\u00f0\u00e8\u00e2\u00e5\u00f2"
	for _, tt := range []struct{ name, page, header, text, charset string }{
		{"charset", pad + "<title>" + hello + "</title><meta charset=windows-1251><p>" + hello, "text/html", russian, "windows-1251"},
		{"http-equiv", pad + "<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>" + hello, "", russian, "windows-1251"},
		{"in the body", pad + "<p>" + hello + "<meta charset=&quot;x>" + "<meta charset=windows-1251>", "", russian, "windows-1251"},
		{"the first counts", pad + "<meta charset=windows-1252><meta charset=windows-1251>" + hello, "", latin, "windows-1252"},
		{"one that is read again is not read a third time", pad + "<meta charset=windows-1251><meta charset=koi8-r>" + hello, "", russian, "windows-1251"},
		{"the header goes before", pad + "<meta charset=windows-1251>" + hello, "text/html; charset=iso-8859-1", latin, "windows-1252"},
		{"the first KiB goes before", "<meta charset=iso-8859-1>" + pad + "<meta charset=windows-1251>" + hello, "", latin, "windows-1252"},
		{"bytes that are UTF-8 prove it", pad + "<meta charset=windows-1251>" + russian, "", russian, "utf-8"},
		{"UTF-8 with a wrong byte", pad + "<meta charset=utf-8>" + russian + "\xff", "", russian + "\ufffd", "utf-8"},
		{"ASCII alone", pad + "<meta charset=utf-8>abc", "", "abc", "utf-8"},
		{"seven bits", pad + "<meta charset=iso-2022-jp>\x1b$BF|K\\\x1b(B", "", "\u65e5\u672c", "iso-2022-jp"},
		{"in a script", pad + "<script>'<meta charset=windows-1251>'</script>" + hello, "", latin, "windows-1252"},
		{"for browsers without scripts", pad + "<noscript><meta charset=windows-1251></noscript>" + hello, "", latin, "windows-1252"},
		{"UTF-16 is UTF-8", pad + "<meta charset=utf-16>\xc3\xa9\xff", "", "\u00e9\ufffd", "utf-8"},
	} {
		p := read(t, tt.page, tt.header)
		if p.Text != tt.text || p.Charset != tt.charset {
			t.Errorf("%s: %q in %s, want %q in %s", tt.name, p.Text, p.Charset, tt.text, tt.charset)
		}
		if tt.name == "charset" && p.Title != russian {
			t.Errorf("%s: title %q", tt.name, p.Title)
		}
	}
}

// TestSingleBytes holds all charsets of one byte a character to x/text's decoders.
func TestSingleBytes(t *testing.T) {
	body := make([]byte, 0, 512)
	for c := range 256 {
		body = append(body, byte(c), byte(255-c))
	}
	for _, e := range charmap.All {
		name, err := htmlindex.Name(e)
		if err != nil {
			continue // no charset of the web
		}
		want, err := e.NewDecoder().Bytes(body)
		if err != nil {
			t.Fatal(err)
		}
		got, gotName, err := decode(body, "text/html; charset="+name)
		if err != nil || gotName != name || !bytes.Equal(got, want) {
			t.Errorf("%s: as %s, %v\n got %q\nwant %q", name, gotName, err, got, want)
		}
	}
}

// FuzzPrescan compares declarations with x/net/html's, on pages where both must
// agree: one meta, with attributes in quotes.
func FuzzPrescan(f *testing.F) {
	for _, s := range []string{"gbk", " UTF-8 ", "x", "latin1", "utf-16le", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, label string) {
		if strings.ContainsAny(label, "'\"<>&\x00\r;") || len(label) > 500 {
			return
		}
		pages := []string{"<meta charset='" + label + "'>"}
		if !strings.ContainsAny(label, " \t\n\f=") {
			pages = append(pages, "<meta http-equiv=content-type content='text/html; charset="+label+"'>")
		}
		for _, page := range pages {
			_, want, _ := charset.DetermineEncoding([]byte(page), "")
			_, got := prescan([]byte(page))
			switch {
			case got == "" && (want == "windows-1252" || want == "utf-8"): // its guess
			case want == "utf-16be", want == "utf-16le": // left as declared, with the same effect
				want = utf8Name
				fallthrough
			default:
				if want == "x-user-defined" {
					want = "windows-1252"
				}
				if got != want {
					t.Errorf("%q: %q, x/net/html %q", page, got, want)
				}
			}
		}
	})
}
