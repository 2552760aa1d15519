package storetest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// contents.mu guards all of a Memory; each method takes it for its whole time. settling is held
// while a completion is applied and settled, so that the order of both is the same.

// Memory is a simple Store in memory: the reference that others are compared with, and the store of the frontier's own
// tests. It is safe for concurrent use. It needs no Floor, Old or AsOf and does not look at them. Close and Reopen
// stand for the end and the start of a process.
type Memory struct {
	d      *contents
	closed bool // guarded by d.mu
	clean  bool
}

// contents is what outlives a Memory.
type contents struct {
	settling sync.Mutex
	mu       sync.Mutex
	opened   *Memory
	clean    bool
	seq      uint64
	orders   uint64 // highest number of a deletion
	records  map[weburl.Key]scheduler.Record
	queues   map[scheduler.Place][]waiting
	hosts    map[weburl.HostKey]scheduler.HostState
	outbox   map[weburl.Key]scheduler.Order // that wait
	deleted  map[weburl.Key]deletion        // pending losses
	values   map[scheduler.ValueName][]byte
}

type waiting struct {
	seq uint64
	key weburl.Key
}

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return open(&contents{
		clean:   true,
		records: map[weburl.Key]scheduler.Record{},
		queues:  map[scheduler.Place][]waiting{},
		hosts:   map[weburl.HostKey]scheduler.HostState{},
		outbox:  map[weburl.Key]scheduler.Order{},
		deleted: map[weburl.Key]deletion{},
		values:  map[scheduler.ValueName][]byte{},
	})
}

func open(d *contents) *Memory {
	m := &Memory{d: d, clean: d.clean}
	d.opened, d.clean = m, false
	return m
}

// Reopen returns a new Store on what m holds, as a new process would; without a
// Close before, ClosedCleanly of the new one is false. m is closed by it.
func (m *Memory) Reopen() *Memory {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	m.closed = true
	return open(m.d)
}

// Close ends the use of m; all methods give ErrClosed afterwards.
func (m *Memory) Close() error {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if m.closed {
		return scheduler.ErrClosed
	}
	m.closed, m.d.clean = true, true
	return nil
}

// lock returns the contents, locked, unless the store is closed or ctx has ended.
func (m *Memory) lock(ctx context.Context) (*contents, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.d.mu.Lock()
	if m.closed {
		m.d.mu.Unlock()
		return nil, scheduler.ErrClosed
	}
	return m.d, nil
}

// Add implements scheduler.Store.
func (m *Memory) Add(ctx context.Context, links []scheduler.Link, requeue bool) ([]scheduler.Place, int, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer d.mu.Unlock()
	places, n := newPlaceSet(), 0
	for _, l := range links {
		if d.addLink(l, requeue, places) {
			n++
		}
		if err := d.item(l, places); err != nil {
			return nil, 0, err
		}
	}
	return places.list, n, nil
}

func (d *contents) addLink(l scheduler.Link, requeue bool, places *placeSet) bool {
	r, known := d.records[l.URL.Key()]
	switch {
	case !known:
		if p := d.add(l); l.Kind != scheduler.KindItem {
			places.add(p)
		}
	case !requeue || r.State == scheduler.Waiting && r.Source != scheduler.Refresh:
		return false
	default:
		d.unqueue(l.URL.Key(), r)
		r.State, r.Source, r.Fifo, r.Root = scheduler.Waiting, l.Fifo, l.Fifo, r.Root || l.Root
		r.HostSpelling, r.Fragment = l.HostSpelling, l.Fragment
		places.add(d.put(l.URL.Key(), r))
	}
	return true
}

// item stores the document that a link brings.
func (d *contents) item(l scheduler.Link, places *placeSet) error {
	if l.Item == nil {
		return nil
	}
	k := l.URL.Key()
	old := d.records[k]
	rec := clone(old)
	if v := scheduler.ReviseItem(&rec, &l); v != nil {
		return d.apply(k, old, v, places)
	}
	return nil
}

// Complete implements scheduler.Store. It settles before it returns.
func (m *Memory) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	m.d.settling.Lock()
	defer m.d.settling.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	places, err := m.complete(ctx, c)
	if errors.Is(err, scheduler.ErrClosed) {
		return err
	}
	settled(scheduler.Completed{Places: places, Err: err})
	return nil
}

func (m *Memory) complete(ctx context.Context, c scheduler.Completion) ([]scheduler.Place, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	old, known := d.records[c.Key]
	if !known || old.State != scheduler.Waiting || old.Seq != c.Seq || placeOf(old) != c.Taken {
		return nil, scheduler.ErrNotFound
	}
	if c.Old != nil && (c.Old.Indexed != old.Indexed || c.Old.Hash != old.Hash) {
		return nil, scheduler.ErrChanged
	}
	if err := checkOrder(c.Order, c.Forget); err != nil {
		return nil, err
	}
	places := newPlaceSet()
	has := d.send(c.Key, old, old.LossPending, c.CancelDeletion, c.Order)
	d.unqueue(c.Key, old)
	if c.Forget {
		d.forget(c.Key)
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
		if p := d.put(c.Key, next); next.State == scheduler.Waiting {
			places.add(p)
		}
	}
	for _, l := range c.Links {
		if l.Known == (weburl.Key{}) {
			d.link(l, c.Levels, places)
		}
	}
	d.note(c.Notes)
	if c.Host != nil {
		d.hosts[c.Taken.Host] = *c.Host
	}
	return places.list, nil
}

func (d *contents) note(notes []scheduler.Note) {
	for _, n := range notes {
		d.setValue(n.Name, n.Value)
	}
}

func (d *contents) setValue(name scheduler.ValueName, value []byte) {
	if value == nil {
		delete(d.values, name)
		return
	}
	d.values[name] = append([]byte{}, value...)
}

// forget removes a URL that stands in no queue, and its deletion.
func (d *contents) forget(k weburl.Key) {
	delete(d.records, k)
	delete(d.deleted, k)
}

// link stores what a page says of another URL.
func (d *contents) link(l scheduler.Link, levels uint16, places *placeSet) {
	k := l.URL.Key()
	r, known := d.records[k]
	if !known {
		places.add(d.add(l))
		return
	}
	r.Aliases = union(r.Aliases, l.Alias)
	if again := levels > 0 && r.Nearer(l.Depth, levels); again || r.Gone {
		r.Gone, r.Settled = false, r.Settled && !r.Gone
		r.HostSpelling, r.Fragment = l.HostSpelling, l.Fragment
		if r.State != scheduler.Waiting || r.Source == scheduler.Refresh {
			d.unqueue(k, r)
			r.State, r.Source, r.Fifo = scheduler.Waiting, l.Fifo, l.Fifo
			places.add(d.put(k, r))
			return
		}
	}
	d.records[k] = r
}

// add makes a new URL known.
func (d *contents) add(l scheduler.Link) scheduler.Place {
	h := l.URL.HostKey()
	if _, seen := d.hosts[h]; !seen {
		d.hosts[h] = scheduler.HostState{}
	}
	state := scheduler.Waiting
	if l.Kind == scheduler.KindItem {
		state = scheduler.AtRest
	}
	return d.put(l.URL.Key(), scheduler.Record{
		URL: l.URL.String(), Host: h, Origin: l.URL.Origin(),
		State: state, Kind: l.Kind, Source: l.Fifo, Fifo: l.Fifo,
		Root: l.Root, Shift: l.Shift, Depth: l.Depth, Hops: l.Hops, Referrer: l.Referrer,
		Aliases: union(nil, l.Alias), HostSpelling: l.HostSpelling, Fragment: l.Fragment, FoundAt: l.FoundAt,
	})
}

// put stores a record that stands in no queue and queues it if it waits.
func (d *contents) put(k weburl.Key, r scheduler.Record) scheduler.Place {
	p := placeOf(r)
	r.Seq = 0
	if r.State != scheduler.Timed {
		r.NextAt = time.Time{}
	}
	if r.State == scheduler.Waiting {
		d.seq++
		r.Seq = d.seq
		d.queues[p] = append(d.queues[p], waiting{r.Seq, k})
	}
	d.records[k] = r
	return p
}

// unqueue takes a record out of its queue if it stands in one.
func (d *contents) unqueue(k weburl.Key, r scheduler.Record) {
	if r.State != scheduler.Waiting {
		return
	}
	p := placeOf(r)
	q := d.queues[p]
	i := search(q, r.Seq)
	switch {
	case len(q) == 1:
		delete(d.queues, p)
	case i == 0:
		d.queues[p] = q[1:]
	default:
		d.queues[p] = slices.Delete(q, i, i+1)
	}
}

// Queue implements scheduler.Store.
func (m *Memory) Queue(ctx context.Context, p scheduler.Place, after uint64, n int) ([]scheduler.WaitingURL, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	q := d.queues[p]
	q = q[search(q, after+1):]
	var urls []scheduler.WaitingURL
	for _, w := range q[:min(n, len(q))] {
		urls = append(urls, scheduler.WaitingURL{Key: w.key, Seq: w.seq, Record: clone(d.records[w.key])})
	}
	return urls, nil
}

// Due implements scheduler.Store.
func (m *Memory) Due(ctx context.Context, now time.Time, refresh scheduler.Source, n int) ([]scheduler.Place, time.Time, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer d.mu.Unlock()
	var timed []weburl.Key
	for k, r := range d.records {
		if r.State == scheduler.Timed {
			timed = append(timed, k)
		}
	}
	slices.SortFunc(timed, func(a, b weburl.Key) int {
		return cmp.Or(d.records[a].NextAt.Compare(d.records[b].NextAt), slices.Compare(a[:], b[:]))
	})
	places := newPlaceSet()
	for i, k := range timed {
		r := d.records[k]
		if i == n || r.NextAt.After(now) {
			return places.list, r.NextAt, nil
		}
		r.State, r.Source = scheduler.Waiting, r.DueSource(refresh)
		places.add(d.put(k, r))
	}
	return places.list, time.Time{}, nil
}

// Places implements scheduler.Store.
func (m *Memory) Places(ctx context.Context, fn func(scheduler.Place, uint64) error) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	places := map[scheduler.Place]int{}
	for p, q := range d.queues {
		places[p] = len(q)
	}
	d.mu.Unlock()
	for p, n := range places {
		if err := fn(p, uint64(n)); err != nil {
			return err
		}
	}
	return nil
}

// Waits implements scheduler.Store.
func (m *Memory) Waits(ctx context.Context, p scheduler.Place) (uint64, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer d.mu.Unlock()
	return uint64(len(d.queues[p])), nil
}

// Host implements scheduler.Store.
func (m *Memory) Host(ctx context.Context, h weburl.HostKey) (scheduler.HostState, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return scheduler.HostState{}, err
	}
	defer d.mu.Unlock()
	return d.hosts[h], nil
}

// Lookup implements scheduler.Store.
func (m *Memory) Lookup(ctx context.Context, k weburl.Key) (scheduler.Record, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return scheduler.Record{}, err
	}
	defer d.mu.Unlock()
	r, ok := d.records[k]
	if !ok {
		return scheduler.Record{}, scheduler.ErrNotFound
	}
	return clone(r), nil
}

// Remembers implements scheduler.Store.
func (m *Memory) Remembers(k weburl.Key) bool {
	r, err := m.Lookup(context.Background(), k)
	return err == nil && !r.Gone
}

// Forget implements scheduler.Store.
func (m *Memory) Forget(ctx context.Context, k weburl.Key, o *scheduler.Order) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	r, ok := d.records[k]
	if !ok {
		return scheduler.ErrNotFound
	}
	if err := checkOrder(o, true); err != nil {
		return err
	}
	d.send(k, r, r.LossPending, false, o)
	d.unqueue(k, r)
	d.forget(k)
	return nil
}

// Inspect implements scheduler.Store.
func (m *Memory) Inspect(ctx context.Context, f scheduler.Filter, fn func(weburl.Key, scheduler.Record) error) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	selected := map[weburl.Key]scheduler.Record{}
	for k, r := range d.records {
		if selects(f, r) && slices.Compare(k[:], f.From[:]) >= 0 {
			selected[k] = clone(r)
		}
	}
	d.mu.Unlock()
	byKey := func(a, b weburl.Key) int { return slices.Compare(a[:], b[:]) }
	for _, k := range slices.SortedFunc(maps.Keys(selected), byKey) {
		if err := fn(k, selected[k]); err != nil {
			return err
		}
	}
	return nil
}

// Counts implements scheduler.Store. It counts again each time: what it gives is
// what other stores' kept counters must equal.
func (m *Memory) Counts(ctx context.Context) (scheduler.Counts, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return scheduler.Counts{}, err
	}
	defer d.mu.Unlock()
	c := scheduler.Counts{ByClass: map[scheduler.Class]uint64{}, Hosts: uint64(len(d.hosts))}
	for _, r := range d.records {
		tally(&c, r)
	}
	c.Outbox.Waiting = uint64(len(d.outbox))
	c.Outbox.Pending = uint64(len(d.deleted))
	documents := map[weburl.HostKey]uint64{}
	for _, r := range d.records {
		if r.Indexed {
			documents[r.Host]++
		}
	}
	c.Pooled = pooled(documents)
	return c, nil
}

// Value implements scheduler.Store.
func (m *Memory) Value(ctx context.Context, name scheduler.ValueName) ([]byte, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	return slices.Clone(d.values[name]), nil
}

// SetValue implements scheduler.Store.
func (m *Memory) SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	d.setValue(name, value)
	return nil
}

// ClosedCleanly implements scheduler.Store.
func (m *Memory) ClosedCleanly() bool { return m.clean }
