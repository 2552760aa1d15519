package illness

import (
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

// course is how an illness goes by.
type course string

const (
	short    course = "short"    // refresh --all at its beginning, an hour long
	part     course = "part"     // refresh --all every hour, three hours long
	long     course = "long"     // refresh --all every few hours, two days long
	due      course = "due"      // half a week long, in which smart refresh asks for every document
	restarts course = "restarts" // short, with a service that ends and begins every ten minutes
	flapping course = "flapping" // well and ill by turns, five minutes each, for six hours
	deaf     course = "deaf"     // short, with an indexer that is down until the site has been well for an hour
)

// cell is a field of the matrix.
type cell struct {
	illness Illness
	pages   int
	policy  scheduler.Policy
	course  course
}

// String returns the cell's name.
func (c cell) String() string {
	return fmt.Sprintf("%s/%d/%s/%s", c.illness, c.pages, c.policy, c.course)
}

// options returns the cell's site. Half of the cells have validators.
func (c cell) options() Options {
	origin := "http://" + Host
	if c.illness.TLS() {
		origin = "https://" + Host
	}
	validators := (int(c.illness)+c.pages)%2 == 0
	return Options{Documents: c.pages, Validators: validators, Answer: answerTime, Origin: origin}
}

// change makes settings those of the cell. Every third looks for duplicates.
func (c cell) change(s *policy.Settings) {
	s.Frontier.Policy = c.policy
	if (int(c.illness)+c.pages)%3 == 0 {
		lookForCopies(s)
	}
	readRobotsHourly(s) // or nobody would see Disallowed
}

// choice is a set of cells: every illness with every number of pages and so on.
type choice struct {
	illnesses []Illness
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

// parts returns the illnesses of a part of a site, the last ones those of a part that is small.
func parts() []Illness {
	return []Illness{
		EverySecondPage, EverySecondAnswer, EverySixthPage, FolderFails,
	}
}

// chosen returns the cells of a usual test run: all illnesses of one site, and of each other number of pages, policy and
// course the illnesses that are most unlike each other. make illness tries the whole matrix.
func chosen() []choice {
	all := Illnesses()
	errors := []Illness{ // policies differ in what they make of these
		NotFound, Unavailable, ExpiredCertificate, NoSuchName,
		EverySecondPage,
	}
	few := []Illness{NotFound, SoftNotFoundAt, SorryEach, Challenge}
	cloudview := []scheduler.Policy{scheduler.CloudView}
	return []choice{
		{all, []int{16}, cloudview, []course{short}},
		{few, []int{1, 2, 5}, cloudview, []course{short}},
		{few[:1], []int{49, 50, 60, 300}, cloudview, []course{short}},
		{errors, []int{16}, []scheduler.Policy{scheduler.Cautious, scheduler.Smartsite}, []course{short}},
		{parts()[:2], []int{16}, cloudview, []course{part}},
		{parts()[2:], []int{60}, cloudview, []course{part}},
		{few[:1], []int{16}, cloudview, []course{long, due, restarts, flapping, deaf}},
		{few[2:3], []int{16}, cloudview, []course{long, due}},
		{few[1:2], []int{1, 2}, cloudview, []course{long}},
	}
}

// whole returns the whole matrix.
func whole() []choice {
	all, sizes := Illnesses(), []int{1, 2, 5, 16, 49, 50, 60, 300}
	policies := []scheduler.Policy{scheduler.CloudView, scheduler.Cautious, scheduler.Smartsite}
	return []choice{
		{all, sizes, policies, []course{short}},
		{all, []int{5000}, policies[:1], []course{short}},
		{all, []int{1, 2, 16, 60, 300}, policies[:1], []course{long, due, restarts, flapping, deaf}},
		{all, []int{60}, policies, []course{long, due, restarts, flapping, deaf}},
		{parts(), append(sizes, 5000), policies, []course{part}},
	}
}

// cells returns those to try, each once.
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
