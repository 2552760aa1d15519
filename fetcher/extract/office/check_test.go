package office

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkPage reads a body, and looks at what must hold of any page.
func checkPage(ctx context.Context, t *testing.T, format Format, body []byte) {
	t.Helper()
	page, err := Read(ctx, format, body)
	if err != nil {
		if page.Text != "" || page.Links != nil {
			t.Errorf("a page beside the error %v", err)
		}
		return
	}
	for _, s := range []string{page.Title, page.Text, page.Language} {
		if !utf8.ValidString(s) || strings.TrimSpace(s) != s || strings.Contains(s, "  ") || strings.ContainsAny(s, "\x00\n") {
			t.Errorf("%q is no clean text", s)
		}
	}
	for _, l := range page.Links {
		if l.Href == "" || !utf8.ValidString(l.Href) {
			t.Errorf("link %q", l.Href)
		}
	}
}
