package storetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Model runs random sequences of all operations, closing and reopening among
// them, on the store and on a reference side by side, and compares all that can be
// read after each. A failure prints its seed, which SEXTANT_SEED
// takes.
func Model(t *testing.T, open Opener) {
	t.Helper()
	first, runs := seeded.Seed(t), 4
	if testing.Short() {
		runs = 2
	}
	if seeded.Long() {
		runs = 16
	}
	for i := range uint64(runs) {
		seed := first + i
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &model{fixture: newFixture(t, open), rand: rand.New(rand.NewPCG(seed, 0)), ref: newReference(), now: time.Unix(1e9, 0), leases: map[taken]scheduler.WaitingURL{}}
			if m.rand.IntN(2) == 0 {
				m.populate()
			}
			for step := range 200 {
				m.step()
				if m.compare(); t.Failed() {
					t.Fatalf("step %d; again with SEXTANT_SEED=%d", step, seed)
				}
			}
		})
	}
}

// model is a store under test and the reference, fed the same operations. Seqs
// differ between the two, so each takes its leases from its own queues.
type model struct {
	*fixture
	rand *rand.Rand
	ref  *reference
	now  time.Time
	// ticks are nanoseconds that make times differ.
	ticks time.Duration
	// leases are URLs as the store under test gave them first.
	leases map[taken]scheduler.WaitingURL
	// stale are completions that were made before, of either store.
	stale []staleCompletion
}

// taken is a URL with its place in a queue. Queues of two hosts may have the same Seq.
type taken struct {
	key weburl.Key
	seq uint64
}

type staleCompletion struct{ tested, ref scheduler.Completion }

func (m *model) step() {
	switch n := m.rand.IntN(100); {
	case n < 25:
		m.add()
	case n < 65:
		m.completeOne()
	case n < 75:
		m.due()
	case n < 85:
		m.completeStale()
	case n < 89:
		m.forgetOne()
	case n < 94:
		m.revise()
	case n < 96:
		m.setValue()
	case n < 98:
		m.reviseDeletions()
	default:
		m.reopen()
	}
}

// both runs an operation on the two stores and compares the results.
func (m *model) both(what string, op func(s changes) (any, error)) {
	m.Helper()
	got, err := op(m.Store)
	want, wantErr := op(m.ref)
	if errors.Is(err, scheduler.ErrNotFound) != errors.Is(wantErr, scheduler.ErrNotFound) ||
		errors.Is(err, scheduler.ErrChanged) != errors.Is(wantErr, scheduler.ErrChanged) || (err == nil) != (wantErr == nil) {
		m.Errorf("%s: error %v, want %v", what, err, wantErr)
	}
	if !reflect.DeepEqual(got, want) { // which is many times quicker than equal
		m.equal(what, got, want)
	}
}

func (m *model) add() {
	links, requeue := m.links(1+m.rand.IntN(4)), m.rand.IntN(3) == 0
	m.both(fmt.Sprintf("Add(%v, %t)", links, requeue), func(s changes) (any, error) {
		places, n, err := s.Add(m.ctx, links, requeue)
		return []any{places, n}, err
	})
}

// links draws from few URLs, so that most come again.
func (m *model) links(n int) []scheduler.Link {
	var links []scheduler.Link
	for range n {
		l := m.link(m.url(), scheduler.Source(m.rand.IntN(5)))
		l.Root, l.Shift = m.rand.IntN(4) == 0, int8(m.rand.IntN(5)-2)
		l.Depth, l.Hops = uint16(m.rand.IntN(6)), uint8(m.rand.IntN(3))
		if m.rand.IntN(5) == 0 {
			l.HostSpelling, l.Fragment = "H.test", "f"
		}
		if m.rand.IntN(3) == 0 {
			l.Alias = fmt.Sprint("http://alias.test/", m.rand.IntN(3))
		}
		links = append(links, l)
	}
	return links
}

func (m *model) url() string {
	return fmt.Sprintf("http://h%d.test/%d", m.rand.IntN(3), m.rand.IntN(8))
}

// completeOne completes a waiting URL, any of its queue, with a random outcome.
func (m *model) completeOne() {
	all := m.ref.inState(scheduler.Waiting)
	if len(all) == 0 {
		return
	}
	ref := all[m.rand.IntN(len(all))]
	tested := m.taken(ref)
	c := m.outcome(ref)
	of := staleCompletion{tested: c, ref: c}
	of.tested.Seq, of.tested.Next.Seq = tested.Seq, tested.Seq
	if m.rand.IntN(4) > 0 {
		of.tested.Old, of.tested.AsOf = &tested.Record, tested.AsOf
		of.ref.Old = of.tested.Old
	}
	if m.rand.IntN(2) == 0 {
		of.tested.Floor = m.floor(of.tested)
	}
	m.stale = append(m.stale, of)
	m.completeBoth("Complete", of)
}

// taken returns a waiting URL as the store under test returned it: now, or earlier if its place is still the same, as
// for a URL that was in flight.
func (m *model) taken(ref scheduler.WaitingURL) scheduler.WaitingURL {
	for _, w := range m.queue(placeOf(ref.Record)) {
		at := taken{w.Key, w.Seq}
		if _, old := m.leases[at]; !old {
			m.leases[at] = w
		}
		if w.Key == ref.Key {
			if m.rand.IntN(2) == 0 {
				return m.leases[at]
			}
			return w
		}
	}
	m.Fatalf("%s does not wait in the store under test", ref.Record.URL)
	return ref
}

// floor returns the lowest number in a completion's queue without it, or any lower one.
func (m *model) floor(c scheduler.Completion) uint64 {
	for _, w := range m.queue(c.Taken) {
		if w.Seq != c.Seq {
			return w.Seq - uint64(m.rand.IntN(2))
		}
	}
	return c.Seq + 1
}

func (m *model) completeBoth(what string, c staleCompletion) {
	m.Helper()
	m.both(fmt.Sprintf("%s(%+v)", what, c.ref), func(s changes) (any, error) {
		if s == changes(m.ref) {
			return scheduler.CompleteAndWait(m.ctx, s, c.ref)
		}
		return scheduler.CompleteAndWait(m.ctx, s, c.tested)
	})
}

func (m *model) outcome(w scheduler.WaitingURL) scheduler.Completion {
	c := scheduler.Completion{Key: w.Key, Seq: w.Seq, Taken: placeOf(w.Record), Next: w.Record}
	c.Forget = m.rand.IntN(6) == 0
	c.Next.State = scheduler.State(m.rand.IntN(3))
	c.Next.Source = scheduler.Source(m.rand.IntN(scheduler.Sources))
	// Never the same time twice: which of two is due first would be open.
	m.ticks++
	c.Next.NextAt = m.now.Add(time.Duration(m.rand.IntN(100))*time.Second + m.ticks)
	c.Next.Class = scheduler.Class(m.rand.IntN(6))
	c.Next.Errors, c.Next.Status = m.rand.IntN(3), 200+m.rand.IntN(3)
	drawDocument(m.rand, &c.Next)
	c.Next.Settled, c.Next.Gone = m.rand.IntN(2) == 0, m.rand.IntN(3) == 0
	c.CancelDeletion, c.Levels = m.rand.IntN(3) == 0, uint16(m.rand.IntN(5))
	if m.rand.IntN(4) == 0 {
		c.Notes = []scheduler.Note{{Name: m.valueName(), Value: m.value()}}
	}
	if c.Links = m.links(m.rand.IntN(5)); c.Forget {
		c.Links = nil // whether a page that is forgotten may bring itself back is left open
	}
	if m.rand.IntN(2) == 0 {
		c.Order = order(m.rand, c.Forget)
	}
	if m.rand.IntN(2) == 0 {
		c.Host = &scheduler.HostState{Origin: w.Record.Origin, NextAt: m.now, Errors: m.rand.IntN(5), Responses: uint16(m.rand.IntN(1024))}
	}
	return c
}

// value is one for a name, nil now and then.
func (m *model) value() []byte {
	if m.rand.IntN(4) == 0 {
		return nil
	}
	return []byte{byte(m.rand.IntN(256))}
}

// completeStale repeats an earlier completion. Its Seq no longer exists, so it must have no effect.
func (m *model) completeStale() {
	if len(m.stale) > 0 {
		m.completeBoth("stale Complete", m.stale[m.rand.IntN(len(m.stale))])
	}
}

func (m *model) due() {
	m.now = m.now.Add(time.Duration(m.rand.IntN(60)) * time.Second)
	refresh := scheduler.Refresh
	if m.rand.IntN(2) == 0 {
		refresh = scheduler.Index
	}
	n := 1 + m.rand.IntN(5)
	m.both(fmt.Sprintf("Due(%v, %d)", m.now, n), func(s changes) (any, error) {
		places, next, err := s.Due(m.ctx, m.now, refresh, n)
		return []any{places, next}, err
	})
}

func (m *model) forgetOne() {
	u, order := m.link(m.url(), 0).URL, (*scheduler.Order)(nil)
	if m.rand.IntN(2) == 0 {
		order = &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("{}")}
	}
	m.both(fmt.Sprintf("Forget(%s, %v)", u, order), func(s changes) (any, error) {
		return nil, s.Forget(m.ctx, u.Key(), order)
	})
}

// revise changes some URLs, known or not, in ways that follow from their records.
func (m *model) revise() {
	keys, ordered := m.someKeys()
	seed := m.rand.Uint64()
	m.ticks += time.Duration(len(keys))
	first := m.ticks
	m.both(fmt.Sprintf("Revise(%v) with %d", keys, seed), func(s changes) (any, error) {
		calls := map[weburl.Key]scheduler.Record{}
		places, n, err := s.Revise(m.ctx, keys, func(k weburl.Key, r scheduler.Record) *scheduler.Revision {
			draw := m.drawFor(seed, k)
			calls[k] = normal(r)
			if draw.IntN(4) == 0 {
				return nil
			}
			r.State, r.Source = scheduler.State(draw.IntN(3)), scheduler.Source(draw.IntN(scheduler.Sources))
			r.NextAt = m.now.Add(time.Duration(draw.IntN(100))*time.Second + first - time.Duration(slices.Index(keys, k)))
			r.Class, r.Status = scheduler.Class(draw.IntN(6)), 760+draw.IntN(2)
			r.RulesVersion = draw.Uint64()
			drawDocument(draw, &r)
			r.Gone, r.Settled = draw.IntN(3) == 0, draw.IntN(2) == 0
			v := &scheduler.Revision{Next: r, CancelDeletion: draw.IntN(3) == 0, Forget: draw.IntN(8) == 0, Move: scheduler.SendDeletion}
			if ordered && draw.IntN(2) == 0 {
				v.Order = order(draw, v.Forget)
			}
			return v
		})
		return []any{calls, places, n}, err
	})
}

// someKeys returns keys of URLs, known or not, and whether all belong to one host: the contract leaves open in which
// order a store asks about several hosts, and so numbers their orders.
func (m *model) someKeys() (keys []weburl.Key, ordered bool) {
	host := m.rand.IntN(3)
	ordered = m.rand.IntN(2) == 0
	for range 1 + m.rand.IntN(6) {
		raw := m.url()
		if ordered {
			raw = fmt.Sprintf("http://h%d.test/%d", host, m.rand.IntN(8))
		}
		keys = append(keys, m.link(raw, 0).URL.Key())
	}
	return keys, ordered
}

// drawFor returns random numbers for a URL.
func (m *model) drawFor(seed uint64, k weburl.Key) *rand.Rand {
	c := k.Chance()
	return rand.New(rand.NewPCG(seed, binary.BigEndian.Uint64(c[:])))
}

// valueNames are of each scope, and alike.
func valueNames() []scheduler.ValueName {
	return []scheduler.ValueName{
		scheduler.CrawlValue("name"), scheduler.PartValue(0, "name"),
		scheduler.HostValue(weburl.HostKey{1}, "name"), scheduler.URLValue(weburl.Key{1}, "name"),
	}
}

func (m *model) valueName() scheduler.ValueName {
	all := valueNames()
	return all[m.rand.IntN(len(all))]
}

func (m *model) setValue() {
	name, value := m.valueName(), m.value()
	m.both("SetValue", func(s changes) (any, error) { return nil, s.SetValue(m.ctx, name, value) })
}

// compare compares all that can be read of the store with the reference.
func (m *model) compare() {
	m.Helper()
	got, want := m.read(), m.ref.read(m.hosts())
	if !reflect.DeepEqual(got, want) {
		m.equal("contents", got, want)
	}
}
