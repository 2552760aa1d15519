package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// overviewData is the data of the overview.
type overviewData struct {
	admin.Status
	Is       admin.State
	Troubles []trouble
	Groups   []group
	// NextSchedule is the time of the next schedule, nil if none.
	NextSchedule *time.Time
	Sources      []sourceRow
	Classes      []classRow
	Waiting      uint64 // in all sources
}

// trouble is a condition that needs attention, with the page to handle it.
type trouble struct {
	ID, Kind, Words string
	Path, Link      string // empty if there is none
}

// sourceRow is one of the six sources, as counted by the frontier.
type sourceRow struct {
	Name                     string
	Waiting, Taken           uint64
	WaitingShare, TakenShare string // percent
}

// classRow counts the URLs of a class.
type classRow struct {
	Name string
	URLs uint64
}

func overview(v *visit) (any, error) {
	status, err := statusOf(v)
	if err != nil {
		return nil, err
	}
	d := overviewData{Status: *status, Is: status.State()}
	for _, n := range d.Pending {
		d.Waiting += n
	}
	for i := range d.Schedules {
		if at := &d.Schedules[i].Next; d.NextSchedule == nil || at.Before(*d.NextSchedule) {
			d.NextSchedule = at
		}
	}
	d.Groups = groups(v, &d)
	d.Sources, d.Troubles = sources(&d.Status), troubles(v, &d.Status)
	for _, class := range scheduler.ClassWords() {
		d.Classes = append(d.Classes, classRow{class, d.ByClass[class]})
	}
	return d, nil
}

// sources returns the six sources with their shares.
func sources(s *admin.Status) []sourceRow {
	var waiting, taken uint64
	for _, n := range s.Pending {
		waiting += n
	}
	for _, n := range s.Taken {
		taken += n
	}
	var rows []sourceRow
	for source := range scheduler.Sources {
		name := scheduler.Source(source).String()
		rows = append(rows, sourceRow{name, s.Pending[name], s.Taken[name], percent(s.Pending[name], waiting), percent(s.Taken[name], taken)})
	}
	return rows
}

func percent(part, all uint64) string {
	if all == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(all))
}

// troubles returns the conditions that need attention, the worst first.
func troubles(v *visit, s *admin.Status) []trouble {
	var all []trouble
	say := func(id, kind, words, path, link string, query url.Values) {
		t := trouble{ID: id, Kind: kind, Words: words, Link: link}
		if path != "" && v.may(path) {
			t.Path = v.link(path, query)
		}
		all = append(all, t)
	}
	if s.ConfigError != "" {
		say("config", "bad", "The changed configuration is refused; the old one is in force: "+s.ConfigError, "/rules", "Correct it", nil)
	}
	if s.Store != nil {
		if below, low := s.Store.DiskLow(); low {
			say("disk", "bad", fmt.Sprintf("The disk is nearly full: %s are free and %s are recommended; the crawl ends at %s.", byteWords(s.Store.DiskFree), byteWords(below), byteWords(s.Store.DiskNeeded)), "", "", nil)
		}
	}
	for i, t := range s.Targets {
		if t.DownSince != nil {
			say("target-"+strconv.Itoa(i), "bad", fmt.Sprintf("The indexer %s has been unreachable since %s: %s", t.Name, clock.Stamp(*t.DownSince), t.LastError), "/outbox", "Look at the outbox", nil)
		}
	}
	if n := s.Outbox.Dead; n > 0 {
		say("dead", "bad", plural(n, "dead letter: an indexer refuses it.", "dead letters: an indexer refuses them."), "/outbox", "Look at them", url.Values{"state": {"dead"}})
	}
	decide := "Look at them"
	if v.caller.Role >= admin.Operator {
		decide = "Release or drop them"
	}
	if n := s.DeletionsByClass[scheduler.LossMost.String()]; n > 0 {
		words := plural(n, "pending deletion or new text is", "pending deletions or new texts are") + " on a host with more than a fifth of its documents affected"
		if s.DeletionsSince != nil {
			words += ", the oldest since " + clock.Stamp(*s.DeletionsSince)
		}
		say("losses", "warn", words+": the index stays unchanged until they are confirmed or released.", "/deletions", decide, nil)
	}
	for _, e := range s.Edits {
		if e.State == deletion.EditHeld && e.Pending > 0 {
			edit := strconv.FormatUint(e.Number, 10)
			words := "Edit " + edit + " of the rules: " + e.Words() + " pending until the operator releases them."
			say("edit-"+edit, "warn", words, "/deletions", "Look at them", url.Values{"edit": {edit}})
		}
	}
	if n := s.IllHosts; n > 0 {
		say("ill", "warn", plural(n, "host is ill: none of its documents is deleted or gets a new text.", "hosts are ill: none of their documents is deleted or gets a new text."), "/hosts", "Show "+plural(n, "host", "hosts"), url.Values{"show": {"ill"}})
	}
	if n := s.Lost; n > 0 {
		say("lost", "warn", plural(n, "document was damaged on disk before it was sent", "documents were damaged on disk before they were sent")+": fetched again first.", "/urls", "Show "+plural(n, "URL", "URLs"), url.Values{"fate": {scheduler.FateBodyLost.String()}})
	}
	for i, l := range s.Sessions {
		if l.State == "failed" {
			say("login-"+strconv.Itoa(i), "warn", fmt.Sprintf("The log-in %s fails; its pages wait: %s", l.Name, l.Words), "", "", nil)
		}
	}
	if b := s.Browser; b != nil && b.Trouble != "" {
		say("browser", "bad", "No browser can be started; pages to be rendered wait: "+b.Trouble, "/urls", "Show them", url.Values{"reason": {scheduler.ReasonNoBrowser.String()}})
	}
	for i, name := range fieldTroubles(s) {
		say("field-"+strconv.Itoa(i), "warn", fmt.Sprintf("The field %s was not found in any searched page: its selector may be wrong.", name), "/urls", "Show such pages", url.Values{"reason": {scheduler.ReasonNoField.String()}})
	}
	if s.Paused {
		say("paused", "warn", "The crawl is paused: no pages are fetched.", "", "", nil)
	}
	return all
}

// may reports whether the visitor may open a page of the console.
func (v *visit) may(path string) bool {
	for i := range v.console.routes {
		p := &v.console.routes[i]
		if strings.TrimSuffix(p.pattern, "{$}") == "GET "+path {
			return v.caller.Role >= p.role
		}
	}
	return false
}

// steer calls a route of the API without a body.
func steer(v *visit, path, done string) error {
	if err := v.post(path, nil, nil, new(struct{})); err != nil {
		return err
	}
	return v.redirect("/", nil, done)
}

// add adds the URLs of a form, one a line.
func add(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	urls := strings.Fields(form.Get("urls"))
	done, err := v.api.Submit(v.r.Context(), urls)
	if err != nil {
		return err
	}
	counts, first := map[string]int{}, ""
	for _, one := range done {
		counts[one.Result]++
		if first == "" && one.Words != "" {
			first = " (" + one.Words + ")"
		}
	}
	var parts []string
	for result, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(result, "_", " ")))
	}
	slices.Sort(parts)
	return v.redirect("/", nil, strings.Join(parts, ", ")+first)
}
