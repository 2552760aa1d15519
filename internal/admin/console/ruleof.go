package console

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
)

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
	if to := d.place(v); to != "" {
		http.Redirect(v.w, v.r, to, http.StatusSeeOther)
		return nil
	}
	return v.redirect("/url", url.Values{"url": {raw}}, "No line of the configuration decides about it alone.")
}

// place returns the address of the configuration's line with the last word on the URL.
func (d *inspected) place(v *visit) string {
	x := d.Explained
	if x == nil {
		return ""
	}
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

// Line returns the address of the line that place returns, of the inspector's URL.
func (v *view) Line() string { return v.Data.(*inspected).place(v.visit) }
