package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Change is what becomes of a stored URL that is judged outside of a lease.
type Change struct {
	// Next is as in Revision.
	Next Record
	// Document, if not nil, is pushed for the URL; Next is then made to say so.
	Document *Document
	// Delete, if not empty, is why the URL's document is deleted, if it has one.
	Delete string
	// CancelHeld drops a held deletion of the URL.
	CancelHeld bool
}

// Revise changes stored URLs that nobody has taken. It calls fn as Store.Revise
// does, under the same conditions; nil leaves a URL alone. Deletions go through
// the brake: of a held one the document stays. It returns how many URLs were
// changed.
func (f *Frontier) Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, Record) *Change) (int, error) {
	counts, err := f.store.Counts(ctx)
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	r := reviser{f: f, set: f.set, indexed: counts.Indexed, fn: fn, judged: map[weburl.Key]bool{}}
	f.mu.Unlock()
	places, n, err := f.store.Revise(ctx, keys, r.revise)
	r.mu.Lock() // if ctx has ended, the store may still be at it
	possible, held, due := slices.Clone(r.places), r.held, r.due
	r.mu.Unlock()
	if err != nil {
		places = possible // some of it may be stored nevertheless
	}
	if held > 0 {
		f.log.Warn("deletions are held by the brake", "deletions", held)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announce(places)
	f.dueBy(due)
	return n, err
}

// reviser is one Revise under way. The store calls it in a goroutine of its own.
type reviser struct {
	f   *Frontier
	set *Settings
	fn  func(weburl.Key, Record) *Change

	mu      sync.Mutex
	indexed uint64              // documents, without those that this call removes
	judged  map[weburl.Key]bool // what the brake said: the store may ask twice for a URL
	held    int
	places  []Place   // that may get work
	due     time.Time // of the first timed one
}

func (r *reviser) revise(k weburl.Key, old Record) *Revision {
	change := r.fn(k, old)
	if change == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &Revision{Next: change.Next, CancelHeld: change.CancelHeld}
	if d := change.Document; d != nil {
		v.Order = addition(&old, d)
		v.Next.Indexed, v.Next.Hash, v.Next.PushedSource = true, d.Hash, d.Source
	} else if change.Delete != "" && old.Indexed {
		now := time.Now()
		v.Order = deletion(&v.Next, &old, change.Delete, r.set, now)
		r.brake(k, v, &old, now)
	}
	v.Next.stamp(&old, time.Now().Truncate(time.Second))
	switch n := &v.Next; n.State {
	case Waiting:
		r.places = append(r.places, Place{Source: n.Source, Host: n.Host})
	case Timed:
		if r.due.IsZero() || n.NextAt.Before(r.due) {
			r.due = n.NextAt
		}
	}
	return v
}

// brake holds the revision's deletion if there are too many.
func (r *reviser) brake(k weburl.Key, v *Revision, old *Record, now time.Time) {
	held, again := r.judged[k]
	r.f.mu.Lock()
	if !again {
		held = r.f.brake.admit(r.set.Brake, now, r.indexed, false)
		r.judged[k] = held
	}
	v.Notes = append(v.Notes, r.f.brake.note())
	r.f.mu.Unlock()
	if held {
		holdOrder(&v.Next, v.Order, old)
	}
	switch {
	case again:
	case held:
		r.held++
	default:
		r.indexed -= min(r.indexed, 1)
	}
}
