package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/admin"
)

// deletionPages are for the deletions that the brake holds.
func deletionPages() []page {
	return []page{
		{pattern: "GET /deletions", role: admin.Reader, nav: "Deletions", title: "Held deletions", template: "deletions", data: deletions},
		{pattern: "POST /deletions/release", role: admin.Operator, title: "Release deletions", template: "confirm", answer: func(v *visit) error { return decideDeletions(v, "release") }},
		{pattern: "POST /deletions/drop", role: admin.Operator, title: "Drop deletions", template: "confirm", answer: func(v *visit) error { return decideDeletions(v, "drop") }},
	}
}

// deletionFilter narrows the held deletions to those with parts of URL and reason.
type deletionFilter struct{ URL, Reason string }

func (f deletionFilter) query() url.Values {
	q := url.Values{}
	if f.URL != "" {
		q.Set("url", f.URL)
	}
	if f.Reason != "" {
		q.Set("reason", f.Reason)
	}
	return q
}

// deletionsData is a page of them.
type deletionsData struct {
	Filter deletionFilter
	Held   uint64 // in all
	Items  []admin.HeldDeletion
	Next   string
}

// Narrowed says that not all are shown.
func (d *deletionsData) Narrowed() bool { return d.Filter != deletionFilter{} }

func deletions(v *visit) (any, error) {
	q := v.r.URL.Query()
	d := &deletionsData{Filter: deletionFilter{strings.TrimSpace(q.Get("url")), strings.TrimSpace(q.Get("reason"))}}
	status, err := statusOf(v)
	if err != nil {
		return nil, err
	}
	d.Held = status.Outbox.Held
	d.Items, d.Next, err = paged[admin.HeldDeletion](v, "/deletions", d.Filter.query(), "/deletions", d.Filter.query())
	return d, err
}

// statusOf is the status of the chosen Crawler.
func statusOf(v *visit) (*admin.Status, error) {
	var all []admin.Status
	if err := v.get("/status", nil, &all); err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Crawler == v.crawler {
			return &all[i], nil
		}
	}
	return &admin.Status{}, nil
}

// deletionWords say what each decision does.
func deletionWords(do string) []string {
	if do == "release" {
		return []string{"Each is sent to the indexers, and the documents are no longer found.", "A page that comes back is pushed again when it is next read."}
	}
	return []string{"They are not sent: the documents stay in the index as they are.", "Each URL is fetched again. If it is still gone then, its deletion is ordered anew."}
}

// decideDeletions releases or drops those that a form selects: some, all, or all that a
// filter finds.
func decideDeletions(v *visit, do string) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	urls, all := form["url"], form.Get("which") == "all"
	filter := deletionFilter{form.Get("in_url"), form.Get("in_reason")}
	back := v.link("/deletions", filter.query())
	if all && filter != (deletionFilter{}) {
		held, _, err := lines[admin.HeldDeletion](v, "/deletions", filter.query(), 0)
		if err != nil {
			return err
		}
		urls, all = nil, false
		for i := range held {
			urls = append(urls, held[i].URL)
		}
	}
	if !all && len(urls) == 0 {
		return v.redirect("/deletions", filter.query(), "None was selected: nothing was done.")
	}
	if form.Get("sure") == "" {
		return askDeletions(v, do, urls, all, filter, back)
	}
	done, err := sendDeletions(v, do, urls, all)
	if err != nil {
		return err
	}
	word := map[string]string{"release": " released.", "drop": " dropped."}[do]
	return v.redirect("/deletions", filter.query(), plural(done, "deletion", "deletions")+word)
}

func askDeletions(v *visit, do string, urls []string, all bool, filter deletionFilter, back string) error {
	verb := map[string]string{"release": "Release", "drop": "Drop"}[do]
	c := &confirmation{Words: deletionWords(do), URLs: urls, Action: v.link("/deletions/"+do, nil), Back: back}
	c.Fields = []field{{"in_url", filter.URL}, {"in_reason", filter.Reason}}
	what := "all held deletions"
	switch {
	case all:
		c.Fields = append(c.Fields, field{"which", "all"})
	case v.r.PostForm.Get("which") == "all":
		what = "all " + plural(len(urls), "held deletion", "held deletions") + " that the filter finds"
		c.Fields = append(c.Fields, field{"which", "all"})
	default:
		what = plural(len(urls), "held deletion", "held deletions")
		for _, u := range urls {
			c.Fields = append(c.Fields, field{"url", u})
		}
	}
	c.Head, c.Button = verb+" "+what+"?", verb
	return confirm(v, c)
}

// chosenAtOnce is how many URLs one request of the API names.
const chosenAtOnce = 500

// sendDeletions has the API decide, and gives how many were.
func sendDeletions(v *visit, do string, urls []string, all bool) (int, error) {
	if all {
		var done admin.Decided
		err := v.post("/deletions/"+do, nil, map[string]any{"all": true}, &done)
		return done.Deletions, err
	}
	n := 0
	for some := range slices.Chunk(urls, chosenAtOnce) {
		var done admin.Decided
		if err := v.post("/deletions/"+do, nil, map[string]any{"urls": some}, &done); err != nil {
			return n, err
		}
		n += done.Deletions
	}
	return n, nil
}
