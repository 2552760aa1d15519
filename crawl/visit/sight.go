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

// Sight is what a dry run sees of a visit. A nil one looks at nothing.
type Sight struct {
	// Excluded says by what the URL is excluded; then it was not asked for.
	Excluded string
	// Robots is the word of a robots.State for what its robots.txt says, CrawlDelay the pause
	// that is kept for it, and AskedDelay the one that it asks for.
	Robots                 string
	CrawlDelay, AskedDelay time.Duration
	// LogIn are the steps of the log-in, and the requests that it is for.
	LogIn []auth.Event
	// Answer is the page's, nil if there was none that can be used.
	Answer *fetcher.Response
	// Location is where the answer, or a meta refresh, leads to.
	Location string
	// Page is the page read from a 200, or nil. Read says that something reads
	// its type.
	Page       *extract.Page
	Read       bool
	Directives extract.Directives
	// Plain is the page as it was read before a browser made it, Rendered what that was; nil where it was not rendered.
	Plain    *extract.Page
	Rendered *render.Rendered
	// Requested are the requests that were made or refused for it in the browser.
	Requested []PageRequest
	// Emptied says that nothing was left of the page in the browser, so that it counts as it was before.
	Emptied bool
	// Follows says that the page's links are followed, by rules and directives.
	Follows bool
	// Fields are those that were looked for in the page.
	Fields []Found
	// MainText is the text of the main content, "" if it was not looked for or not found.
	MainText string
	// Document is what would be pushed, nil for none.
	Document *push.Document
}

// Words are what the page asks for.
func (t *Sight) Words() []string {
	return append([]string{}, directiveFlags(t.Directives).Words()...)
}

// see has the dry run look at something, if there is one.
func (t *Sight) see(look func(*Sight)) {
	if t != nil {
		look(t)
	}
}

func (t *Sight) completed(r *scheduler.Result) error {
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
