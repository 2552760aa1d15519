package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// A reviser's mutex guards the results of a Revise: the store calls back from its own goroutine, and may go on after
// the caller gave up.

// Change is a new state for a stored URL that is judged outside of a lease.
type Change struct {
	// Next is as in Revision.
	Next Record
	// Document, if not nil, is pushed for the URL; Next is updated to match.
	Document *Document
	// Delete, if not empty, is the text for why the URL's document, if any, is deleted; Next.Reason is the reason.
	Delete string
	// MovesTo, if not nil, is the source by which the URL's document is to leave a target.
	MovesTo *string
	// Least is as in Loss, and NotExplicit marks a loss that is not explicit; both are for documents of an XML list.
	Least       LossClass
	NotExplicit bool
	// CancelDeletion drops a pending loss of the URL.
	CancelDeletion bool
}

// Revise changes stored URLs that are not leased. It calls fn as Store.Revise does, under the same conditions; nil
// leaves a URL alone. Deletions are pending first. It returns how many URLs were changed.
func (f *Frontier) Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, Record) *Change) (int, error) {
	edit := f.owner.Edit()
	f.mu.Lock()
	r := reviser{set: f.set, fn: fn, edit: edit}
	f.mu.Unlock()
	places, n, err := f.store.Revise(ctx, keys, r.revise)
	r.mu.Lock() // if ctx has ended, the store may still be calling back
	possible, due, rested := slices.Clone(r.places), r.due, r.rested
	r.mu.Unlock()
	if err != nil {
		places = possible // some of it may be stored nevertheless
	}
	f.owner.Lost(rested)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announce(places)
	f.dueBy(due)
	return n, err
}

// reviser is one call of Revise. The store calls it from a separate goroutine.
type reviser struct {
	set  *Settings
	edit uint64
	fn   func(weburl.Key, Record) *Change

	mu     sync.Mutex
	places []Place                   // places that may receive work
	due    time.Time                 // when the first timed URL is due
	rested map[weburl.HostKey]string // origins of the hosts that lose documents
}

func (r *reviser) revise(k weburl.Key, old Record) *Revision {
	change := r.fn(k, old)
	if change == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &Revision{Next: change.Next, CancelDeletion: change.CancelDeletion}
	if d := change.Document; d != nil {
		v.Order = addition(&old, d)
		v.Next.holds(d)
	} else if old.Indexed && (change.Delete != "" || change.MovesTo != nil) {
		r.lose(v, &old, change)
	}
	v.Next.stamp(&old, time.Now().Truncate(time.Second))
	switch n := &v.Next; n.State {
	case Waiting:
		r.places = append(r.places, Place{Source: n.Source, Host: n.Host})
	case Timed:
		if r.due.IsZero() || n.NextAt.Before(r.due) {
			r.due = n.NextAt
		}
	case AtRest:
	}
	return v
}

// lose returns the order for a document that must leave the index or a target.
func (r *reviser) lose(v *Revision, old *Record, change *Change) {
	if change.MovesTo != nil {
		v.Order = moving(&v.Next, old, *change.MovesTo, r.edit, r.set, time.Now())
	} else {
		v.Order, v.Forget = lose(&v.Next, old, r.edit, change.Delete, r.set, time.Now())
	}
	if o := v.Order; o != nil && o.Loss != nil {
		o.Loss.Least, o.Loss.Explicit = change.Least, o.Loss.Explicit && !change.NotExplicit
	}
	if r.rested == nil {
		r.rested = map[weburl.HostKey]string{}
	}
	r.rested[old.Host] = old.Origin
}
