package badgerstore

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// write is a change that waits for the committer.
type write struct {
	ctx   context.Context
	apply func(*group) error
	// links are looked up together with those of the rest of the group.
	links []weburl.Key
	// alone is set where apply walks over keys: it must find everything before it
	// in the database.
	alone bool
	done  chan error
}

// do hands a change to the committer and waits until it is durable.
func (s *Store) do(ctx context.Context, w *write) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if s.readOnly {
		return s.words(errReadOnly)
	}
	w.ctx, w.done = ctx, make(chan error, 1)
	select {
	case s.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// change is do for most changes.
func (s *Store) change(ctx context.Context, apply func(*group) error) error {
	return s.do(ctx, &write{apply: apply})
}

// changeAlone is do for changes that walk.
func (s *Store) changeAlone(ctx context.Context, apply func(*group) error) error {
	return s.do(ctx, &write{apply: apply, alone: true})
}

// commitWrites is the committer.
func (s *Store) commitWrites() {
	for {
		select {
		case w := <-s.writes:
			s.commitGroup(s.gather(w))
		case <-s.collect:
			s.collectGarbage()
		case <-s.stop:
			return // only writes whose callers gave up are left
		}
	}
}

// gather takes what waits besides the first write.
func (s *Store) gather(first *write) []*write {
	runtime.Gosched() // those just answered may come again
	ws := []*write{first}
	for len(ws) < groupWrites {
		select {
		case w := <-s.writes:
			ws = append(ws, w)
		default:
			return ws
		}
	}
	return ws
}

func (s *Store) commitGroup(ws []*write) {
	g := newGroup(s)
	defer g.end()
	if err := g.lookAhead(ws); err != nil {
		for _, w := range ws {
			w.done <- err
		}
		return
	}
	for _, w := range ws {
		if err := g.run(w); err != nil {
			g.dropStep()
			w.done <- err
			continue
		}
		g.acks = append(g.acks, w)
		if w.alone {
			_ = g.commit() // its writes get the error
		}
	}
	_ = g.commit()
}

// group is the transaction in the making. What a write changes is gathered in
// step and joins the group when the write is done, so that a write that fails
// leaves nothing behind, and when the group has no room left it is committed
// without it first.
type group struct {
	s    *Store
	snap *badger.Txn // what is committed
	// maxSize and maxCount are Badger's limits of a transaction.
	maxSize, maxCount int64

	writes, step         edits
	stepCount, nextCount counters             // after writes, after step
	depths               map[weburl.Key]int32 // of links looked up ahead; unknown: -1
	acks                 []*write             // answered by the next commit
}

// edits are new values by key; nil: the key is removed.
type edits struct {
	values map[string][]byte
	long   int64 // Store.long
	size   int64 // as Badger counts it
	bytes  int64 // of values
	orders bool  // there are new waiting orders
}

func (e *edits) set(key, value []byte) {
	e.values[string(key)] = value
	e.size += int64(len(key)) + 12
	if int64(len(value)) < e.long {
		e.size += int64(len(value))
	} else {
		e.size += 12
	}
	e.bytes += int64(len(value))
}

func (e *edits) clear() {
	clear(e.values)
	e.size, e.bytes, e.orders = 0, 0, false
}

func newGroup(s *Store) *group {
	c := *s.committed.Load()
	return &group{
		s: s, snap: s.db.NewTransaction(false),
		maxSize: s.db.MaxBatchSize() * 9 / 10, maxCount: s.db.MaxBatchCount() * 9 / 10,
		writes: edits{values: map[string][]byte{}, long: s.long}, step: edits{values: map[string][]byte{}, long: s.long},
		stepCount: c, nextCount: c,
	}
}

func (g *group) end() { g.snap.Discard() }

// lookAhead reads the depths of all linked URLs of the group once, in order of
// their keys.
func (g *group) lookAhead(ws []*write) error {
	const most = 1 << 14 // a sitemap's others are read one by one
	var keys []weburl.Key
	for _, w := range ws {
		keys = append(keys, w.links[:min(len(w.links), most-len(keys))]...)
	}
	slices.SortFunc(keys, func(a, b weburl.Key) int { return slices.Compare(a[:], b[:]) })
	keys = slices.Compact(keys)
	g.depths = make(map[weburl.Key]int32, len(keys))
	for _, k := range keys {
		d, known, err := g.storedDepth(k)
		if err != nil {
			return err
		}
		if !known {
			g.depths[k] = -1
			continue
		}
		g.depths[k] = int32(d)
	}
	return nil
}

func (g *group) run(w *write) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if g.s.failed != nil {
		return g.s.failed
	}
	if w.alone {
		_ = g.commit() // of the others, which get the error
	}
	if err := w.apply(g); err != nil {
		return err
	}
	return g.endStep()
}

// get reads a value as this write must see it, nil if there is none. It is not to
// be changed.
func (g *group) get(key []byte) ([]byte, error) {
	if v, ok := g.step.values[string(key)]; ok {
		return v, nil
	}
	if v, ok := g.writes.values[string(key)]; ok {
		return v, nil
	}
	v, err := read(g.snap, key)
	if err != nil {
		return nil, g.s.damaged(fmt.Sprintf("key %x", key), err)
	}
	return v, nil
}

func (g *group) set(key, value []byte) { g.step.set(key, value) }
func (g *group) remove(key []byte)     { g.step.set(key, nil) }

// seal lets a large write be committed up to here. What is sealed must be right
// even if the rest never happens.
func (g *group) seal() error {
	if g.step.size < g.maxSize/4 && int64(len(g.step.values)) < g.maxCount/4 && g.step.bytes < groupBytes/4 {
		return nil
	}
	return g.endStep()
}

// endStep lets the step join the group.
func (g *group) endStep() error {
	full := g.writes.size+g.step.size >= g.maxSize ||
		int64(len(g.writes.values)+len(g.step.values)) >= g.maxCount ||
		g.writes.bytes+g.step.bytes > groupBytes
	if full {
		if err := g.commit(); err != nil {
			return err
		}
	}
	maps.Copy(g.writes.values, g.step.values)
	g.writes.size += g.step.size
	g.writes.bytes += g.step.bytes
	g.writes.orders = g.writes.orders || g.step.orders
	g.stepCount = g.nextCount
	g.step.clear()
	return nil
}

// dropStep takes back what a failed write changed.
func (g *group) dropStep() {
	if len(g.step.values) > 0 {
		clear(g.s.seenHosts)
	}
	g.nextCount = g.stepCount
	g.step.clear()
}

// commit writes the group, not the step, answers its writes and begins anew.
func (g *group) commit() error {
	err := g.store()
	if err != nil {
		g.stepCount = *g.s.committed.Load()
		g.nextCount = g.stepCount
		clear(g.s.seenHosts)
		g.s.dueFloor = 0
	} else if len(g.writes.values) > 0 {
		c := g.stepCount
		g.s.committed.Store(&c)
		g.s.signal(g.writes.orders)
	}
	// Last, so that who is answered finds its write in the counters, too.
	for _, w := range g.acks {
		w.done <- err
	}
	if err == nil && len(g.acks) > 0 {
		g.s.reach(atAnswered)
	}
	g.acks = g.acks[:0]
	g.writes.clear()
	g.depths = nil
	g.snap.Discard()
	g.snap = g.s.db.NewTransaction(false)
	return err
}

func (g *group) store() error {
	if len(g.writes.values) == 0 {
		return nil
	}
	g.s.reach(atGathered)
	if err := g.s.room(); err != nil {
		return err
	}
	txn := g.s.db.NewTransaction(true)
	defer txn.Discard()
	err := txn.Set(countersKey(), g.stepCount.encode())
	for k, v := range g.writes.values {
		if err != nil {
			break
		}
		if v == nil {
			err = txn.Delete([]byte(k))
		} else {
			err = txn.Set([]byte(k), v)
		}
	}
	if err == nil {
		g.s.reach(atBeforeCommit)
		err = txn.Commit()
	}
	if err != nil {
		g.s.failed = fmt.Errorf("store %s: a write failed, open the store again: %w", g.s.dir, err)
		return g.s.failed
	}
	g.s.reach(atCommitted)
	return nil
}

// signal tells the relay of new orders and the collector of much garbage.
func (s *Store) signal(orders bool) {
	if orders {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
	if s.garbage.Load() >= collectAfter {
		s.wakeCollector()
	}
}

// places gathers distinct places in order.
type places struct {
	seen map[scheduler.Place]struct{}
	list []scheduler.Place
}

func (p *places) add(pl scheduler.Place) {
	if p.seen == nil {
		p.seen = map[scheduler.Place]struct{}{}
	}
	if _, ok := p.seen[pl]; !ok {
		p.seen[pl] = struct{}{}
		p.list = append(p.list, pl)
	}
}
