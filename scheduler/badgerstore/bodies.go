package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
	"github.com/sextant-crawler/sextant/weburl"
)

// keepBody gives an order its body: that of a document a place in a segment. Deletions
// are short and may be held for long, so theirs stay in the value. b must not be changed
// until the batch is written.
func (g *group) keepBody(o *record.Order, b []byte) error {
	if o.Op == push.Delete || len(b) == 0 {
		o.Body = b
		return nil
	}
	if c := &g.nextCount; !g.s.segments.Mine(c.Segment) || c.Segment == 0 || g.s.segments.Full(c.SegmentEnd) {
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
	c.Segment, c.SegmentEnd = g.s.segments.Next(c.Segment), 0
	return nil
}

// segmentState reads a segment's state as this write must see it.
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

// refer counts an order or dead letter that names a body in a segment.
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

// release counts one that is gone. What is referred to again in its stead must be so
// before: a segment without entries is gone, unless it is the current one.
func (g *group) release(segment, length uint64) error {
	if segment == 0 {
		return nil
	}
	st, err := g.segmentState(segment)
	if err != nil {
		return err
	}
	if st.Entries == 0 || st.Live < length {
		return g.s.damaged(fmt.Sprintf("segment %d", segment), fmt.Errorf("%d bytes of it are given up, %d bytes in %d orders are needed", length, st.Live, st.Entries))
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
func (s *Store) viewBodies(ctx context.Context, fn func(*badger.Txn, *segments.Reader) error) error {
	r := s.segments.Reader()
	defer r.Close()
	return s.view(ctx, func(txn *badger.Txn) error { return fn(txn, r) })
}

// OnWork has fn told of places that get work otherwise than by what its caller asks for: URLs whose documents are lost.
// fn must not wait for a change of the store. It is set before the outbox is used.
func (s *Store) OnWork(fn func([]scheduler.Place)) { s.onWork = fn }

// changeLost is changeAlone, or change, for what may have lost documents fetched again. After an error some of it may have
// been done: who is told of a place without work finds none.
func (s *Store) changeLost(ctx context.Context, alone bool, apply func(*group, *places) error) error {
	var ps places
	err := s.do(ctx, &write{apply: func(g *group) error { return apply(g, &ps) }, alone: alone})
	if fn := s.onWork; fn != nil && ctx.Err() == nil && len(ps.list) > 0 {
		fn(ps.list)
	}
	return err
}

// fetchAgain has a URL fetched and its document pushed whatever it holds, as soon as its host lets it, and before what is
// new: its order is lost. A lease of it that is in flight has asked for what changed, and counts no longer.
func (g *group) fetchAgain(k weburl.Key, ps *places) error {
	rec, err := g.record(k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	lost := rec.Indexed && rec.Deletion == scheduler.NoDeletion
	if err := g.first(k, &rec, lost, ps); err != nil || rec.Kind != scheduler.KindItem {
		return err
	}
	return g.readAgain(k, &rec, ps)
}

// first has a URL asked for before what is new, whatever was had of it; an item stays where it is.
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

// readAgain has the feed or XML file fetched that an item's document stands in: what the item's own URL
// answers is another document, which is had only if the feed is not known here, as that of another partition is not.
func (g *group) readAgain(k weburl.Key, rec *scheduler.Record, ps *places) error {
	feed, err := weburl.Parse(rec.Referrer)
	if err != nil || feed.Key() == k {
		return nil //nolint:nilerr // an item that nothing names any more stays as it is
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
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	err := s.walk(context.Background(), txn, []byte{record.KindSegment}, []byte{record.KindSegment}, false, func(item *badger.Item) error {
		n, st, err := segmentOf(item)
		if err != nil {
			return s.damaged(fmt.Sprintf("key %x", item.Key()), err)
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
func segmentOf(item *badger.Item) (n uint64, st record.Segment, err error) {
	if len(item.Key()) != record.SegmentKeyLen {
		return 0, st, record.ErrLength
	}
	n, err = record.DecodeSeq(item.Key()[1:])
	if err == nil {
		err = valueOf(item, func(v []byte) error {
			st, err = record.DecodeSegment(v)
			return err
		})
	}
	return n, st, err
}

// Elsewhere has the bodies that other copies of the store wrote.
type Elsewhere interface {
	// Bodies returns the bodies at some places, in their order, nil where nobody has one any more. An error
	// says that this may pass: all of it is asked for again later.
	Bodies(ctx context.Context, places []record.BodyPlace) ([][]byte, error)
}

// awayBody is the body of an entry that another copy has.
type awayBody struct {
	at    int // which entry
	key   weburl.Key
	place record.BodyPlace
}

// liesElsewhere reports whether a body is to be asked of another copy.
func (s *Store) liesElsewhere(segment uint64) bool {
	return segment != 0 && s.lead != nil && s.lead.replica.options.Elsewhere != nil && !s.segments.Mine(segment)
}

// fromElsewhere completes entries by bodies of other copies. While one of them does not answer, the entries
// before the first such body are all that there is. A document whose body is gone is fetched again.
func (s *Store) fromElsewhere(ctx context.Context, entries []push.Entry, away []awayBody) ([]push.Entry, error) {
	asked := make([]record.BodyPlace, len(away))
	for i := range away {
		asked[i] = away[i].place
	}
	bodies, err := s.lead.replica.options.Elsewhere.Bodies(ctx, asked)
	if err == nil && len(bodies) != len(asked) {
		err = fmt.Errorf("%d bodies for %d places", len(bodies), len(asked))
	}
	if err != nil {
		if first := away[0].at; first > 0 {
			return entries[:first], nil
		}
		return nil, fmt.Errorf("%w: %w", push.ErrElsewhere, err)
	}
	var lost []awayBody
	for i, a := range away {
		e := &entries[a.at]
		if b := bodies[i]; uint64(len(b)) == a.place.Length && segments.Sum(b) == a.place.Sum {
			e.Body = b
			continue
		}
		e.Lost, e.Damage = true, segments.ErrDamaged.Error()
		lost = append(lost, a)
	}
	if len(lost) == 0 {
		return entries, nil
	}
	s.log.Warn("documents were on a node that is gone: they are fetched again", "documents", len(lost), "first", entries[lost[0].at].URL)
	return entries, s.changeLost(ctx, true, func(g *group, ps *places) error {
		for _, a := range lost {
			if err := g.lose(a.key, entries[a.at].Seq, ps); err != nil {
				return err
			}
			if err := g.seal(); err != nil {
				return err
			}
		}
		return nil
	})
}

// lose gives the body of a waiting order up and has its URL fetched again. The order keeps its number and what it
// says of other sources, until that of the new document takes its place.
func (g *group) lose(k weburl.Key, seq uint64, ps *places) error {
	p, ok, err := g.orderPlace(k)
	if err != nil || !ok || p.Kind != record.KindOrder || p.Seq != seq || p.Segment == 0 {
		return err // a newer one has taken its place
	}
	v, err := g.get(p.Key(k))
	if err != nil {
		return err
	}
	o, err := record.DecodeOrder(v)
	if err != nil {
		return g.s.damaged(fmt.Sprintf("order %d", seq), err)
	}
	g.countOrder(p, ^uint64(0))
	if err := g.release(p.Segment, p.Size); err != nil {
		return err
	}
	o.Place, o.Body, o.Lost = record.BodyPlace{}, nil, true
	g.storeOrder(k, record.OrderPlace{Kind: record.KindOrder}.Numbered(seq, &o), &o)
	return g.fetchAgain(k, ps)
}

// isFetchedAgain reports whether the URL of a lost order is set to be fetched again: then nothing tells its
// document apart from any other.
func (s *Store) isFetchedAgain(txn *badger.Txn, k weburl.Key) bool {
	v, err := read(txn, record.URLKey(k))
	if err != nil || v == nil {
		return false
	}
	rec, err := record.Decode(v)
	return err == nil && rec.Hash == [16]byte{}
}

// ReadBody reads a body that the copy in dir wrote, whether it leads or follows. The error wraps
// segments.ErrDamaged if the copy does not have it.
func ReadBody(dir string, p record.BodyPlace) ([]byte, error) {
	r := segments.New(dir, slog.New(slog.DiscardHandler), segments.DefaultBytes, 0).Reader()
	defer r.Close()
	return r.Read(p)
}
