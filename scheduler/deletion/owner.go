// Package deletion owns the pending losses: documents that would leave the index, or whose text would be replaced. It
// judges one host after another by one rule (Decide; docs/deletions.md, "When a document leaves"), carries losses out,
// and keeps the edits of the rules that caused some. The Frontier reports events to it (scheduler.DeletionOwner).
//
// Owner.Run is its one goroutine. One mutex guards the state in memory, another is held while losses are judged.
// Ledgers of hosts and of the pool, and the list of edits, are stored as values.
package deletion

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Owner owns the pending losses: it alone carries them out. mu guards the state in memory and is never held while the
// Frontier's mutex is taken or the store is called.
type Owner struct {
	f     *scheduler.Frontier
	store scheduler.Store
	log   *slog.Logger
	kick  chan struct{} // capacity 1

	judging    sync.Mutex // held while losses are judged
	pool       ledger     // guarded by judging
	onCarryOut func(context.Context, []weburl.Key) error

	mu    sync.Mutex
	hosts map[weburl.HostKey]*host
	// returned holds the hosts with a lost document that is back, and the time at which the others were queued, zero if
	// not yet.
	returned  map[weburl.HostKey]time.Time
	edits     edits
	finishing time.Time // when Finish was first called, zero if it was not
}

// host is a host that is ill or has pending losses. It is in memory only for that long.
type host struct {
	// state is the result of the last judgement. Pending includes losses that were found since; Pooled stays set while
	// there are any.
	state  HostState
	judged bool
	at     time.Time // when to judge it
	events int       // counts events; see judge
	// began is the time when the first of its losses was seen, born how many documents came since: these do not count,
	// since a fault may have added them. back is the time when a loss was last cancelled that had been seen more than
	// once.
	began, back time.Time
	born        int
	// goods holds the last good responses of two different documents, newest first.
	goods [2]good
	// Since the last judgement, a document gave a good response (spoke) or another one (failed).
	spoke, failed bool
	round         *round
	tries         int // rounds in a row that did not pass
	// lookAt is the time to look next for losses that other documents replace, zero if none can be.
	lookAt time.Time
}

// good is a good response.
type good struct {
	document weburl.Key
	at       time.Time
}

// HostState is the result of the last judgement of a host with pending losses.
type HostState struct {
	Host      weburl.HostKey
	Origin    string
	Pending   int
	Left      int // carried out within a day
	Documents int // includes those that left within a day
	Deleted   int // documents that left within a day
	Class     scheduler.LossClass
	Pooled    bool
	Ill       bool
	// Silent is the time since which no document of the host gave a good response, GoneAt when it counts as gone if that
	// continues; both are zero if one did.
	Silent, GoneAt time.Time
}

const (
	// judgePause is the time for which events of a host are gathered before it is judged, illPause the same for an ill
	// host, whose documents stay until its health changes.
	judgePause, illPause = time.Second, 10 * time.Minute
	// judgeLongest is the longest time between two judgements of a host with pending losses.
	judgeLongest = time.Hour
	// errorPause is the pause of judging after the store failed, lookAgain the longest pause, since the clock may be
	// set.
	errorPause = 5 * time.Second
	lookAgain  = time.Minute
)

// New returns the owner of the losses of a Frontier and its store, with those that are pending, and registers it with
// the Frontier. Call it before the Frontier is used.
func New(ctx context.Context, f *scheduler.Frontier, store scheduler.Store, log *slog.Logger) (*Owner, error) {
	d := &Owner{
		f: f, store: store, log: log, kick: make(chan struct{}, 1),
		hosts: map[weburl.HostKey]*host{}, returned: map[weburl.HostKey]time.Time{},
		edits: edits{due: true}, // the last run may have left some
	}
	now := time.Now()
	var err error
	if d.pool, err = readLedger(ctx, store, poolName); err != nil {
		return nil, err
	}
	if d.edits.list, err = StoredEdits(ctx, store); err != nil {
		return nil, err
	}
	states, err := StoredStates(ctx, store, &f.Settings().Deletions, now)
	for _, s := range states {
		h := d.host(s.Host, s.Origin, now)
		h.state, h.judged = s, true
	}
	f.SetOwner(d)
	return d, err
}

// OnCarryOut sets a function that is called with the documents whose losses were carried out, after each batch. Call it
// before Run.
func (d *Owner) OnCarryOut(fn func(context.Context, []weburl.Key) error) { d.onCarryOut = fn }

// Run judges the pending losses until ctx ends, which is not an error. It is called once and runs while the Frontier
// does.
func (d *Owner) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.kick:
		case <-timer.C:
		}
		wait, err := d.judgeDue(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.Error("cannot judge pending losses", "pause", errorPause, "error", err)
			wait = errorPause
		}
		timer.Reset(wait)
	}
}

// host returns a host's entry and makes it if needed. The mutex is held.
func (d *Owner) host(k weburl.HostKey, origin string, at time.Time) *host {
	h := d.hosts[k]
	if h == nil {
		h = &host{state: HostState{Host: k}, at: at, began: time.Now()}
		d.hosts[k] = h
	}
	if origin != "" {
		h.state.Origin = origin
	}
	return h
}

// soon schedules a judgement of a host after a pause, and makes its entry if needed. The mutex is held.
func (d *Owner) soon(k weburl.HostKey, origin string) *host {
	at := time.Now().Add(judgePause)
	h := d.host(k, origin, at)
	if at = at.Add(time.Duration(h.state.Pending) * time.Millisecond); h.state.Ill {
		at = at.Add(illPause)
	}
	if at.Before(h.at) {
		h.at = at
	}
	h.events++
	return h
}

func (d *Owner) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// Completed records a stored outcome.
func (d *Owner) Completed(l *scheduler.Lease, c *scheduler.Completion, response scheduler.Response) {
	k := l.Record.Host
	o := c.Order
	lost := o != nil && o.Loss != nil
	back := !l.Record.LostAt.IsZero() && c.Next.Indexed && c.Next.LostAt.IsZero()
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.hosts[k]
	switch {
	case lost && o.Edit != 0:
		d.edits.due = true
	case lost:
		h = d.soon(k, l.Record.Origin)
		if !l.Record.LossPending {
			h.state.Pending++
			if at := time.Now().Add(lookFirst); h.lookAt.After(at) {
				h.lookAt = at
			}
		}
	case back:
		if _, known := d.returned[k]; !known {
			d.returned[k] = time.Time{}
		}
	case h == nil:
		return
	}
	switch {
	case h == nil:
	case l.Record.Indexed:
		d.responded(k, h, l, response)
		if l.Record.LossPending && !lost && l.Record.Misses > 1 && response == scheduler.GoodResponse {
			h.back = time.Now()
		}
	case c.Next.Indexed && !lost:
		h.born++
	}
	d.wake()
}

// responded records the effect of a document's response on its host's health. The mutex is held.
func (d *Owner) responded(k weburl.HostKey, h *host, l *scheduler.Lease, response scheduler.Response) {
	now, document := time.Now(), l.Key
	if response == scheduler.GoodResponse {
		h.spoke = true
	} else {
		h.failed = true
	}
	belongs, over := h.round.answered(document, response, now)
	if response == scheduler.GoodResponse && !belongs && h.older(l.Record.FoundAt) {
		if h.goods[0].document != document {
			h.goods[1] = h.goods[0]
		}
		h.goods[0] = good{document, now}
		d.soon(k, "")
	}
	if over {
		h.at = now
		h.events++
	}
}

// older reports whether a document was known before the first loss of its host was seen. Times are in seconds; a
// document of the same second counts as older, unless documents came since. The mutex is held.
func (h *host) older(found time.Time) bool {
	began := h.began.Truncate(time.Second)
	return found.Before(began) || found.Equal(began) && h.born == 0
}

// Standing returns about how many losses of a host are pending, and whether no document of it has given a good response
// for deletionConfirmS.
func (d *Owner) Standing(k weburl.HostKey) (pending int, silent bool) {
	day := d.f.Settings().Deletions.Confirm
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.hosts[k]; h != nil {
		pending, silent = h.state.Pending, !h.spoke && !h.state.Silent.IsZero() && time.Since(h.state.Silent) >= day
	}
	return pending, silent
}

// Lost records that losses of hosts became pending without a visit.
func (d *Owner) Lost(origins map[weburl.HostKey]string) {
	if len(origins) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, origin := range origins {
		d.soon(k, origin)
	}
	d.edits.due = true
	d.wake()
}

// HealthChanged schedules a judgement of a host that became ill or well. The Frontier's mutex is held.
func (d *Owner) HealthChanged(k weburl.HostKey, origin string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.host(k, origin, time.Time{})
	h.events++ // a judgement may be running
	h.at, h.tries, h.round = time.Time{}, 0, nil
	d.wake()
}

// SwitchedOff schedules all pending losses to be carried out.
func (d *Owner) SwitchedOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.hosts {
		h.at = time.Time{}
		h.events++
	}
	d.edits.due = true
	d.wake()
}

// judgeDue judges the hosts and edits that are due, and returns when the next one is.
func (d *Owner) judgeDue(ctx context.Context) (time.Duration, error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	if err := d.judgeEdits(ctx); err != nil {
		return 0, err
	}
	if err := d.queueReturned(ctx); err != nil {
		return 0, err
	}
	now := time.Now()
	for _, k := range d.due(now) {
		_, err := d.judge(ctx, k)
		if ctx.Err() != nil || errors.Is(err, scheduler.ErrClosed) {
			return 0, err
		}
		if err != nil { // an error of this host: the others are judged nevertheless
			d.mu.Lock()
			h := d.hosts[k]
			h.at = time.Now().Add(errorPause)
			origin := h.state.Origin
			d.mu.Unlock()
			d.log.Error("cannot judge pending losses", "host", origin, "pause", errorPause, "error", err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := lookAgain
	for _, h := range d.hosts {
		wait = min(wait, max(h.at.Sub(now), judgePause/10))
	}
	return wait, nil
}

// due returns the hosts to judge at a time, always in the same order.
func (d *Owner) due(now time.Time) (due []weburl.HostKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, h := range d.hosts {
		if !h.at.After(now) {
			due = append(due, k)
		}
	}
	slices.SortFunc(due, func(a, b weburl.HostKey) int { return bytes.Compare(a[:], b[:]) })
	return due
}

// States returns the hosts that are ill or have pending losses, in no order.
func (d *Owner) States() []HostState {
	d.mu.Lock()
	defer d.mu.Unlock()
	var states []HostState
	for _, h := range d.hosts {
		if s := h.state; h.judged && (s.Pending > 0 || s.Ill) {
			states = append(states, s)
		}
	}
	return states
}
