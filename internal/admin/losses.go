package admin

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/weburl"
)

// The lock of a PendingTally guards its last counts. It is held over a walk: concurrent callers wait for the result.

// Losses determines when pending deletions leave, from the states of hosts, the edits of the rules and the settings.
type Losses struct {
	hosts []deletion.HostState
	byKey map[weburl.HostKey]*deletion.HostState
	edits []deletion.Edit
	set   scheduler.Deletions
}

// NewLosses combines the states of the hosts with pending losses, the last edits and the settings in force.
func NewLosses(hosts []deletion.HostState, edits []deletion.Edit, set scheduler.Deletions) *Losses {
	l := &Losses{hosts: hosts, byKey: map[weburl.HostKey]*deletion.HostState{}, edits: edits, set: set}
	for i := range hosts {
		l.byKey[hosts[i].Host] = &hosts[i]
	}
	return l
}

// hostOf returns the state of a loss's host. For one that was not judged yet it is a lower bound, and known is false.
func (l *Losses) hostOf(d *scheduler.StoredDeletion) (state *deletion.HostState, known bool) {
	if u, ok := weburl.FromCanonical(d.URL); ok {
		if h := l.byKey[u.HostKey()]; h != nil {
			return h, true
		}
	}
	return &deletion.HostState{Documents: scheduler.PoolBelow}, false
}

// classOfEdits is the class of deletions that an edit of the rules caused, regardless of their host.
const classOfEdits = "edit"

// class returns the word for the class of a loss.
func (l *Losses) class(d *scheduler.StoredDeletion, now time.Time) string {
	if d.Edit != 0 {
		return classOfEdits
	}
	return l.forecast(d, now).Class.String()
}

// forecast returns the condition that a loss waits for.
func (l *Losses) forecast(d *scheduler.StoredDeletion, now time.Time) deletion.Forecast {
	h, _ := l.hostOf(d)
	return deletion.ForecastOf(d, h, l.edits, &l.set, now)
}

// LosingHost is a host with pending deletions.
type LosingHost struct {
	Host string `json:"host"`
	// Pending ones, and those that left within a day, are also counted in Documents.
	Pending   int    `json:"pending"`
	NewTexts  int    `json:"new_texts,omitempty"` // of those pending; the document stays and gets another text
	Left      int    `json:"left"`
	Documents int    `json:"documents"`
	Class     string `json:"class"` // few, some or most
	Ill       bool   `json:"ill,omitempty"`
	// SilentSince is the time since which no document of it has had a good response, GoneAt the time when all of them are
	// deleted if that continues.
	SilentSince *time.Time `json:"silent_since,omitempty"`
	GoneAt      *time.Time `json:"gone_at,omitempty"`

	pooled bool
}

// silentTold is the time for which a host must be silent before it is reported, since shorter silence may be chance.
// goneSoon is the time before a host counts as gone when it is reported again.
const (
	silentTold = time.Hour
	goneSoon   = 7 * 24 * time.Hour
)

// Silent reports whether the host seems to be gone. Documents of other hosts may just not have been visited.
func (h *LosingHost) Silent() bool {
	return h.SilentSince != nil && h.GoneAt != nil && time.Since(*h.SilentSince) >= silentTold &&
		(h.Ill || h.Pending >= h.Documents-h.Left || h.goneSoon())
}

// Words describes its pending losses.
func (h *LosingHost) Words() string { return LossWords(h.Pending, h.NewTexts, 0) }

func (h *LosingHost) goneSoon() bool { return h.GoneAt != nil && time.Until(*h.GoneAt) <= goneSoon }

// losingShown is the number of hosts that a status lists.
const losingShown = 20

// losing returns the hosts with pending deletions, the worst first, with their counts in n.
func (l *Losses) losing(n *PendingCounts) []LosingHost {
	var all []LosingHost
	for _, h := range l.hosts {
		if h.Pending == 0 {
			continue
		}
		all = append(all, LosingHost{
			Host: cmp.Or(h.Origin, n.origins[h.Host]), Pending: h.Pending, NewTexts: min(n.texts[h.Host], h.Pending), Left: h.Left, Documents: h.Documents, Class: h.Class.String(),
			Ill: h.Ill, SilentSince: utc(h.Silent), GoneAt: utc(h.GoneAt), pooled: h.Pooled,
		})
	}
	worst := []string{scheduler.LossMost.String(), scheduler.LossSome.String(), scheduler.LossFew.String()}
	rank := func(h *LosingHost) int { return slices.Index(worst, h.Class) }
	slices.SortFunc(all, func(a, b LosingHost) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Pending, a.Pending), cmp.Compare(a.Host, b.Host))
	})
	return all
}

// PendingCounts count the pending deletions.
type PendingCounts struct {
	// DeletionsSince is the time when the oldest was found, nil if none is pending.
	DeletionsSince *time.Time `json:"deletions_since,omitempty"`
	// DeletionsByReason counts them by reason, DeletionsByClass by class.
	DeletionsByReason map[string]uint64 `json:"deletions_by_reason,omitempty"`
	DeletionsByClass  map[string]uint64 `json:"deletions_by_class,omitempty"`
	// NewTexts counts those that keep the document in the index, with another text.
	NewTexts uint64 `json:"new_texts_pending,omitempty"`
	// Moves counts those that keep it in the index, but not in each target.
	Moves uint64 `json:"moves_pending,omitempty"`

	byBoth  map[[2]string]uint64 // reason and class
	byEdit  map[uint64]LossCounts
	origins map[weburl.HostKey]string
	texts   map[weburl.HostKey]int // NewTexts by host
	early   bool                   // some host was not judged yet
}

func (n *PendingCounts) add(d *scheduler.StoredDeletion, l *Losses, now time.Time) {
	if n.DeletionsSince == nil || d.First.Before(*n.DeletionsSince) {
		n.DeletionsSince = utc(d.First)
	}
	reason, class := d.Reason.String(), l.class(d, now)
	n.DeletionsByReason[reason]++
	n.DeletionsByClass[class]++
	n.byBoth[[2]string{reason, class}]++
	if _, known := l.hostOf(d); !known && d.Edit == 0 {
		n.early = true
	}
	of := n.byEdit[d.Edit]
	of.add(d)
	n.byEdit[d.Edit] = of
	if d.Reason == scheduler.ReasonTarget {
		n.Moves++
	}
	if d.Replaces {
		n.NewTexts++
	}
	if u, ok := weburl.FromCanonical(d.URL); ok {
		k := u.HostKey()
		if n.origins[k] == "" {
			n.origins[k] = u.Origin()
		}
		if d.Replaces {
			n.texts[k]++
		}
	}
}

// EditStatus is an edit of the rules, with its pending deletions.
type EditStatus struct {
	deletion.Edit
	LossCounts
}

// PendingTally counts the pending deletions of a store, which takes a walk over them. It walks only if their number has
// changed, or from time to time, and keeps the result. Its methods may be called concurrently.
type PendingTally struct {
	mu      sync.Mutex
	pending uint64    // when they were counted
	at      time.Time // when that was; zero if never
	notYet  time.Time // no new count before
	counts  PendingCounts
}

const (
	// tallyAge is how old counts may be if the number of pending deletions is unchanged.
	tallyAge = 30 * time.Second
	// tallyQuick is the longest walk that is repeated each time; after a longer one, tallyShare times its length passes
	// before the next.
	tallyQuick = 50 * time.Millisecond
	tallyShare = 20
)

// count returns the counts of a store.
func (t *PendingTally) count(ctx context.Context, store scheduler.Reader, l *Losses) (PendingCounts, error) {
	counts, err := store.Counts(ctx)
	if err != nil {
		return PendingCounts{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	pending := counts.Outbox.Pending
	fresh := !t.at.IsZero() && (pending == t.pending && now.Sub(t.at) < tallyAge && !t.counts.early || now.Before(t.notYet))
	switch {
	case pending == 0:
		t.pending, t.at, t.counts = 0, time.Time{}, PendingCounts{}
		return t.counts, nil
	case fresh:
		return t.counts, nil
	}
	n := PendingCounts{
		DeletionsByReason: map[string]uint64{}, DeletionsByClass: map[string]uint64{},
		byBoth: map[[2]string]uint64{}, byEdit: map[uint64]LossCounts{}, origins: map[weburl.HostKey]string{},
		texts: map[weburl.HostKey]int{},
	}
	err = store.PendingDeletions(ctx, scheduler.DeletionFilter{}, func(d scheduler.StoredDeletion) error {
		n.add(&d, l, now)
		return nil
	})
	if err != nil {
		return PendingCounts{}, err
	}
	t.pending, t.at, t.counts = pending, now, n
	if took := time.Since(now); took > tallyQuick {
		t.notYet = time.Now().Add(tallyShare * took)
	}
	return n, nil
}

// AddDeletions adds the pending deletions of a store, their hosts, and the edits of the rules that are not done.
func (s *Status) AddDeletions(ctx context.Context, store scheduler.Reader, tally *PendingTally, l *Losses) (err error) {
	if s.PendingCounts, err = tally.count(ctx, store, l); err != nil {
		return err
	}
	s.Losing = l.losing(&s.PendingCounts)
	s.LosingHosts = len(s.Losing)
	s.Losing = s.Losing[:min(losingShown, len(s.Losing))]
	s.sent = sentByWord(l.edits)
	for _, e := range l.edits {
		if one := (EditStatus{Edit: e, LossCounts: s.byEdit[e.Number]}); one.Pending > 0 || e.State == deletion.EditOpen {
			s.Edits = append(s.Edits, one)
		}
	}
	return nil
}
