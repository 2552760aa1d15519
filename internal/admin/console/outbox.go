package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/push"
)

// outboxFilter selects orders.
type outboxFilter struct{ State, Target, Source, URL string }

func (f outboxFilter) query() url.Values {
	return admin.Query("state", f.State, "target", f.Target, "source", f.Source, "url", f.URL)
}

func filterOf(q url.Values) outboxFilter {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return outboxFilter{get("state"), get("target"), get("source"), get("url")}
}

// outboxData is a page of orders, with counts of all.
type outboxData struct {
	Filter  outboxFilter
	Counts  crawl.OutboxStatus
	Lag     *admin.OutboxDetails
	Targets []crawl.TargetStatus
	Orders  []push.Listed
	Total   int // that the filter matches, see admin.MostCounted
	Next    string
}

// Dead reports whether dead letters are listed, which can be retried or dropped.
func (d *outboxData) Dead() bool { return d.Filter.State == "dead" }

// Narrowed reports whether the filter of a state excludes anything.
func (f outboxFilter) Narrowed() bool { return f.Target != "" || f.Source != "" || f.URL != "" }

func outbox(v *visit) (any, error) {
	status, err := statusOf(v)
	if err != nil {
		return nil, err
	}
	d := &outboxData{Filter: filterOf(v.r.URL.Query()), Counts: status.Outbox, Lag: status.OutboxLag, Targets: status.Targets}
	if d.Filter.State == "" {
		d.Filter.State = "waiting"
		if status.Outbox.Dead > 0 {
			d.Filter.State = "dead"
		}
	}
	d.Orders, d.Total, d.Next, err = paged[push.Listed](v, "/outbox", d.Filter.query(), "/outbox", d.Filter.query())
	return d, err
}

// decideLetters retries or drops dead letters: those selected in a form, or all that its filter matches.
func decideLetters(v *visit, do string) error {
	form := v.r.PostForm
	filter := filterOf(form)
	filter.State = "dead"
	orders := lettersOf(form["order"])
	if form.Get("which") == "all" {
		orders = []admin.DeadLetters{filter.letters()}
	}
	if len(orders) == 0 {
		return v.redirect("/outbox", filter.query(), "Nothing was selected, so nothing was done.")
	}
	if do == "drop" && form.Get("sure") == "" {
		return askLetters(v, form, filter, orders)
	}
	n := 0
	for i := range orders {
		done, err := v.api.DecideLetters(v.r.Context(), do, orders[i])
		if err != nil {
			return err
		}
		n += done
	}
	if do == "drop" {
		return v.redirect("/outbox", filter.query(), plural(n, "dead letter", "dead letters")+" dropped.")
	}
	return v.redirect("/outbox", filter.query(), plural(n, "dead letter is", "dead letters are")+" sent again.")
}

// letters returns the dead letters that the filter matches.
func (f outboxFilter) letters() admin.DeadLetters {
	d := admin.DeadLetters{Target: f.Target}
	if f.Source != "" {
		d.Source = &f.Source
	}
	if f.URL != "" {
		d.URLs = []string{f.URL}
	}
	d.All = !f.Narrowed()
	return d
}

// lettersOf groups a form's selection by target, so that another target's letter with the same URL is left alone.
func lettersOf(values []string) []admin.DeadLetters {
	byTarget := map[string][]string{}
	for _, value := range values {
		escaped, raw, _ := strings.Cut(value, " ")
		if target, err := url.QueryUnescape(escaped); err == nil && raw != "" {
			byTarget[target] = append(byTarget[target], raw)
		}
	}
	var all []admin.DeadLetters
	for target, urls := range byTarget {
		d := admin.DeadLetters{Target: target}
		d.URLs = urls
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b admin.DeadLetters) int { return cmp.Compare(a.Target, b.Target) })
	return all
}

// chosenLetters is the data of the question about dead letters.
type chosenLetters struct {
	confirmation
	Filter outboxFilter
	All    bool // matching the filter
	Chosen int
}

func askLetters(v *visit, form url.Values, filter outboxFilter, orders []admin.DeadLetters) error {
	c := chosenLetters{Filter: filter, All: form.Get("which") == "all"}
	c.Action, c.Back = v.link("/outbox/drop", nil), v.link("/outbox", filter.query())
	c.Fields = []field{{"target", filter.Target}, {"source", filter.Source}, {"url", filter.URL}}
	if c.All {
		c.Fields = append(c.Fields, field{"which", "all"})
		return confirm(v, c)
	}
	for _, value := range form["order"] {
		c.Fields = append(c.Fields, field{"order", value})
	}
	var urls []string
	for i := range orders {
		urls = append(urls, orders[i].URLs...)
	}
	c.Chosen, c.confirmation = len(urls), c.naming(urls)
	return confirm(v, c)
}
