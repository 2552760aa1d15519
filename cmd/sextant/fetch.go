package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func fetchOne(c *cli.Context) error {
	if c.NArg() != 1 {
		return wrongUse("fetch: name one URL")
	}
	if c.Int("text") < 0 {
		return wrongUse("--text is 0 or more")
	}
	raw := c.Args().First()
	u, err := weburl.Parse(raw)
	if err != nil {
		if err := showUnreadable(c, raw, err); err != nil {
			return err
		}
		return no(nil)
	}
	crawler, h, err := oneCrawler(c)
	if err != nil {
		return err
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.Bool("render") {
		crawler.Settings = crawler.RenderAll()
	}
	var f *admin.Fetched
	dry := func(known admin.Knowledge) (err error) {
		f, err = service.DryRun(ctx, crawler, known, raw, u, userAgent(), log)
		return err
	}
	err = withKnowledge(c, h, crawler.Name, dry)
	if errors.Is(err, fs.ErrNotExist) { // before the first crawl there is no store
		err = dry(admin.Knowledge{})
	}
	if err != nil {
		return err
	}
	err = show(c, f, func() error {
		printFetched(c.App.Writer, f, c.Int("text"), painter(c))
		return nil
	})
	if err == nil && (f.Stored == nil || f.Stored.Class != scheduler.OK.String() && f.Stored.Class != scheduler.Redirect.String()) {
		return no(nil)
	}
	return err
}

// printFetched writes the dry run for people.
func printFetched(w io.Writer, f *admin.Fetched, text int, p paint) {
	e := explanation{w, p}
	row := e.row
	printExplanation(w, f.Explain, f.Verdict(), p)
	row("robots", "robots.txt: %s", f.Robots)
	if f.CrawlDelay > 0 {
		row("", "it asks for a pause of %s", time.Duration(max(f.CrawlDelay, f.AskedDelay))*time.Millisecond)
	}
	if f.AskedDelay > 0 {
		row("", "kept is one of %s, by maxCrawlDelayS", time.Duration(f.CrawlDelay)*time.Millisecond)
	}
	if f.ExcludedBy != "" {
		row("fetch", "not fetched: %s", f.ExcludedBy)
		return
	}
	printLogIn(f.LogIn, row)
	if f.Answer == nil {
		row("fetch", "no answer: %s", f.Stored.LastError)
		return
	}
	printAnswer(f.Answer, row)
	e.some("leads to", "%s", f.Location)
	printRendered(f, row)
	switch shell := f.Page != nil && f.Page.Shell; {
	case shell && f.Rendered != nil:
		row("page", "hardly any text, though its scripts ran: its document is as good as empty")
	case shell:
		row("page", "an application shell: only its scripts fill it, and they were not run; --render shows it rendered")
	}
	if f.Page != nil {
		e.page(f.Page, text)
	}
	for _, l := range f.Links {
		row("link", "%s", linkWords(&l))
	}
	printOutcome(f, row)
}

func printAnswer(a *admin.FetchedAnswer, row func(string, string, ...any)) {
	row("answer", "%d %s, %d bytes in %d ms from %s", a.Status, http.StatusText(a.Status), a.Bytes, a.TimeMS, a.Address)
	if a.Truncated {
		row("", "cut off at the limit of a body's size")
	}
	if a.Unread {
		row("", "its body is not read: its MIME type is excluded")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		for _, value := range a.Headers[name] {
			row("header", "%s: %s", name, value)
		}
	}
}

// printLogIn writes the steps of a log-in.
func printLogIn(steps []auth.Event, row func(string, string, ...any)) {
	for i := range steps {
		e, name := &steps[i], ""
		if i == 0 {
			name = "steps"
		}
		words := strings.Join(e.Words, "; ")
		switch {
		case e.Method == "":
			row(name, "%s", words)
			continue
		case e.Error != "":
			words = strings.Join(append([]string{"no answer: " + e.Error}, e.Words...), "; ")
		case words == "":
			words = strconv.Itoa(e.Status)
		default:
			words = strconv.Itoa(e.Status) + "; " + words
		}
		row(name, "%s %s: %s", e.Method, e.URL, words)
	}
}

// printRendered writes the result of rendering, and the page before it.
func printRendered(f *admin.Fetched, row func(string, string, ...any)) {
	if p := f.Plain; p != nil {
		row("before", "title %q, %d characters, %s", p.Title, utf8.RuneCountInString(p.Text), count(p.Links, "link"))
		if p.Shell {
			row("", "an application shell: only its scripts fill it")
		}
	}
	r := f.Rendered
	switch {
	case r == nil && f.Plain != nil && f.Page == nil:
		row("rendered", "it was not: %s", f.Stored.LastError)
		return
	case r == nil:
		return
	}
	row("rendered", "by a browser in %d ms: %s made, %d from its cache, %d refused, %d failed", r.TimeMS, count(r.Requests, "request"), r.Cached, r.Refused, r.Failed)
	if r.WaitedMS > 0 {
		row("", "after %d ms for a browser, its start included", r.WaitedMS)
	}
	for _, m := range r.Made {
		if m.Error != "" {
			row("", "%s %s: %s", strings.ToLower(m.Kind), m.URL, m.Error)
		} else {
			row("", "%s %s: %d", strings.ToLower(m.Kind), m.URL, m.Status)
		}
	}
	for _, refused := range r.RefusedData {
		row("", "refused: %s", refused)
	}
	if r.TooMany {
		row("", "further requests were refused: a page has %d", render.MaxRequests)
	}
	if r.Location != "" {
		row("", "its scripts lead to %s, which was not followed: that is a redirect", r.Location)
	}
	if r.Emptied {
		row("", "nothing was left of it, maybe by an error of its scripts: it is read as its server sent it")
	}
	if r.Restless {
		row("", "it was still at work when its time was over, and was read as it was then")
	}
}

// unreadWords describes why a page has no text of its own.
func unreadWords(p *admin.FetchedPage) string {
	for _, m := range p.Metas {
		if m.Name == "extraction_error" && m.Content != "not-read" {
			return "its text cannot be read (extraction_error " + m.Content + "): it has its URL and metas alone"
		}
	}
	return "nothing reads its type: it has its URL and metas alone"
}

func (e explanation) page(p *admin.FetchedPage, text int) {
	row := e.row
	if !p.Read && p.Converter == "" {
		row("page", "%s", unreadWords(p))
	}
	e.some("page", "by the converter %s", p.Converter)
	row("title", "%s", p.Title)
	e.some("language", "%s", p.Language)
	e.some("charset", "%s", p.Charset)
	e.some("canonical", "%s", p.Canonical)
	for _, m := range p.Metas {
		row("meta", "%s = %s", m.Name, m.Content)
	}
	for i := range p.Fields {
		printField(&p.Fields[i], row, text)
	}
	says := p.Directives
	if p.UnavailableAfter != "" {
		says = append(slices.Clone(says), "unavailable_after "+p.UnavailableAfter)
	}
	e.some("says", "%s", join(says))
	row("text", "%d characters: %s", utf8.RuneCountInString(p.Text), begin(p.Text, text))
	if p.MainText != "" {
		row("main", "%d characters are its main content, and the document's text", utf8.RuneCountInString(p.MainText))
	}
	if !p.Follows {
		row("links", "not followed, by the rules or by what the page says")
	}
	if p.LinksCut {
		row("links", "%d of more: the rest of the page's links is not read", p.Links)
	}
}

// begin returns up to n characters of a text, all if n is 0.
func begin(s string, n int) string {
	if n > 0 && utf8.RuneCountInString(s) > n {
		return string([]rune(s)[:n]) + " ..."
	}
	return s
}

// printField writes what a Field found, a content on separate lines.
func printField(f *visit.Found, row func(string, string, ...any), text int) {
	form, isContent := strings.CutPrefix(f.Selector, string(tree.Content)+":")
	switch {
	case f.Failed != "":
		row("field", "%s: %s (%s)", f.Name, f.Failed, f.Selector)
	case len(f.Values) == 0 && isContent:
		row("field", "%s: the page has no content as %s", f.Name, form)
	case len(f.Values) == 0:
		row("field", "%s: nothing matches %s", f.Name, f.Selector)
	case isContent:
		cut := ""
		if f.Cut {
			cut = ", cut at its maxBytes"
		}
		row("field", "%s = %d bytes of %s%s:", f.Name, len(f.Values[0]), form, cut)
		for line := range strings.SplitSeq(begin(f.Values[0], text), "\n") {
			row("", "| %s", line)
		}
	default:
		row("field", "%s = %s (%s)", f.Name, strings.Join(f.Values, " | "), f.Selector)
	}
}

func linkWords(l *crawl.TrialLink) string {
	words := l.URL + ": "
	if l.Decision == "crawl" {
		words += "crawl, fifo " + l.Fifo
	} else {
		words += "ignored by " + l.By
	}
	if l.NoFollow {
		words += "; rel=nofollow"
	}
	return words
}

// longestMeta bounds the printed part of a document's meta.
const longestMeta = 500

func printOutcome(f *admin.Fetched, row func(string, string, ...any)) {
	if f.Document != nil {
		source := ""
		if f.Document.Source != "" {
			source = fmt.Sprintf("source %q, ", f.Document.Source)
		}
		row("push", "%stitle %q, type %s", source, f.Document.Title, f.Document.ContentType)
		if f.Stored.Reason == scheduler.ReasonTarget.String() {
			row("", "%s: it moves when the edit of the rules is carried out", f.Stored.LastError)
		}
		for _, name := range slices.Sorted(maps.Keys(f.Document.Metas)) {
			row("", "meta %s = %s", name, begin(strings.Join(f.Document.Metas[name], ", "), longestMeta))
		}
	} else if f.Stored.LastError == "" && f.Location != "" {
		row("push", "nothing: it leads elsewhere")
	} else {
		row("push", "nothing: %s", f.Stored.LastError)
	}
	row("outcome", "would be stored as status %d, class %s", f.Stored.Status, f.Stored.Class)
	if f.Stored.NextAt != nil {
		row("", "and fetched again at %s", clock.Local(*f.Stored.NextAt))
	}
}
