package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
	"github.com/sextant-crawler/sextant/weburl"
)

// group and batch belong to the committer's goroutine. A batch belongs to the writer from the moment it is sent until
// its done is closed. The writer starts no goroutine; Store.background removes files of segments.

// batch is a transaction: the changes of some writes, and the writes that wait for it.
type batch struct {
	edits
	no       uint64          // its commit number
	counters record.Counters // after it
	orders   bool            // it has new waiting orders
	// bodies are written before the commit; those from bodyMark on belong to the step.
	bodies    []segments.Body
	bodyMark  int
	bodyBytes int64
	// chunks holds the first number of the newest chunk of each queue that the batch adds to.
	chunks map[scheduler.Place]uint64
	acks   []*write // acknowledged when the batch is durable
	done   chan struct{}
	err    error // valid after done
}

// group is the committer's state: the batch in the making, and the one before it that the writer has. The changes of a
// write are a step of the batch. A write that fails is undone, and a full batch is passed on without the step.
type group struct {
	s *Store
	// snap is the stored state without the batch in flight; nil: not opened.
	snap   kv.View
	limits kv.Limits

	batch    *batch // in the making
	inFlight *batch // passed to the writer and not settled; nil: none
	spare    *batch

	sent, stepCount, nextCount record.Counters // after the batch in flight, after the batch, after the step
	stepOrders                 bool            // the step has new waiting orders

	gathering gathering
	seenHosts generations[weburl.HostKey, struct{}] // stored ones
	places    generations[scheduler.Place, record.Queue]
	docs      generations[weburl.HostKey, record.Documents]
	scratch   []byte      // for encoding
	outlinks  outlinks    // of the page that is being completed
	done      record.Done // for dequeue
}

func newGroup(s *Store) *group {
	c, limits := *s.committed.Load(), s.kv.Limits()
	g := &group{
		s: s, limits: limits, batch: newBatch(limits.Long), spare: newBatch(limits.Long),
		sent: c, stepCount: c, nextCount: c,
		gathering: gathering{window: limits.Gather},
		docs:      generations[weburl.HostKey, record.Documents]{size: docsGeneration},
	}
	g.batch.no = s.commits.Load() + 1
	return g
}

func newBatch(long int64) *batch {
	return &batch{edits: newEdits(long)}
}

// changed returns a value that the write, earlier writes of the batch, or the batch in flight changed.
func (g *group) changed(key []byte) (value []byte, ok bool) {
	if value, ok = g.batch.find(key); ok || g.inFlight == nil {
		return value, ok
	}
	return g.inFlight.find(key)
}

// stored returns a snapshot of the committed state, without the batch in flight.
func (g *group) stored() kv.View {
	if g.snap == nil { // then no batch is in flight, or View would wait for it
		g.snap = g.s.kv.View()
	}
	return g.snap
}

// get returns a value as seen by this write, nil if there is none. It must not be changed and is valid during this
// write.
func (g *group) get(key []byte) ([]byte, error) {
	if v, ok := g.changed(key); ok {
		return v, nil
	}
	v, err := g.stored().Get(bytes.Clone(key))
	if err != nil {
		return nil, g.s.damaged(fmt.Sprintf("key %x", key), err)
	}
	return v, nil
}

func (g *group) set(key, value []byte) { g.batch.set(key, value) }
func (g *group) remove(key []byte)     { g.batch.set(key, nil) }

// setRecord stores a URL's record. The Linked record of the page that is being completed gets that page's links; others
// keep the stored ones.
func (g *group) setRecord(k weburl.Key, rec *scheduler.Record) error {
	var links scheduler.LinkPrints
	if rec.Linked {
		var err error
		if links, err = g.linksOf(k); err != nil {
			return err
		}
	}
	g.scratch = record.Append(g.scratch[:0], rec, links)
	if len(g.scratch) >= byReference {
		g.set(record.URLKey(k), bytes.Clone(g.scratch))
		return nil
	}
	g.set(record.URLKey(k), g.scratch)
	return nil
}

func (g *group) linksOf(k weburl.Key) (scheduler.LinkPrints, error) {
	if g.outlinks.isNew && g.outlinks.of == k {
		return g.outlinks.links, nil
	}
	v, err := g.get(record.URLKey(k))
	if err != nil || v == nil {
		return nil, err
	}
	links, err := record.Links(v)
	if err != nil {
		return nil, g.s.damaged("URL "+k.String(), err)
	}
	return links, nil
}

// take applies a write to the batch. It acknowledges a failed write at once.
func (g *group) take(w *write) {
	err := w.ctx.Err()
	if err == nil {
		err = g.s.failed
	}
	if err == nil && w.alone {
		err = g.barrier()
	}
	before, mark := g.batch.no, g.batch.mark
	if err == nil {
		err = w.apply(g)
	}
	if err == nil {
		err = g.endStep()
	}
	if err != nil {
		g.dropStep()
		if g.batch.no != before || g.batch.mark != mark {
			_ = g.barrier() // the caller that gets the error finds the sealed part stored
		}
		g.s.answer(w, err)
		return
	}
	g.batch.acks = append(g.batch.acks, w)
	g.gathering.added(w)
	if w.alone {
		_ = g.barrier() // its caller gets the error
	}
}

// barrier commits everything so far.
func (g *group) barrier() error {
	if err := g.commit(); err != nil {
		return err
	}
	return g.settle()
}

// seal allows a large write to be committed up to here. The sealed part must be valid even if the rest is never stored.
func (g *group) seal() error {
	b := g.batch
	if b.size < g.limits.Bytes/4 && b.count < g.limits.Keys/4 && b.bytes+b.bodyBytes < groupBytes/4 {
		return nil
	}
	return g.endStep()
}

// endStep adds the step to the batch, or to the next one if this one is full.
func (g *group) endStep() error {
	b := g.batch
	if b.size >= g.limits.Bytes || b.count >= g.limits.Keys || b.bytes+b.bodyBytes > groupBytes {
		if b.mark > 0 {
			step, bodies := slices.Clone(b.takeBack()), b.takeBackBodies()
			if err := g.commit(); err != nil {
				return err
			}
			b = g.batch // the arena of the other one is in use until it is settled
			for i := range step {
				b.set(step[i].key, step[i].value)
				if step[i].key[0] == record.KindURL { // it was recorded for the batch before
					g.touch(weburl.Key(step[i].key[1:]))
				}
			}
			b.addBodies(bodies) // their places follow those of the batch before
		}
	}
	b.keepStep()
	b.bodyMark = len(b.bodies)
	b.orders = b.orders || g.stepOrders
	g.stepOrders = false
	g.stepCount = g.nextCount
	return nil
}

// dropStep undoes the changes of a failed write.
func (g *group) dropStep() {
	g.batch.takeBack()
	g.batch.takeBackBodies()
	g.nextCount, g.stepOrders = g.stepCount, false
}

// commit passes the batch, without the step, to the writer once that has finished the one before, and begins another.
func (g *group) commit() error {
	b := g.batch
	if len(b.list) == 0 && len(b.acks) == 0 {
		return nil
	}
	g.gathering.ended(len(b.acks))
	err := g.settle()
	if err == nil && len(b.list) > 0 {
		g.s.reach(atGathered)
		err = g.s.kv.Room()
	}
	switch {
	case err != nil:
		g.fail(err)
		return err
	case len(b.list) == 0:
		g.s.acknowledgeAll(b, nil)
		b.reset()
		return nil
	}
	b.set(record.CountersKey(), g.stepCount.Encode())
	b.keepStep()
	b.counters, g.sent = g.stepCount, g.stepCount
	b.done = make(chan struct{})
	g.closeSnapshot()
	g.snap = g.s.kv.View() // later it would wait for the batch
	g.inFlight, g.batch, g.spare = b, g.spare, nil
	g.batch.no = b.no + 1
	g.s.batches <- b
	return nil
}

// fail acknowledges the batch's writes with an error; nothing of the batch is stored.
func (g *group) fail(err error) {
	g.s.acknowledgeAll(g.batch, err)
	g.batch.reset()
	g.stepCount, g.nextCount, g.stepOrders = g.sent, g.sent, false
	g.s.dueFloor = 0
}

// settle waits for the writer to finish the batch in flight, then updates memory from it.
func (g *group) settle() error {
	b := g.inFlight
	if b == nil {
		return g.s.failed
	}
	<-b.done
	g.inFlight = nil
	g.closeSnapshot()
	if b.err != nil {
		g.s.failed = b.err
	} else {
		g.learn(b)
	}
	b.reset()
	g.spare = b
	return g.s.failed
}

// learn updates memory from a durable batch.
func (g *group) learn(b *batch) {
	gone := false
	for key, value := range b.all() {
		switch key[0] {
		case record.KindURL:
			g.s.known.apply(weburl.Key(key[1:]), knowledgeOf(value) == isKnown)
		case record.KindPlace:
			if q, err := record.DecodeQueue(value); err == nil {
				q.Done = bytes.Clone(q.Done)
				g.places.put(record.SplitPlaceKey(key), q)
			}
		case record.KindDocs:
			g.learnDocuments(key, value)
		case record.KindOrigin:
			g.seenHosts.put(weburl.HostKey(key[1:]), struct{}{})
		case record.KindSegment:
			n, _ := record.DecodeSeq(key[1:])
			gone = g.s.segments.Learn(n, value) || gone
		}
	}
	if gone {
		g.s.background.Go(g.s.segments.Sweep)
	}
	g.s.known.mark = b.counters.Removals
	if g.s.ended(context.Background()) == nil { // saveLast writes the file, and the next process finds the rest due
		g.s.compactWhenDue()
		g.s.saveWhenDue()
	}
}

func (g *group) closeSnapshot() {
	if g.snap != nil {
		g.snap.Close()
		g.snap = nil
	}
}

// settled returns a channel that is ready when the writer has finished the batch in flight, or nil without one.
func (g *group) settled() <-chan struct{} {
	if g.inFlight == nil {
		return nil
	}
	return g.inFlight.done
}

func (b *batch) addBodies(bodies []segments.Body) {
	for _, n := range bodies {
		b.bodies = append(b.bodies, n)
		b.bodyBytes += int64(len(n.Bytes))
	}
}

// takeBackBodies removes those of the step, and returns them.
func (b *batch) takeBackBodies() []segments.Body {
	step := slices.Clone(b.bodies[b.bodyMark:])
	for _, n := range step {
		b.bodyBytes -= int64(len(n.Bytes))
	}
	clear(b.bodies[b.bodyMark:])
	b.bodies = b.bodies[:b.bodyMark]
	return step
}

func (b *batch) reset() {
	clear(b.bodies)
	b.bodies, b.bodyMark, b.bodyBytes = b.bodies[:0], 0, 0
	clear(b.acks)
	b.acks = b.acks[:0]
	b.clear()
	b.chunks = nil
	b.orders, b.err = false, nil
}
