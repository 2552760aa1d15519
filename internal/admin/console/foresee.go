package console

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// foreseen is what saving a configuration would delete, or take off a target, of all Crawlers together.
type foreseen struct {
	Deleted, Leaving, Held, Indexed uint64
	// By are the rules and gates that do it, of each Crawler the ones with the most.
	By []review.PreviewCause
	// Unknown says why it could not be counted.
	Unknown string
}

// foreseenCauses are shown of each Crawler.
const foreseenCauses = 10

// foresee counts what a text deletes, if it is put in force.
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

// inEditor is the page of the configuration at a line of its text; empty for what does not
// stand there, or may not be seen.
func (v *visit) inEditor(file string, line int) string {
	if line <= 0 || filepath.Base(file) != filepath.Base(v.console.settings.Config) || !v.may("/rules") {
		return ""
	}
	return v.link("/rules", url.Values{"line": {strconv.Itoa(line)}})
}

// ruleOf goes to the line of the configuration that decides about a URL; where none does,
// to what is known of the URL.
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
	return v.redirect("/url", url.Values{"url": {raw}}, "No line of the configuration decides about it alone.")
}

// place is where the configuration says what has the last word on the URL.
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
