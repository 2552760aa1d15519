// Package sicksite is a web site that can fall ill while it is crawled: its pages turn
// into errors, log-in pages or copies of each other, its certificate expires, its name is
// gone. A healthy page has a title and a text that no other page has, so that whatever
// an index has of it can be held against it. It is served in memory, for tests under
// virtual time (Network), or on loopback (Server). For tests only.
//
// Network and Server own the goroutines that serve; Close waits for them. A mutex guards
// how ill a site is.
package sicksite

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Site.mu guards the illness and what was asked; the servers' goroutines and the test's
// take it.

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
	// Answer is how long each answer takes.
	Answer time.Duration
	// RetryAfter, in seconds, is what UnavailableAWhile asks for; 0: 300.
	RetryAfter int
	// Origin is the site's scheme, host and port; "": http and Host.
	Origin string
	// Elsewhere is the origin of another site; "": http and Elsewhere.
	Elsewhere string
}

// Site is a site in one state of health. Its methods may be called at once.
type Site struct {
	options Options
	lists   int // index pages

	mu      sync.Mutex
	illness Illness
	gone    map[string]bool // paths that are no more
	secure  bool            // the plain site sends to the secure one for good
	answers int             // so far
	onTurn  []func()
}

// New makes a healthy site.
func New(o Options) *Site {
	if o.Origin == "" {
		o.Origin = "http://" + Host
	}
	if o.Elsewhere == "" {
		o.Elsewhere = "http://" + Elsewhere
	}
	o.RetryAfter = cmp.Or(o.RetryAfter, 300)
	return &Site{options: o, lists: min(o.Documents/8, 10), gone: map[string]bool{}}
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
func (s *Site) Drop(pages ...int) {
	s.turn(func() {
		for _, i := range pages {
			s.gone[s.Path(i)] = true
		}
	})
}

// Restore brings dropped pages back.
func (s *Site) Restore(pages ...int) {
	s.turn(func() {
		for _, i := range pages {
			delete(s.gone, s.Path(i))
		}
	})
}

// Secure moves the site from http to https: each plain URL answers 301 to its twin.
func (s *Site) Secure() { s.turn(func() { s.secure = true }) }

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

// Answers is how many requests were answered so far.
func (s *Site) Answers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers
}
