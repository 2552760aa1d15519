package badgerstore

import (
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
)

// some names deletions that rest or are held, and selects them.
func (m *outboxModel) some() (scheduler.DeletionFilter, []modelOrder) {
	f := scheduler.DeletionFilter{State: scheduler.Deletion(m.r.IntN(3)), Edit: m.r.Uint64N(2)}
	all := sorted(m.rests, func(o modelOrder) bool {
		return (f.State == scheduler.NoDeletion || f.State == o.rests) && (f.Edit == 0 || f.Edit == o.edit)
	})
	if m.r.IntN(3) == 0 {
		return f, all
	}
	all = slices.DeleteFunc(all, func(modelOrder) bool { return m.r.IntN(2) == 0 })
	for _, o := range all {
		f.URLs = append(f.URLs, webURL(o.url))
	}
	f.URLs = append(f.URLs, webURL(modelURLs+1)) // one that has none
	return f, all
}

// changed compares how many deletions were changed.
func (m *outboxModel) changed(n int, err error, want []modelOrder) {
	m.t.Helper()
	m.must(err)
	if n != len(want) {
		m.t.Errorf("%d deletions are changed, want %d", n, len(want))
	}
}

// move holds deletions, or lets them rest again.
func (m *outboxModel) move() {
	f, some := m.some()
	if m.r.IntN(2) == 0 {
		n, err := moveDeletions(m.ctx, m.s, f, scheduler.HoldDeletion)
		m.changed(n, err, some)
		for _, o := range some {
			o.rests = scheduler.DeletionHeld
			m.rests[o.url] = o
		}
		return
	}
	n, err := moveDeletions(m.ctx, m.s, f, scheduler.RestDeletion)
	m.changed(n, err, some)
	for _, o := range some {
		if o.rests == scheduler.DeletionHeld {
			m.seq++
			o.rests, o.seq = scheduler.DeletionResting, m.seq
		}
		m.rests[o.url] = o
	}
}

func (m *outboxModel) release() {
	f, some := m.some()
	n, err := release(m.ctx, m.s, f)
	m.changed(n, err, some)
	for _, o := range some {
		o.rests, o.edit = scheduler.NoDeletion, 0
		m.put(o)
		m.again(o)
	}
}

func (m *outboxModel) drop() {
	f, some := m.some()
	_, n, err := dropDeletions(m.ctx, m.s, f)
	m.changed(n, err, some)
	for _, o := range some {
		delete(m.rests, o.url)
	}
}
