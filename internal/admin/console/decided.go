package console

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// decided is the selection of a form: some URLs, or all that its filter matches.
type decided struct {
	do     string
	filter deletionFilter // of the page
	query  admin.DeletionQuery
	all    bool
	many   uint64
	texts  uint64 // of these, new texts of documents that stay
	moves  uint64 // of these, moves of documents off a target
	ofIll  uint64 // of hosts that are ill
}

// decideDeletions releases or drops the deletions that a form selects.
func decideDeletions(v *visit, do string) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	d := decided{do: do, all: form.Get("which") == "all"}
	if d.filter, err = readDeletionFilter(form, "in_url"); err != nil {
		return err
	}
	if err := d.choose(v, form["url"]); err != nil {
		return err
	}
	if d.many == 0 {
		return v.redirect("/deletions", d.filter.back(), "Nothing was selected, so nothing was done.")
	}
	if form.Get("sure") == "" {
		return d.ask(v)
	}
	done, err := v.api.DecideDeletions(v.r.Context(), do, d.query)
	if err != nil {
		return err
	}
	said := done.Words() + map[string]string{"release": " released.", "drop": " dropped."}[do]
	if stay := done.Stay(); stay != "" {
		said += " " + stay + "."
	}
	back := url.Values{}
	if !d.all { // otherwise none of them is left
		back = d.filter.back()
	}
	return v.redirect("/deletions", back, said)
}

// choose resolves the selection, and counts it.
func (d *decided) choose(v *visit, urls []string) error {
	switch {
	case !d.all:
		d.query.URLs, d.many = urls, uint64(len(urls))
		return d.countTexts(v)
	case d.filter.URL != "":
		found, _, err := lines[admin.Deletion](v, "/deletions", d.filter.query(), 0)
		for i := range found {
			d.query.URLs = append(d.query.URLs, found[i].URL)
			d.count(&found[i])
		}
		d.many = uint64(len(found))
		return err
	}
	d.query = d.filter.DeletionQuery
	d.query.All = d.query.Host == "" && d.query.Reason == "" && d.query.Edit == 0
	var n admin.DeletionCounts
	err := v.get("/deletions/counts", d.query.Values(), &n)
	d.many, d.texts, d.moves, d.ofIll = n.Pending, n.NewTexts, n.Moves, n.OfIllHosts
	if d.query.UpTo == 0 {
		d.query.UpTo, d.filter.UpTo = n.UpTo, n.UpTo
	}
	return err
}

// countTexts counts the new texts among the selected URLs, by the page of the filter.
func (d *decided) countTexts(v *visit) error {
	if len(d.query.URLs) == 0 {
		return nil
	}
	var n admin.DeletionCounts
	if err := v.get("/deletions/counts", d.filter.back(), &n); err != nil || n.NewTexts+n.Moves == 0 {
		return err
	}
	found, _, err := lines[admin.Deletion](v, "/deletions", d.filter.back(), 0)
	for i := range found {
		if slices.Contains(d.query.URLs, found[i].URL) {
			d.count(&found[i])
		}
	}
	return err
}

func (d *decided) count(one *admin.Deletion) {
	if one.Replaces {
		d.texts++
	}
	if one.Moves {
		d.moves++
	}
}

// ask asks for confirmation.
func (d *decided) ask(v *visit) error {
	verb := map[string]string{"release": "Release", "drop": "Drop"}[d.do]
	c := &confirmation{
		Head: verb + " " + d.words() + "?", Button: verb + " " + admin.LossWords(d.many, d.texts, d.moves), Words: d.consequences(), URLs: d.query.URLs,
		Action: v.link("/deletions/"+d.do, nil), Back: v.link("/deletions", d.filter.back()),
	}
	if d.do == "release" && d.ofIll > 0 {
		c.Words = append(c.Words, plural(d.ofIll, "is of an ill host: its page may still exist.", "are of ill hosts: their pages may still exist."))
	}
	c.Fields = []field{{"in_url", d.filter.URL}}
	values := d.filter.Values()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c.Fields = append(c.Fields, field{name, values.Get(name)})
	}
	if d.all {
		c.Fields = append(c.Fields, field{"which", "all"})
	} else {
		for _, u := range d.query.URLs {
			c.Fields = append(c.Fields, field{"url", u})
		}
	}
	return confirm(v, c)
}

// words describes the selected deletions.
func (d *decided) words() string {
	words := admin.LossWords(d.many, d.texts, d.moves)
	if !d.all {
		return words
	}
	if d.many > 1 {
		words = "all " + words
	}
	if f := &d.filter; f.Host != "" {
		words += " of " + cut(f.Host, maxShown)
	}
	if d.filter.Edit != 0 {
		words += fmt.Sprintf(" of edit %d", d.filter.Edit)
	}
	if d.filter.Reason != "" {
		words += " (" + d.filter.Reason + ")"
	}
	if d.filter.URL != "" {
		words += " with " + cut(d.filter.URL, maxShown) + " in their URLs"
	}
	return words
}

// consequences describes the effects of a decision on the selected losses.
func (d *decided) consequences() []string {
	if d.do == "drop" {
		return []string{
			"The documents stay in the index unchanged.", "Each URL is fetched again. If the fault is still there, the deletion is pending again.",
			"Deletions by an edit of the rules stay pending: reverting the edit cancels them.",
		}
	}
	var all []string
	if d.many > d.texts+d.moves {
		all = append(all, "Deletions are sent to the indexers, and the documents are no longer found. A page that comes back is pushed again when it is next read: such pages are requested again within a day.")
	}
	if d.moves > 0 {
		all = append(all, "Documents that leave a target stay in the index: their pages are fetched, or their lists read, and they are pushed under their new source.")
	}
	if d.texts > 0 {
		all = append(all, "New texts replace the old ones; these documents stay in the index.")
	}
	return all
}
