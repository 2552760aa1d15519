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

// Outlinks says what becomes of what is stored of a page's links.
type Outlinks uint8

// The ways.
const (
	KeepOutlinks    Outlinks = iota // as they are
	ReplaceOutlinks                 // by the Links of the Completion
	DropOutlinks
)

// MaxOutlinks is how many links of a page a store keeps: the first ones.
const MaxOutlinks = 4096

// LinkPrint is what is stored of a link: 48 bits of its URL's key. That a list of n
// links seems to hold one of m other URLs has a chance of n*m/2^48.
type LinkPrint uint64

// LinkPrintLen is the number of bytes of a LinkPrint.
const LinkPrintLen = 6

// PrintOf is the print of a link to the URL with this key.
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

// Len is the number of links.
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

// Gone is what is left of a URL that was forgotten after an error. A store keeps it
// for GoneFor, so that reports know of it; it does not make the URL known.
type Gone struct {
	URL      string
	At       time.Time // when it was forgotten
	Since    time.Time // when the error was seen first
	GoodAt   time.Time // when the page was last had, zero if never
	FoundAt  time.Time // as in Record
	Visits   int       // that gave an error, since it was last had
	Status   int
	Fault    fault.Fault
	Reason   Reason
	Words    string
	Referrer string
	// Indexed says that its document was deleted then; Source is what it was pushed under.
	Indexed bool
	Source  string
}

// GoneFor is how long a store keeps a Gone.
const GoneFor = 366 * 24 * time.Hour

// After joins what was left of the same URL before: found again through a link, and
// gone again without a good answer between.
func (g Gone) After(before Gone) Gone {
	if !before.At.After(g.GoodAt) {
		return g
	}
	g.Since, g.FoundAt, g.Visits = before.Since, before.FoundAt, g.Visits+before.Visits
	return g
}

// gone is what is left of a record that next would have replaced.
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

// trace notes in a completion what reports ask for: when things came to be as they
// are, which links the page has, and what is left of a URL that is forgotten.
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
	case c.Outlinks == ReplaceOutlinks: // by none, too: then it is known that the page has none
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

// stamp notes when the record's class and document came to be what they are.
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
