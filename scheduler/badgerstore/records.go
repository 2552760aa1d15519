package badgerstore

import (
	"errors"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// manyHosts is how many hosts the committer remembers to have stored.
const manyHosts = 1 << 16

func placeOf(rec *scheduler.Record) scheduler.Place {
	return scheduler.Place{Source: rec.Source, Host: rec.Host}
}

// storedDepth reads the depth of a committed URL.
func (g *group) storedDepth(k weburl.Key) (depth uint16, known bool, err error) {
	item, err := g.snap.Get(urlKey(k))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return 0, false, nil
	}
	if err == nil {
		err = item.Value(func(v []byte) error {
			depth, err = peekDepth(v)
			return err
		})
	}
	if err != nil {
		return 0, false, g.s.damaged("URL "+k.String(), err)
	}
	return depth, true, nil
}

// depth tells whether a URL is known and its depth.
func (g *group) depth(k weburl.Key) (depth uint16, known bool, err error) {
	key := urlKey(k)
	v, ok := g.step.values[string(key)]
	if !ok {
		v, ok = g.writes.values[string(key)]
	}
	if ok {
		if v == nil {
			return 0, false, nil
		}
		depth, err = peekDepth(v)
		return depth, true, err
	}
	if d, ok := g.depths[k]; ok {
		return uint16(max(d, 0)), d >= 0, nil
	}
	return g.storedDepth(k)
}

// record reads a record; ErrNotFound if there is none.
func (g *group) record(k weburl.Key) (scheduler.Record, error) {
	v, err := g.get(urlKey(k))
	if err != nil {
		return scheduler.Record{}, err
	}
	if v == nil {
		return scheduler.Record{}, scheduler.ErrNotFound
	}
	rec, err := decodeRecord(v)
	if err != nil {
		return scheduler.Record{}, g.s.damaged("URL "+k.String(), err)
	}
	return rec, nil
}

// unplace takes a record out of the counters and out of where it stands.
func (g *group) unplace(k weburl.Key, rec *scheduler.Record) {
	g.nextCount.remove(rec)
	switch rec.State {
	case scheduler.Waiting:
		g.remove(queueKey(rec.Source, rec.Host, rec.Seq))
	case scheduler.Timed:
		g.remove(timedKey(rec.NextAt, k))
	}
}

// place stores a record that stands nowhere and puts it where its state says.
func (g *group) place(k weburl.Key, rec *scheduler.Record, ps *places) {
	rec.Seq = 0
	if rec.State != scheduler.Timed {
		rec.NextAt = time.Time{}
	}
	switch rec.State {
	case scheduler.Waiting:
		g.nextCount.seq++
		rec.Seq = g.nextCount.seq
		g.set(queueKey(rec.Source, rec.Host, rec.Seq), k[:])
		ps.add(placeOf(rec))
	case scheduler.Timed:
		g.set(timedKey(rec.NextAt, k), []byte{})
		g.s.dueFloor = min(g.s.dueFloor, sortableTime(rec.NextAt))
	}
	g.nextCount.add(rec)
	g.set(urlKey(k), encodeRecord(rec))
}

// addURL makes a new URL known.
func (g *group) addURL(k weburl.Key, l *scheduler.Link, ps *places) error {
	rec := scheduler.Record{
		URL: l.URL.String(), Host: l.URL.HostKey(), Origin: l.URL.Origin(),
		State: scheduler.Waiting, Source: l.Fifo, Fifo: l.Fifo,
		Root: l.Root, Shift: l.Shift, Depth: l.Depth, Hops: l.Hops, Referrer: l.Referrer,
		HostSpelling: l.HostSpelling,
	}
	if l.Alias != "" {
		rec.Aliases = []string{l.Alias}
	}
	if err := g.seeHost(rec.Host, rec.Origin); err != nil {
		return err
	}
	g.place(k, &rec, ps)
	return nil
}

// seeHost stores the origin of a host that was never seen.
func (g *group) seeHost(h weburl.HostKey, origin string) error {
	if _, ok := g.s.seenHosts[h]; ok {
		return nil
	}
	v, err := g.get(originKey(h))
	if err != nil {
		return err
	}
	if v == nil {
		g.set(originKey(h), []byte(origin))
		g.nextCount.hosts++
	}
	if len(g.s.seenHosts) >= manyHosts {
		clear(g.s.seenHosts)
	}
	g.s.seenHosts[h] = struct{}{}
	return nil
}

// link stores what a page says of another URL.
func (g *group) link(k weburl.Key, l *scheduler.Link, ps *places) error {
	depth, known, err := g.depth(k)
	if err != nil {
		return err
	}
	if !known {
		return g.addURL(k, l, ps)
	}
	if l.Depth >= depth && l.Alias == "" {
		return nil
	}
	rec, err := g.record(k)
	if err != nil {
		return err
	}
	aliases := union(rec.Aliases, l.Alias)
	if l.Depth >= rec.Depth && len(aliases) == len(rec.Aliases) {
		return nil
	}
	rec.Depth, rec.Aliases = min(rec.Depth, l.Depth), aliases
	g.set(urlKey(k), encodeRecord(&rec))
	return nil
}

// links stores what a page says of others. A page too large for one transaction
// may be committed in parts: a link stored twice changes nothing.
func (g *group) links(keys []weburl.Key, links []scheduler.Link, ps *places) error {
	for i := range links {
		if err := g.link(keys[i], &links[i], ps); err != nil {
			return err
		}
	}
	return nil
}

// union adds an alias to a list that does not hold it yet. It may write to the list's spare room.
func union(aliases []string, alias string) []string {
	if alias == "" || slices.Contains(aliases, alias) {
		return aliases
	}
	return append(aliases, alias)
}

func keysOf(links []scheduler.Link) []weburl.Key {
	keys := make([]weburl.Key, len(links))
	for i := range links {
		keys[i] = links[i].URL.Key()
	}
	return keys
}
