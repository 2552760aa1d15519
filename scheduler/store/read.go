package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// Queue implements scheduler.Store. It begins at the queue's floor, so that it does not walk over removed URLs.
func (s *Store) Queue(ctx context.Context, p scheduler.Place, after uint64, n int) ([]scheduler.WaitingURL, error) {
	if n <= 0 || after == math.MaxUint64 {
		return nil, ctx.Err()
	}
	var urls []scheduler.WaitingURL
	asOf := s.commits.Load() // before the snapshot, which may be newer, never older
	err := s.view(ctx, func(view kv.View) error {
		q, err := s.placeState(view, p)
		if err != nil || q.Count == 0 {
			return err
		}
		first := after + 1
		if first <= q.Floor {
			first = q.Floor
			n = int(min(uint64(n), q.Count)) // avoids the walk over removed URLs after the last
		}
		return s.walk(ctx, view, record.QueuePrefix(p), record.QueueKey(p, first), true, func(key, value []byte) error {
			return s.eachQueued(key, value, &q, func(seq uint64, k weburl.Key) error {
				if seq < first {
					return nil
				}
				w, err := s.waiting(view, key, seq, k)
				if err != nil {
					return err
				}
				w.AsOf = asOf
				if urls = append(urls, w); len(urls) == n {
					return errEnough
				}
				return nil
			})
		})
	})
	return urls, err
}

// eachQueued calls fn for the waiting URLs of a chunk, by the state of its queue.
func (s *Store) eachQueued(key, value []byte, q *record.Queue, fn func(seq uint64, k weburl.Key) error) error {
	c := record.Chunk(value)
	if len(key) != record.QueueKeyLen || !c.Valid() {
		return s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
	}
	_, first := record.SplitQueueKey(key)
	chunk, bit := record.ChunkOf(first)
	if bit != 1 {
		return s.damaged(fmt.Sprintf("key %x", key), errors.New("no chunk of a queue begins with this number"))
	}
	done := q.Done.Of(chunk)
	for seq := max(first, q.Floor); seq < first+c.Next(); seq++ {
		k, ok := c.At(seq)
		if _, bit := record.ChunkOf(seq); !ok || done&bit != 0 {
			continue
		}
		if err := fn(seq, k); err != nil {
			return err
		}
	}
	return nil
}

// waiting reads a URL of a queue's chunk.
func (s *Store) waiting(view kv.View, key []byte, seq uint64, k weburl.Key) (w scheduler.WaitingURL, err error) {
	w.Key, w.Seq = k, seq
	w.Record, err = s.lookup(view, k)
	if errors.Is(err, scheduler.ErrNotFound) {
		err = s.damaged(fmt.Sprintf("key %x", key), errors.New("the URL that it queues is not known"))
	}
	return w, err
}

// lookup reads a record from the snapshot.
func (s *Store) lookup(view kv.View, k weburl.Key) (rec scheduler.Record, err error) {
	v, err := view.Get(record.URLKey(k))
	if err == nil && v == nil {
		return rec, scheduler.ErrNotFound
	}
	if err == nil {
		rec, err = record.Decode(v)
	}
	if err != nil {
		return rec, s.damaged("URL "+k.String(), err)
	}
	return rec, nil
}

// Host implements scheduler.Store.
func (s *Store) Host(ctx context.Context, h weburl.HostKey) (state scheduler.HostState, err error) {
	err = s.view(ctx, func(view kv.View) error {
		v, err := view.Get(record.HostKey(h))
		if err == nil && v != nil {
			state, err = record.DecodeHost(v)
		}
		if err != nil {
			return s.damaged(fmt.Sprintf("host %x", h), err)
		}
		return nil
	})
	return state, err
}

// Lookup implements scheduler.Store.
func (s *Store) Lookup(ctx context.Context, k weburl.Key) (rec scheduler.Record, err error) {
	err = s.view(ctx, func(view kv.View) error {
		rec, err = s.lookup(view, k)
		return err
	})
	return rec, err
}

// Inspect implements scheduler.Store. It reads record by record and holds one at a time.
func (s *Store) Inspect(ctx context.Context, f scheduler.Filter, fn func(weburl.Key, scheduler.Record) error) error {
	return s.view(ctx, func(view kv.View) error {
		prefix, seek := []byte{record.KindURL}, record.URLKey(f.From)
		if f.Host != nil { // keys of URLs begin with the hash of their host, as its own key does
			prefix = append(prefix, f.Host[:2]...)
			seek = slices.MaxFunc([][]byte{prefix, seek}, bytes.Compare)
		}
		return s.walk(ctx, view, prefix, seek, true, func(key, value []byte) error {
			rec, err := s.recordOf(key, value)
			if err != nil {
				return err
			}
			if !selects(&f, &rec) {
				return nil
			}
			return fn(weburl.Key(key[1:]), rec)
		})
	})
}

// recordOf decodes the record at a key of record.KindURL.
func (s *Store) recordOf(key, value []byte) (rec scheduler.Record, err error) {
	if len(key) != record.URLKeyLen {
		return rec, s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
	}
	if rec, err = record.Decode(value); err != nil {
		return rec, s.damaged(fmt.Sprintf("URL %x", key[1:]), err)
	}
	return rec, nil
}

func selects(f *scheduler.Filter, rec *scheduler.Record) bool {
	return (f.Host == nil || *f.Host == rec.Host) &&
		(f.Source == nil || *f.Source == rec.Source) &&
		(f.Class == nil || *f.Class == rec.Class) &&
		(f.Status == 0 || f.Status == rec.Status)
}

// Counts implements scheduler.Store.
func (s *Store) Counts(ctx context.Context) (scheduler.Counts, error) {
	if err := s.enter(ctx); err != nil {
		return scheduler.Counts{}, err
	}
	defer s.leave()
	return s.committed.Load().Counts(), nil
}

// Value implements scheduler.Store.
func (s *Store) Value(ctx context.Context, name scheduler.ValueName) (v []byte, err error) {
	err = s.view(ctx, func(view kv.View) error {
		v, err = view.Get(record.ValueKey(name))
		if err != nil {
			return s.damaged("value "+name.String(), err)
		}
		return nil
	})
	return v, err
}

// notes stores named values.
func (g *group) notes(notes []scheduler.Note) {
	for _, n := range notes {
		g.set(record.ValueKey(n.Name), bytes.Clone(n.Value)) // nil removes it
	}
}

// SetValue implements scheduler.Store.
func (s *Store) SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error {
	stored := bytes.Clone(value) // the caller may change it; nil stays nil
	return s.change(ctx, func(g *group) error {
		g.set(record.ValueKey(name), stored)
		return nil
	})
}
