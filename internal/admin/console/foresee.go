package console

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// foreseen counts the documents that saving a configuration would delete, or remove from a target.
type foreseen struct {
	Deleted, Leaving, Held, Indexed uint64
	// By lists the responsible rules and gates, for each Crawler those with the most.
	By []review.PreviewCause
	// Unknown is the reason why it could not be counted.
	Unknown string
}

// foreseenCauses is the number listed for each Crawler.
const foreseenCauses = 10

// foresee counts the documents that a configuration text would delete if put in force.
func foresee(v *visit, text string) (*foreseen, error) {
	sum, none := &foreseen{}, 0
	for _, crawler := range v.console.settings.Crawlers {
		var p review.Preview
		if err := v.post("/preview", url.Values{"crawler": {crawler}}, admin.PreviewRequest{Config: text, Samples: &none}, &p); err != nil {
			return nil, err
		}
		sum.Deleted += p.Deleted.Count
		sum.Leaving += p.Leaving.Count
		sum.Held += p.Held
		sum.Indexed += p.Indexed
		for _, by := range [][]review.PreviewCause{p.Deleted.By, p.Leaving.By} {
			sum.By = append(sum.By, by[:min(len(by), foreseenCauses)]...)
		}
	}
	return sum, nil
}

// inEditor returns the editor's address at a line of the configuration; empty if the line is elsewhere, or the visitor
// may not see it.
func (v *visit) inEditor(file string, line int) string {
	if line <= 0 || filepath.Base(file) != filepath.Base(v.console.settings.Config) || !v.may("/rules") {
		return ""
	}
	return v.link("/rules", url.Values{"line": {strconv.Itoa(line)}})
}

// ruleOf redirects to the line of the configuration that decides about the URL or, without one, to the URL's page.
func ruleOf(v *visit) error {
	raw := v.r.URL.Query().Get("url")
	d, err := explained(v, raw)
	if err != nil {
		return err
	}
	if d.Explained != nil {
		if to := d.place(v); to != "" {
			http.Redirect(v.w, v.r, to, http.StatusSeeOther)
			return nil
		}
	}
	return v.redirect("/url", url.Values{"url": {raw}}, "No single line of the configuration decides this.")
}

// place returns the address of the configuration line that decides about the URL.
func (d *inspected) place(v *visit) string {
	x := d.Explained
	if by := x.ExcludedBy; by != nil {
		return v.inEditor(by.File, by.Line)
	}
	if by := x.KilledBy; by != nil {
		return v.inEditor(by.File, by.Line)
	}
	for i := len(x.Rules) - 1; i >= 0; i-- {
		if r := x.Rules[i]; r.Matched {
			return v.inEditor(r.File, r.Line)
		}
	}
	return ""
}
