package review

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The progress belongs to Run; others begin it anew, wake it and ask how far it is. mu guards
// it, and is held while it is stored, so that the stored state is never newer than the one in
// force.

// Progress is the stored state of the pass.
type Progress struct {
	Rules string    `json:"rules"` // fingerprint of rules and crawl space
	Since time.Time `json:"since"` // when they came into force
	Done  bool      `json:"done"`
	From  string    `json:"from,omitempty"` // the next key, in hexadecimal
	// Timing identifies the settings of refresh, in force since At. Retime means that the pass applies them to stored
	// URLs.
	Timing string    `json:"timing,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Retime bool      `json:"retime,omitempty"`
	// Widened are the pages that may have links that were outside.
	Widened *policy.Widening `json:"widened,omitempty"`
	// Now has documents that get other metas or another source fetched at once.
	Now bool `json:"now,omitempty"`
	Counts
}

// by reports whether the pass is one by a policy.
func (s *Progress) by(p *policy.Policy) bool {
	return s.Rules == p.Fingerprint && s.Timing == p.Timing
}

// Counts are the pass's counts so far.
type Counts struct {
	Judged     uint64 `json:"judged"`
	Excluded   uint64 `json:"excluded"`   // now 760
	Elsewhere  uint64 `json:"elsewhere"`  // now 761
	Readmitted uint64 `json:"readmitted"` // crawled again
	Moved      uint64 `json:"moved"`      // to another fifo
	Unindexed  uint64 `json:"unindexed"`  // crawled as before, but no longer a document
	Leaving    uint64 `json:"leaving"`    // crawled as before, but their documents are to leave a target
	// Expected wait in a queue, and lose their documents, or have them leave a target, at their visit.
	Expected uint64 `json:"expected"`
	Retimed  uint64 `json:"retimed"` // due at another time
	Reread   uint64 `json:"reread"`  // fetched again for links that were outside
	Renewed  uint64 `json:"renewed"` // get other metas, or another source, at their next visit
}

func (n *Counts) count(e effect, t timed) {
	switch t {
	case untimed:
	case renewed:
		n.Renewed++
	case retimed:
		n.Retimed++
	case reread:
		n.Reread++
	}
	switch e {
	case excluded:
		n.Excluded++
	case elsewhere:
		n.Elsewhere++
	case readmitted, reindexed:
		n.Readmitted++
	case moved:
		n.Moved++
	case unindexed:
		n.Unindexed++
	case leaves:
		n.Leaving++
	case unaffected, kept:
	}
}

func (n *Counts) add(m Counts) {
	n.Judged += m.Judged
	n.Excluded += m.Excluded
	n.Elsewhere += m.Elsewhere
	n.Readmitted += m.Readmitted
	n.Moved += m.Moved
	n.Unindexed += m.Unindexed
	n.Leaving += m.Leaving
	n.Expected += m.Expected
	n.Retimed += m.Retimed
	n.Reread += m.Reread
	n.Renewed += m.Renewed
}

// pass is the judging again of all stored URLs.
type pass struct {
	store scheduler.Store
	edits editor
	kick  chan struct{} // capacity 1

	mu    sync.Mutex
	state Progress
	next  weburl.Key    // as state.From
	turn  int           // number of passes begun: URLs may have come since an earlier one read them
	saved time.Time     // when the state was last stored
	done  chan struct{} // closed while state.Done
}

// editor is notified when an edit of the rules begins, and when all stored URLs have been judged by it: only then its
// deletions are decided.
type editor interface {
	BeginEdit(ctx context.Context, word bool) (number uint64, err error)
	EndEdit(expected uint64)
}

func newPass(store scheduler.Store, edits editor) *pass {
	return &pass{store: store, edits: edits, kick: make(chan struct{}, 1), done: make(chan struct{})}
}

// open reads the progress of the last run, and starts over if that used other rules, which is an edit: word is the
// operator's confirmation of its deletions, and now is Progress.Now. In an empty store there is nothing to judge.
func (a *pass) open(ctx context.Context, p *policy.Policy, word, now bool) error {
	state, next, err := Stored(ctx, a.store)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, a.next = state, next
	if state.by(p) && !now && !word {
		if a.state.Done {
			a.edits.EndEdit(state.Expected)
			close(a.done)
		}
		a.wake()
		return a.saveWidth(ctx, p)
	}
	counts, err := a.store.Counts(ctx)
	if err != nil {
		return err
	}
	if counts.Known > 0 && (word || state.Rules != p.Fingerprint) {
		if _, err := a.edits.BeginEdit(ctx, word); err != nil {
			return err
		}
	}
	return a.startOver(ctx, p, counts.Known == 0, now)
}

// Stored returns the state of the pass, and its next key, or the zero state if none is stored.
func Stored(ctx context.Context, store scheduler.Reader) (s Progress, next weburl.Key, err error) {
	if err := scheduler.LoadValue(ctx, store, scheduler.CrawlValue(passName), passWhat, &s); err != nil {
		return s, next, err
	}
	if len(s.From) > hex.EncodedLen(len(next)) {
		err = hex.ErrLength
	} else {
		_, err = hex.Decode(next[:], []byte(s.From))
	}
	if err != nil {
		err = fmt.Errorf("%w: %s cannot be read: %w", scheduler.ErrDamaged, passWhat, err)
	}
	return s, next, err
}

// begin stores that all URLs must be judged by p, before any URL is.
func (a *pass) begin(ctx context.Context, p *policy.Policy, now bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.startOver(ctx, p, false, now)
}

// startOver begins a pass by p, which takes over the unfinished work of the previous one. The mutex is held.
func (a *pass) startOver(ctx context.Context, p *policy.Policy, done, now bool) error {
	s := Progress{Rules: p.Fingerprint, Since: p.Since, Timing: p.Timing, At: time.Now().UTC().Truncate(time.Second), Done: done}
	if a.state.Rules == p.Fingerprint {
		s.Since = a.state.Since
	}
	if !done {
		before, err := policy.StoredWidth(ctx, a.store)
		if err != nil {
			return err
		}
		s.Retime, s.Widened, s.Now = a.state.Timing != p.Timing, p.Widened(before), now
		if !a.state.Done {
			s.Now = s.Now || a.state.Now
			s.Retime, s.Widened = s.Retime || a.state.Retime, s.Widened.And(a.state.Widened)
		}
	}
	if err := a.restart(ctx, s); err != nil {
		return err
	}
	return a.saveWidth(ctx, p)
}

// saveWidth stores the width of p, after the pass for it.
func (a *pass) saveWidth(ctx context.Context, p *policy.Policy) error {
	before, err := policy.StoredWidth(ctx, a.store)
	if err != nil || before != nil && before.Rules == p.Fingerprint {
		return err
	}
	return p.SaveWidth(ctx, a.store)
}

// restart adopts a new state once it is stored. The mutex is held.
func (a *pass) restart(ctx context.Context, s Progress) error {
	if err := a.save(ctx, s); err != nil {
		return err
	}
	a.state, a.next = s, weburl.Key{}
	a.turn++
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

func (a *pass) save(ctx context.Context, s Progress) error {
	if err := scheduler.SaveValue(ctx, a.store, scheduler.CrawlValue(passName), passWhat, s); err != nil {
		return err
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

// status returns the present state, and a channel that is closed when the pass is done.
func (a *pass) status() (Progress, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.done
}

// place is the next key to judge in a pass.
type place struct {
	turn int
	key  weburl.Key
}

// due returns the next place to judge by p, or false if there is none.
func (a *pass) due(p *policy.Policy) (place, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return place{a.turn, a.next}, !a.state.Done && a.state.by(p)
}

// advance records that all keys before next have been judged by p, in a turn; last means that there are no others. If
// firm is false, the results may not survive a crash, so nothing is recorded.
func (a *pass) advance(ctx context.Context, p *policy.Policy, to place, last, firm bool, n Counts) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.state.by(p) || a.turn != to.turn {
		return nil // other rules or ages came into force meanwhile, or the pass was restarted
	}
	next := to.key
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
		a.edits.EndEdit(s.Expected)
		close(a.done)
	}
	return nil
}
