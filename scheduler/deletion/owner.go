// Package deletion owns the deletions of documents that rest: it judges host after host, lets
// deletions leave or holds them, and keeps the edits of the rules that made some
// (docs/scheduling.md, "Deletions rest"). The Frontier tells it what happened
// (scheduler.DeletionOwner).
//
// Owner.Run is its one goroutine; a mutex guards what is in memory, another is held while
// deletions are judged. A host's ledger and the list of edits are stored as values.
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

// Owner owns the deletions that rest: it alone lets them leave, or holds them. One
// goroutine (Run) judges host after host; the others only tell it what happened. mu guards
// what is in memory and is never held while the Frontier's mutex is taken or the store is
// asked.
//
// Time runs only while the crawl runs and is not paused, and starts over with each start:
// nothing leaves because of answers that another process has seen.
type Owner struct {
	f     *scheduler.Frontier
	store scheduler.Store
	log   *slog.Logger
	kick  chan struct{} // capacity 1

	judging sync.Mutex // held while deletions are judged
	loaded  bool       // guarded by judging: what rested at the start is known
	onLeave func(context.Context, []weburl.Key) error

	mu        sync.Mutex
	hosts     map[weburl.HostKey]*restingHost
	edits     edits
	finishing bool // Finish: nothing rests any longer than it must

	recounted map[weburl.HostKey]int64 // guarded by judging: when a host's held deletions were counted last
}

// restingHost is a host that is ill, or has resting deletions. It is in memory only as
// long as that.
type restingHost struct {
	origin string
	// at is when to judge it, in the Frontier's active time; events counts what has
	// happened to it.
	at     int64
	events int
	// arrivals tell from when on the deletions up to a number have rested.
	arrivals []arrival
	// good is when a document was last good without a control round asking for it, or 0.
	good    int64
	control *control
	tries   int // control rounds in a row that did not pass
	// well says that its held deletions are to rest again, doubtful that those are
	// doubtful which come to rest next.
	well     bool
	doubtful bool
	// redirected says that documents whose deletion is held still redirect: what replaces
	// them may be in the index by now. lookedAt is when they were looked at, 0: never.
	redirected bool
	lookedAt   int64
	resting    int // deletions that rested when it was judged last
}

// pause is how long events of the host are gathered before it is judged, because judging
// reads all that rests.
func (h *restingHost) pause() time.Duration {
	return judgePause + time.Duration(h.resting)*time.Millisecond
}

// arrival says that the deletions numbered up to seq, and above those of the arrival
// before, have rested since at, and that their URLs were asked for again at asked.
type arrival struct {
	seq      uint64
	from, at int64     // active time of the first and of the last of them
	asked    time.Time // zero if they were not
	// doubtful says that they were ordered while their host was ill, or by an earlier
	// process: they do not count as too many before their URLs were asked for again, and
	// none leaves until all of them were.
	doubtful bool
}

// New makes the owner of the deletions of a Frontier and its store, and has the Frontier tell
// it. Call it before the Frontier is used.
func New(f *scheduler.Frontier, store scheduler.Store, log *slog.Logger) *Owner {
	d := &Owner{f: f, store: store, log: log, kick: make(chan struct{}, 1), hosts: map[weburl.HostKey]*restingHost{}}
	f.SetOwner(d)
	return d
}

// OnLeave has fn called with the documents whose deletions have left, after each batch.
// Call it before Run.
func (d *Owner) OnLeave(fn func(context.Context, []weburl.Key) error) { d.onLeave = fn }

const (
	// judgePause is how long a host's deletions are gathered before they are judged.
	judgePause = time.Second
	// restMany is how long deletions rest if they are more than a few of their host's documents.
	restMany = time.Hour
	// restLongest is how long deletions wait for an answer that says that their host is well.
	restLongest = 24 * time.Hour
	// errorPause is how long judging rests after the store failed on it, and lookAgain how long
	// it rests at most: the clock may be set.
	errorPause = 5 * time.Second
	lookAgain  = time.Minute
	// budgetPause is the time after which a host that has used its share is looked at again.
	budgetPause = 10 * time.Minute
)

// Run reads what rests and judges it until ctx ends, which is not an error. It runs while the
// Frontier does, once.
func (d *Owner) Run(ctx context.Context) error {
	d.judging.Lock()
	err := d.load(ctx)
	d.judging.Unlock()
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is the end
		}
		return err
	}
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
			d.log.Error("cannot judge resting deletions", "pause", errorPause, "error", err)
			wait = errorPause
		}
		timer.Reset(wait)
	}
}

// load reads, once, which hosts and edits have deletions that rest, and makes those rest again
// that are held for hosts that are well by now. A crawl that has nothing to do may end before Run
// has begun: whoever comes first loads. judging is held.
func (d *Owner) load(ctx context.Context) error {
	if d.loaded {
		return nil
	}
	if err := d.loadCounts(ctx); err != nil {
		return err
	}
	if err := d.read(ctx); err != nil {
		return err
	}
	d.loaded = true
	return nil
}

// host returns a host's entry, made if there is none. The mutex is held.
func (d *Owner) host(k weburl.HostKey, origin string, at int64) *restingHost {
	h := d.hosts[k]
	if h == nil {
		h = &restingHost{at: at}
		d.hosts[k] = h
	}
	if origin != "" {
		h.origin = origin
	}
	return h
}

// soon has a host judged after a pause, and makes its entry if it is needed.
func (d *Owner) soon(k weburl.HostKey, origin string, change func(*restingHost)) {
	now := d.f.Active()
	d.mu.Lock()
	h := d.host(k, origin, now+int64(judgePause))
	h.at = min(h.at, now+int64(h.pause()))
	h.events++
	if change != nil {
		change(h)
	}
	d.mu.Unlock()
	d.wake()
}

func (d *Owner) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// Completed takes in a stored outcome.
func (d *Owner) Completed(l *scheduler.Lease, c *scheduler.Completion, t scheduler.Tells) {
	if o := c.Order; o != nil && o.Deletion == scheduler.DeletionResting {
		if o.Edit != 0 {
			d.lateOfEdit()
		} else {
			d.soon(l.Record.Host, l.Record.Origin, func(h *restingHost) {
				leads := c.Next.Class == scheduler.Redirect || c.Next.Reason == scheduler.ReasonMoved
				h.redirected = h.redirected || leads && l.Record.Deletion == scheduler.DeletionHeld
			})
		}
	}
	d.answered(l.Record.Host, l.Key, t)
}

// answered takes in what an answer tells of a host whose deletions rest.
func (d *Owner) answered(k weburl.HostKey, document weburl.Key, t scheduler.Tells) {
	d.mu.Lock()
	h := d.hosts[k]
	d.mu.Unlock()
	if h == nil {
		return
	}
	now := d.f.Active()
	d.mu.Lock()
	belongs, over := h.control.answered(document, t)
	if t == scheduler.TellsGood && !belongs {
		h.good = now
	}
	if over {
		h.at = min(h.at, now)
		h.events++
	}
	d.mu.Unlock()
	if over {
		d.wake()
	}
}

// Rested takes in that deletions of hosts rest that no visit found.
func (d *Owner) Rested(origins map[weburl.HostKey]string) {
	if len(origins) == 0 {
		return
	}
	for k, origin := range origins {
		d.soon(k, origin, nil)
	}
	d.lateOfEdit()
}

// HealthChanged has a host judged that became ill or well. The Frontier's mutex is held.
func (d *Owner) HealthChanged(k weburl.HostKey, origin string) {
	d.mu.Lock()
	h := d.host(k, origin, 0)
	h.events++ // it may be being judged
	h.at, h.well, h.tries, h.control = 0, true, 0, nil
	d.mu.Unlock()
	d.wake()
}

// BrakeOff has all that rests leave at once.
func (d *Owner) BrakeOff() {
	d.mu.Lock()
	for _, h := range d.hosts {
		h.at = 0
		h.events++
	}
	d.mu.Unlock()
	d.lateOfEdit()
}

// judgeDue judges the hosts and edits that are due, and returns when the next one is.
func (d *Owner) judgeDue(ctx context.Context) (time.Duration, error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	if err := d.judgeEdits(ctx); err != nil {
		return 0, err
	}
	now := d.f.Active()
	d.mu.Lock()
	var due []weburl.HostKey
	for k, h := range d.hosts {
		if h.at <= now {
			due = append(due, k)
		}
	}
	d.mu.Unlock()
	slices.SortFunc(due, func(a, b weburl.HostKey) int { return bytes.Compare(a[:], b[:]) }) // the same order each time
	for _, k := range due {
		_, err := d.judge(ctx, k)
		if ctx.Err() != nil || errors.Is(err, scheduler.ErrClosed) {
			return 0, err
		}
		if err != nil { // of this host: the others are judged nevertheless
			d.log.Error("cannot judge resting deletions", "host", d.postpone(k), "pause", errorPause, "error", err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := lookAgain
	for _, h := range d.hosts {
		wait = min(wait, max(time.Duration(h.at-now), judgePause/10))
	}
	return wait, nil
}

// postpone has a host judged after a pause, and returns its name.
func (d *Owner) postpone(k weburl.HostKey) (origin string) {
	at := d.f.Active() + int64(errorPause)
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.host(k, "", at)
	h.at = at
	return h.origin
}
