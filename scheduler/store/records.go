package store

import (
	"errors"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

func placeOf(rec *scheduler.Record) scheduler.Place {
	return scheduler.Place{Source: rec.Source, Host: rec.Host}
}

// record reads a record; ErrNotFound if there is none.
func (g *group) record(k weburl.Key) (scheduler.Record, error) {
	v, err := g.get(record.URLKey(k))
	if err != nil {
		return scheduler.Record{}, err
	}
	if v == nil {
		return scheduler.Record{}, scheduler.ErrNotFound
	}
	rec, err := record.Decode(v)
	if err != nil {
		return scheduler.Record{}, g.s.damaged("URL "+k.String(), err)
	}
	return rec, nil
}

// unplace removes a record from the counters and from its queue.
func (g *group) unplace(k weburl.Key, rec *scheduler.Record) error {
	g.touch(k)
	g.nextCount.Remove(rec)
	switch rec.State {
	case scheduler.Waiting:
		return g.dequeue(placeOf(rec), rec.Seq)
	case scheduler.Timed:
		g.remove(record.TimedKey(rec.NextAt, k))
	case scheduler.AtRest:
	}
	return nil
}

// replace stores a record in place of an older one, which no queue refers to any more.
func (g *group) replace(k weburl.Key, old, next *scheduler.Record, ps *places) error {
	if err := g.follow(k, old, next); err != nil {
		return err
	}
	return g.place(k, next, ps)
}

// follow updates the fingerprints and the host's documents after a change of a URL's record.
func (g *group) follow(k weburl.Key, old, next *scheduler.Record) error {
	if next.Gone && !old.Gone {
		g.unlearn(k)
	}
	return g.documented(k, old, next)
}

// erase forgets a URL that no queue refers to any more, and its pending loss, if has.
func (g *group) erase(k weburl.Key, old *scheduler.Record, has bool) error {
	if has {
		if err := g.dropDeletion(k); err != nil {
			return err
		}
	}
	g.forget(k)
	return g.documented(k, old, nil)
}

// place stores a record and puts it into the queue of its state.
func (g *group) place(k weburl.Key, rec *scheduler.Record, ps *places) error {
	rec.Seq = 0
	if rec.State != scheduler.Timed {
		rec.NextAt = time.Time{}
	}
	switch rec.State {
	case scheduler.Waiting:
		var err error
		if rec.Seq, err = g.enqueue(placeOf(rec), k); err != nil {
			return err
		}
		ps.add(placeOf(rec))
	case scheduler.Timed:
		g.set(record.TimedKey(rec.NextAt, k), []byte{})
		g.s.dueFloor = min(g.s.dueFloor, record.SortableTime(rec.NextAt))
	case scheduler.AtRest:
	}
	g.nextCount.Add(rec)
	return g.setRecord(k, rec)
}

// addURL stores a new URL.
func (g *group) addURL(k weburl.Key, l *scheduler.Link, ps *places) error {
	rec := scheduler.Record{
		URL: l.URL.String(), Host: l.URL.HostKey(), Origin: l.URL.Origin(),
		State: scheduler.Waiting, Source: l.Fifo, Fifo: l.Fifo,
		Root: l.Root, Shift: l.Shift, Depth: l.Depth, Hops: l.Hops, Referrer: l.Referrer,
		HostSpelling: l.HostSpelling, Fragment: l.Fragment, Kind: l.Kind, FoundAt: l.FoundAt,
	}
	if l.Kind == scheduler.KindItem {
		rec.State = scheduler.AtRest
	}
	if l.Alias != "" {
		rec.Aliases = []string{l.Alias}
	}
	if err := g.seeHost(rec.Host, rec.Origin); err != nil {
		return err
	}
	return g.place(k, &rec, ps)
}

// seeHost stores the origin of a new host.
func (g *group) seeHost(h weburl.HostKey, origin string) error {
	if _, ok := g.seenHosts.find(h); ok {
		return nil
	}
	key := record.OriginKey(h)
	if v, ok := g.changed(key); ok && v != nil {
		return nil
	}
	v, err := g.get(key)
	if err != nil {
		return err
	}
	if v == nil {
		g.set(key, []byte(origin))
		g.nextCount.Hosts++
		return nil
	}
	g.seenHosts.put(h, struct{}{})
	return nil
}

// link stores a page's link to another URL. levels is Completion.Levels.
func (g *group) link(k weburl.Key, l *scheduler.Link, levels uint16, ps *places) error {
	known, err := g.known(k)
	if err != nil {
		return err
	}
	if known == isUnknown {
		return g.addURL(k, l, ps)
	}
	if known == isKnown && levels == 0 && l.Alias == "" {
		return nil
	}
	rec, err := g.record(k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return g.addURL(k, l, ps) // two URLs have the same fingerprint
	}
	if err != nil {
		return err
	}
	aliases := union(rec.Aliases, l.Alias)
	shorter := levels > 0 && l.Depth < rec.Depth
	if !shorter && !rec.Gone && len(aliases) == len(rec.Aliases) {
		return nil
	}
	rec.Aliases = aliases
	if again := shorter && rec.Nearer(l.Depth, levels); again || rec.Gone {
		return g.bringBack(k, &rec, l, ps)
	}
	g.touch(k)
	return g.setRecord(k, &rec)
}

// bringBack queues a URL that was gone, or that a shorter path leads to. A URL that already waits in a fifo stays
// there.
func (g *group) bringBack(k weburl.Key, rec *scheduler.Record, l *scheduler.Link, ps *places) error {
	rec.HostSpelling, rec.Fragment = l.HostSpelling, l.Fragment
	rec.Gone, rec.Settled = false, rec.Settled && !rec.Gone
	if rec.State == scheduler.Waiting && rec.Source != scheduler.Refresh {
		g.touch(k)
		return g.setRecord(k, rec)
	}
	if err := g.unplace(k, rec); err != nil {
		return err
	}
	rec.State, rec.Source, rec.Fifo = scheduler.Waiting, l.Fifo, l.Fifo
	return g.place(k, rec, ps)
}

// union adds an alias to a list that is not full and does not hold it yet. It may write to the list's spare capacity.
func union(aliases []string, alias string) []string {
	if alias == "" || len(aliases) >= scheduler.MaxAliases || slices.Contains(aliases, alias) {
		return aliases
	}
	return append(aliases, alias)
}

func keysOf(links []scheduler.Link) []weburl.Key {
	keys := make([]weburl.Key, len(links))
	for i := range links {
		if keys[i] = links[i].Known; keys[i] == (weburl.Key{}) {
			keys[i] = links[i].URL.Key()
		}
	}
	return keys
}

// places collects distinct places in order.
type places struct {
	seen map[scheduler.Place]struct{} // used once there are many
	list []scheduler.Place
}

// fewPlaces is the number of places up to which a linear search is used.
const fewPlaces = 16

func (p *places) add(pl scheduler.Place) {
	if p.seen == nil && slices.Contains(p.list, pl) {
		return
	}
	if p.seen == nil && len(p.list) == fewPlaces {
		p.seen = make(map[scheduler.Place]struct{}, 4*fewPlaces)
		for _, known := range p.list {
			p.seen[known] = struct{}{}
		}
	}
	if p.seen != nil {
		if _, ok := p.seen[pl]; ok {
			return
		}
		p.seen[pl] = struct{}{}
	}
	p.list = append(p.list, pl)
}
