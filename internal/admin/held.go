package admin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// The lock of a HeldTally is held over a walk: a caller that comes meanwhile waits for its
// result.

// HeldCounts count the deletions that are held.
type HeldCounts struct {
	// HeldSince is when the oldest was ordered, nil if none is held.
	HeldSince *time.Time `json:"held_since,omitempty"`
	// HeldByReason counts them by why the documents are to go, HeldFor by why they are held.
	HeldByReason map[string]uint64 `json:"held_by_reason,omitempty"`
	HeldFor      map[string]uint64 `json:"held_for,omitempty"`

	byEdit map[uint64]uint64
}

// EditStatus is an edit of the rules, with its deletions that have not been sent.
type EditStatus struct {
	deletion.Edit
	Resting uint64 `json:"resting"`
	Held    uint64 `json:"held"`
}

// String is a line for a person.
func (e EditStatus) String() string {
	var parts []string
	if e.Held > 0 {
		parts = append(parts, counted(e.Held, "deletion")+" held")
	}
	if e.Resting > 0 {
		parts = append(parts, counted(e.Resting, "deletion")+" resting")
	}
	if e.State == deletion.EditOpen {
		parts = append(parts, "stored URLs are being judged by it")
	}
	line := fmt.Sprintf("edit %d: %s", e.Number, strings.Join(parts, ", "))
	if e.Held > 0 {
		line += fmt.Sprintf("; sextant deletions release --edit %d has them leave", e.Number)
	}
	return line
}

// counted words a number of things.
func counted(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// HeldTally counts the held deletions of a store, which takes a walk over them. It walks only
// if their number has changed, or now and then, and keeps what it found. Its methods may be
// called at once.
type HeldTally struct {
	mu     sync.Mutex
	held   uint64    // when they were counted
	at     time.Time // when that was; zero if never
	notYet time.Time // before then they are not counted again
	counts HeldCounts
}

const (
	// tallyAge is how old counts may be where the number of held deletions is the same.
	tallyAge = 30 * time.Second
	// tallyQuick is how long a walk may take to be made each time; after a longer one
	// tallyShare times its length passes before the next.
	tallyQuick = 50 * time.Millisecond
	tallyShare = 20
)

// Count gives the counts of a store.
func (t *HeldTally) Count(ctx context.Context, store scheduler.Store) (HeldCounts, error) {
	counts, err := store.Counts(ctx)
	if err != nil {
		return HeldCounts{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	held := counts.Outbox.Held
	fresh := !t.at.IsZero() && (held == t.held && now.Sub(t.at) < tallyAge || now.Before(t.notYet))
	switch {
	case held == 0:
		t.held, t.at, t.counts = 0, time.Time{}, HeldCounts{}
		return t.counts, nil
	case fresh:
		return t.counts, nil
	}
	d := HeldCounts{HeldByReason: map[string]uint64{}, HeldFor: map[string]uint64{}, byEdit: map[uint64]uint64{}}
	err = store.HeldDeletions(ctx, scheduler.DeletionFilter{State: scheduler.DeletionHeld}, func(s scheduler.StoredDeletion) error {
		if d.HeldSince == nil || s.At.Before(*d.HeldSince) {
			d.HeldSince = utc(s.At)
		}
		d.HeldByReason[s.Reason.String()]++
		d.HeldFor[s.Hold.String()]++
		if s.Edit != 0 {
			d.byEdit[s.Edit]++
		}
		return nil
	})
	if err != nil {
		return HeldCounts{}, err
	}
	t.held, t.at, t.counts = held, now, d
	if took := time.Since(now); took > tallyQuick {
		t.notYet = time.Now().Add(tallyShare * took)
	}
	return d, nil
}

// AddDeletions adds the held deletions of a store, and the edits of the rules that are not done.
func (s *Status) AddDeletions(ctx context.Context, store scheduler.Store, held *HeldTally, edits []deletion.Edit) (err error) {
	if s.HeldCounts, err = held.Count(ctx, store); err != nil || len(edits) == 0 {
		return err
	}
	resting := map[uint64]uint64{}
	err = store.DeletionGroups(ctx, func(g scheduler.DeletionGroup, n uint64) error {
		if g.Edit != 0 {
			resting[g.Edit] = n
		}
		return nil
	})
	for _, e := range edits {
		one := EditStatus{Edit: e, Resting: resting[e.Number], Held: s.byEdit[e.Number]}
		if one.Resting+one.Held > 0 || e.State == deletion.EditOpen {
			s.Edits = append(s.Edits, one)
		}
	}
	return err
}
