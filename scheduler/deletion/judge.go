package deletion

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// restingOne is a deletion that rests, while its host is judged.
type restingOne struct {
	key    weburl.Key
	seq    uint64
	reason scheduler.Reason
	again  time.Time
	// confirmed says that its URL was asked for again, with the same result.
	confirmed bool
}

// certain reports whether asking the site again would tell nothing new about a deletion: its
// feed still lists other items, or the operator's rules say so.
func (o *restingOne) certain() bool {
	return o.reason == scheduler.ReasonItemGone || o.reason.Operators()
}

// bench is a host whose deletions are being judged.
type bench struct {
	d      *Owner
	key    weburl.HostKey
	host   *restingHost // Run alone changes what judge reads of it, but under mu
	origin string
	set    *scheduler.Settings
	now    int64     // active time
	wall   time.Time // the clock's
	// finishing says that nothing rests any longer than it must.
	finishing bool

	ill       bool
	documents scheduler.HostDocuments
	ledger    ledger
	total     int          // deletions that rest
	resting   []restingOne // those that count: they neither pass nor are replaced

	next int64 // when to judge again
	decision
	asked int // URLs that are to be fetched for it
	moved int // deletions that rest no more
}

// decision is what follows for a host's deletions: those that leave, counted or not, those that
// are held, and those of which an answer is missing.
type decision struct {
	leave, pass []restingOne
	hold        []restingOne
	holdAs      scheduler.Hold
	ask         []restingOne
	passHeld    []weburl.Key // held ones that leave
	wantControl bool
	roundSince  int64 // a control round that began since, in active time, will do
}

// judge decides about the deletions of one host, and returns how many URLs it asks for. judging is held.
func (d *Owner) judge(ctx context.Context, k weburl.HostKey) (asked int, err error) {
	b, events, err := d.bench(ctx, k)
	if err != nil {
		return 0, err
	}
	for _, step := range []func(context.Context) error{b.restAgain, b.gather, b.decide, b.apply, b.askAgain} {
		if err := step(ctx); err != nil {
			return b.asked, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	h := b.host
	h.resting = b.total - b.moved
	switch {
	case h.events != events:
		h.at = min(b.next, b.now+int64(h.pause()))
	case h.resting == 0 && !b.ill && !h.redirected && (h.lookedAt == 0 || b.now-h.lookedAt >= int64(lookPause)):
		delete(d.hosts, k)
	default:
		h.at = b.next
	}
	return b.asked, nil
}

// bench reads what is to be known of a host.
func (d *Owner) bench(ctx context.Context, k weburl.HostKey) (*bench, int, error) {
	f := d.f
	b := &bench{d: d, set: f.Settings(), key: k, now: f.Active(), wall: time.Now()}
	b.next = b.now + int64(restLongest)
	d.mu.Lock()
	b.host, b.finishing = d.hosts[k], d.finishing
	b.origin = b.host.origin
	events := b.host.events
	d.mu.Unlock()
	var err error
	if b.ill, err = f.IsIll(ctx, k); err != nil {
		return nil, 0, err
	}
	b.ill = b.ill && b.set.Brake.On
	if b.documents, err = d.store.Documents(ctx, k); err != nil {
		return nil, 0, err
	}
	b.ledger, err = d.ledger(ctx, k, b.wall)
	return b, events, err
}

// restAgain has the deletions rest that were held because the host was ill.
func (b *bench) restAgain(ctx context.Context) error {
	b.d.mu.Lock()
	again := b.host.well && !b.ill && b.set.Brake.On && b.origin != ""
	if again {
		b.host.well, b.host.doubtful = false, true
	}
	b.d.mu.Unlock()
	if !again {
		return nil
	}
	var keys []weburl.Key
	err := b.d.store.HeldDeletions(ctx, scheduler.DeletionFilter{State: scheduler.DeletionHeld, Host: b.origin}, func(s scheduler.StoredDeletion) error {
		if s.Hold == scheduler.HeldIll {
			keys = append(keys, s.Key)
		}
		return nil
	})
	if err == nil {
		_, err = b.d.moveAll(ctx, keys, &moving{set: b.set, move: scheduler.RestDeletion, any: true})
	}
	if err != nil {
		b.d.mu.Lock()
		b.host.well = true
		b.d.mu.Unlock()
	}
	return err
}

// gather reads the host's deletions that rest, and sorts out those that pass.
func (b *bench) gather(ctx context.Context) error {
	var newest uint64
	err := b.d.store.Deletions(ctx, scheduler.DeletionGroup{Host: b.key}, func(s scheduler.StoredDeletion) error {
		one := restingOne{key: s.Key, seq: s.Seq, reason: s.Reason, again: s.Again}
		newest = max(newest, s.Seq)
		if b.total++; !b.set.Brake.On || b.ledger.passed(s.Reason, b.wall) {
			b.pass = append(b.pass, one)
		} else {
			b.resting = append(b.resting, one)
		}
		if u, ok := weburl.FromCanonical(s.URL); ok && b.origin == "" {
			b.origin = u.Origin()
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.d.mu.Lock()
	b.host.origin = b.origin
	b.host.arrived(newest, b.now)
	b.d.mu.Unlock()
	return b.sortReplaced(ctx)
}

func (b *bench) wakeAt(at int64) { b.next = min(b.next, at) }

// Finish judges what rests as if it had rested for long enough, at the end of a crawl that
// runs once. It returns how many URLs must be fetched again before all can be judged. When
// they have been, call Finish again.
func (d *Owner) Finish(ctx context.Context) (asked int, err error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	if err := d.load(ctx); err != nil {
		return 0, err
	}
	d.mu.Lock()
	for _, h := range d.hosts {
		if !d.finishing { // there is one round at the end, whatever was asked for before
			h.begin()
		}
	}
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
