package language

import (
	"os"
	"strings"
	"testing"
)

// pages are texts of some sentences, by language.
func pages(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/pages.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(data)) {
		code, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all[code] = text
	}
	return all
}

// TestDetected: a page that declares no language gets that of its text.
func TestDetected(t *testing.T) {
	all := pages(t)
	if len(all) < 20 {
		t.Fatalf("%d languages", len(all))
	}
	for code, text := range all {
		if tag, by := Of("", text); tag != code || by != Detected {
			t.Errorf("%s: %q, %q", code, tag, by)
		}
	}
}

// TestCorrected: a declared language stays, with its region, unless the text is plainly in another one.
func TestCorrected(t *testing.T) {
	all := pages(t)
	for _, tt := range []struct {
		declared, text, tag string
		by                  Source
	}{
		{"en", all["de"], "de", Corrected},
		{"en-US", all["ja"], "ja", Corrected},
		{"de", all["ru"], "ru", Corrected},
		{"cy", all["el"], "el", Corrected},
		{"de-CH", all["de"], "de-CH", Declared},
		{"pt-BR", all["pt"], "pt-BR", Declared},
		{"zh-Hant", all["zh"], "zh-Hant", Declared},
		{"nb", all["da"], "nb", Declared},               // resembles it
		{"cy", all["en"], "cy", Declared},               // no model: the text may be Welsh
		{"not a tag", all["de"], "not a tag", Declared}, //
		{"en", all["de"][:80], "en", Declared},          // too short
		{"en", strings.Repeat("1234 ", 500), "en", Declared},
		{"", "Short text", "", ""},
		{"", strings.Repeat("0 1 2 ", 500), "", ""},
		{"", "\xff\xfe" + strings.Repeat("\xff", 5000), "", ""},
		{"", all["fr"] + strings.Repeat(" "+all["fr"], 100), "fr", Detected},
	} {
		if tag, by := Of(tt.declared, tt.text); tag != tt.tag || by != tt.by {
			t.Errorf("%q, %.40q: %q, %q; want %q, %q", tt.declared, tt.text, tag, by, tt.tag, tt.by)
		}
	}
}

// TestBase: a tag without a language has none, though English is the most likely one.
func TestBase(t *testing.T) {
	for tag, want := range map[string]string{
		"de-CH": "de", " zh-Hant ": "zh", "nb": "no", "deu": "de", "en_US": "en",
		"": "", "und": "", "Deutsch": "", "x-own": "", "cmn": "zh",
	} {
		if base := Base(tag); base != want {
			t.Errorf("%q: %q, want %q", tag, base, want)
		}
	}
}

// TestNoneIsCorrected: no page that declares its own language loses it.
func TestNoneIsCorrected(t *testing.T) {
	for code, text := range pages(t) {
		if tag, by := Of(code, text); tag != code || by != Declared {
			t.Errorf("%s became %s (%s)", code, tag, by)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	data, err := os.ReadFile("testdata/pages.txt")
	if err != nil {
		b.Fatal(err)
	}
	text := string(data)
	for b.Loop() {
		Of("", text)
	}
}
