package visit

import (
	"encoding/json"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Recording records a visit for a dry run. A nil Recording records nothing.
type Recording struct {
	// Excluded is the reason why the URL was not requested, or "".
	Excluded string
	// Robots is the scheduler.RobotsState of its robots.txt as a word, CrawlDelay the pause applied, and AskedDelay the
	// pause requested by robots.txt.
	Robots                 string
	CrawlDelay, AskedDelay time.Duration
	// LogIn are the steps of the log-in, and the requests that it is for.
	LogIn []auth.Event
	// Answer is the page's response, nil without a usable one.
	Answer *fetcher.Response
	// Location is the target of the response's redirect, or of a meta refresh.
	Location string
	// Page is the page read from a 200, or nil. Read means that its type has a reader.
	Page       *extract.Page
	Read       bool
	Directives extract.Directives
	// Plain is the page before rendering, Rendered the result; nil without rendering.
	Plain    *extract.Page
	Rendered *render.Rendered
	// Requested are the requests that were made or refused for it in the browser.
	Requested []PageRequest
	// Emptied is set if scripts emptied the page, so that the original was used.
	Emptied bool
	// Follows means that rules and directives allow the page's links to be followed.
	Follows bool
	// Fields are the Fields that were searched for.
	Fields []Found
	// MainText is the text of the main content, "" if it was not requested or not found.
	MainText string
	// Document is the document to push, nil for none.
	Document *push.Document
}

// Words returns the page's directives.
func (t *Recording) Words() []string {
	return append([]string{}, directiveFlags(t.Directives).Words()...)
}

// record calls update if this is a dry run.
func (t *Recording) record(update func(*Recording)) {
	if t != nil {
		update(t)
	}
}

func (t *Recording) completed(r *scheduler.Result) error {
	if t == nil {
		return nil
	}
	t.Location = r.Location
	if r.Excluded != nil {
		t.Excluded = r.Excluded.Words
	}
	if r.Document == nil {
		return nil
	}
	t.Document = new(push.Document)
	if err := json.Unmarshal(r.Document.Body, t.Document); err != nil {
		return err
	}
	t.Document.Hash = "" // it is of a store that is thrown away, and compares with nothing
	return nil
}
