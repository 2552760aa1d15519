package illness

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// A Site can fall ill while it is crawled: its pages turn into errors, log-in pages or copies of each other, its
// certificate expires, its name is gone. A healthy page has a title and a text that no other page has, within the frame of
// the site, so that whatever an index has of it can be held against it. It is served in memory, for tests under virtual
// time (Network), or on loopback (Server), which own the goroutines that serve; Close waits for them.
//
// Site.mu guards the state of the site and what was asked; the servers' goroutines and the test's take it.

// Host is the name of a site in memory, Neighbour that of a second one, and Elsewhere
// that of another host, which has one page of its own.
const (
	Host      = "site.test"
	Neighbour = "neighbour.test"
	Elsewhere = "elsewhere.test"
)

// Options say what New makes.
type Options struct {
	// Documents is how many pages there are, home page and index pages included; at least 1.
	Documents int
	// Validators gives healthy pages an ETag, and answers 304 to a request that has it.
	Validators bool
	// PDF makes all pages but the home page and index pages PDF files, in the form of PDFHead.
	PDF bool
	// Query gives all pages but the home page and index pages a query: b= with the page's number,
	// and a=1.
	Query bool
	// Answer is how long each answer takes.
	Answer time.Duration
	// RetryAfter, in seconds, is what UnavailableAWhile asks for; 0: 300.
	RetryAfter int
	// Origin is the site's scheme, host and port; "": http and Host.
	Origin string
	// Names are other hosts at which a Network serves the site, for Move.
	Names []string
	// Elsewhere is the origin of another site; "": http and Elsewhere.
	Elsewhere string
	// Seed tells its texts from those of other sites; less than 1 << 16.
	Seed int
}

// Site is a site in one state of health. Its methods may be called at once.
type Site struct {
	options Options
	lists   int // index pages

	mu        sync.Mutex
	illness   Illness
	ended     map[int]Illness // what has become of pages that are no more
	live      map[int]int     // answers so far of pages that are new at each visit
	files     map[string]file // by path
	redesigns int
	origin    string // where the site has moved to for good; "": it has not
	answers   int    // so far
	onTurn    []func()
}

// file is one that Put has put on the site.
type file struct{ contentType, body string }

// New returns a healthy site.
func New(o Options) *Site {
	if o.Origin == "" {
		o.Origin = "http://" + Host
	}
	if o.Elsewhere == "" {
		o.Elsewhere = "http://" + Elsewhere
	}
	o.RetryAfter = cmp.Or(o.RetryAfter, 300)
	return &Site{options: o, lists: min(o.Documents/8, 10), ended: map[int]Illness{}, live: map[int]int{}, files: map[string]file{}}
}

// FallIll makes the site ill, from the next request on.
func (s *Site) FallIll(i Illness) { s.turn(func() { s.illness = i }) }

// Heal ends the illness.
func (s *Site) Heal() { s.FallIll(Healthy) }

// Illness is that of now.
func (s *Site) Illness() Illness {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.illness
}

// Drop takes pages off the site for good: they answer 404.
func (s *Site) Drop(pages ...int) { s.End(NotFound, pages...) }

// End has pages end in one of the ways that pages of a healthy site end: NotFound, Gone,
// Noindex, OneCanonical, Disallowed, or MovedToOne, which merges them into the home page
// by 301.
func (s *Site) End(how Illness, pages ...int) {
	s.turn(func() {
		for _, i := range pages {
			s.ended[i] = how
		}
	})
}

// Restore brings pages that have ended back.
func (s *Site) Restore(pages ...int) {
	s.turn(func() {
		for _, i := range pages {
			delete(s.ended, i)
		}
	})
}

// Live makes pages new at every visit, as the front page of a newspaper is.
func (s *Site) Live(pages ...int) {
	s.turn(func() {
		for _, i := range pages {
			s.live[i] = 0
		}
	})
}

// Redesign gives the site another frame, and each page another title and text.
func (s *Site) Redesign() { s.turn(func() { s.redesigns++ }) }

// Put puts a file on the site, or replaces it.
func (s *Site) Put(path, contentType, body string) {
	s.turn(func() { s.files[path] = file{contentType, body} })
}

// Move moves the site to another origin: each URL at any other answers 301 to its twin there.
func (s *Site) Move(origin string) { s.turn(func() { s.origin = origin }) }

// turn changes the site, and then tells its servers.
func (s *Site) turn(change func()) {
	s.mu.Lock()
	change()
	told := slices.Clone(s.onTurn)
	s.mu.Unlock()
	for _, fn := range told {
		fn()
	}
}

// onChange has fn called after each change.
func (s *Site) onChange(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onTurn = append(s.onTurn, fn)
}

// Answers returns how many requests were answered so far.
func (s *Site) Answers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers
}
