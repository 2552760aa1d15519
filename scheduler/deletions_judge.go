package scheduler

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// restingOne is a deletion that rests, while its host is judged.
type restingOne struct {
	key    weburl.Key
	seq    uint64
	reason Reason
	again  time.Time
	// confirmed says that its URL was asked for again and its document was to go again.
	confirmed bool
}

// bench is a host whose deletions are being judged.
type bench struct {
	d    *Deletions
	key  weburl.HostKey
	host *restingHost // Run alone changes what judge reads of it, but under mu
	set  *Settings
	now  int64     // active time
	wall time.Time // the clock's
	// finishing says that nothing rests any longer than it must.
	finishing bool

	ill       bool
	documents HostDocuments
	ledger    ledger
	resting   []restingOne // but for what passes or is replaced
	moving    int          // that rest while their site moves

	next int64 // when to judge again
	// What follows: the deletions that leave, counted or not, those that are held, and
	// those of which an answer is missing.
	leave, pass []restingOne
	hold        []restingOne
	holdAs      Hold
	ask         []restingOne
	wantControl bool
	roundSince  int64 // a control round that began since, in active time, will do
	asked       int   // URLs that are to be fetched for it
}

// judge decides about the deletions of one host, and gives how many URLs are asked for
// because of it. judging is held.
func (d *Deletions) judge(ctx context.Context, k weburl.HostKey) (asked int, err error) {
	b, events, err := d.bench(ctx, k)
	if err != nil {
		return 0, err
	}
	if b.host.well && !b.ill {
		if err := b.restAgain(ctx); err != nil {
			return 0, err
		}
		d.mu.Lock()
		b.host.well, b.host.doubtful = false, true
		d.mu.Unlock()
	}
	if err := b.gather(ctx); err != nil {
		return 0, err
	}
	b.decide()
	if err := b.apply(ctx); err != nil {
		return 0, err
	}
	if err := b.askAgain(ctx); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	h := b.host
	if h.events != events {
		h.at = min(b.next, b.now+int64(judgePause))
		return b.asked, nil
	}
	h.at = b.next
	if len(b.resting)+len(h.redirected) == len(b.leave)+len(b.hold) && !b.ill && len(h.redirected) == 0 && b.moving == 0 {
		delete(d.hosts, k)
	}
	return b.asked, nil
}

// bench reads what is to be known of a host.
func (d *Deletions) bench(ctx context.Context, k weburl.HostKey) (*bench, int, error) {
	f := d.f
	b := &bench{d: d, key: k, now: f.active(), wall: time.Now()}
	b.next = b.now + int64(restLongest)
	f.mu.Lock()
	b.set = f.set
	f.mu.Unlock()
	d.mu.Lock()
	b.host, b.finishing = d.hosts[k], d.finishing
	events := b.host.events
	d.mu.Unlock()
	var err error
	if b.ill, err = f.isIll(ctx, k); err != nil {
		return nil, 0, err
	}
	if b.documents, err = f.store.Documents(ctx, k); err != nil {
		return nil, 0, err
	}
	b.ledger, err = d.ledger(ctx, k, b.wall)
	return b, events, err
}

// gather reads the host's deletions that rest, and sorts out those that pass.
func (b *bench) gather(ctx context.Context) error {
	var newest uint64
	err := b.d.f.store.Deletions(ctx, DeletionGroup{Host: b.key}, func(s StoredDeletion) error {
		one := restingOne{key: s.Key, seq: s.Seq, reason: s.Reason, again: s.Again}
		newest = max(newest, s.Seq)
		if b.ledger.passed(s.Reason, b.wall) {
			b.pass = append(b.pass, one)
		} else {
			b.resting = append(b.resting, one)
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.d.mu.Lock()
	b.host.arrived(newest, b.now)
	b.d.mu.Unlock()
	return b.sortReplaced(ctx)
}

// counted are the documents by which shares are reckoned: those of the host, and those
// that left within a day.
func (b *bench) counted() int {
	return int(min(b.documents.Count, 1<<40)) + b.leftWithin(oneDay) //nolint:gosec // bounded
}

func (b *bench) leftWithin(d time.Duration) int { return b.ledger.left.within(b.wall, d, oneDay) }

// Shares of a host's documents: so many may leave within an hour after a short rest, and
// within a day at all; but two may in any case.
func hourShare(documents int) int { return max(2, documents/100) }
func dayShare(documents int) int  { return max(2, documents/5) }

// decide says what follows for each deletion.
func (b *bench) decide() {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if len(b.resting) == 0 {
		b.wantControl = b.ill
		return
	}
	if b.ill {
		b.hold, b.holdAs, b.wantControl = b.resting, HeldIll, true
		return
	}
	documents := b.counted()
	day := dayShare(documents)
	sound, doubted := b.doubts()
	if len(sound)+b.ledger.held.within(b.wall, oneDay, oneDay) > day {
		b.hold, b.holdAs = sound, HeldForHost
		return
	}
	few := hourShare(documents) - b.leftWithin(time.Hour)
	single := len(b.resting) <= few
	budget := day - b.leftWithin(oneDay)
	if single {
		budget = min(budget, few)
	}
	for i := range b.resting {
		one := &b.resting[i]
		switch sure, waits := b.sure(one, single); {
		case waits, sure && doubted && b.host.arrival(one.seq).doubtful:
		case sure && len(b.leave) < budget:
			b.leave = append(b.leave, *one)
		case sure:
			b.wakeAt(b.now + int64(budgetPause))
		case b.now-b.host.arrival(one.seq).at >= int64(restLongest):
			b.hold, b.holdAs = append(b.hold, *one), HeldUnsure
		default:
			b.ask = append(b.ask, *one)
		}
	}
}

// doubts gives the deletions that count, and says whether there are others: doubtful ones
// whose URL was not asked for again yet.
func (b *bench) doubts() (sound []restingOne, doubted bool) {
	for i := range b.resting {
		one := &b.resting[i]
		a := b.host.arrival(one.seq)
		if a.doubtful && one.reason != ReasonItemGone && b.now-a.at < int64(restLongest) && !b.confirmed(one, a, a.at) {
			doubted = true
		} else {
			sound = append(sound, *one)
		}
	}
	return sound, doubted
}

func (b *bench) wakeAt(at int64) { b.next = min(b.next, at) }

// sure says whether a deletion may leave, or that it has to rest on.
func (b *bench) sure(one *restingOne, single bool) (sure, waits bool) {
	a := b.host.arrival(one.seq)
	rest := b.set.Brake.Rest
	if !single {
		rest = max(rest, restMany)
	}
	ready := a.at + int64(rest)
	if b.finishing {
		ready = a.at
	}
	if b.now < ready {
		b.wakeAt(ready)
		return false, true
	}
	if one.reason == ReasonItemGone { // its feed says so, which has other items
		return true, false
	}
	since := a.at
	if !single && !b.finishing {
		since = ready - int64(controlLasts)
	}
	one.confirmed = b.confirmed(one, a, since)
	switch c := b.host.control; {
	case single && !b.finishing && b.host.good > a.at && (one.confirmed || !a.doubtful):
		return true, false
	case c.passed(since):
		b.host.tries = 0
		return one.confirmed && (!c.alone || one.reason.Asks()), false
	}
	b.wantControl, b.roundSince = true, max(b.roundSince, since)
	return false, false
}

// confirmed says that the URL of a deletion was asked for again since a time, or since
// Deletions asked for it, and that its document was to go again.
func (b *bench) confirmed(one *restingOne, a *arrival, since int64) bool {
	asked := b.wall.Add(time.Duration(since - b.now)) // but for pauses, in which it was not asked for
	if !a.asked.IsZero() && a.asked.Before(asked) {
		asked = a.asked
	}
	return !one.again.Before(asked.Truncate(time.Second))
}

// Finish judges what rests as if it had rested for long enough: at the end of a crawl that
// runs once. It gives how many URLs are asked for again before all can be judged; when they
// were, it is to be called again.
func (d *Deletions) Finish(ctx context.Context) (asked int, err error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	d.mu.Lock()
	d.finishing = true
	hosts := slices.Collect(maps.Keys(d.hosts))
	d.mu.Unlock()
	if err := d.judgeEdits(ctx); err != nil {
		return 0, err
	}
	slices.SortFunc(hosts, func(a, b weburl.HostKey) int { return bytes.Compare(a[:], b[:]) })
	for _, k := range hosts {
		n, err := d.judge(ctx, k)
		if asked += n; err != nil {
			return asked, err
		}
	}
	return asked, nil
}
