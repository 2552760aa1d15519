package console

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// urlsListed is the number of URLs on a page.
const urlsListed = 100

// urlFilter is the filter of the page, as written.
type urlFilter struct{ url.Values }

func readURLFilter(from url.Values) urlFilter {
	f := urlFilter{url.Values{}}
	for _, name := range append(report.FilterNames(), "match") {
		if value := strings.TrimSpace(from.Get(name)); value != "" {
			f.Set(name, value)
		}
	}
	return f
}

// Narrowed reports whether the filter excludes anything.
func (f urlFilter) Narrowed() bool { return len(f.Values) > 0 }

// More reports whether one of the additional fields is in use.
func (f urlFilter) More() bool {
	return slices.ContainsFunc([]string{"reason", "fifo", "source", "error", "match"}, f.Has)
}

// Hidden returns the filter as hidden fields for another form.
func (f urlFilter) Hidden() (list []field) {
	for _, name := range append(report.FilterNames(), "match") {
		if f.Has(name) {
			list = append(list, field{name, f.Get(name)})
		}
	}
	return list
}

// urlsData is a page of them.
type urlsData struct {
	Filter  urlFilter
	Sort    string
	Wrong   string // error in the filter
	Columns []report.Column
	Items   []report.StoredURL
	Read    int
	Total   int // 0: not known
	Next    string
}

// choice is a field of the filter with its values.
type choice struct {
	Name, Chosen string
	Words        []string
}

// Choice returns the field of a name.
func (d *urlsData) Choice(name string) choice {
	return choice{name, d.Filter.Get(name), map[string][]string{
		"class": scheduler.ClassWords(), "fate": scheduler.FateWords(), "reason": scheduler.ReasonWords(),
		"error": report.ErrorClasses(), "fifo": scheduler.SourceWords(),
	}[name]}
}

func urls(v *visit) (any, error) {
	query := v.r.URL.Query()
	d := &urlsData{Filter: readURLFilter(query), Sort: query.Get("sort")}
	if d.Sort == "" { // the latest first, where that is quick
		whole, err := mayRead(v)
		if err != nil {
			return nil, err
		}
		d.Sort = map[bool]string{true: "-fetched_at"}[whole]
	}
	for _, c := range report.Columns(report.KindURLs) {
		if c.Name != "errors" && c.Name != "depth" && c.Name != "found_at" {
			d.Columns = append(d.Columns, c)
		}
	}
	ask := admin.Query("limit", strconv.Itoa(urlsListed), "sort", d.Sort, "cursor", query.Get("cursor"))
	kept := admin.Query("sort", d.Sort)
	for name, values := range d.Filter.Values {
		ask[name], kept[name] = values, values
	}
	var page report.Page
	err := v.get("/urls", ask, &page)
	if p, ok := errors.AsType[*admin.Problem](err); ok && p.Status == http.StatusBadRequest {
		d.Wrong = p.Detail
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if d.Items, d.Read, d.Total = page.URLs, page.Read, page.Total; page.Next != "" {
		kept.Set("cursor", page.Next)
		d.Next = v.link("/urls", kept)
	}
	return d, nil
}

// CellsOf returns the row of a stored URL, in the columns of the page.
func (v *view) CellsOf(columns []report.Column, s report.StoredURL) (row []tableCell) {
	t := s.Tables()[0]
	row = v.row(t.Columns, t.Rows[0], func(c report.Column) bool { return slices.Contains(columns, c) })
	for i := range row {
		if row[i].Name == "reason" {
			row[i].HTML = v.toRule(&s, row[i].HTML)
		}
	}
	return row
}

// toRule turns the reason into a link to the configuration line that keeps the URL out of the index. The line is looked
// up when the link is followed.
func (v *view) toRule(s *report.StoredURL, reason template.HTML) template.HTML {
	why, err := scheduler.ParseReason(s.Reason)
	if err != nil || !why.Operators() || !v.visit.may("/rules") || len(s.URL) > maxLinked {
		return reason
	}
	to := template.HTMLEscapeString(v.visit.link("/url/rule", url.Values{"url": {s.URL}}))
	return template.HTML(`<a href="` + to + `" title="The line of the configuration that decides this">` + string(reason) + `</a>`) //nolint:gosec // escaped
}

// decideURLs fetches or removes the URLs selected in a form.
func decideURLs(v *visit, do string) error {
	form := v.r.PostForm
	filter := readURLFilter(form)
	all := form.Get("which") == "all"
	selection := admin.Selection{URLs: form["url"]}
	if all {
		selection = admin.SelectionOf(filter.Values)
		selection.All = selection.Empty()
	}
	if selection.Empty() {
		return v.redirect("/urls", filter.Values, "Nothing was selected, so nothing was done.")
	}
	selection.Forever = form.Get("forever") != ""
	n, err := v.api.CountSelected(v.r.Context(), selection)
	if err != nil {
		return err
	}
	if do == "refresh" {
		n.URLs += n.Roots
	}
	switch {
	case n.URLs == 0:
		return v.redirect("/urls", filter.Values, "This action applies to no selected URL: nothing was done.")
	case form.Get("sure") == "" && (do == "remove" || n.URLs > admin.RemovedUnasked):
		return confirm(v, chosenURLs{askURLs(v, do, filter, all, selection.URLs), do, n, filter, all})
	}
	words, err := sendURLs(v, do, selection)
	if err != nil {
		return err
	}
	return v.redirect("/urls", filter.Values, words)
}

// sendURLs calls the API, and returns a message about the result.
func sendURLs(v *visit, do string, selection admin.Selection) (string, error) {
	if do == "remove" {
		done, err := v.api.Remove(v.r.Context(), selection)
		words := plural(done.URLs, "URL", "URLs") + " removed, " + plural(done.Deletions, "deletion", "deletions") + " ordered."
		if n := len(done.Roots); n > 0 {
			words += " " + plural(n, "start URL of the configuration stays.", "start URLs of the configuration stay.")
		}
		return words, err
	}
	done, err := v.api.Refresh(v.r.Context(), selection)
	words := plural(done.URLs, "URL waits", "URLs wait") + " to be crawled again."
	if done.Waiting > 0 {
		words += " " + plural(done.Waiting, "was waiting already.", "were waiting already.")
	}
	if done.HeldUp > 0 {
		words += " " + plural(done.HeldUp, "of these waits", "of these wait") + " until robots.txt, proxy or log-in is available."
	}
	if done.Excluded > 0 {
		words += " " + plural(done.Excluded, "is", "are") + " excluded by the rules."
	}
	return words, err
}

// chosenURLs is the data of the question about URLs.
type chosenURLs struct {
	confirmation
	Do     string // refresh or remove
	N      crawl.SelectedCount
	Filter urlFilter
	All    bool // matching the filter
}

func askURLs(v *visit, do string, filter urlFilter, all bool, chosen []string) confirmation {
	c := confirmation{Action: v.link("/urls/"+do, nil), Back: v.link("/urls", filter.Values), Fields: filter.Hidden()}
	if all {
		c.Fields = append(c.Fields, field{"which", "all"})
	}
	for _, u := range chosen {
		c.Fields = append(c.Fields, field{"url", u})
	}
	return c.naming(chosen)
}
