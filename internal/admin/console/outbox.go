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
	Targets []targetRow
	Orders  []letter
	Next    string
}

// targetRow is a target with its backlog.
type targetRow struct {
	crawl.TargetStatus
	Behind any // time of the oldest order that it has not confirmed, nil if none
}

// letter is an order with its name in forms.
type letter struct {
	push.Listed
	Value string
}

// Dead reports whether dead letters are listed, which can be decided about.
func (d *outboxData) Dead() bool { return d.Filter.State == "dead" }

// Narrowed reports whether the list of a state is filtered.
func (d *outboxData) Narrowed() bool {
	return d.Filter.Target != "" || d.Filter.Source != "" || d.Filter.URL != ""
}

func outbox(v *visit) (any, error) {
	status, err := statusOf(v)
	if err != nil {
		return nil, err
	}
	d := &outboxData{Filter: filterOf(v.r.URL.Query()), Counts: status.Outbox, Lag: status.OutboxLag}
	if d.Filter.State == "" {
		d.Filter.State = "waiting"
		if status.Outbox.Dead > 0 {
			d.Filter.State = "dead"
		}
	}
	for _, t := range status.Targets {
		row := targetRow{TargetStatus: t}
		if d.Lag != nil {
			if at, ok := d.Lag.Behind[t.Name]; ok {
				row.Behind = at
			}
		}
		d.Targets = append(d.Targets, row)
	}
	var orders []push.Listed
	orders, _, d.Next, err = paged[push.Listed](v, "/outbox", d.Filter.query(), "/outbox", d.Filter.query())
	for _, o := range orders {
		d.Orders = append(d.Orders, letter{o, url.QueryEscape(o.Target) + " " + o.URL})
	}
	return d, err
}

// decideLetters retries or drops dead letters: those selected in a form, or all that its filter matches.
func decideLetters(v *visit, do string) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	filter := filterOf(form)
	filter.State = "dead"
	orders := lettersOf(form["order"])
	if form.Get("which") == "all" {
		orders = []admin.DeadLetters{filter.letters()}
	}
	if len(orders) == 0 {
		return v.redirect("/outbox", filter.query(), "None was selected: nothing was done.")
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
	d.All = f.Target == "" && f.Source == "" && f.URL == ""
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

func askLetters(v *visit, form url.Values, filter outboxFilter, orders []admin.DeadLetters) error {
	c := &confirmation{
		Words: []string{
			"They are not sent any more: the indexer does not get these documents or deletions.",
			"The next change of a page is sent as usual.",
		},
		Action: v.link("/outbox/drop", nil), Button: "Drop", Back: v.link("/outbox", filter.query()),
		Fields: []field{{"target", filter.Target}, {"source", filter.Source}, {"url", filter.URL}},
	}
	if form.Get("which") == "all" {
		c.Head, c.Fields = "Drop all dead letters?", append(c.Fields, field{"which", "all"})
		if !orders[0].All {
			c.Head = "Drop all dead letters that the filter finds?"
		}
		return confirm(v, c)
	}
	for _, value := range form["order"] {
		c.Fields = append(c.Fields, field{"order", value})
	}
	for i := range orders {
		c.URLs = append(c.URLs, orders[i].URLs...)
	}
	c.Head = "Drop " + plural(len(c.URLs), "dead letter", "dead letters") + "?"
	return confirm(v, c)
}
