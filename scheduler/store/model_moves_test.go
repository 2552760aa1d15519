package store

import (
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
)

// some names pending losses, and selects them.
func (m *outboxModel) some() (scheduler.DeletionFilter, []modelOrder) {
	f := scheduler.DeletionFilter{Edit: m.r.Uint64N(2)}
	all := sorted(m.pending, func(o modelOrder) bool { return f.Edit == 0 || f.Edit == o.edit })
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

// changed compares how many losses were changed.
func (m *outboxModel) changed(n int, err error, want []modelOrder) {
	m.t.Helper()
	m.must(err)
	if n != len(want) {
		m.t.Errorf("%d losses are changed, want %d", n, len(want))
	}
}

// mark notes that the hosts of losses answer well.
func (m *outboxModel) mark() {
	f, some := m.some()
	n, err := markDeletions(m.ctx, m.s, f)
	m.changed(n, err, some)
	for _, o := range some {
		o.well = true
		m.pending[o.url] = o
	}
}

func (m *outboxModel) release() {
	f, some := m.some()
	n, err := release(m.ctx, m.s, f)
	m.changed(n, err, some)
	for _, o := range some {
		o.pending, o.well, o.edit = false, false, 0
		m.put(o)
		m.again(o)
	}
}

func (m *outboxModel) drop() {
	f, some := m.some()
	_, n, err := dropDeletions(m.ctx, m.s, f)
	m.changed(n, err, some)
	for _, o := range some {
		delete(m.pending, o.url)
	}
}
