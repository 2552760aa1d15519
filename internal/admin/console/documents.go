package console

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/internal/admin"
)

const (
	// textShown is the number of characters of a document's text that are shown, contentShown the number of bytes of the
	// original page.
	textShown    = 100_000
	contentShown = 20_000
	metasShown   = 200
)

// documentData is the data of the page.
type documentData struct {
	URL     string
	Unknown bool // the URL is unknown
	*admin.Sent
	Metas     []metaRow
	MoreMetas int
	// Text and Content are shown as lines; MoreText and MoreContent are set if they were cut.
	Text, Content         string
	MoreText, MoreContent bool
}

// metaRow is a value of a meta.
type metaRow struct{ Name, Value string }

func document(v *visit) (any, error) {
	d := &documentData{URL: strings.TrimSpace(v.r.URL.Query().Get("url"))}
	if d.URL == "" {
		return d, nil
	}
	sent, err := sentOf(v, d.URL)
	if err != nil {
		return nil, err
	}
	d.Sent, d.Unknown = sent, sent == nil
	if sent == nil || sent.Document == nil {
		return d, nil
	}
	for _, name := range slices.Sorted(maps.Keys(sent.Document.Metas)) {
		for _, value := range sent.Document.Metas[name] {
			if len(d.Metas) == metasShown {
				d.MoreMetas++
				continue
			}
			d.Metas = append(d.Metas, metaRow{name, value})
		}
	}
	d.Text, d.MoreText = source(sent.Document.Text, textShown), utf8.RuneCountInString(sent.Document.Text) > textShown
	if content := sent.Document.Content; utf8.Valid(content) {
		d.Content, d.MoreContent = source(string(content), contentShown), utf8.RuneCount(content) > contentShown
	}
	return d, nil
}

// sentOf returns the newest order about a URL; nil if the URL is unknown.
func sentOf(v *visit, raw string) (*admin.Sent, error) {
	sent := &admin.Sent{}
	err := v.get("/document", url.Values{"url": {raw}}, sent)
	if p, ok := errors.AsType[*admin.Problem](err); ok && p.Status == http.StatusNotFound {
		return nil, nil
	}
	return sent, err
}

// documentText sends the text as a file, as it was pushed.
func documentText(v *visit) error {
	return download(v, "text/plain; charset=utf-8", "text.txt", func(s *admin.Sent) []byte { return []byte(s.Document.Text) })
}

// documentContent sends the original page as a file that no browser displays.
func documentContent(v *visit) error {
	return download(v, "application/octet-stream", "content.bin", func(s *admin.Sent) []byte { return s.Document.Content })
}

func download(v *visit, media, name string, part func(*admin.Sent) []byte) error {
	sent, err := sentOf(v, v.r.URL.Query().Get("url"))
	if err != nil {
		return err
	}
	if sent == nil || sent.Document == nil {
		return &admin.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: "the outbox contains no document of this URL"}
	}
	b := part(sent)
	h := v.w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Length", fmt.Sprint(len(b)))
	_, _ = v.w.Write(b) // a client that has gone is not an error
	return nil
}

// source returns the first n characters of external text, with its lines, and with characters that would change its
// display made visible. A template escapes it.
func source(s string, n int) string {
	return cutBy(s, n, func(r rune) bool { return r == '\n' || r == '\t' })
}
