package deletion

import (
	"context"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Need is the condition that a pending loss waits for. Its words are a contract.
type Need string

// The needs.
const (
	NeedsNothing Need = ""          // it is carried out at once
	NeedsVisit   Need = "visit"     // to be seen again, or until a time has passed
	NeedsGood    Need = "response"  // a good response of another document of its host
	NeedsHealth  Need = "well_host" // its host to be well
	NeedsGone    Need = "gone_host" // its host to be gone
	NeedsPass    Need = "judging"   // all stored URLs to be judged by its edit
	NeedsWord    Need = "word"      // the operator's approval
)

// Forecast describes the end of a pending loss that no good response cancels.
type Forecast struct {
	Class scheduler.LossClass
	// Earliest is the time when it can leave by itself, zero if unknown.
	Earliest time.Time
	Needs    Need
}

// ForecastOf returns what a loss waits for, from what is known of its host and its edit.
func ForecastOf(
	d *scheduler.StoredDeletion, h *HostState, edits []Edit, set *scheduler.Deletions, now time.Time,
) Forecast {
	if d.Edit != 0 {
		held := func(e Edit) bool { return e.Number == d.Edit && e.State == EditHeld }
		if slices.ContainsFunc(edits, held) {
			return Forecast{Class: d.Least, Needs: NeedsWord}
		}
		return Forecast{Class: d.Least, Needs: NeedsPass}
	}
	g := Group{ // the times of good responses are unknown
		Class: h.Class, Documents: h.Documents - h.Deleted, Ill: h.Ill && !set.Off,
		HostGone: !h.GoneAt.IsZero() && !now.Before(h.GoneAt), Deletions: *set,
	}
	is := Decide(d, &g, now)
	f := Forecast{Class: is.Class, Earliest: is.Until}
	switch {
	case is.Verdict == CarryOut:
		f.Earliest = now
	case is.Verdict == Hold && g.Ill:
		f.Needs, f.Earliest = NeedsHealth, h.GoneAt
	case is.Verdict == Hold:
		f.Needs, f.Earliest = NeedsGone, h.GoneAt
	case is.Verdict == Ask && !is.Until.After(now):
		f.Needs = NeedsGood
	default:
		f.Needs = NeedsVisit
	}
	return f
}

// StoredStates returns the hosts with pending losses from a store, in no order.
func StoredStates(
	ctx context.Context, store scheduler.Store, set *scheduler.Deletions, now time.Time,
) (states []HostState, err error) {
	inPool := 0
	err = store.DeletionGroups(ctx, func(g scheduler.DeletionGroup, n uint64) error {
		if g.Edit != 0 {
			return nil
		}
		h := HostState{Host: g.Host, Pending: int(min(n, 1<<31))} //nolint:gosec // bounded
		if err := h.read(ctx, store, set, now); err != nil {
			return err
		}
		if h.Pooled {
			inPool += min(h.Pending, poolMost)
		}
		states = append(states, h)
		return nil
	})
	if err != nil || inPool == 0 {
		return states, err
	}
	pool, err := readLedger(ctx, store, poolName)
	if err != nil {
		return nil, err
	}
	counts, err := store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	class := pool.class(inPool, counts.Pooled, now)
	for i := range states {
		if h := &states[i]; h.Pooled {
			h.Class = max(h.Class, class)
		}
	}
	return states, nil
}

// read adds the stored state of a host.
func (h *HostState) read(ctx context.Context, store scheduler.Store, set *scheduler.Deletions, now time.Time) error {
	docs, err := store.Documents(ctx, h.Host)
	if err != nil {
		return err
	}
	l, err := readLedger(ctx, store, ledgerName(h.Host))
	if err != nil {
		return err
	}
	stored, err := store.Host(ctx, h.Host)
	if err != nil {
		return err
	}
	h.count(docs.Count, &l, set, now)
	h.Origin, h.Ill = stored.Origin, stored.Ill && !set.Off
	return nil
}
