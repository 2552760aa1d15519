package illness

import (
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/sicksite"
	"github.com/sextant-crawler/sextant/scheduler"
)

// course is how an illness goes by.
type course string

const (
	short    course = "short"    // refresh --all at its beginning, an hour long
	long     course = "long"     // refresh --all every few hours, a day long
	due      course = "due"      // half a week long, in which smart refresh asks for every document
	restarts course = "restarts" // short, with a service that ends and begins every ten minutes
	flapping course = "flapping" // well and ill by turns, five minutes each, for six hours
	deaf     course = "deaf"     // short, with an indexer that is down until the site has been well for an hour
)

// cell is a field of the matrix.
type cell struct {
	illness sicksite.Illness
	pages   int
	policy  scheduler.Policy
	course  course
}

// String is the cell's name.
func (c cell) String() string {
	return fmt.Sprintf("%s/%d/%s/%s", c.illness, c.pages, c.policy, c.course)
}

// options are the cell's site. Half of the cells have validators.
func (c cell) options() sicksite.Options {
	origin := "http://" + sicksite.Host
	if c.illness.TLS() {
		origin = "https://" + sicksite.Host
	}
	return sicksite.Options{Documents: c.pages, Validators: (int(c.illness)+c.pages)%2 == 0, Answer: answerTime, Origin: origin}
}

// change makes settings those of the cell.
func (c cell) change(s *policy.Settings) {
	s.Frontier.Policy = c.policy
	if c.illness.Copies() {
		lookForCopies(s)
	}
	if c.illness == sicksite.Disallowed {
		s.Robots.MaxAge = beforeIllness / 2 // or nobody would see it
	}
}

// choice is a set of cells: every illness with every number of pages and so on.
type choice struct {
	illnesses []sicksite.Illness
	pages     []int
	policies  []scheduler.Policy
	courses   []course
}

func (c choice) cells() []cell {
	var cells []cell
	for _, illness := range c.illnesses {
		for _, pages := range c.pages {
			for _, policy := range c.policies {
				for _, course := range c.courses {
					cells = append(cells, cell{illness, pages, policy, course})
				}
			}
		}
	}
	return cells
}

// chosen are the cells of a usual test run: all illnesses under two policies, and of each other number of pages,
// policy and course the illnesses that are most unlike each other. make illness tries the whole matrix.
func chosen() []choice {
	all := sicksite.Illnesses()
	unlike := []sicksite.Illness{
		sicksite.NotFound, sicksite.Unavailable, sicksite.ExpiredCertificate, sicksite.NoSuchName, sicksite.LoginRedirect,
		sicksite.SoftNotFound, sicksite.Noindex, sicksite.EverySecondPage, sicksite.HomeElsewhere,
	}
	few := []sicksite.Illness{sicksite.NotFound, sicksite.SoftNotFound, sicksite.LoginRedirect}
	cloudview := []scheduler.Policy{scheduler.CloudView}
	return []choice{
		{all, []int{16}, cloudview, []course{short}},
		{all, []int{61}, []scheduler.Policy{scheduler.Cautious}, []course{short}},
		{few, []int{1, 2, 61, 301}, cloudview, []course{short}},
		{unlike, []int{16}, []scheduler.Policy{scheduler.Smartsite}, []course{short}},
		{few[:1], []int{61}, cloudview, []course{long, due, restarts, flapping, deaf}},
		{few[1:], []int{16}, cloudview, []course{long, due, restarts, deaf}},
	}
}

// whole is the whole matrix.
func whole() []choice {
	all := sicksite.Illnesses()
	policies := []scheduler.Policy{scheduler.CloudView, scheduler.Cautious, scheduler.Smartsite}
	return []choice{
		{all, []int{1, 2, 16, 61, 301, 5000}, policies, []course{short}},
		{all, []int{2, 16, 61, 301}, policies[:1], []course{long, due, restarts, flapping, deaf}},
		{all, []int{61}, policies, []course{long, due, restarts, flapping, deaf}},
	}
}

// cells are those to try, each once.
func cells(everything bool) []cell {
	choices := chosen()
	if everything {
		choices = whole()
	}
	var cells []cell
	for _, choice := range choices {
		for _, c := range choice.cells() {
			if !slices.Contains(cells, c) {
				cells = append(cells, c)
			}
		}
	}
	return cells
}
