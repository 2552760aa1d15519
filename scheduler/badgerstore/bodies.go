package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// keepBody gives an order its body: that of a document a place in a segment. Deletions
// are short and may be held for long, so theirs stay in the value. b must not be changed
// until the batch is written.
func (g *group) keepBody(o *storedOrder, b []byte) error {
	if o.op == push.Delete || len(b) == 0 {
		o.body = b
		return nil
	}
	if c := &g.nextCount; c.segment == 0 || c.segmentEnd >= g.s.segments.max {
		if err := g.nextSegment(); err != nil {
			return err
		}
	}
	c := &g.nextCount
	o.place = bodyPlace{segment: c.segment, offset: c.segmentEnd, length: uint64(len(b)), sum: crc32.Checksum(b, castagnoli())}
	c.segmentEnd += uint64(len(b))
	g.batch.bodies = append(g.batch.bodies, newBody{o.place, b})
	g.batch.bodyBytes += int64(len(b))
	return nil
}

// nextSegment ends the current segment.
func (g *group) nextSegment() error {
	c := &g.nextCount
	if c.segment != 0 {
		st, err := g.segmentState(c.segment)
		if err != nil {
			return err
		}
		if st.entries == 0 {
			g.remove(segmentKey(c.segment))
		}
	}
	c.segment, c.segmentEnd = c.segment+1, 0
	return nil
}

// segmentState reads a segment's state as this write must see it.
func (g *group) segmentState(n uint64) (segmentState, error) {
	v, err := g.get(segmentKey(n))
	if err != nil {
		return segmentState{}, err
	}
	st, err := decodeSegmentState(v)
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
	st.entries++
	st.live += length
	if segment == g.nextCount.segment {
		st.size = g.nextCount.segmentEnd
	}
	g.setSegmentState(segment, st)
	return nil
}

// release counts one that is gone. What is referred to anew in its stead must be so
// before: a segment without entries is gone, unless it is the current one.
func (g *group) release(segment, length uint64) error {
	if segment == 0 {
		return nil
	}
	st, err := g.segmentState(segment)
	if err != nil {
		return err
	}
	if st.entries == 0 || st.live < length {
		return g.s.damaged(fmt.Sprintf("segment %d", segment), fmt.Errorf("%d bytes of it are given up, %d bytes in %d orders are needed", length, st.live, st.entries))
	}
	st.entries--
	st.live -= length
	if st.entries == 0 && segment != g.nextCount.segment {
		g.remove(segmentKey(segment))
		return nil
	}
	g.setSegmentState(segment, st)
	return nil
}

func (g *group) setSegmentState(n uint64, st segmentState) {
	g.scratch = st.append(g.scratch[:0])
	g.set(segmentKey(n), g.scratch)
}

// viewBodies is view for who reads bodies too.
func (s *Store) viewBodies(ctx context.Context, fn func(*badger.Txn, *bodyReader) error) error {
	r := s.segments.reader()
	defer r.close()
	return s.view(ctx, func(txn *badger.Txn) error { return fn(txn, r) })
}

// bodyOf gives a copy of an order's body. damage tells why there is none any more.
func (r *bodyReader) bodyOf(o *storedOrder) (body []byte, damage string, err error) {
	switch {
	case o.lost:
		return nil, errBody.Error(), nil
	case o.place.segment == 0:
		return bytes.Clone(o.body), "", nil
	}
	body, err = r.read(o.place)
	if errors.Is(err, errBody) {
		return nil, err.Error(), nil
	}
	return body, "", err
}

// fetchAgain has a URL fetched and its document pushed whatever it holds, as soon as
// its host lets it: its order is lost.
func (g *group) fetchAgain(k weburl.Key) error {
	rec, err := g.record(k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	rec.ETag, rec.LastModified, rec.Date, rec.Hash = "", "", "", [16]byte{}
	if rec.State == scheduler.Waiting {
		g.touch(k)
		g.setRecord(k, &rec)
		return nil
	}
	if err := g.unplace(k, &rec); err != nil {
		return err
	}
	rec.State, rec.NextAt = scheduler.Timed, time.Now()
	var none places
	return g.place(k, &rec, &none)
}

// openSegments reads the states of the segments.
func (s *Store) openSegments(c *counters) error {
	states := map[uint64]segmentState{}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	err := s.walk(context.Background(), txn, []byte{kindSegment}, []byte{kindSegment}, false, func(item *badger.Item) error {
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
	return s.segments.open(states, c.segment, c.segmentEnd, s.readOnly)
}

// segmentOf reads a segment's state.
func segmentOf(item *badger.Item) (n uint64, st segmentState, err error) {
	if len(item.Key()) != segmentKeyLen {
		return 0, st, errLength
	}
	n, err = decodeSeq(item.Key()[1:])
	if err == nil {
		err = valueOf(item, func(v []byte) error {
			st, err = decodeSegmentState(v)
			return err
		})
	}
	return n, st, err
}
