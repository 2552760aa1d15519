package storetest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// changes are the operations of the model test.
type changes interface {
	Add(ctx context.Context, links []scheduler.Link, requeue bool) ([]scheduler.Place, int, error)
	scheduler.Completer
	Due(ctx context.Context, now time.Time, refresh scheduler.Source, n int) ([]scheduler.Place, time.Time, error)
	Forget(ctx context.Context, k weburl.Key, o *scheduler.Order) error
	Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error)
	ReviseDeletions(ctx context.Context, keys []weburl.Key, fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error)
	SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error
}

// reference contains what a store must contain after the operations of the model test, in the simplest form. It has
// neither items nor refusals, because the model has none.
type reference struct {
	seq, orders uint64 // the last numbers of waiting URLs and of losses
	records     map[weburl.Key]scheduler.Record
	hosts       map[weburl.HostKey]scheduler.HostState
	sent        map[weburl.Key]bool // URLs that have an order in the outbox
	lost        map[weburl.Key]scheduler.StoredDeletion
	values      map[scheduler.ValueName][]byte
}

var _ changes = (*reference)(nil)

func newReference() *reference {
	return &reference{
		records: map[weburl.Key]scheduler.Record{}, hosts: map[weburl.HostKey]scheduler.HostState{},
		sent: map[weburl.Key]bool{}, lost: map[weburl.Key]scheduler.StoredDeletion{}, values: map[scheduler.ValueName][]byte{},
	}
}

func withPlace(list []scheduler.Place, p scheduler.Place) []scheduler.Place {
	if slices.Contains(list, p) {
		return list
	}
	return append(list, p)
}

// Add implements scheduler.Store.
func (r *reference) Add(_ context.Context, links []scheduler.Link, requeue bool) (places []scheduler.Place, n int, _ error) {
	for _, l := range links {
		k := l.URL.Key()
		rec, known := r.records[k]
		switch {
		case !known:
			places = withPlace(places, r.add(l))
		case !requeue || rec.State == scheduler.Waiting && rec.Source != scheduler.Refresh:
			continue
		default:
			rec.State, rec.Source, rec.Fifo, rec.Root = scheduler.Waiting, l.Fifo, l.Fifo, rec.Root || l.Root
			rec.HostSpelling, rec.Fragment = l.HostSpelling, l.Fragment
			places = withPlace(places, r.put(k, rec))
		}
		n++
	}
	return places, n, nil
}

// Complete implements scheduler.Completer.
func (r *reference) Complete(_ context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	places, err := r.complete(c)
	settled(scheduler.Completed{Places: places, Err: err})
	return nil
}

func (r *reference) complete(c scheduler.Completion) (places []scheduler.Place, err error) {
	old, known := r.records[c.Key]
	if !known || old.State != scheduler.Waiting || old.Seq != c.Seq || placeOf(old) != c.Taken {
		return nil, scheduler.ErrNotFound
	}
	if c.Old != nil && (c.Old.Indexed != old.Indexed || c.Old.Hash != old.Hash) {
		return nil, scheduler.ErrChanged
	}
	has := r.send(c.Key, old, old.LossPending, c.CancelDeletion, c.Order)
	if c.Forget {
		r.forget(c.Key)
	} else {
		next := c.Next
		next.LossPending = has
		if next.Nearer(old.Depth, c.Levels) {
			next.State, next.Source = scheduler.Waiting, next.Fifo
		}
		next.Aliases = slices.Clone(old.Aliases)
		for _, a := range c.Next.Aliases {
			next.Aliases = union(next.Aliases, a)
		}
		if p := r.put(c.Key, next); next.State == scheduler.Waiting {
			places = withPlace(places, p)
		}
	}
	for _, l := range c.Links {
		places = r.link(l, c.Levels, places)
	}
	for _, n := range c.Notes {
		r.setValue(n.Name, n.Value)
	}
	if c.Host != nil {
		r.hosts[c.Taken.Host] = *c.Host
	}
	return places, nil
}

// forget removes a URL and its loss.
func (r *reference) forget(k weburl.Key) {
	delete(r.records, k)
	delete(r.lost, k)
}

// link stores a page's link to another URL.
func (r *reference) link(l scheduler.Link, levels uint16, places []scheduler.Place) []scheduler.Place {
	k := l.URL.Key()
	rec, known := r.records[k]
	if !known {
		return withPlace(places, r.add(l))
	}
	rec.Aliases = union(rec.Aliases, l.Alias)
	if again := levels > 0 && rec.Nearer(l.Depth, levels); again || rec.Gone {
		rec.Gone, rec.Settled = false, rec.Settled && !rec.Gone
		rec.HostSpelling, rec.Fragment = l.HostSpelling, l.Fragment
		if rec.State != scheduler.Waiting || rec.Source == scheduler.Refresh {
			rec.State, rec.Source, rec.Fifo = scheduler.Waiting, l.Fifo, l.Fifo
			return withPlace(places, r.put(k, rec))
		}
	}
	r.records[k] = rec
	return places
}

// add adds a new URL.
func (r *reference) add(l scheduler.Link) scheduler.Place {
	h := l.URL.HostKey()
	if _, ok := r.hosts[h]; !ok {
		r.hosts[h] = scheduler.HostState{}
	}
	return r.put(l.URL.Key(), scheduler.Record{
		URL: l.URL.String(), Host: h, Origin: l.URL.Origin(),
		State: scheduler.Waiting, Kind: l.Kind, Source: l.Fifo, Fifo: l.Fifo,
		Root: l.Root, Shift: l.Shift, Depth: l.Depth, Hops: l.Hops, Referrer: l.Referrer,
		Aliases: union(nil, l.Alias), HostSpelling: l.HostSpelling, Fragment: l.Fragment, FoundAt: l.FoundAt,
	})
}

// put stores a record, at the end of its queue if it waits.
func (r *reference) put(k weburl.Key, rec scheduler.Record) scheduler.Place {
	rec.Seq = 0
	if rec.State != scheduler.Timed {
		rec.NextAt = time.Time{}
	}
	if rec.State == scheduler.Waiting {
		r.seq++
		rec.Seq = r.seq
	}
	r.records[k] = rec
	return placeOf(rec)
}

// inState returns the URLs in a state: waiting ones in order of arrival, others by due time.
func (r *reference) inState(s scheduler.State) (list []scheduler.WaitingURL) {
	for k, rec := range r.records {
		if rec.State == s {
			list = append(list, scheduler.WaitingURL{Key: k, Seq: rec.Seq, Record: rec})
		}
	}
	slices.SortFunc(list, func(a, b scheduler.WaitingURL) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), a.Record.NextAt.Compare(b.Record.NextAt))
	})
	return list
}

// Due implements scheduler.Store.
func (r *reference) Due(_ context.Context, now time.Time, refresh scheduler.Source, n int) (places []scheduler.Place, next time.Time, _ error) {
	for i, w := range r.inState(scheduler.Timed) {
		if i == n || w.Record.NextAt.After(now) {
			return places, w.Record.NextAt, nil
		}
		w.Record.State, w.Record.Source = scheduler.Waiting, w.Record.DueSource(refresh)
		places = withPlace(places, r.put(w.Key, w.Record))
	}
	return places, time.Time{}, nil
}

// Forget implements scheduler.Store.
func (r *reference) Forget(_ context.Context, k weburl.Key, o *scheduler.Order) error {
	old, known := r.records[k]
	if !known {
		return scheduler.ErrNotFound
	}
	r.send(k, old, old.LossPending, false, o)
	r.forget(k)
	return nil
}

// SetValue implements scheduler.Store.
func (r *reference) SetValue(_ context.Context, name scheduler.ValueName, value []byte) error {
	r.setValue(name, value)
	return nil
}

func (r *reference) setValue(name scheduler.ValueName, value []byte) {
	if value == nil {
		delete(r.values, name)
		return
	}
	r.values[name] = value
}
