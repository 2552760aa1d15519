package console

import (
	"maps"
	"net/url"
	"slices"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// decided is the selection of a form: some URLs, or all that its filter matches.
type decided struct {
	confirmation
	Do     string         // release or drop
	Filter deletionFilter // of the page
	query  admin.DeletionQuery
	All    bool
	Many   uint64
	Texts  uint64 // of these, new texts of documents that stay
	Moves  uint64 // of these, moves of documents off a target
	OfIll  uint64 // of hosts that are ill
}

// decideDeletions releases or drops the deletions that a form selects.
func decideDeletions(v *visit, do string) error {
	form := v.r.PostForm
	d := decided{Do: do, All: form.Get("which") == "all"}
	var err error
	if d.Filter, err = readDeletionFilter(form, "in_url"); err != nil {
		return err
	}
	if err := d.choose(v, form["url"]); err != nil {
		return err
	}
	if d.Many == 0 {
		said := "Nothing was selected, so nothing was done."
		if d.All && do == "drop" {
			said = "Nothing was dropped: to cancel the deletions of an edit, revert it."
		}
		return v.redirect("/deletions", d.Filter.back(), said)
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
	if !d.All { // otherwise none of them is left
		back = d.Filter.back()
	}
	return v.redirect("/deletions", back, said)
}

// choose resolves the selection, and counts it.
func (d *decided) choose(v *visit, urls []string) error {
	switch {
	case !d.All:
		d.query.URLs, d.Many = urls, uint64(len(urls))
		return d.countTexts(v)
	case d.Filter.URL != "":
		return admin.Each(v.r.Context(), v.api, "/deletions", d.Filter.query(), func(one admin.Deletion) error {
			if one.Edit != 0 && d.Do == "drop" {
				return nil
			}
			d.query.URLs = append(d.query.URLs, one.URL)
			d.Many++
			d.count(&one)
			return nil
		})
	}
	d.query = d.Filter.DeletionQuery
	d.query.All = d.query.Host == "" && d.query.Reason == "" && d.query.Edit == 0
	var n admin.DeletionCounts
	ask := d.query.Values()
	ask.Set("by", "edit")
	err := v.get("/deletions/counts", ask, &n)
	if d.Do == "drop" { // the deletions of edits stay
		n.LossCounts = admin.LossCounts{}
		if i := slices.IndexFunc(n.Items, func(g admin.DeletionGroup) bool { return g.Edit == 0 }); i >= 0 {
			n.LossCounts = n.Items[i].LossCounts
		}
	}
	d.Many, d.Texts, d.Moves, d.OfIll = n.Pending, n.NewTexts, n.Moves, n.OfIllHosts
	if d.query.UpTo == 0 {
		d.query.UpTo, d.Filter.UpTo = n.UpTo, n.UpTo
	}
	return err
}

// countTexts counts the new texts among the selected URLs, by the page of the filter.
func (d *decided) countTexts(v *visit) error {
	if len(d.query.URLs) == 0 {
		return nil
	}
	var n admin.DeletionCounts
	if err := v.get("/deletions/counts", d.Filter.back(), &n); err != nil || n.NewTexts+n.Moves == 0 {
		return err
	}
	return admin.Each(v.r.Context(), v.api, "/deletions", d.Filter.back(), func(one admin.Deletion) error {
		if slices.Contains(d.query.URLs, one.URL) {
			d.count(&one)
		}
		return nil
	})
}

func (d *decided) count(one *admin.Deletion) {
	if one.Replaces {
		d.Texts++
	}
	if one.Moves {
		d.Moves++
	}
}

// ask asks for confirmation.
func (d *decided) ask(v *visit) error {
	d.Action, d.Back = v.link("/deletions/"+d.Do, nil), v.link("/deletions", d.Filter.back())
	d.Fields = []field{{"in_url", d.Filter.URL}}
	values := d.Filter.Values()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		d.Fields = append(d.Fields, field{name, values.Get(name)})
	}
	if d.All {
		d.Fields = append(d.Fields, field{"which", "all"})
	} else {
		for _, u := range d.query.URLs {
			d.Fields = append(d.Fields, field{"url", u})
		}
	}
	d.confirmation = d.naming(d.query.URLs)
	return confirm(v, d)
}

// Losses describes the selected losses.
func (d *decided) Losses() string { return admin.LossWords(d.Many, d.Texts, d.Moves) }

// Deletes reports whether documents are deleted.
func (d *decided) Deletes() bool { return d.Many > d.Texts+d.Moves }
