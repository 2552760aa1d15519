package partitioned

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Scope says what a named value is of.
type Scope uint8

// The scopes.
const (
	OfCrawl     Scope = iota // the whole crawl: Options.Values
	OfOrigin                 // a host, whose origin is the rest of the name
	OfHost                   // a host, whose key is the rest of the name, in hexadecimal
	OfURL                    // a URL, whose key is the rest of the name, in hexadecimal
	OfPartition              // a partition, whose number is the rest of the name
)

// name is one that is stored, or what names begin with.
type name struct {
	name  string
	scope Scope
	what  string
}

// names are all that are stored; another one is of the whole crawl. A test finds the places in the program that store
// some.
func names() []name {
	return []name{
		{"robots/", OfOrigin, "robots.txt of a host"},
		{"scheduler.deletions.", OfHost, "what a host has deleted and held"},
		{"crawl.frame.", OfHost, "what the pages of a host have in common"},
		{"crawl.xml.", OfURL, "the items of a feed or an XML file"},
		{"crawl.judged.", OfPartition, "by which rules all URLs of a partition were judged"},
		{"crawl.refreshed.", OfPartition, "runs of schedules that a partition has done"},
		{"crawl.roots.", OfPartition, "roots of the configuration that belong to a partition"},
		{"scheduler.rests.", OfPartition, "hosts that rest when a partition is released"},

		{"alive", OfCrawl, "whether anything can be stored"},
		{"crawl.name", OfCrawl, "the name of the Crawler, for who reads its store"},
		{"crawl.patterns", OfCrawl, "patterns of copies, over hosts"},
		{"crawl.paused", OfCrawl, "the operator's pause"},
		{"crawl.refreshes", OfCrawl, "when schedules last ran: once for all"},
		{"crawl.robots", OfCrawl, "hosts whose robots.txt became stricter"},
		{"crawl.roots", OfCrawl, "roots of the configuration of a crawl whose store is one"},
		{"crawl.rounds", OfCrawl, "rounds of a crawl that runs once"},
		{"crawl.rules", OfCrawl, "how far judging again has got; partitions are judged one by one"},
		{"crawl.traps", OfCrawl, "counts of traps, over hosts"},
		{"crawl.width", OfCrawl, "hosts that the crawl has widened to"},
		{"event.", OfCrawl, "events for the operator"},
		{"moved-sites", OfCrawl, "sites that moved; rules follow from them"},
		{"notices sent", OfCrawl, "notices that went out, so that each goes once"},
		{"orders repeated at", OfCrawl, "the targets' repetition after a take-over"},
		{"scheduler.brake", OfCrawl, "deletions of the last time, for the brake over the index"},
		{"scheduler.edits", OfCrawl, "edits of the rules"},
		{"scheduler.rests", OfCrawl, "hosts that rest at the end of a process whose store is one"},
		{"word for version", OfCrawl, "the operator's word for what a version of the configuration deletes"},
	}
}

// SharedNames are the values of the whole crawl that are one for all its processes. Of the others each process has its own: what it has
// counted, and how far it is.
func SharedNames() []string {
	return []string{"crawl.paused", "moved-sites", "scheduler.edits", "word for version"}
}

// Shared reports whether a value is one for all processes.
func Shared(value string) bool { return slices.Contains(SharedNames(), value) }

// ScopeOf is that of a named value, and the rest of its name.
func ScopeOf(value string) (Scope, string) {
	for _, n := range names() {
		if n.scope == OfCrawl {
			break
		}
		if rest, ok := strings.CutPrefix(value, n.name); ok {
			return n.scope, rest
		}
	}
	return OfCrawl, ""
}

// nobody is the home of a value that belongs to a host that nobody knows.
const nobody = scheduler.Here

// homeOf is the home of a named value. If its host or URL is known in no partition here that is nobody, or
// ErrElsewhere if some are elsewhere.
func (s *Store) homeOf(ctx context.Context, value string) (scheduler.Home, error) {
	of, rest := ScopeOf(value)
	var o *owned
	var err error
	switch of {
	case OfOrigin:
		return scheduler.HomeOf(s.OfOrigin(rest)), nil
	case OfHost:
		if b, bad := hex.DecodeString(rest); bad == nil && len(b) == len(weburl.HostKey{}) {
			o, err = s.byHost(ctx, weburl.HostKey(b))
		}
	case OfURL:
		if b, bad := hex.DecodeString(rest); bad == nil && len(b) == len(weburl.Key{}) {
			if o, _, err = s.byKey(ctx, weburl.Key(b)); errors.Is(err, scheduler.ErrNotFound) {
				err = nil
			}
		}
	case OfPartition:
		n, bad := strconv.Atoi(rest)
		if bad != nil || n < 0 || n >= s.partitions {
			return nobody, fmt.Errorf("%q is of no partition: there are those from 0 to %d", value, s.partitions-1)
		}
		return scheduler.HomeOf(n), nil
	case OfCrawl:
		return s.whole(), nil
	}
	if o == nil || err != nil {
		return nobody, err
	}
	o.done()
	return scheduler.HomeOf(o.number), nil
}

// valuesOf is where a home's named values are; done must be called.
func (s *Store) valuesOf(home scheduler.Home) (_ scheduler.Values, done func(), err error) {
	if home == s.whole() {
		return s.values, func() {}, nil
	}
	o, err := s.use(home.Partition())
	if err != nil {
		return nil, nil, err
	}
	return o.store, o.done, nil
}

// Value implements scheduler.Store.
func (s *Store) Value(ctx context.Context, name string) ([]byte, error) {
	home, err := s.homeOf(ctx, name)
	if err != nil || home == nobody {
		return nil, err
	}
	values, done, err := s.valuesOf(home)
	if err != nil {
		return nil, err
	}
	defer done()
	return values.Value(ctx, name)
}

// SetValue implements scheduler.Store. What is said of a host or a URL that is not known is not kept.
func (s *Store) SetValue(ctx context.Context, name string, value []byte) error {
	home, err := s.homeOf(ctx, name)
	if err != nil || home == nobody {
		return err
	}
	values, done, err := s.valuesOf(home)
	if err != nil {
		return err
	}
	defer done()
	return values.SetValue(ctx, name, value)
}

// homeNotes says where the notes of a change in a partition belong. Those of a host that is not here any more are
// left out: its owner has its own.
func (s *Store) homeNotes(ctx context.Context, in *owned, notes []scheduler.Note) ([]scheduler.Note, error) {
	if len(notes) == 0 {
		return notes, nil
	}
	homed := make([]scheduler.Note, 0, len(notes))
	for _, n := range notes {
		home, err := s.homeOf(ctx, n.Name)
		if errors.Is(err, scheduler.ErrElsewhere) || err == nil && home == nobody {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n.Home = home; home == scheduler.HomeOf(in.number) {
			n.Home = scheduler.Here
		}
		homed = append(homed, n)
	}
	return homed, nil
}
