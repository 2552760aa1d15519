package scheduler

import (
	"cmp"
	"encoding/binary"
	"iter"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

// Links are stored in the form of LinkPrints, 6 bytes each.

// Outlinks selects what happens to the stored links of a page.
type Outlinks uint8

// The choices.
const (
	KeepOutlinks    Outlinks = iota // leave them
	ReplaceOutlinks                 // replace them by the Links of the Completion
	DropOutlinks
)

// MaxOutlinks is the most links that a store keeps of a page: the first ones.
const MaxOutlinks = 4096

// LinkPrint is the stored form of a link: 48 bits of its URL's key. The chance that a list of n links seems to hold one
// of m other URLs is n*m/2^48.
type LinkPrint uint64

// LinkPrintLen is the number of bytes of a LinkPrint.
const LinkPrintLen = 6

// PrintOf returns the print of a link to the URL with this key.
func PrintOf(k weburl.Key) LinkPrint {
	c := k.Chance()
	return LinkPrint(binary.BigEndian.Uint64(c[:]) >> 16)
}

// LinkPrints are the links of a page in page order, 6 bytes each.
type LinkPrints []byte

// AppendPrint adds a link.
func (p LinkPrints) AppendPrint(k weburl.Key) LinkPrints {
	c := k.Chance()
	return append(p, c[:LinkPrintLen]...)
}

// Len returns the number of links.
func (p LinkPrints) Len() int { return len(p) / LinkPrintLen }

// All returns the links one after the other.
func (p LinkPrints) All() iter.Seq[LinkPrint] {
	return func(yield func(LinkPrint) bool) {
		for b := p; len(b) >= LinkPrintLen; b = b[LinkPrintLen:] {
			n := LinkPrint(b[0])<<40 | LinkPrint(b[1])<<32 | LinkPrint(binary.BigEndian.Uint32(b[2:]))
			if !yield(n) {
				return
			}
		}
	}
}

// Gone is the trace of a URL that was forgotten after an error. A store keeps it for GoneFor, for reports; it does not
// make the URL known.
type Gone struct {
	URL      string
	At       time.Time // when it was forgotten
	Since    time.Time // when the error was first seen
	GoodAt   time.Time // when the page was last read, zero if never
	FoundAt  time.Time // as in Record
	Visits   int       // visits that gave an error, since it was last read
	Status   int
	Fault    fault.Fault
	Reason   Reason
	Words    string
	Referrer string
	// Indexed is set if its document was deleted then; Source is the one that it was pushed under.
	Indexed bool
	Source  string
}

// GoneFor is the time for which a store keeps a Gone.
const GoneFor = 366 * 24 * time.Hour

// After joins g with the earlier trace of the same URL, which was found again through a link and is gone again without
// a good response between.
func (g Gone) After(before Gone) Gone {
	if !before.At.After(g.GoodAt) {
		return g
	}
	g.Since, g.FoundAt, g.Visits = before.Since, before.FoundAt, g.Visits+before.Visits
	return g
}

// gone returns what remains of the record that next replaces.
func gone(old, next *Record, now time.Time) *Gone {
	g := &Gone{
		URL: old.URL, At: now, Since: now, GoodAt: old.CheckedAt, FoundAt: old.FoundAt, Visits: old.Errors + 1,
		Status: next.Status, Fault: next.Fault, Reason: next.Reason, Words: next.LastError, Referrer: old.Referrer,
		Indexed: old.Indexed, Source: old.PushedSource,
	}
	switch old.Class {
	case Permanent:
		g.Since = cmp.Or(old.ClassAt, old.FetchedAt, now)
		g.Visits++
	case Temporary:
		g.Since = cmp.Or(old.FirstErrorAt, now)
	case Pending, OK, Redirect, Ignored:
	}
	return g
}

// trace adds to a completion what reports need: the times of changes, the page's links, and what remains of a forgotten
// URL.
func trace(c *Completion, old *Record, now time.Time) {
	now = now.Truncate(time.Second)
	for i := range c.Links {
		c.Links[i].FoundAt = now
	}
	if c.Forget {
		c.Gone, c.Outlinks = gone(old, &c.Next, now), DropOutlinks
	}
	c.Next.stamp(old, now)
	switch {
	case c.Outlinks == ReplaceOutlinks: // also by none: then the page is known to have none
		c.Next.Linked = true
		return
	case c.Outlinks == KeepOutlinks && (c.Next.Class <= OK || c.Next.Class == Temporary):
		return
	}
	c.Outlinks = KeepOutlinks
	if old.Linked {
		c.Outlinks = DropOutlinks
	}
	c.Next.Linked = false
}

// stamp records when the record's class and document last changed.
func (n *Record) stamp(old *Record, now time.Time) {
	if n.Class != old.Class && (old.Class != Temporary || n.Class != Permanent) { // it has failed since then
		n.ClassAt = now
		if old.Class != Pending {
			n.Was = old.Class
		}
	}
	none := [16]byte{}
	changed := n.Hash != old.Hash && n.Hash != none && old.Hash != none || n.PushedSource != old.PushedSource
	if n.Indexed != old.Indexed || n.Indexed && changed {
		n.ChangedAt, n.Entered = now, !old.Indexed
	}
}
