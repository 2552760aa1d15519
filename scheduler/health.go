package scheduler

import (
	"context"
	"hash/maphash"
	"math/bits"
	"net/url"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// A host is ill when its documents turn bad: then none of them is deleted, and none is
// replaced, until it is well again.
const (
	// healthAnswers is how many answers for URLs with documents are looked at, illAnswers
	// how many bad ones of them make a host ill. A host with fewer documents is ill when
	// the last answers, as many as it has documents, were all bad.
	healthAnswers = 10
	illAnswers    = 8
	// illLeast is how many documents a host must have to be called ill: of fewer, all may
	// go one by one.
	illLeast = 3
	// WellAnswers is how many good answers in a row, of different documents, make it well.
	WellAnswers = len(HostState{}.Goods) + 1
	// sharedTarget is how many documents that redirect to one place make that a bad answer.
	sharedTarget = 3

	healthMask = 1<<healthAnswers - 1
)

// Tells is what an answer for a URL with a document tells of the host's health.
type Tells uint8

// What an answer may tell.
const (
	TellsNothing  Tells = iota
	TellsGood           // its document, changed or not
	TellsBad            // of a document that was good when it was asked for last
	TellsBadAgain       // of one that was bad before: nothing new of the host
	TellsMoved          // it redirects to a place of its own: no evidence that its host is ill, or well
)

// health is what the last answers of a host say. It is guarded by the Frontier's mutex.
type health struct {
	answers uint16 // bit 0 the newest, set where it was bad
	ill     bool
	since   time.Time
	// goods are the documents that were good since the last bad answer, of an ill host.
	// They are stored: good answers may come one at a time, with nothing of the host in
	// memory between them.
	goods []weburl.Key
	// targets are those of the documents that redirected last, the newest last.
	targets []target
}

// target is where a document redirects to, as a hash.
type target struct {
	document weburl.Key
	place    uint64
}

// observe takes in one answer, of a host with so many documents, and says whether the
// host has become ill or well by it.
func (h *health) observe(k weburl.Key, t Tells, documents uint64, now time.Time) (changed bool) {
	switch t {
	case TellsBad:
		h.answers = (h.answers<<1 | 1) & healthMask
		h.goods = nil
	case TellsBadAgain: // or one bad document, asked for often, would make its host ill
		h.goods = nil
	case TellsGood:
		h.answers = h.answers << 1 & healthMask
		if h.ill && !slices.Contains(h.goods, k) {
			h.goods = append(h.goods, k)
		}
	case TellsNothing, TellsMoved:
		return false
	}
	switch {
	case t == TellsBadAgain:
	case !h.ill && h.bad(documents):
		h.ill, h.since, h.goods = true, now.Truncate(time.Second), nil
		return true
	case h.ill && uint64(len(h.goods)) >= min(uint64(WellAnswers), max(documents, 1)):
		h.ill, h.since, h.goods, h.answers = false, time.Time{}, nil, 0
		return true
	}
	return false
}

// knownGoods are goods as they are stored.
func (h *health) knownGoods() (k [WellAnswers - 1]weburl.Key) {
	copy(k[:], h.goods)
	return k
}

// goodsKnown are goods as they were stored.
func goodsKnown(k [WellAnswers - 1]weburl.Key) []weburl.Key {
	n := slices.Index(k[:], weburl.Key{})
	if n < 0 {
		n = len(k)
	}
	return slices.Clone(k[:n])
}

// bad reports whether too many of the last answers were bad.
func (h *health) bad(documents uint64) bool {
	if documents >= healthAnswers {
		return bits.OnesCount16(h.answers) >= illAnswers
	}
	all := uint16(1)<<documents - 1
	return documents >= illLeast && h.answers&all == all
}

var targetSeed = maphash.MakeSeed()

// redirected notes where a document redirects to, and returns whether several lead there.
// It ignores the query, which often tells a log-in page where the user came from.
func (h *health) redirected(document weburl.Key, location string) (shared bool) {
	place := location
	if u, err := url.Parse(location); err == nil {
		place = u.Scheme + "://" + u.Host + u.Path
	}
	to := target{document, maphash.String(targetSeed, place)}
	h.targets = slices.DeleteFunc(h.targets, func(t target) bool { return t.document == document })
	if len(h.targets) >= healthAnswers {
		h.targets = slices.Delete(h.targets, 0, 1)
	}
	h.targets = append(h.targets, to)
	n := 0
	for _, t := range h.targets {
		if t.place == to.place {
			n++
		}
	}
	return n >= sharedTarget
}

// tellsOf is what the outcome of a visit to a URL with a document tells.
func (h *health) tellsOf(k weburl.Key, old *Record, r *Result, c *Completion) Tells {
	if !old.Indexed || old.Kind != KindPage {
		return TellsNothing
	}
	t := h.tellsNow(k, r, c)
	if t == TellsBad && (old.Deletion != NoDeletion || old.Class == Temporary || old.Class == Permanent) {
		return TellsBadAgain
	}
	return t
}

// tellsNow is tellsOf without regard to what the last visit was like.
func (h *health) tellsNow(k weburl.Key, r *Result, c *Completion) Tells {
	n := &c.Next
	switch {
	case !tellsOfHost(r.Fault) || n.Reason.Operators() || n.Reason == ReasonUnavailable || n.Reason == ReasonMoved:
		return TellsNothing
	case n.Class == Temporary || n.Class == Permanent:
		return TellsBad
	case n.Class == Redirect:
		if h.redirected(k, n.RedirectTo) {
			return TellsBad
		}
		return TellsMoved
	case c.Order != nil && c.Order.Op == OrderDelete:
		return TellsBad
	case n.Class == OK:
		return TellsGood
	}
	return TellsNothing
}

// examines reports whether the outcome of a lease tells of the health of its host: that of a document does.
func examines(l *Lease, set *Settings) bool { return l.Record.Indexed && set.Brake.On }

// examine adds an outcome to the health of its host, if that examines. No document of an ill host
// is replaced: what looks like one may be the same notice on every page. The page is asked
// for again instead.
func (f *Frontier) examine(ctx context.Context, l *Lease, r *Result, c *Completion, set *Settings) (Tells, error) {
	h := l.queue.host
	f.mu.Lock()
	wasIll, bad := h.live.health.ill, h.live.health.answers
	t := h.live.health.tellsOf(l.Key, &l.Record, r, c)
	f.mu.Unlock()
	if wasIll && c.Order != nil && c.Order.Op == OrderAdd {
		f.holdUpdate(l, c, illUpdate)
	} else if err := f.leavesTarget(ctx, l, c, set); err != nil {
		return t, err
	}
	if t == TellsNothing || t == TellsMoved || t == TellsGood && !wasIll && bad == 0 {
		return t, nil
	}
	d, err := f.store.Documents(ctx, h.key)
	if err != nil {
		return t, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.live.health.observe(l.Key, t, d.Count, time.Now()) {
		f.noteIll(h, l.Record.Origin)
	}
	return t, nil
}

// illUpdate is the time after which a changed document of an ill host is fetched again.
const illUpdate = 10 * time.Minute

// holdUpdate has the document stay what it is; the page is asked for again after a pause.
func (f *Frontier) holdUpdate(l *Lease, c *Completion, pause time.Duration) {
	n, old := &c.Next, &l.Record
	c.Order, c.CancelDeletion = nil, true
	n.Hash, n.PushedSource = old.Hash, old.PushedSource
	n.ETag, n.LastModified, n.Date, n.History = old.ETag, old.LastModified, old.Date, old.History
	n.State, n.NextAt = Timed, time.Now().Add(pause)
	f.log.Info("a changed document is not pushed yet: its host is ill, or too many documents would leave a target", "url", old.URL)
}

// leavesTarget counts a document that leaves a target because its source is another now,
// and holds its update if there are too many.
func (f *Frontier) leavesTarget(ctx context.Context, l *Lease, c *Completion, set *Settings) error {
	o := c.Order
	if o == nil || !o.Moved || set.LeavesTarget == nil || !set.LeavesTarget(l.Record.PushedSource, o.Source) {
		return nil
	}
	counts, err := f.store.Counts(ctx)
	if err != nil {
		return err
	}
	note, admitted := f.brake.Admit(set.Brake, counts.Indexed, 1, time.Now())
	if admitted == 0 {
		f.holdUpdate(l, c, set.Brake.Window)
		return nil
	}
	c.Notes = append(c.Notes, note)
	return nil
}

// noteIll tells of a host that became ill or well. The mutex is held.
func (f *Frontier) noteIll(h *host, origin string) {
	if h.share.gone {
		return
	}
	if h.live.health.ill {
		f.ill.add(h.key, origin, h.live.health.since, h.share)
		f.log.Warn("a host is ill: its documents turn bad, so none of them is deleted or replaced", "host", origin)
	} else {
		f.ill.remove(h.key)
		f.log.Info("a host that was ill is well again", "host", origin)
	}
	f.owner.HealthChanged(h.key, origin)
}

// IsIll reports whether a host is ill, from memory or as stored.
func (f *Frontier) IsIll(ctx context.Context, k weburl.HostKey) (bool, error) {
	f.mu.Lock()
	if h := f.hosts[k]; h != nil && h.live != nil && h.live.loaded {
		defer f.mu.Unlock()
		return h.live.health.ill, nil
	}
	f.mu.Unlock()
	s, err := f.store.Host(ctx, k)
	return s.Ill, err
}
