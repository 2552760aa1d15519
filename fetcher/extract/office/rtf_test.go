package office

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

func TestRTF(t *testing.T) {
	tests := []struct{ name, in, text string }{
		{"words and breaks", `a\par b\tab c\line d\cell e\row f`, "a b c d e f"},
		{"a word in groups", `{\b Har}{\i bour}`, "Harbour"},
		{"line ends are nothing", "Har\r\nbour", "Harbour"},
		{"a space ends a control word, more are text", `\b  x\b0 y`, "xy"},
		{"escapes", `\{a\\b\}`, `{a\b}`},
		{"special characters", `a\~b\_c\-d \emdash\endash\lquote\rquote\ldblquote\rdblquote\bullet`, "a b\u2011cd \u2014\u2013\u2018\u2019\u201c\u201d\u2022"},
		{"code page 1252", `\'80 caf\'e9`, "\u20ac caf\u00e9"},
		{"another code page", `\ansicpg1251 \'cf\'f0`, "\u041f\u0440"},
		{"the code page of a font", `{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f1\'cf\f0\'cf`, "\u041f\u00cf"},
		{"two bytes a character", `\ansicpg932 \'93\'fa\'96\'7b`, "\u65e5\u672c"},
		{"half of a character", `\ansicpg932 a\'93`, "a\ufffd"},
		{"unicode with what stands for it", `\u8364?x`, "\u20acx"},
		{"unicode counted from below", `\u-4064?x`, "\uf020x"},
		{"unicode, nothing stands for it", `\uc0\u8364 x`, "\u20acx"},
		{"unicode, two characters stand for it", `\uc2\u8364 \'80?x{\uc0\u8364 x}\u8364 ??x`, "\u20acx\u20acx\u20acx"},
		{"a group ends what stands for it", `{\uc3\u8364 a}b`, "\u20acb"},
		{"beyond the first plane", `\u-10179?\u-8704?`, "\U0001f600"},
		{"half a pair", `\u-10179?x\u-8704?`, "x\ufffd"},
		{"hidden and deleted", `a{\v b}\v c\v0 d{\deleted e}`, "ad"},
		{"unknown destinations", `a{\*\unknown b{\b c}}{\*\generator x;}d`, "ad"},
		{"a mark of destinations inside of a group", `{\b0\*\cs7\cf0 The quick brown fox}{\b0 \*\unknown x}`, "The quick brown foxx"},
		{"a style marked as a destination", `{\*\cs7 a}{ \*\unknown b}{` + "\n" + `\*\unknown c}`, "a"},
		{"unknown words", `a\unknown1 b`, "ab"},
		{"tables of the head", `{\fonttbl{\f0 Arial;}}{\colortbl;\red0;}{\stylesheet{\s0 Normal;}}{\*\listtable{\list}}x`, "x"},
		{"pictures", `a{\pict\pngblip 89504e47}{\object{\objdata 0105}{\result b}}c`, "abc"},
		{"binary data", `a\bin5 }}\{{b`, "ab"},
		{"binary data past the end", `a\bin99999999999 b`, "a"},
		{"headers and footnotes are text", `{\header h}a{\footnote f}`, "haf"},
		{"a text box", `a{\shp{\*\shpinst\shpleft1{\sp{\sn shapeType}{\sv 202}}{\shptxt \par box{\b ed}\par}}{\shprslt{\*\do{\dptxbxtext box}}\par box}}b`, "a boxed b"},
		{"an old text box", `a{\*\do\dobxcolumn{\dptxbxtext box}\dpx1}b`, "a box b"},
		{"an annotation", `a{\*\atnid S}{\*\atnauthor Sam}\chatn{\*\annotation{\*\atnref 1}note}b`, "a note b"},
		{"an annotation of what is left out", `a{\*\unknown{\*\annotation note}{\shptxt box}}b`, "ab"},
		{"what follows the end", `a}b`, "a"},
		{"a title is no text", `{\info{\title T}{\operator O}{\*\unknown U}}a{\title b}`, "ab"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(t.Context(), RTF, []byte(`{\rtf1\ansi `+tt.in+`}`))
			if err != nil || got.Text != tt.text {
				t.Errorf("got %q, %v; want %q", got.Text, err, tt.text)
			}
		})
	}
}

func TestRTFFields(t *testing.T) {
	tests := []struct{ in, link string }{
		{`{\field{\*\fldinst{HYPERLINK "http://h/a b"}}{\fldrslt x}}`, "http://h/a b"},
		{`{\field{\*\fldinst {\rtlch HYPER}{LINK "http://h/\'e9" \\o "tip"}}{\fldrslt x}}`, "http://h/\u00e9"},
		{`{\field\fldedit{\*\fldinst HYPERLINK http://h/ \\t x}{\fldrslt x}}`, "http://h/"},
		{`{\field{\*\fldinst HYPERLINK \\l "top"}{\fldrslt x}}`, ""},
		{`{\field{\*\fldinst PAGE}{\fldrslt x}}`, ""},
	}
	for _, tt := range tests {
		got, err := Read(t.Context(), RTF, []byte(`{\rtf1 `+tt.in+`}`))
		link := ""
		if len(got.Links) == 1 {
			link = got.Links[0].Href
		}
		if err != nil || link != tt.link || got.Text != "x" {
			t.Errorf("%s: link %q, text %q, %v; want %q", tt.in, link, got.Text, err, tt.link)
		}
	}
}

func TestRTFDates(t *testing.T) {
	for in, want := range map[string]string{
		`\yr2026\mo2\dy28`: "2026-02-28T00:00:00Z", `\yr2026\mo2\dy30`: "", `\yr0\mo0\dy0`: "", `\yr99999999999\mo1\dy1`: "",
	} {
		got, err := Read(t.Context(), RTF, []byte(`{\rtf1{\info{\creatim`+in+`}}x}`))
		have := ""
		for _, m := range got.Metas {
			have += m.Content
		}
		if err != nil || have != want {
			t.Errorf("%s: %q, %v; want %q", in, have, err, want)
		}
	}
}

func TestRTFHostile(t *testing.T) {
	for name, tt := range map[string]struct {
		in  string
		cut bool
	}{
		"no end":           {`{\rtf1 before`, true},
		"nested deeply":    {`{\rtf1 before` + strings.Repeat("{", 10<<20), true},
		"many fonts":       {`{\rtf1{\fonttbl` + fonts() + `}before}`, false},
		"a backslash":      {`{\rtf1 before\`, true},
		"half of a code":   {`{\rtf1 before\'8`, true},
		"endless word":     {`{\rtf1 before\` + strings.Repeat("a", 1<<20), true},
		"endless number":   {`{\rtf1 before\u` + strings.Repeat("9", 1<<20) + ` }`, false},
		"large properties": {`{\rtf1{\info{\title ` + strings.Repeat("x", 5<<20) + `}}before}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(t.Context(), RTF, []byte(tt.in))
			if err != nil || !strings.HasPrefix(got.Text, "before") || len(got.Title) > 4<<10 {
				t.Fatalf("%.40q, %v", got.Text, err)
			}
			last := extract.Meta{}
			if n := len(got.Metas); n > 0 {
				last = got.Metas[n-1]
			}
			if (last.Name == "truncated") != tt.cut {
				t.Errorf("metas %v", got.Metas)
			}
		})
	}
	if _, err := Read(t.Context(), RTF, []byte(`<html>`)); err == nil {
		t.Error("no RTF is read")
	}
}

func fonts() string {
	var b strings.Builder
	for range 200_000 {
		b.WriteString(`{\f1234567\fcharset204 A;}`)
	}
	return b.String()
}
