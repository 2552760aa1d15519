package admin

import (
	"net/http"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/weburl"
)

// Fetched is the JSON form of a dry run; its names are a contract.
type Fetched struct {
	URL        string `json:"url"`
	Canonical  string `json:"canonical"`
	ExcludedBy string `json:"excluded_by,omitempty"` // then it was not fetched
	Robots     string `json:"robots"`                // allowed, forbidden, unreachable; unknown if it was not needed
	CrawlDelay int64  `json:"crawl_delay_ms,omitempty"`
	// AskedDelay is the Crawl-delay of robots.txt, if it exceeds maxCrawlDelayS.
	AskedDelay int64 `json:"asked_delay_ms,omitempty"`
	// LogIn are the steps of the log-in, and the requests with its credentials.
	LogIn []auth.Event `json:"log_in,omitempty"`
	// Answer is null without a response.
	Answer *FetchedAnswer `json:"answer"`
	// Location is the target of a redirect, by HTTP or a meta refresh.
	Location string `json:"location,omitempty"`
	// Plain is the page before rendering, Rendered describes the rendering; absent if it was not rendered.
	Plain    *FetchedPage      `json:"plain,omitempty"`
	Rendered *FetchedRendered  `json:"rendered,omitempty"`
	Page     *FetchedPage      `json:"page"`
	Links    []crawl.TrialLink `json:"links"`
	Document *push.Document    `json:"document"` // the document to push
	Stored   *report.StoredURL `json:"stored"`   // the state to store
	Explain  *Explanation      `json:"explain"`
}

// FetchedAnswer is the site's response.
type FetchedAnswer struct {
	Status    int         `json:"status"`
	Headers   http.Header `json:"headers"`
	Bytes     int         `json:"bytes"` // after decompression
	Truncated bool        `json:"truncated,omitempty"`
	Unread    bool        `json:"unread,omitempty"` // its type is excluded
	Address   string      `json:"address,omitempty"`
	TimeMS    int64       `json:"time_ms"`
}

// FetchedPage is the content of the page.
type FetchedPage struct {
	Read             bool           `json:"read"` // there is something that reads its type
	Title            string         `json:"title"`
	Language         string         `json:"language,omitempty"`
	Charset          string         `json:"charset,omitempty"`
	Text             string         `json:"text"`
	Canonical        string         `json:"canonical,omitempty"`
	Shell            bool           `json:"shell,omitempty"`     // only scripts fill it
	Converter        string         `json:"converter,omitempty"` // the external program that read it
	Metas            []extract.Meta `json:"metas"`
	Directives       []string       `json:"directives"`
	UnavailableAfter string         `json:"unavailable_after,omitempty"`
	Follows          bool           `json:"follows"`             // its links are followed
	MainText         string         `json:"main_text,omitempty"` // of the main content, which is then the document's text
	Fields           []visit.Found  `json:"fields,omitempty"`    // that were looked for, as configured
	// Links is the number of links that were read, including repeated ones; LinksCut is set if further links were dropped.
	Links    int  `json:"links"`
	LinksCut bool `json:"links_cut,omitempty"`
}

// FetchedRendered describes a rendering.
type FetchedRendered struct {
	render.Counts
	TimeMS   int64 `json:"time_ms"`
	WaitedMS int64 `json:"waited_ms"` // before, for a browser, its start included
	// Made are the requests that were made, or refused by robots.txt and the like, in order.
	Made     []visit.PageRequest `json:"made"`
	Location string              `json:"location,omitempty"` // where the page's scripts navigated
	Emptied  bool                `json:"emptied,omitempty"`  // rendering left nothing, so the original page is used
}

// NewFetched returns the printed form of a dry run.
func NewFetched(raw string, u weburl.URL, t *crawl.Trial, x *Explanation) *Fetched {
	f := &Fetched{
		URL: raw, Canonical: u.String(), ExcludedBy: t.Excluded, Robots: t.Robots, CrawlDelay: t.CrawlDelay.Milliseconds(),
		LogIn: t.LogIn, Location: t.Location, Links: t.Links, Document: t.Document, Explain: x,
	}
	if t.AskedDelay > t.CrawlDelay {
		f.AskedDelay = t.AskedDelay.Milliseconds()
	}
	if f.Links == nil {
		f.Links = []crawl.TrialLink{}
	}
	if t.Stored.URL != "" {
		stored := report.NewStoredURL(t.Stored)
		f.Stored = &stored
	}
	if a := t.Answer; a != nil {
		f.Answer = &FetchedAnswer{
			Status: a.Status, Headers: crawl.TrialHeaders(a.Header), Bytes: len(a.Body), Truncated: a.Truncated,
			Unread: a.Refused, TimeMS: a.Duration.Milliseconds(),
		}
		if a.Address.IsValid() {
			f.Answer.Address = a.Address.String()
		}
	}
	if t.Page != nil {
		f.Page = newFetchedPage(t.Page)
		f.Page.Read, f.Page.Directives, f.Page.UnavailableAfter, f.Page.Follows = t.Read, t.Words(), t.Directives.UnavailableAfter, t.Follows
		f.Page.Fields, f.Page.MainText = t.Fields, t.MainText
	}
	if t.Plain != nil {
		f.Plain = newFetchedPage(t.Plain)
		f.Plain.Read = true
	}
	if r := t.Rendered; r != nil {
		f.Rendered = &FetchedRendered{Counts: r.Counts, TimeMS: r.Took.Milliseconds(), WaitedMS: r.Waited.Milliseconds(), Made: append([]visit.PageRequest{}, t.Requested...), Location: r.Location, Emptied: t.Emptied}
	}
	return f
}

func newFetchedPage(p *extract.Page) *FetchedPage {
	return &FetchedPage{
		Title: p.Title, Language: p.Language, Charset: p.Charset, Text: p.Text, Canonical: p.Canonical, Metas: append([]extract.Meta{}, p.Metas...), Directives: []string{},
		Links: len(p.Links), LinksCut: p.LinksCut, Shell: p.Shell, Converter: p.Converter,
	}
}
