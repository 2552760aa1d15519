package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/fingerprints"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// Known URLs are also kept in memory, as fingerprints, because most links of a page are known and a read for each would
// be most of the work. The set may lack known keys: a read confirms that a URL is unknown, or adds its key to the set.
// It never holds an unknown key, except by the chance of equal fingerprints. Therefore:
//
//   - A key enters it when the batch that made it known is durable.
//   - A URL that is gone (scheduler.Record.Gone) is not in it, since a link to it must not be passed over. For the set,
//     it counts as removed.
//   - A removal (scheduler.Store.Forget, Completion.Forget, Record.Gone) leaves a note in the batch, under a number
//     that rises. The set's file, see save.go, records up to which number it lacks the removed URLs; later notes are
//     applied when it is read. They are dropped when a newer file is durable.
//   - A file whose number the store does not name belongs to another state of the store (a restored backup, say) and is
//     not used. Neither is one whose writer did not sync its commits, if the store was not closed. The set is then
//     rebuilt from all keys.
//
// It is read, or rebuilt, in the background. Until then each link costs a read.

// known holds the set, and the committer's state for it.
type known struct {
	set     atomic.Pointer[fingerprints.Set] // nil until it is loaded
	mark    uint64                           // removals up to this number are applied
	dropped uint64                           // notes up to this number are gone
	changes int                              // since the last file
	saving  bool
}

// apply updates the set after a durable change.
func (n *known) apply(k weburl.Key, isKnown bool) {
	set := n.set.Load()
	if set == nil {
		return
	}
	if isKnown {
		if set.Add(k) {
			n.changes++
		}
		return
	}
	set.Remove(k)
	n.changes++
}

// knowledge is the state of a URL that its links need.
type knowledge uint8

const (
	isUnknown knowledge = iota
	isKnown
	isGone // known, and a link to it brings it back
)

// knowledgeOf returns the knowledge of a URL with this stored record.
func knowledgeOf(stored []byte) knowledge {
	switch {
	case stored == nil:
		return isUnknown
	case record.IsGone(stored):
		return isGone
	}
	return isKnown
}

// known returns the knowledge of a URL as seen by this write.
func (g *group) known(k weburl.Key) (knowledge, error) {
	key := record.URLKey(k)
	if v, ok := g.changed(key); ok {
		return knowledgeOf(v), nil
	}
	set := g.s.known.set.Load()
	if set != nil && set.Has(k) {
		return isKnown, nil
	}
	v, err := g.stored().Get(key)
	if err != nil {
		return isUnknown, g.s.damaged("URL "+k.String(), err)
	}
	n := knowledgeOf(v)
	if set != nil && n == isKnown {
		set.Add(k)
	}
	return n, nil
}

// Remembers implements scheduler.Store.
func (s *Store) Remembers(k weburl.Key) bool {
	set := s.known.set.Load()
	return set != nil && set.Has(k)
}

// forget removes a URL's record, which no queue refers to any more.
func (g *group) forget(k weburl.Key) {
	g.remove(record.URLKey(k))
	g.unlearn(k)
}

// unlearn leaves a note that the set must not hold a URL.
func (g *group) unlearn(k weburl.Key) {
	g.nextCount.Removals++
	g.set(record.RemovalKey(g.nextCount.Removals, k), []byte{})
}

// loaded is a set that was read or rebuilt in the background, without the URLs that were removed up to mark.
type loaded struct {
	set  *fingerprints.Set
	mark uint64
}

// loadKnown passes the set to the committer, from the file or, if that cannot be used, from the keys.
func (s *Store) loadKnown() {
	l, err := s.readKnown()
	if err != nil && !errors.Is(err, scheduler.ErrClosed) {
		s.log.Warn("rebuilding the fingerprints of known URLs; until then each link requires a read", "reason", err)
		l, err = s.gatherKnown()
	}
	switch {
	case err == nil:
		s.loaded <- l
	case !errors.Is(err, scheduler.ErrClosed):
		s.log.Error("cannot build the fingerprints of known URLs; each link requires a read", "error", err)
	}
}

// gatherKnown builds the set from all records.
func (s *Store) gatherKnown() (loaded, error) {
	c := s.committed.Load() // before the snapshot: later removals are applied again
	view := s.kv.View()
	defer view.Close()
	l := loaded{set: fingerprints.New(int(c.Known)), mark: c.Removals}
	err := s.walk(context.Background(), view, []byte{record.KindURL}, []byte{record.KindURL}, true, func(key, value []byte) error {
		if len(key) != record.URLKeyLen {
			return s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
		}
		if knowledgeOf(value) == isKnown {
			l.set.Add(weburl.Key(key[1:]))
		}
		return nil
	})
	return l, err
}

// applyRemovals removes the URLs from the set that were removed after its mark.
func (s *Store) applyRemovals(view kv.View, l *loaded) error {
	return s.walk(context.Background(), view, []byte{record.KindRemoval}, record.RemovalSeek(l.mark+1), false, func(key, _ []byte) error {
		if len(key) != record.RemovalKeyLen {
			return s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
		}
		var k weburl.Key
		l.mark, k = record.SplitRemovalKey(key)
		l.set.Remove(k)
		return nil
	})
}

// adopt takes over a loaded set. Removals made in the meantime are in the notes.
func (g *group) adopt(l loaded) {
	if g.barrier() != nil {
		return // the store has failed
	}
	if err := g.s.applyRemovals(g.stored(), &l); err != nil {
		g.s.log.Error("cannot use the fingerprints of known URLs; each link requires a read", "error", err)
		return
	}
	n := &g.s.known
	n.mark = g.sent.Removals
	n.set.Store(l.set)
}
