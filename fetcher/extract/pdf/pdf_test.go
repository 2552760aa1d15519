package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
)

var content = testdocs.Content{Title: "Tides and quays", Author: "Ann Author", Link: "https://example.com/a?b&c"}

// shared is the reader of all tests of the process: to compile PDFium takes seconds.
var shared = sync.OnceValues(func() (*Reader, error) { return NewReader(128 << 20) })

func TestMain(m *testing.M) {
	code := m.Run()
	if r, err := shared(); err == nil {
		if err := r.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func newReader(t testing.TB) *Reader {
	t.Helper()
	r, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRead(t *testing.T) {
	r := newReader(t)
	t.Run("all that is taken", func(t *testing.T) {
		got, err := r.Read(t.Context(), testdocs.PDF(testdocs.PDFFile{Content: content, Pages: []string{"The first page.", "The (second) one."}}))
		if err != nil {
			t.Fatal(err)
		}
		want := extract.Page{
			Title: "Tides and quays", Language: "en-GB", Text: "The first page. The (second) one.",
			Metas: []extract.Meta{
				{Name: "author", Content: "Ann Author"}, {Name: "subject", Content: "Harbours"}, {Name: "keywords", Content: "tide, quay"},
				{Name: "pages", Content: "2"}, {Name: "created", Content: "2026-01-02T03:04:05Z"}, {Name: "modified", Content: "2026-02-03T04:05:06Z"},
			},
			Links: []extract.Link{{Href: "https://example.com/a?b&c"}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("odd files", func(t *testing.T) { oddFiles(t, r) })
	t.Run("annotations", func(t *testing.T) { annotated(t, r) })
	t.Run("cut at every byte", func(t *testing.T) {
		whole := testdocs.PDF(testdocs.PDFFile{Content: content, Pages: []string{"text"}})
		step := max(len(whole)/100, 1)
		if !testing.Short() {
			step = 3
		}
		for n := 0; n < len(whole); n += step {
			if got, err := r.Read(t.Context(), whole[:n]); err == nil && got.Text != "text" && got.Text != "" {
				t.Fatalf("cut at %d: %q", n, got.Text)
			}
		}
	})
	t.Run("its time ends", func(t *testing.T) {
		ctx := &ending{Context: t.Context(), looks: 3}
		got, err := r.Read(ctx, testdocs.PDF(testdocs.PDFFile{Content: content, Pages: slices.Repeat([]string{"text"}, 9)}))
		if err != nil || got.Title != "Tides and quays" || got.Metas[len(got.Metas)-1].Name != "truncated" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// ending is a context that ends when it was looked at so often.
type ending struct {
	context.Context
	looks int
}

// Err implements context.Context.
func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// annotated has what is written over a page: it is text, each value of a field once.
func annotated(t *testing.T, r *Reader) {
	const at = "/Type /Annot /Rect [72 600 200 630] "
	got, err := r.Read(t.Context(), testdocs.PDF(testdocs.PDFFile{Pages: []string{"A form.", "Its second page."}, Annots: []string{
		"<< " + at + "/Subtype /Widget /FT /Tx /T (name) /V (Ann Author) >>",
		"<< " + at + "/Subtype /Widget /FT /Tx /T (again) /V (Ann Author) >>",
		"<< " + at + "/Subtype /Widget /FT /Ch /Ff 131072 /T (city) /Opt [(Bergen) (Oslo)] /V (Oslo) >>",
		"<< " + at + "/Subtype /Widget /FT /Btn /T (agree) /V /Yes /AS /Yes >>",
		"<< " + at + "/Subtype /Widget /FT /Tx /T (secret) /V (hidden) /F 2 >>",
		"<< " + at + "/Subtype /FreeText /Contents (Written over the page) /DA (/F1 12 Tf) >>",
		"<< " + at + "/Subtype /Text /Contents (A note.) >>",
		"<< " + at + "/Subtype /Highlight /Contents (A comment on a word) /QuadPoints [0 0 1 0 0 1 1 1] >>",
		"<< " + at + "/Subtype /Popup /Contents (A note.) >>",
		"<< " + at + "/Subtype /Text >>",
		"null",
	}}))
	if want := "A form. Ann Author Oslo Written over the page A note. A comment on a word Its second page."; err != nil || got.Text != want {
		t.Errorf("annotations: %q, %v; want %q", got.Text, err, want)
	}
	got, err = r.Read(t.Context(), testdocs.PDF(testdocs.PDFFile{Pages: []string{""}, Annots: []string{"<< " + at + "/Subtype /Widget /FT /Tx /T (a) /V (Only this) >>"}}))
	if err != nil || got.Text != "Only this" {
		t.Errorf("a form alone: %q, %v", got.Text, err)
	}
}

func oddFiles(t *testing.T, r *Reader) {
	page := func(f testdocs.PDFFile) []byte { f.Pages = append(f.Pages, "text"); return testdocs.PDF(f) }
	plain := page(testdocs.PDFFile{})
	tests := []struct {
		name, text string
		body       []byte
		is         error
	}{
		{"no table of objects", "text", page(testdocs.PDFFile{NoXref: true}), nil},
		{"something before and after", "text", append(append([]byte("\n\n"), plain...), "\n<html>"...), nil},
		{"a password", "", page(testdocs.PDFFile{Password: "hidden"}), extract.ErrEncrypted},
		{"tables in a loop", "text", bytes.Replace(plain, []byte("/Root"), fmt.Appendf(nil, "/Prev %d /Root", bytes.LastIndex(plain, []byte("xref\n0"))), 1), nil},
		{"pages in a loop", "", bytes.Replace(plain, []byte("/Kids [7 0 R ]"), []byte("/Kids [2 0 R ]"), 1), nil},
		{"a huge count", "text", bytes.Replace(plain, []byte("/Count 1"), []byte("/Count 9"), 1), nil},
		{"nothing", "", nil, nil},
		{"random bytes", "", bytes.Repeat([]byte("\x93\x00%PDF-obj<<"), 10_000), nil},
		{"many brackets", "", append([]byte("%PDF-1.4\n1 0 obj "), bytes.Repeat([]byte("[<<"), 1<<20)...), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.Read(t.Context(), tt.body)
			if !strings.HasPrefix(got.Text, tt.text) || tt.text != "" && err != nil || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("text %q, %v; want %q, %v", got.Text, err, tt.text, tt.is)
			}
		})
	}
	if got, err := r.Read(t.Context(), plain); err != nil || got.Text != "text" {
		t.Errorf("a good file after all these: %q, %v", got.Text, err)
	}
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]string{
		"D:20260131235959+01'30'": "2026-01-31T22:29:59Z", "D:20260131235959+01'30": "2026-01-31T22:29:59Z",
		"D:20260131235959-05'00'": "2026-02-01T04:59:59Z", "D:20260131235959Z": "2026-01-31T23:59:59Z",
		"D:20260131235959Z00'00'": "2026-01-31T23:59:59Z", "20260131235959": "2026-01-31T23:59:59Z",
		"D:202601312359": "2026-01-31T23:59:00Z", "D:20260131": "2026-01-31T00:00:00Z", "D:202603": "2026-03-01T00:00:00Z", "D:2026": "2026-01-01T00:00:00Z",
		" D:2026 ": "2026-01-01T00:00:00Z",
		"":         "", "D:": "", "D:20261301": "", "D:202602300000": "", "D:2026013": "", "Mon Jan 2": "", "D:20260131235959+99'99'": "",
		"D:2026013123595912345678": "",
	} {
		got := ""
		if at := parseTime(in); !at.IsZero() {
			got = at.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("D:20260131235959+01'30'")
	f.Fuzz(func(t *testing.T, s string) {
		if at := parseTime(s); !at.IsZero() && (at.Year() < -1 || at.Year() > 10_000) {
			t.Errorf("%q is in the year %d", s, at.Year())
		}
	})
}

func FuzzRead(f *testing.F) {
	if testing.Short() {
		f.Skip("PDFium with the fuzzer's instrumentation takes a minute to compile")
	}
	f.Add(testdocs.PDF(testdocs.PDFFile{Content: content, Pages: []string{"text"}}))
	f.Add(testdocs.PDF(testdocs.PDFFile{Pages: []string{"text"}, Password: "x"}))
	f.Add(testdocs.PDF(testdocs.PDFFile{Pages: []string{"text"}, NoXref: true}))
	r := newReader(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // of a file with many pages, a part will do
		defer cancel()
		if got, err := r.Read(ctx, body); err != nil && got.Text != "" {
			t.Errorf("text %q beside the error %v", got.Text, err)
		}
	})
}
