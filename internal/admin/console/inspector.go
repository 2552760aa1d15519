package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/crawl"
	visiting "github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
)

const (
	// linksShown and rulesShown bound the linking pages, and the rules that did not match, on one page.
	linksShown = 100
	rulesShown = 500
)

// inspected is the data about one URL.
type inspected struct {
	URL string // as requested
	// Unreadable is the reason why it is not a URL.
	Unreadable string
	Explained  *admin.Explanation
	// Stored is the store's record of it, nil if it is unknown.
	Stored *report.StoredURL
	Robots string
	Sent   *admin.Sent // nil if the URL is unknown
	// Matched are the rules that matched, Others the first of the rest.
	Matched, Others []admin.RuleExplanation
	MoreRules       int
	// Links are the pages that link to it, searched for only on request.
	LinksAsked, MoreLinks bool
	Links                 []report.LinkedFrom
	// LogIns holds its log-in; Browser is why no browser starts to render it.
	LogIns  []visiting.SessionStatus
	Browser string
	// Fetched is the result of a dry run.
	Fetched *fetched
}

func inspector(v *visit) (any, error) {
	return inspect(v, strings.TrimSpace(v.r.URL.Query().Get("url")))
}

// inspect collects everything known about a URL.
func inspect(v *visit, raw string) (*inspected, error) {
	d, err := explained(v, raw)
	if err != nil || d.Explained == nil {
		return d, err
	}
	d.sortRules()
	if d.Sent, err = sentOf(v, d.Name()); err != nil {
		return nil, err
	}
	if err := d.stands(v); err != nil {
		return nil, err
	}
	if d.LinksAsked = v.r.URL.Query().Get("show") == "links"; !d.LinksAsked {
		return d, nil
	}
	ask := admin.Query("to", d.Name(), "limit", strconv.Itoa(linksShown+1))
	err = admin.Each(v.r.Context(), v.api, "/links", ask, func(l report.LinkedFrom) error {
		d.Links = append(d.Links, l)
		return nil
	})
	if d.MoreLinks = len(d.Links) > linksShown; d.MoreLinks {
		d.Links = d.Links[:linksShown]
	}
	return d, err
}

// explained applies gates and rules to a URL, and looks up its record.
func explained(v *visit, raw string) (*inspected, error) {
	d := &inspected{URL: raw}
	if raw == "" {
		return d, nil
	}
	var answers []struct {
		admin.Explanation
		Error string `json:"error"`
	}
	if err := v.post("/explain", nil, admin.ExplainRequest{URLs: []string{raw}}, &answers); err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, fmt.Errorf("explain returned %d URLs instead of one", len(answers))
	}
	if d.Unreadable = answers[0].Error; d.Unreadable != "" {
		return d, nil
	}
	d.Explained = &answers[0].Explanation
	if stored := d.Explained.Stored; stored != nil {
		d.Robots = stored.Robots
		if stored.Known {
			d.Stored = stored.StoredURL
		}
	}
	return d, nil
}

// stands reads the state of the page's log-in and browser.
func (d *inspected) stands(v *visit) error {
	if d.Explained.LogIn == "" && d.Explained.Render == "" {
		return nil
	}
	status, err := statusOf(v)
	if err != nil {
		return err
	}
	d.LogIns = logInsOf(status, d.Explained.LogIn)
	if b := status.Browser; b != nil && d.Explained.Render != "" {
		d.Browser = b.Trouble
	}
	return nil
}

// Name returns the URL as stored, else as changed by the gates.
func (d *inspected) Name() string {
	if d.Stored != nil {
		return d.Stored.URL
	}
	if d.Explained != nil {
		return d.Explained.Canonical
	}
	return d.URL
}

// Renamed reports whether the URL is known by another spelling.
func (d *inspected) Renamed() bool { return d.Explained != nil && d.Name() != d.URL }

func (d *inspected) sortRules() {
	for i := range d.Explained.Rules {
		switch rule := d.Explained.Rules[i]; {
		case rule.Matched:
			d.Matched = append(d.Matched, rule)
		case len(d.Others) < rulesShown:
			d.Others = append(d.Others, rule)
		default:
			d.MoreRules++
		}
	}
}

// withURL handles a form that must contain a URL.
func withURL(answer func(v *visit, raw string) error) func(*visit) error {
	return func(v *visit) error {
		raw := v.r.PostForm.Get("url")
		if raw == "" {
			return &admin.Problem{Title: "Bad request", Status: http.StatusBadRequest, Detail: "the form has no URL"}
		}
		return answer(v, raw)
	}
}

// toURL redirects to the page of a URL.
func toURL(v *visit, raw, words string) error {
	return v.redirect("/url", url.Values{"url": {raw}}, words)
}

func addOne(v *visit, raw string) error {
	done, err := v.api.Submit(v.r.Context(), []string{raw})
	if err != nil {
		return err
	}
	words := "Nothing was added."
	if len(done) == 1 {
		words = "Result: " + strings.ReplaceAll(done[0].Result, "_", " ")
		if done[0].Words != "" {
			words += " (" + done[0].Words + ")"
		}
	}
	return toURL(v, raw, words)
}

func refreshOne(v *visit, raw string) error {
	done, err := v.api.Refresh(v.r.Context(), admin.Selection{URLs: []string{raw}, Full: v.r.PostForm.Get("full") != ""})
	if err != nil {
		return err
	}
	words := "It is queued to be fetched again."
	switch {
	case done.HeldUp > 0:
		words = "It is queued, and fetched when its robots.txt, proxy or log-in is available: see the reason below."
	case done.Excluded > 0:
		words = "Not queued: rules or gates exclude it."
	case done.URLs == 0:
		words = "It is already queued, or being fetched."
	}
	return toURL(v, raw, words)
}

func removeOne(v *visit, raw string) error {
	if v.r.PostForm.Get("sure") == "" {
		c := confirmation{Action: v.link("/url/remove", nil), Fields: []field{{"url", raw}}, Back: v.link("/url", url.Values{"url": {raw}})}
		return confirm(v, c.naming([]string{raw}))
	}
	done, err := v.api.Remove(v.r.Context(), admin.Selection{URLs: []string{raw}, Forever: v.r.PostForm.Get("forever") != ""})
	if err != nil {
		return err
	}
	words := "The URL is unknown: nothing was removed."
	switch {
	case slices.Contains(done.Roots, raw), done.URLs == 0 && len(done.Roots) > 0:
		words = "It stays: it is a start URL of the configuration. Remove it there first."
	case done.Deletions > 0:
		words = "Removed; its document is about to be deleted."
	case done.URLs > 0:
		words = "Removed; it had no document in the index."
	}
	return toURL(v, raw, words)
}

// fetched is a dry run for display.
type fetched struct {
	*admin.Fetched
	Text      string // the text that was read, as lines
	Links     []crawl.TrialLink
	MoreLinks int
}

// fetchOne fetches a URL without storing anything.
func fetchOne(v *visit, raw string) error {
	got := &fetched{}
	if err := v.post("/fetch", nil, admin.FetchRequest{URL: raw}, &got.Fetched); err != nil {
		return err
	}
	got.Links = got.Fetched.Links
	if n := len(got.Links); n > linksShown {
		got.Links, got.MoreLinks = got.Links[:linksShown], n-linksShown
	}
	if got.Page != nil {
		got.Text = source(got.Page.Text, 20_000)
	}
	d, err := inspect(v, raw)
	if err != nil {
		return err
	}
	d.Fetched = got
	v.console.show(v, http.StatusOK, "inspector", "URL inspector", d)
	return nil
}
