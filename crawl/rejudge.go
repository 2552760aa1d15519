package crawl

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// When rules or crawl space change, every stored URL is judged again in the
// background: this pass. URLs that wait or are in flight are left to the worker
// that takes them. How far the pass is, and by which rules, is stored, so that it
// goes on after a restart; the same URL judged twice is changed once.

const (
	// passName is the store's value that keeps the pass.
	passName = "crawl.rules"
	// passBatch is how many URLs are read, judged and changed at once.
	passBatch = 1000
	// passSave is how often it is stored how far the pass is.
	passSave = time.Second
	// passRetry is how long the pass rests after an error of the store.
	passRetry = 5 * time.Second
	// passWait is how long the pass rests at its end before it looks again whether
	// pages are in flight that began under other rules.
	passWait = 100 * time.Millisecond
)

// passState is what is stored of the pass.
type passState struct {
	Rules string    `json:"rules"` // fingerprint of rules and crawl space
	Since time.Time `json:"since"` // when they came into force
	Done  bool      `json:"done"`
	From  string    `json:"from,omitempty"` // the next key, in hexadecimal
	passCounts
}

// passCounts are what the pass has done so far.
type passCounts struct {
	Judged     uint64 `json:"judged"`
	Excluded   uint64 `json:"excluded"`  // now 760
	Elsewhere  uint64 `json:"elsewhere"` // now 761
	Readmitted uint64 `json:"readmitted"`
	Moved      uint64 `json:"moved"`     // to another fifo
	Unindexed  uint64 `json:"unindexed"` // crawled as before, but no document any more
}

func (n *passCounts) count(e effect) {
	switch e {
	case excluded:
		n.Excluded++
	case elsewhere:
		n.Elsewhere++
	case readmitted:
		n.Readmitted++
	case moved:
		n.Moved++
	case unindexed:
		n.Unindexed++
	}
}

func (n *passCounts) add(m passCounts) {
	n.Judged += m.Judged
	n.Excluded += m.Excluded
	n.Elsewhere += m.Elsewhere
	n.Readmitted += m.Readmitted
	n.Moved += m.Moved
	n.Unindexed += m.Unindexed
}

// pass is the judging again of all stored URLs.
type pass struct {
	store scheduler.Store
	kick  chan struct{} // capacity 1

	mu    sync.Mutex
	state passState
	next  weburl.Key    // as state.From
	saved time.Time     // when the state was stored last
	done  chan struct{} // closed while state.Done
}

func newPass(store scheduler.Store) *pass {
	return &pass{store: store, kick: make(chan struct{}, 1), done: make(chan struct{})}
}

// open reads how far the last run came, and begins anew if that was by other
// rules. In an empty store there is nothing to judge.
func (a *pass) open(ctx context.Context, p *policy) error {
	state, next, err := storedPass(ctx, a.store)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if state.Rules == p.fingerprint {
		a.state, a.next = state, next
		if a.state.Done {
			close(a.done)
		}
		a.wake()
		return nil
	}
	counts, err := a.store.Counts(ctx)
	if err != nil {
		return err
	}
	return a.restart(ctx, passState{Rules: p.fingerprint, Since: p.since, Done: counts.Known == 0})
}

// storedPass reads what is stored of the pass, and its next key; the zero state
// if nothing is.
func storedPass(ctx context.Context, store scheduler.Store) (s passState, next weburl.Key, err error) {
	b, err := store.Value(ctx, passName)
	if err != nil || len(b) == 0 {
		return s, next, err
	}
	err = json.Unmarshal(b, &s)
	if err == nil && len(s.From) > hex.EncodedLen(len(next)) {
		err = hex.ErrLength
	}
	if err == nil {
		_, err = hex.Decode(next[:], []byte(s.From))
	}
	if err != nil {
		err = fmt.Errorf("%w: how far the stored URLs are judged cannot be read: %w", scheduler.ErrDamaged, err)
	}
	return s, next, err
}

// begin stores that all URLs are to be judged by p, before anything is.
func (a *pass) begin(ctx context.Context, p *policy) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.restart(ctx, passState{Rules: p.fingerprint, Since: p.since})
}

// restart takes a new state over once it is stored. The mutex is held.
func (a *pass) restart(ctx context.Context, s passState) error {
	if err := a.save(ctx, s); err != nil {
		return err
	}
	a.state, a.next = s, weburl.Key{}
	select {
	case <-a.done:
		a.done = make(chan struct{})
	default:
	}
	if s.Done {
		close(a.done)
	}
	return nil
}

func (a *pass) save(ctx context.Context, s passState) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := a.store.SetValue(ctx, passName, b); err != nil {
		return fmt.Errorf("storing how far the stored URLs are judged: %w", err)
	}
	a.saved = time.Now()
	return nil
}

func (a *pass) wake() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// status is the present state, and a channel that is closed when it is done.
func (a *pass) status() (passState, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.done
}

// due gives the next key to judge by p; false if there is nothing to do for p.
func (a *pass) due(p *policy) (weburl.Key, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next, !a.state.Done && a.state.Rules == p.fingerprint
}

// advance takes over that all keys before next are judged by p; last says that
// there are no others. While firm is false, what it stores is not to be relied on
// after a crash, so nothing is stored and nothing is done.
func (a *pass) advance(ctx context.Context, p *policy, next weburl.Key, last, firm bool, n passCounts) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.Rules != p.fingerprint {
		return nil // other rules came into force meanwhile
	}
	s := a.state
	s.add(n)
	s.From, s.Done = hex.EncodeToString(next[:]), last && firm
	if s.Done {
		s.From = ""
	}
	a.next = next
	if firm && (s.Done || time.Since(a.saved) >= passSave) {
		if err := a.save(ctx, s); err != nil {
			return err
		}
	}
	a.state = s
	if s.Done {
		close(a.done)
	}
	return nil
}

// rejudge runs passes until ctx ends.
func (c *Crawl) rejudge(ctx context.Context) error {
	for {
		p := c.judge.current.Load()
		key, due := c.pass.due(p)
		var pause time.Duration
		switch {
		case !due:
		case key == endKey() && c.judge.superseded():
			pause = passWait
		default:
			began := time.Now()
			err := c.judgeBatch(ctx, p, key)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil && unrecoverable(err):
				return err
			case err != nil:
				c.log.Error("stored URLs cannot be judged by the new rules", "pause", passRetry, "error", err)
				pause = passRetry
			case c.frontier.Snapshot().InFlight > 0:
				pause = time.Since(began) // half of the time is the crawl's
			}
		}
		if err := c.awaitPass(ctx, due, pause); err != nil {
			return nil //nolint:nilerr // the end of ctx is the end
		}
	}
}

// awaitPass waits for a pause, or, where nothing is due, for the next pass.
func (c *Crawl) awaitPass(ctx context.Context, due bool, pause time.Duration) error {
	if due && pause == 0 {
		return ctx.Err()
	}
	var over <-chan time.Time
	if due {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.pass.kick:
	case <-over:
	}
	return nil
}

// endKey is where the pass waits for the pages that began under other rules.
func endKey() weburl.Key { return weburl.Key(bytes.Repeat([]byte{0xff}, len(weburl.Key{}))) }

// errBatchFull ends the reading of a batch.
var errBatchFull = errors.New("the batch is full")

// judgeBatch judges the URLs from a key on.
func (c *Crawl) judgeBatch(ctx context.Context, p *policy, from weburl.Key) error {
	// A page that began under other rules may still be stored after its key was
	// passed. It is judged then, but a crash before that would lose it: only what
	// is passed when no such page is left counts after a crash.
	firm := !c.judge.superseded()
	opinions := map[weburl.Key]opinion{}
	var n passCounts
	next, last := from, true
	err := c.store.Inspect(ctx, scheduler.Filter{From: from}, func(k weburl.Key, r scheduler.Record) error {
		if n.Judged == passBatch {
			next, last = k, false
			return errBatchFull
		}
		n.Judged++
		if r.State == scheduler.Waiting {
			return nil
		}
		u, ok := weburl.FromCanonical(r.URL)
		if !ok {
			return nil // the frontier ends it when it is taken
		}
		if o := p.opine(u, &r); o.effect(&r) != unaffected {
			o.explain()
			opinions[k] = o
		}
		return nil
	})
	if err != nil && !errors.Is(err, errBatchFull) {
		return err
	}
	if err := c.apply(ctx, opinions, &n); err != nil {
		return err
	}
	if last && !firm {
		next = endKey()
	}
	return c.pass.advance(ctx, p, next, last, firm, n)
}

// apply changes the URLs that opinions say something of.
func (c *Crawl) apply(ctx context.Context, opinions map[weburl.Key]opinion, n *passCounts) error {
	if len(opinions) == 0 {
		return nil
	}
	var renamed []scheduler.Link
	keys := make([]weburl.Key, 0, len(opinions))
	for k, o := range opinions {
		keys = append(keys, k)
		if !o.rewritten {
			continue
		}
		if l, _, ok := o.policy.link(crawlspace.Link{URL: o.url, Depth: o.depth}); ok {
			renamed = append(renamed, l)
		}
	}
	if len(renamed) > 0 {
		if _, err := c.frontier.Add(ctx, renamed, false); err != nil {
			return err
		}
	}
	var done passCounts
	// Not cancelled half-way: the store calls the function until it returns.
	_, err := c.frontier.Revise(context.WithoutCancel(ctx), keys, func(k weburl.Key, r scheduler.Record) *scheduler.Change {
		o := opinions[k]
		done.count(o.effect(&r))
		return o.change(&r)
	})
	if err == nil {
		n.add(done)
	}
	return err
}

// judgeAgain judges the URL of a page that ended, if other rules than those that
// it began under have come into force. Until it returns, the page must count as
// in flight.
func (c *Crawl) judgeAgain(ctx context.Context, began *policy, key weburl.Key) error {
	for done := began; ; {
		p := c.judge.current.Load()
		if p.fingerprint == done.fingerprint {
			return nil
		}
		r, err := c.store.Lookup(ctx, key)
		if errors.Is(err, scheduler.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if u, ok := weburl.FromCanonical(r.URL); ok {
			o := p.opine(u, &r)
			o.explain()
			if err := c.apply(ctx, map[weburl.Key]opinion{key: o}, &passCounts{}); err != nil {
				return err
			}
		}
		done = p
	}
}

// passAgain begins the pass anew, because a URL could not be judged.
func (c *Crawl) passAgain(ctx context.Context) error {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	defer c.pass.wake()
	return c.pass.begin(ctx, c.judge.current.Load())
}

// passed waits until no pass is under way.
func (c *Crawl) passed(ctx context.Context) error {
	_, done := c.pass.status()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
