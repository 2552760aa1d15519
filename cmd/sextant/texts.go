package main

import (
	"embed"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push/wire"
	"github.com/sextant-crawler/sextant/scheduler"
)

// textFiles hold what commands print for people: templates, a line of output in a line.
//
//go:embed texts
var textFiles embed.FS

// texts returns the function that writes a template's text about v to w, coloured by p.
func texts(w io.Writer, p paint) func(name string, v any) error {
	all := template.Must(template.New("texts").Option("missingkey=zero").Funcs(textFunctions(p)).ParseFS(textFiles, "texts/*.txt"))
	return func(name string, v any) error { return all.ExecuteTemplate(w, name, v) }
}

// showText prints v, for people as a template's text.
func showText(c *cli.Context, name string, v any) error {
	return show(c, v, func() error { return texts(c.App.Writer, painter(c))(name, v) })
}

func textFunctions(p paint) template.FuncMap {
	colours := map[string]colour{"good": good, "warn": doubtful, "bad": bad, "bold": bold}
	return template.FuncMap{
		"paint": func(kind, words string) string {
			if colour, ok := colours[kind]; ok {
				return p(colour, words)
			}
			return words
		},
		"comma": func(n any) string { return comma(whole(n)) },
		"count": func(n any, thing string) string { return admin.Count(whole(n), thing) },
		"size":  func(n any) string { return size(whole(n)) },
		"less":  func(n, by any) int64 { return max(whole(n)-whole(by), 0) },
		"plural": func(n uint64, one, more string) string {
			if n == 1 {
				return "1 " + one
			}
			return comma(n) + " " + more
		},
		"total":      admin.Sum,
		"ms":         func(seconds float64) string { return fmt.Sprintf("%.0f ms", 1000*seconds) },
		"lasting":    func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond },
		"local":      clock.Local,
		"at":         localOrDash,
		"cell":       reportCell,
		"permission": policy.IsPermission,
		"dead": func(d *report.Documents) (n int) {
			for _, s := range d.BySource {
				n += s.Dead
			}
			return n
		},
		"localize": func(v any) string { return clock.Localize(fmt.Sprint(v)) },
		"begin":    begin, "join": join, "joined": strings.Join, "lower": strings.ToLower, "plain": wire.Plain, "runes": utf8.RuneCountInString,
		"lines":  func(s string) []string { return strings.Split(s, "\n") },
		"spaced": func(word string) string { return strings.ReplaceAll(word, "_", " ") },
		"content": func(selector string) string {
			form, _ := strings.CutPrefix(selector, string(tree.Content)+":")
			return map[bool]string{true: form}[form != selector]
		},
		"statusText":  http.StatusText,
		"sources":     scheduler.SourceWords,
		"maxRequests": func() int { return render.MaxRequests },
		"renewed":     renewedWords,
		"verdict":     func(x *admin.Explanation, a admin.Answer) explained { return explained{x, a} },
		"show":        func(p *admin.FetchedPage, most int) shownPage { return shownPage{p, most} },
		"group":       func(what string, g review.PreviewGroup) shownGroup { return shownGroup{g, what} },
	}
}

// What some texts are about.
type (
	// explained is an explanation with its verdict.
	explained struct {
		*admin.Explanation
		Verdict admin.Answer
	}
	// shownFetch is a dry run, and how many characters of its texts are shown, 0 for all.
	shownFetch struct {
		*admin.Fetched
		Text int
	}
	shownPage struct {
		*admin.FetchedPage
		Most int // as Text of shownFetch
	}
	shownGroup struct {
		review.PreviewGroup
		What string
	}
)

// whole returns any number without its fraction.
func whole(n any) int64 {
	switch v := reflect.ValueOf(n); {
	case v.CanUint():
		return int64(v.Uint()) //nolint:gosec // no count is so large
	case v.CanFloat():
		return int64(v.Float())
	default:
		return v.Int()
	}
}

// begin returns up to n characters of a text, all if n is 0.
func begin(s string, n int) string {
	if n > 0 && utf8.RuneCountInString(s) > n {
		return string([]rune(s)[:n]) + " ..."
	}
	return s
}

// reportCell formats a cell of a report. It removes control characters and changes of direction, which come from
// strangers.
func reportCell(c report.Column, v any) string {
	switch v := v.(type) {
	case time.Time:
		return localOrDash(v)
	case string:
		if v == "" && c.Empty != "" {
			return "(" + c.Empty + ")"
		}
		if c.Shows == report.Text {
			return clock.Localize(wire.Plain(v))
		}
	}
	return fmt.Sprint(v)
}

func localOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock.Local(t)
}

// renewedWords describes when documents get other metas or another source.
func renewedWords(p *review.Preview) string {
	const what = "documents with other metas or another source"
	switch p.AtOnce {
	case 0:
		return what + " when they are next fetched; at once with --now"
	case p.Renewed.Count:
		return what + ", fetched again at once"
	}
	return fmt.Sprintf("%s: %d are fetched again at once, the others when they are due; with --now all at once", what, p.AtOnce)
}
