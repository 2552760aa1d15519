package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/crawl"
	visiting "github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
)

const (
	// linksShown are the pages that link to a URL, and rulesShown the rules that did not
	// match, that one page shows.
	linksShown = 100
	rulesShown = 500
)

// inspected is what the page shows of one URL.
type inspected struct {
	URL string // as it was asked for
	// Unreadable says why it is no URL.
	Unreadable string
	Answer     shownAnswer
	Explained  *admin.Explanation
	// Stored is what the store knows of it, nil if it does not.
	Stored *report.StoredURL
	Robots string
	Sent   *admin.Sent // nil where nothing is known
	// Matched are the rules that matched, Others the first of the rest.
	Matched, Others []admin.RuleExplanation
	MoreRules       int
	// Links are pages that link to it, looked for only where they are asked for.
	LinksAsked, MoreLinks bool
	Links                 []report.LinkedFrom
	// LogIns holds that which it is asked for with; Browser says why none starts that would render it.
	LogIns  []visiting.SessionStatus
	Browser string
	// Fetched is a dry run.
	Fetched *fetched
}

func inspector(v *visit) (any, error) {
	return inspect(v, strings.TrimSpace(v.r.URL.Query().Get("url")))
}

// inspect asks for all that is known of a URL.
func inspect(v *visit, raw string) (*inspected, error) {
	d, err := explained(v, raw)
	if err != nil || d.Explained == nil {
		return d, err
	}
	d.sortRules()
	if d.Sent, err = sentOf(v, d.Name()); err != nil {
		return nil, err
	}
	d.Answer = d.judge(v)
	if err := d.stands(v); err != nil {
		return nil, err
	}
	if d.LinksAsked = v.r.URL.Query().Get("show") == "links"; !d.LinksAsked {
		return d, nil
	}
	links, more, err := lines[report.LinkedFrom](v, "/links", url.Values{"to": {d.Name()}}, linksShown)
	d.Links, d.MoreLinks = links, more
	return d, err
}

// explained asks what gates and rules say of a URL, and what is stored of it.
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
		return nil, fmt.Errorf("explain answered about %d URLs, not one", len(answers))
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

// stands looks how that stands which the page needs: its log-in, and a browser.
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

// Name is the URL as it is stored, else as the gates make it.
func (d *inspected) Name() string {
	if d.Stored != nil {
		return d.Stored.URL
	}
	if d.Explained != nil {
		return d.Explained.Canonical
	}
	return d.URL
}

// Renamed says that the URL is known by another spelling.
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

// lines asks for the first entries of a list of JSON Lines, with 0 as most for all; more
// says that there are others.
func lines[T any](v *visit, path string, query url.Values, most int) (list []T, more bool, err error) {
	if most > 0 {
		query.Set("limit", fmt.Sprint(most+1))
	}
	err = admin.Each(v.r.Context(), v.api, path, query, func(one T) error { list = append(list, one); return nil })
	if more = most > 0 && len(list) > most; more {
		list = list[:most]
	}
	return list, more, err
}

// formURL is the URL of a form.
func formURL(v *visit) (string, error) {
	form, err := v.form()
	if err == nil && form.Get("url") == "" {
		err = &admin.Problem{Title: "Bad request", Status: http.StatusBadRequest, Detail: "the form names no URL"}
	}
	return form.Get("url"), err
}

// toURL goes to the page of a URL.
func toURL(v *visit, raw, words string) error {
	return v.redirect("/url", url.Values{"url": {raw}}, words)
}

func addOne(v *visit) error {
	raw, err := formURL(v)
	if err != nil {
		return err
	}
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

func refreshOne(v *visit) error {
	raw, err := formURL(v)
	if err != nil {
		return err
	}
	done, err := v.api.Refresh(v.r.Context(), admin.Selection{URLs: []string{raw}, Full: v.r.PostForm.Get("full") != ""})
	if err != nil {
		return err
	}
	words := "It waits to be fetched again."
	switch {
	case done.HeldUp > 0:
		words = "It is queued, and is fetched when its robots.txt, proxy or log-in can be had: see why it waits below."
	case done.Excluded > 0:
		words = "Not queued: rules or gates keep it out."
	case done.URLs == 0:
		words = "It waits in a queue already, or is being fetched."
	}
	return toURL(v, raw, words)
}

func removeOne(v *visit) error {
	raw, err := formURL(v)
	if err != nil {
		return err
	}
	if v.r.PostForm.Get("sure") == "" {
		return confirm(v, &confirmation{
			Head: "Remove this URL?", URLs: []string{raw}, Button: "Remove", Forever: true,
			Words: []string{
				"It is forgotten, and its document is deleted from the index.",
				"If rules accept it and a page that is read again links to it, it comes back, unless it is removed for good.",
			},
			Action: v.link("/url/remove", nil), Fields: []field{{"url", raw}}, Back: v.link("/url", url.Values{"url": {raw}}),
		})
	}
	done, err := v.api.Remove(v.r.Context(), admin.Selection{URLs: []string{raw}, Forever: v.r.PostForm.Get("forever") != ""})
	if err != nil {
		return err
	}
	words := "It was not known: nothing was removed."
	switch {
	case slices.Contains(done.Roots, raw), done.URLs == 0 && len(done.Roots) > 0:
		words = "It stays: it is a start URL of the configuration. Take it out there first."
	case done.Deletions > 0:
		words = "Removed; the deletion of its document is on its way."
	case done.URLs > 0:
		words = "Removed; it had no document in the index."
	}
	return toURL(v, raw, words)
}

// fetched is a dry run as it is shown.
type fetched struct {
	*admin.Fetched
	Text      string // what was read, as lines
	Links     []crawl.TrialLink
	MoreLinks int
}

// fetchOne fetches a URL and stores nothing.
func fetchOne(v *visit) error {
	raw, err := formURL(v)
	if err != nil {
		return err
	}
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
