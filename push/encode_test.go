package push_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/push"
)

func sameJSON(t interface {
	Helper()
	Errorf(string, ...any)
}, d push.Document,
) {
	t.Helper()
	want, wantErr := json.Marshal(d)
	got, err := d.Encode()
	if (err == nil) != (wantErr == nil) || string(got) != string(want) {
		t.Errorf("Encode gives\n%s, %v\njson.Marshal\n%s, %v", got, err, want, wantErr)
	}
}

// TestEncodeAllBytes puts each byte, and each odd rune, at each place of a word.
func TestEncodeAllBytes(t *testing.T) {
	odd := []string{"\u2028", "\u2029", "\u2027", "\u202a", "\ufffd", "\xe2\x80", "\xed\xa0\x80", "\U0001f600", "é", "\x7f", "\u0080"}
	for c := range 256 {
		odd = append(odd, string([]byte{byte(c)}))
	}
	for _, s := range odd {
		for at := range 18 {
			for _, behind := range []string{"", "y", "yyyyyyyyyy"} {
				sameJSON(t, push.Document{Text: strings.Repeat("x", at) + s + behind})
			}
		}
	}
}

func TestEncodeDocument(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~é<>&"\\]{0,40}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		d := push.Document{
			URL: s.Draw(t, "url"), Source: s.Draw(t, "source"), Title: s.Draw(t, "title"), Text: s.Draw(t, "text"),
			Content: rapid.SliceOf(rapid.Byte()).Draw(t, "content"), ContentType: s.Draw(t, "type"), Charset: s.Draw(t, "charset"),
			Language: s.Draw(t, "language"), LastModified: s.Draw(t, "modified"),
			FetchedAt: time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(t, "at"), rapid.Int64Range(0, 999999999).Draw(t, "nsec")).UTC(),
			Depth:     rapid.Int().Draw(t, "depth"), Referrer: s.Draw(t, "referrer"), Hash: s.Draw(t, "hash"),
			Metas: rapid.MapOf(s, rapid.SliceOf(s)).Draw(t, "metas"),
		}
		if rapid.Bool().Draw(t, "nil") {
			d.Metas[""] = nil
		}
		sameJSON(t, d)
	})
}

func FuzzEncode(f *testing.F) {
	f.Add("plain text of a page", "title", "meta")
	f.Add("\u2028<a href=\"x\">\xff&\\ \t\n\x00", "\x7f\xc3", "é")
	f.Fuzz(func(t *testing.T, text, title, meta string) {
		sameJSON(t, push.Document{URL: "http://a.test/", Text: text, Title: title, Metas: map[string][]string{meta: {title, text}}})
	})
}
