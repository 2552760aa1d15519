package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
	"github.com/sextant-crawler/sextant/weburl"
)

// keepBody stores an order's body: a document's in a segment, a deletion's, which is short, in the value. b must not be
// changed until the batch is written.
func (g *group) keepBody(o *record.Order, b []byte) error {
	if o.Op == push.Delete || len(b) == 0 {
		o.Body = b
		return nil
	}
	if c := &g.nextCount; c.Segment == 0 || g.s.segments.Full(c.SegmentEnd) {
		if err := g.nextSegment(); err != nil {
			return err
		}
	}
	c := &g.nextCount
	o.Place = record.BodyPlace{Segment: c.Segment, Offset: c.SegmentEnd, Length: uint64(len(b)), Sum: segments.Sum(b)}
	c.SegmentEnd += uint64(len(b))
	g.batch.bodies = append(g.batch.bodies, segments.Body{Place: o.Place, Bytes: b})
	g.batch.bodyBytes += int64(len(b))
	return nil
}

// nextSegment ends the current segment.
func (g *group) nextSegment() error {
	c := &g.nextCount
	if c.Segment != 0 {
		st, err := g.segmentState(c.Segment)
		if err != nil {
			return err
		}
		if st.Entries == 0 {
			g.remove(record.SegmentKey(c.Segment))
		}
	}
	c.Segment, c.SegmentEnd = c.Segment+1, 0
	return nil
}

// segmentState returns a segment's state as seen by this write.
func (g *group) segmentState(n uint64) (record.Segment, error) {
	v, err := g.get(record.SegmentKey(n))
	if err != nil {
		return record.Segment{}, err
	}
	st, err := record.DecodeSegment(v)
	if err != nil {
		return st, g.s.damaged(fmt.Sprintf("segment %d", n), err)
	}
	return st, nil
}

// refer counts an order or dead letter whose body is in a segment.
func (g *group) refer(segment, length uint64) error {
	if segment == 0 {
		return nil
	}
	st, err := g.segmentState(segment)
	if err != nil {
		return err
	}
	st.Entries++
	st.Live += length
	if segment == g.nextCount.Segment {
		st.Size = g.nextCount.SegmentEnd
	}
	g.setSegmentState(segment, st)
	return nil
}

// release counts one that is removed. If its body is to be referred to again, call refer first: a segment without
// entries is dropped, unless it is the current one.
func (g *group) release(segment, length uint64) error {
	if segment == 0 {
		return nil
	}
	st, err := g.segmentState(segment)
	if err != nil {
		return err
	}
	if st.Entries == 0 || st.Live < length {
		return g.s.damaged(fmt.Sprintf("segment %d", segment), fmt.Errorf("%d bytes of it are released, and %d bytes in %d orders are in use", length, st.Live, st.Entries))
	}
	st.Entries--
	st.Live -= length
	if st.Entries == 0 && segment != g.nextCount.Segment {
		g.remove(record.SegmentKey(segment))
		return nil
	}
	g.setSegmentState(segment, st)
	return nil
}

func (g *group) setSegmentState(n uint64, st record.Segment) {
	g.scratch = st.Append(g.scratch[:0])
	g.set(record.SegmentKey(n), g.scratch)
}

// viewBodies is view, with a reader of bodies.
func (s *Store) viewBodies(ctx context.Context, fn func(kv.View, *segments.Reader) error) error {
	r := s.segments.Reader()
	defer r.Close()
	return s.view(ctx, func(view kv.View) error { return fn(view, r) })
}

// OnWork sets a function that is called with places that receive work without a caller's request: URLs whose documents
// are lost. It must not wait for a change of the store. Set it before the outbox is used.
func (s *Store) OnWork(fn func([]scheduler.Place)) { s.onWork = fn }

// changeLost is changeAlone, or change, for changes that may queue lost documents. After an error some of it may be
// stored; announcing a place without work is harmless.
func (s *Store) changeLost(ctx context.Context, alone bool, apply func(*group, *places) error) error {
	var ps places
	err := s.do(ctx, &write{apply: func(g *group) error { return apply(g, &ps) }, alone: alone})
	if fn := s.onWork; fn != nil && ctx.Err() == nil && len(ps.list) > 0 {
		fn(ps.list)
	}
	return err
}

// fetchAgain queues a URL whose order is lost, to push its document even if it is unchanged, as soon as its host allows
// and before new URLs. A lease of it in flight requested only changes, and no longer counts.
func (g *group) fetchAgain(k weburl.Key, ps *places) error {
	rec, err := g.record(k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	lost := rec.Indexed && !rec.LossPending
	if err := g.first(k, &rec, lost, ps); err != nil || rec.Kind != scheduler.KindItem {
		return err
	}
	return g.readAgain(k, &rec, ps)
}

// first queues a URL before new ones, without validators; an item stays where it is.
func (g *group) first(k weburl.Key, rec *scheduler.Record, lost bool, ps *places) error {
	if err := g.unplace(k, rec); err != nil {
		return err
	}
	rec.ETag, rec.LastModified, rec.Date, rec.Hash = "", "", "", [16]byte{}
	if lost {
		rec.Reason, rec.LastError = scheduler.ReasonBodyLost, ""
	}
	if rec.Kind != scheduler.KindItem {
		rec.State, rec.Source = scheduler.Waiting, scheduler.User
	}
	return g.place(k, rec, ps)
}

// readAgain queues the feed or XML file that contains an item's document. The response at the item's own URL is another
// document; it is fetched only if the feed is unknown.
func (g *group) readAgain(k weburl.Key, rec *scheduler.Record, ps *places) error {
	feed, err := weburl.Parse(rec.Referrer)
	if err != nil || feed.Key() == k {
		return nil //nolint:nilerr // an item without a list stays unchanged
	}
	of, err := g.record(feed.Key())
	if errors.Is(err, scheduler.ErrNotFound) {
		rec.Kind = scheduler.KindPage
		return g.first(k, rec, rec.BodyLost(), ps)
	}
	if err != nil || of.Kind == scheduler.KindItem {
		return err
	}
	return g.first(feed.Key(), &of, false, ps)
}

// openSegments reads the states of the segments.
func (s *Store) openSegments(c *record.Counters) error {
	states := map[uint64]record.Segment{}
	view := s.kv.View()
	defer view.Close()
	err := s.walk(context.Background(), view, []byte{record.KindSegment}, []byte{record.KindSegment}, true, func(key, value []byte) error {
		n, st, err := segmentOf(key, value)
		if err != nil {
			return s.damaged(fmt.Sprintf("key %x", key), err)
		}
		states[n] = st
		return nil
	})
	if err != nil {
		return err
	}
	return s.segments.Open(states, c.Segment, c.SegmentEnd, s.readOnly)
}

// segmentOf reads a segment's state.
func segmentOf(key, value []byte) (n uint64, st record.Segment, err error) {
	if len(key) != record.SegmentKeyLen {
		return 0, st, record.ErrLength
	}
	n, err = record.DecodeSeq(key[1:])
	if err == nil {
		st, err = record.DecodeSegment(value)
	}
	return n, st, err
}
