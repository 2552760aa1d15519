package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// contents is all that can be read of a store.
type contents struct {
	Counts    scheduler.Counts
	Records   map[weburl.Key]scheduler.Record
	Queues    map[scheduler.Place][]scheduler.Record
	Hosts     map[weburl.HostKey]scheduler.HostState
	Documents map[weburl.HostKey]scheduler.HostDocuments
	Lost      []scheduler.StoredDeletion
	Groups    map[scheduler.DeletionGroup][]scheduler.StoredDeletion
	Values    map[scheduler.ValueName][]byte
}

func newContents() contents {
	return contents{
		Counts:  scheduler.Counts{ByClass: map[scheduler.Class]uint64{}},
		Records: map[weburl.Key]scheduler.Record{}, Queues: map[scheduler.Place][]scheduler.Record{},
		Hosts: map[weburl.HostKey]scheduler.HostState{}, Documents: map[weburl.HostKey]scheduler.HostDocuments{},
		Groups: map[scheduler.DeletionGroup][]scheduler.StoredDeletion{}, Values: map[scheduler.ValueName][]byte{},
	}
}

// setHost sets a host's documents; it omits the sample if the contract leaves open which documents are in it.
func (c *contents) setHost(k weburl.HostKey, h scheduler.HostState, d scheduler.HostDocuments) {
	h.NextAt = h.NextAt.UTC()
	if d.Count > scheduler.DocumentSample {
		d.Sample = nil
	}
	c.Hosts[k], c.Documents[k] = h, d
}

func (c *contents) setValue(name scheduler.ValueName, value []byte) {
	if value != nil {
		c.Values[name] = value
	}
}

// hosts returns the hosts of the model.
func (m *model) hosts() (all []weburl.HostKey) {
	for h := range 3 {
		all = append(all, m.link(fmt.Sprintf("http://h%d.test/", h), 0).URL.HostKey())
	}
	return all
}

// read returns the contents of the store under test.
func (m *model) read() contents {
	m.Helper()
	c := newContents()
	c.Counts = m.counts()
	m.must(m.Inspect(m.ctx, scheduler.Filter{}, func(k weburl.Key, r scheduler.Record) error {
		c.Records[k] = normal(r)
		return nil
	}))
	counts := map[scheduler.Place]uint64{}
	m.must(m.Places(m.ctx, func(p scheduler.Place, n uint64) error { counts[p] = n; return nil }))
	for p, n := range counts {
		for _, w := range m.queue(p) {
			c.Queues[p] = append(c.Queues[p], normal(w.Record))
		}
		next := scheduler.Place{Source: (p.Source + 1) % scheduler.Sources, Host: p.Host}
		one, err := m.Waits(m.ctx, p)
		other, nextErr := m.Waits(m.ctx, next)
		m.must(errors.Join(err, nextErr))
		if one != n || other != counts[next] || n != uint64(len(c.Queues[p])) {
			m.Errorf("%v: Waits says %d and %d, Places %d and %d, and the queue has %d", p, one, other, n, counts[next], len(c.Queues[p]))
		}
	}
	for _, k := range m.hosts() {
		h, err := m.Host(m.ctx, k)
		d, docsErr := m.Documents(m.ctx, k)
		m.must(errors.Join(err, docsErr))
		c.setHost(k, h, d)
	}
	m.readLosses(&c)
	for _, name := range valueNames() {
		v, err := m.Value(m.ctx, name)
		m.must(err)
		c.setValue(name, v)
	}
	return c
}

func (m *model) readLosses(c *contents) {
	m.Helper()
	m.must(m.PendingDeletions(m.ctx, scheduler.DeletionFilter{}, func(d scheduler.StoredDeletion) error {
		c.Lost = append(c.Lost, normalDeletion(d))
		return nil
	}))
	m.must(m.DeletionGroups(m.ctx, func(g scheduler.DeletionGroup, n uint64) error {
		err := m.Deletions(m.ctx, g, func(d scheduler.StoredDeletion) error {
			c.Groups[g] = append(c.Groups[g], normalDeletion(d))
			return nil
		})
		if n != uint64(len(c.Groups[g])) {
			m.Errorf("group %v counts %d losses and has %d", g, n, len(c.Groups[g]))
		}
		return err
	}))
}

// read returns the contents that the store under test must have; hosts are the hosts to examine.
func (r *reference) read(hosts []weburl.HostKey) contents {
	c := newContents()
	documents := map[weburl.HostKey]scheduler.HostDocuments{}
	for k, rec := range r.records {
		tally(&c.Counts, rec)
		c.Records[k] = normal(rec)
		d := documents[rec.Host]
		if !rec.LostAt.IsZero() {
			d.Lost++
		}
		if rec.Indexed {
			d.Count++
			d.Sample = append(d.Sample, k)
		}
		documents[rec.Host] = d
	}
	for _, w := range r.inState(scheduler.Waiting) {
		p := placeOf(w.Record)
		c.Queues[p] = append(c.Queues[p], normal(w.Record))
	}
	for _, d := range documents {
		if d.Count < scheduler.PoolBelow {
			c.Counts.Pooled += d.Count
		}
	}
	for _, k := range hosts {
		d := documents[k]
		slices.SortFunc(d.Sample, func(a, b weburl.Key) int { return slices.Compare(a[:], b[:]) })
		c.setHost(k, r.hosts[k], d)
	}
	bySeq := func(a, b scheduler.StoredDeletion) int { return cmp.Compare(a.Seq, b.Seq) }
	for _, d := range slices.SortedFunc(maps.Values(r.lost), bySeq) {
		g := scheduler.DeletionGroup{Edit: d.Edit}
		if d.Edit == 0 {
			g.Host = r.records[d.Key].Host
		}
		d = normalDeletion(d)
		c.Lost, c.Groups[g] = append(c.Lost, d), append(c.Groups[g], d)
	}
	c.Counts.Hosts = uint64(len(r.hosts))
	c.Counts.Outbox.Waiting, c.Counts.Outbox.Pending = uint64(len(r.sent)), uint64(len(r.lost))
	for name, v := range r.values {
		c.setValue(name, v)
	}
	return c
}
