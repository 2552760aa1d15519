package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/weburl"
)

func TestBuilder(t *testing.T) {
	b := &Builder{}
	b.Title(" Tides\x00 \u00ad and\tquays ")
	b.Title("another")
	b.Write([]byte(" in p"))
	b.Write([]byte("arts,\u200b "))
	b.Write([]byte("\xff apart"))
	b.Break()
	b.Write([]byte("é"))
	b.Break()
	b.Meta("author", "A.\n  B.")
	b.Meta("empty", " \x01")
	b.Link(" https://h/soft\u00adhyphen \n")
	b.Link("https://h/" + strings.Repeat("x", weburl.MaxLength))
	want := Page{
		Title: "Tides and quays", Text: "in parts, \ufffd apart é", Metas: []Meta{{"author", "A. B."}},
		Links: []Link{{Href: "https://h/soft\u00adhyphen"}},
	}
	if diff := cmp.Diff(want, b.Page()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBuilderLimit(t *testing.T) {
	long := strings.Repeat("two éé\n", maxDocumentText/10)
	for name, write := range map[string]func(b *Builder){
		"whole": func(b *Builder) { b.Write([]byte(long)) },
		"in parts": func(b *Builder) {
			for part := range strings.Lines(long) {
				b.Write([]byte(part))
			}
		},
	} {
		b := &Builder{}
		write(b)
		if page := b.Page(); b.Full() || page.Metas != nil || page.Text != strings.TrimSpace(strings.ReplaceAll(long, "\n", " ")) {
			t.Errorf("%s: %d bytes are cut", name, len(page.Text))
		}
		b.Break()
		write(b)
		b.Break()
		b.Write([]byte("x"))
		page := b.Page()
		if !b.Full() || len(page.Metas) != 1 || len(page.Text) > maxDocumentText || len(page.Text) < maxDocumentText-4 || strings.HasSuffix(page.Text, "x") {
			t.Errorf("%s: %d bytes, metas %v", name, len(page.Text), page.Metas)
		}
		if words := strings.Repeat("two éé ", 100); !strings.HasPrefix(page.Text, words) {
			t.Errorf("%s: it begins %q", name, page.Text[:100])
		}
	}
}
