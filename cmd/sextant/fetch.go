package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

func fetchCommand() *cli.Command {
	return &cli.Command{
		Name:      "fetch",
		Usage:     "fetch one page as a crawl would, and say what would become of it; stores nothing",
		ArgsUsage: "URL",
		Description: "What the rules or robots.txt exclude is not fetched. No redirect is followed. Pauses,\n" +
			"log-ins and refused addresses are those of the crawl; hours of a Throttle are not. Sites\n" +
			"that have moved are known where --data is given. The exit code is 1 if there is no page.",
		Flags: flags(&cli.IntFlag{Name: "text", Value: 500, Usage: "print up to `N` characters of the text; 0 is all", EnvVars: env("text")}),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return wrongUse("fetch: name one URL")
			}
			if c.Int("text") < 0 {
				return wrongUse("--text is 0 or more")
			}
			return fetchOne(c, c.Args().First())
		},
	}
}

// fetched is the JSON form of a dry run; its names are a contract.
type fetched struct {
	URL        string `json:"url"`
	Canonical  string `json:"canonical"`
	ExcludedBy string `json:"excluded_by,omitempty"` // then it was not fetched
	Robots     string `json:"robots"`                // allowed, forbidden, unreachable; unknown where it was not asked
	CrawlDelay int64  `json:"crawl_delay_ms,omitempty"`
	// Answer is null where there was none.
	Answer *fetchedAnswer `json:"answer"`
	// Location is where the answer leads to, by HTTP or a meta refresh.
	Location string            `json:"location,omitempty"`
	Page     *fetchedPage      `json:"page"`
	Links    []crawl.TrialLink `json:"links"`
	Document *push.Document    `json:"document"` // what would be pushed
	Stored   *crawl.StoredURL  `json:"stored"`   // what would be stored
	Explain  *explanation      `json:"explain"`
}

type fetchedAnswer struct {
	Status    int         `json:"status"`
	Headers   http.Header `json:"headers"`
	Bytes     int         `json:"bytes"` // after decompression
	Truncated bool        `json:"truncated,omitempty"`
	Unread    bool        `json:"unread,omitempty"` // its type is excluded
	Address   string      `json:"address,omitempty"`
	TimeMS    int64       `json:"time_ms"`
}

type fetchedPage struct {
	Read             bool          `json:"read"` // there is something that reads its type
	Title            string        `json:"title"`
	Language         string        `json:"language,omitempty"`
	Charset          string        `json:"charset,omitempty"`
	Text             string        `json:"text"`
	Canonical        string        `json:"canonical,omitempty"`
	Metas            []fetchedMeta `json:"metas"`
	Directives       []string      `json:"directives"`
	UnavailableAfter string        `json:"unavailable_after,omitempty"`
	Follows          bool          `json:"follows"` // its links are followed
}

type fetchedMeta struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

func fetchOne(c *cli.Context, raw string) error {
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
	var known knowledge
	if c.IsSet("data") {
		err = withKnowledge(c, h, func(k knowledge) error {
			known = knowledge{moved: k.moved, traps: k.traps}
			return nil
		})
		if err != nil {
			return err
		}
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	explainer, err := newExplainer(crawler, known.moved, known.traps)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
	defer stop()
	t, err := try(ctx, crawler, known.moved, raw, u, log)
	if err != nil {
		return err
	}
	f := newFetched(raw, u, t, explainer.explain(raw, u))
	if c.Bool("json") {
		err = json.NewEncoder(c.App.Writer).Encode(f)
	} else {
		f.print(c.App.Writer, c.Int("text"))
	}
	if err == nil && t.Stored.Class != scheduler.OK.String() && t.Stored.Class != scheduler.Redirect.String() {
		return no(nil)
	}
	return err
}

// try makes a dry run in a store of its own.
func try(ctx context.Context, crawler config.Crawler, moved crawl.Moves, raw string, u weburl.URL, log *slog.Logger) (t *crawl.Trial, err error) {
	dir, err := os.MkdirTemp("", "sextant-fetch-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pool := documents.NewPool(documentSettings(crawler), log)
	defer pool.Close()
	settings := (&running{documents: pool}).settings(crawler)
	options := badgerstore.Options{Logger: slog.New(slog.DiscardHandler), Durability: badgerstore.OS}
	err = withStore(ctx, home{dir: dir}, options, func(ctx context.Context, store *badgerstore.Store) error {
		t, err = crawl.Try(ctx, settings, moved, store, raw, u, log)
		return err
	})
	return t, err
}

func newFetched(raw string, u weburl.URL, t *crawl.Trial, x *explanation) *fetched {
	f := &fetched{
		URL: raw, Canonical: u.String(), ExcludedBy: t.Excluded, Robots: t.Robots, CrawlDelay: t.CrawlDelay.Milliseconds(),
		Location: t.Location, Links: t.Links, Document: t.Document, Explain: x,
	}
	if f.Links == nil {
		f.Links = []crawl.TrialLink{}
	}
	if t.Stored.URL != "" {
		f.Stored = &t.Stored
	}
	if a := t.Answer; a != nil {
		f.Answer = &fetchedAnswer{
			Status: a.Status, Headers: crawl.TrialHeaders(a.Header), Bytes: len(a.Body), Truncated: a.Truncated,
			Unread: a.Refused, TimeMS: a.Duration.Milliseconds(),
		}
		if a.Address.IsValid() {
			f.Answer.Address = a.Address.String()
		}
	}
	if p := t.Page; p != nil {
		f.Page = &fetchedPage{
			Read: t.Read, Title: p.Title, Language: p.Language, Charset: p.Charset, Text: p.Text, Canonical: p.Canonical,
			Metas: []fetchedMeta{}, Directives: t.Words(), UnavailableAfter: t.Directives.UnavailableAfter, Follows: t.Follows,
		}
		for _, m := range p.Metas {
			f.Page.Metas = append(f.Page.Metas, fetchedMeta(m))
		}
	}
	return f
}

// print writes the dry run for a person.
func (f *fetched) print(w io.Writer, text int) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-9s "+format+"\n", append([]any{name}, args...)...)
	}
	f.Explain.print(w)
	row("robots", "robots.txt: %s", f.Robots)
	if f.CrawlDelay > 0 {
		row("", "it asks for a pause of %s", time.Duration(f.CrawlDelay)*time.Millisecond)
	}
	if f.ExcludedBy != "" {
		row("fetch", "not fetched: %s", f.ExcludedBy)
		return
	}
	if f.Answer == nil {
		row("fetch", "no answer: %s", f.Stored.LastError)
		return
	}
	f.Answer.print(row)
	if f.Location != "" {
		row("leads to", "%s", f.Location)
	}
	if f.Page != nil {
		f.Page.print(row, text)
	}
	for _, l := range f.Links {
		row("link", "%s", linkWords(&l))
	}
	f.printOutcome(row)
}

func (a *fetchedAnswer) print(row func(string, string, ...any)) {
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

func (p *fetchedPage) print(row func(string, string, ...any), text int) {
	if !p.Read {
		row("page", "nothing reads its type: it has its URL and metas alone")
	}
	row("title", "%s", p.Title)
	for _, part := range [...]struct{ name, value string }{{"language", p.Language}, {"charset", p.Charset}, {"canonical", p.Canonical}} {
		if part.value != "" {
			row(part.name, "%s", part.value)
		}
	}
	for _, m := range p.Metas {
		row("meta", "%s = %s", m.Name, m.Content)
	}
	says := p.Directives
	if p.UnavailableAfter != "" {
		says = append(slices.Clone(says), "unavailable_after "+p.UnavailableAfter)
	}
	if len(says) > 0 {
		row("says", "%s", strings.Join(says, ", "))
	}
	shown, n := p.Text, utf8.RuneCountInString(p.Text)
	if text > 0 && n > text {
		shown = string([]rune(p.Text)[:text]) + " ..."
	}
	row("text", "%d characters: %s", n, shown)
	if !p.Follows {
		row("links", "not followed, by the rules or by what the page says")
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

func (f *fetched) printOutcome(row func(string, string, ...any)) {
	if f.Document != nil {
		row("push", "source %q, title %q, type %s, hash %s", f.Document.Source, f.Document.Title, f.Document.ContentType, f.Document.Hash)
		for _, name := range slices.Sorted(maps.Keys(f.Document.Metas)) {
			row("", "meta %s = %s", name, strings.Join(f.Document.Metas[name], ", "))
		}
	} else {
		row("push", "nothing: %s", f.Stored.LastError)
	}
	row("stored", "status %d, class %s", f.Stored.Status, f.Stored.Class)
	if f.Stored.NextAt != nil {
		row("next", "%s", f.Stored.NextAt)
	}
}
