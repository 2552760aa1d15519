package scheduler

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// possiblePlaces are the places that a completion can bring work to.
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

// Add makes links known that no page found, as Store.Add does, and returns how many
// URLs were new or re-queued.
func (f *Frontier) Add(ctx context.Context, links []Link, requeue bool) (int, error) {
	lost, err := f.foundNow(ctx, links)
	if err != nil {
		return 0, err
	}
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

// foundNow completes links by what they were found at and, of items that are to leave a target, the edit. It returns
// the hosts of these, with their origins.
func (f *Frontier) foundNow(ctx context.Context, links []Link) (lost map[weburl.HostKey]string, err error) {
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
		l.Item.set = f.Settings()
		if l.Item.edit, err = f.owner.Edit(ctx); err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// recheck marks URLs of the refresh source that may have been re-queued from there.
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
		mark(h.live.flying)
		if q := h.queue(Refresh); q != nil && q.reading != nil {
			mark(q.reading.buffer)
		}
	}
}

// Announce makes work known that others brought into the store. A place without
// work costs a read.
func (f *Frontier) Announce(places []Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announce(places)
}

// announce makes places known that got work. The mutex is held.
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

// LookForDue makes Run look for due URLs at once: others have stored some.
func (f *Frontier) LookForDue() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dueBy(time.Now())
}

// Item is the document of a link to a KindItem: what a feed or an XML file has under the link's URL, which is not
// fetched. A Store that adds the link stores it in the same step, whether the URL is new or not.
type Item struct {
	Document
	// At is when the feed was read, and RulesVersion by which rules.
	At           time.Time
	RulesVersion uint64
	// Always has it pushed also if it is what was pushed before.
	Always bool
	// Of one that is to leave a target, by Add: the settings in force, and the edit that it belongs to.
	set  *Settings
	edit uint64
}

// ReviseItem returns what becomes of a stored URL by a link to it with an item: the document that the feed has of it, nil
// if it has that already. A URL that is known as a page stays one, and one that was asked for is judged when it is had.
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
	case i.MovesTo != nil && !i.set.Leaves(rec, *i.MovesTo): // it was allowed in the meantime: its list is read again
		return nil
	case i.MovesTo != nil && same: // what is new is pushed first; the pass, or the next reading, finds the move
		return &Revision{Next: next, Order: moving(&next, rec, *i.MovesTo, i.edit, i.set, i.At)}
	case same && !i.Always: // it is listed again
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
