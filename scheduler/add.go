package scheduler

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// possiblePlaces returns the places that may receive work from a completion.
func possiblePlaces(c Completion) []Place {
	places := linkPlaces(c.Links)
	if c.Next.State == Waiting {
		places = append(places, Place{Source: c.Next.Source, Host: c.Next.Host})
	}
	return places
}

func linkPlaces(links []Link) []Place {
	places := make([]Place, 0, len(links))
	for _, l := range links {
		if l.Known == (weburl.Key{}) {
			places = append(places, Place{Source: l.Fifo, Host: l.URL.HostKey()})
		}
	}
	return places
}

// Add stores links that no page named, such as roots, as Store.Add does. It returns the number of new or requeued URLs.
func (f *Frontier) Add(ctx context.Context, links []Link, requeue bool) (int, error) {
	lost := f.completeLinks(links)
	places, n, err := f.store.Add(ctx, links, requeue)
	if err != nil {
		places = linkPlaces(links)
	}
	f.owner.Lost(lost)
	f.mu.Lock()
	defer f.mu.Unlock()
	if requeue {
		f.recheck(links)
	}
	f.announce(places)
	return n, err
}

// completeLinks completes links: it sets the time when they were found and, for items that leave a target, the edit. It
// returns the hosts of those items, with their origins.
func (f *Frontier) completeLinks(links []Link) (lost map[weburl.HostKey]string) {
	now := time.Now().Truncate(time.Second)
	for i := range links {
		l := &links[i]
		l.FoundAt = now
		if l.Item == nil || l.Item.MovesTo == nil {
			continue
		}
		if lost == nil {
			lost = map[weburl.HostKey]string{}
		}
		lost[l.URL.HostKey()] = l.URL.Origin()
		l.Item.set, l.Item.edit = f.Settings(), f.owner.Edit()
	}
	return lost
}

// recheck marks the buffered URLs of the refresh source that Add may have re-queued from there.
func (f *Frontier) recheck(links []Link) {
	moved := map[weburl.Key]bool{}
	for _, l := range links {
		moved[l.URL.Key()] = true
	}
	mark := func(all []*Lease) {
		for _, l := range all {
			l.check = l.check || l.Place.Source == Refresh && moved[l.Key]
		}
	}
	for _, l := range links {
		h := f.hosts[l.URL.HostKey()]
		if h == nil || h.live == nil {
			continue
		}
		mark(h.live.inFlight)
		if q := h.queue(Refresh); q != nil && q.reading != nil {
			mark(q.reading.buffer)
		}
	}
}

// Announce reports places where other code stored work. A place without work costs one read.
func (f *Frontier) Announce(places []Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announce(places)
}

// announce marks places as holding work. The mutex is held.
func (f *Frontier) announce(places []Place) {
	for _, p := range places {
		if h := f.entry(p.Host); h != nil {
			f.announceAt(p.Source, h)
		}
	}
}

func (f *Frontier) announceAt(s Source, h *host) {
	q := h.queue(s)
	if q == nil {
		q = &queue{host: h, source: s, sibling: h.queues}
		h.queues = q
	}
	q.more, q.news = true, true
	f.place(h, false)
}

// dueBy makes Run look for due URLs by a time. The mutex is held.
func (f *Frontier) dueBy(t time.Time) {
	if t.IsZero() || !f.dueAt.IsZero() && !t.Before(f.dueAt) {
		return
	}
	f.dueAt = t
	f.wakeBy(max(f.instant(t), 1))
}

// LookForDue makes Run look for due URLs at once. Callers use it after they stored due URLs.
func (f *Frontier) LookForDue() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dueBy(time.Now())
}

// Item is the document of a link to a KindItem: the part of a feed or an XML file that stands for the link's URL, which
// is not fetched. A Store that adds the link stores the item in the same step, whether or not the URL is new.
type Item struct {
	Document
	// At is the time when the feed was read, RulesVersion the rules that it was read with.
	At           time.Time
	RulesVersion uint64
	// Always pushes the item even if it equals the last pushed version.
	Always bool
	// Add sets these for an item that leaves a target: the settings in force, and the edit that the loss belongs to.
	set  *Settings
	edit uint64
}

// ReviseItem returns the revision of a stored URL when a link to it brings an item: the feed's document, or nil if the
// stored one is the same. A URL known as a page remains a page, and a URL that waits for a fetch is judged afterwards.
func ReviseItem(rec *Record, l *Link) *Revision {
	i := l.Item
	same := rec.Indexed && rec.Hash == i.Hash && rec.PushedSource == i.Source
	moves := i.MovesTo != nil && rec.MovesTo(*i.MovesTo)
	if rec.Kind != KindItem || rec.State == Waiting || same && !i.Always && (moves || !rec.LossPending && i.MovesTo == nil) {
		return nil
	}
	next := *rec
	switch {
	case moves:
	case i.MovesTo != nil && !i.set.Leaves(rec, *i.MovesTo): // allowed in the meantime: its list is read again
		return nil
	case i.MovesTo != nil && same: // new content is pushed first; the pass, or the next reading, finds the move
		return &Revision{Next: next, Order: moving(&next, rec, *i.MovesTo, i.edit, i.set, i.At)}
	case same && !i.Always: // listed again
		next.Reason, next.LastError, next.Misses, next.LossPending = NoReason, "", 0, false
		return &Revision{Next: next, CancelDeletion: true}
	}
	next.Class, next.Status, next.LastError, next.Reason, next.Settled = OK, 200, "", NoReason, true
	next.Fifo, next.Referrer, next.RulesVersion = l.Fifo, l.Referrer, i.RulesVersion
	next.FetchedAt, next.CheckedAt = i.At, i.At
	next.holds(&i.Document)
	next.stamp(rec, i.At.Truncate(time.Second))
	if moves {
		next.Reason, next.LastError = rec.Reason, rec.LastError
	}
	return &Revision{Next: next, Order: addition(rec, &i.Document), CancelDeletion: !moves}
}
