package whole

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// What a node is asked for of its store comes in frames: four bytes with a length, then so many bytes of rows, as gob. The last row says that it is the end.

// What Gathered asks for.
const (
	askRecords   = "records"
	askLinks     = "links"
	askGone      = "gone"
	askOrders    = "orders"
	askDeletions = "deletions"
	askCounts    = "counts"
	askKeys      = "keys"
)

// storeQuestion asks for a part of a node's store.
type storeQuestion struct {
	What      string                   `json:"what"`
	From      weburl.Key               `json:"from,omitzero"`
	Keys      []weburl.Key             `json:"keys,omitempty"`
	Orders    push.Selection           `json:"orders,omitzero"`
	Deletions scheduler.DeletionFilter `json:"deletions,omitzero"`
}

// row is one thing of a store.
type row struct {
	Key      weburl.Key
	Record   *scheduler.Record
	Links    []byte
	Gone     *scheduler.Gone
	Order    *push.Listed
	Deletion *scheduler.StoredDeletion
	Counts   *scheduler.Counts
	End      bool
}

const (
	// frameRows and frameBytes are what a frame has at most, about.
	frameRows  = 500
	frameBytes = 256 << 10
	rowBytes   = 200 // of a row, beside its texts
)

// frames reads rows.
type frames struct {
	*part
	rows []row
}

// next is the next row; nil at the end, and where the part failed.
func (f *frames) next() *row {
	for len(f.rows) == 0 {
		if f.err != nil {
			return nil
		}
		if err := f.frame(); err != nil {
			f.fail("what it has broke off: %w", err)
			return nil
		}
	}
	r := &f.rows[0]
	f.rows = f.rows[1:]
	if r.End {
		return nil
	}
	return r
}

func (f *frames) frame() error {
	var head [4]byte
	if _, err := io.ReadFull(f.body, head[:]); err != nil {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxLine {
		return fmt.Errorf("a frame of %d bytes", n)
	}
	var b bytes.Buffer // which grows with what comes, whatever was said
	if _, err := io.CopyN(&b, f.body, int64(n)); err != nil {
		return err
	}
	f.rows = nil
	if err := gob.NewDecoder(&b).Decode(&f.rows); err != nil {
		return fmt.Errorf("it is garbage: %w", err)
	}
	if len(f.rows) == 0 {
		return errors.New("it is garbage: a frame without rows")
	}
	return nil
}

// rowWriter writes rows.
type rowWriter struct {
	to    io.Writer
	rows  []row
	bytes int
}

// add takes a row, and says whether it is time to write.
func (w *rowWriter) add(r row, bytes int) (full bool) {
	w.rows = append(w.rows, r)
	w.bytes += bytes + rowBytes
	return len(w.rows) >= frameRows || w.bytes >= frameBytes
}

func (w *rowWriter) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.Write(make([]byte, 4))
	if err := gob.NewEncoder(&b).Encode(w.rows); err != nil {
		return err
	}
	binary.BigEndian.PutUint32(b.Bytes(), uint32(b.Len()-4)) //nolint:gosec // some bytes
	w.rows, w.bytes = w.rows[:0], 0
	_, err := w.to.Write(b.Bytes())
	return err
}

// put writes a row at once if it is time.
func (w *rowWriter) put(r row, bytes int) error {
	if w.add(r, bytes) {
		return w.flush()
	}
	return nil
}

// WriteStore answers a question of Gathered from a node's store. Nothing is written while a snapshot of records or links is held.
func WriteStore(ctx context.Context, to io.Writer, store report.Store, question []byte) error {
	var q storeQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return fmt.Errorf("the question cannot be read: %w", err)
	}
	w := &rowWriter{to: to}
	err := w.answer(ctx, store, &q)
	if err == nil {
		w.add(row{End: true}, 0)
		err = w.flush()
	}
	return err
}

func (w *rowWriter) answer(ctx context.Context, store report.Store, q *storeQuestion) error {
	switch q.What {
	case askRecords:
		return w.inSteps(q.From, func(from weburl.Key, put func(r row, bytes int) error) error {
			return store.Inspect(ctx, scheduler.Filter{From: from}, func(k weburl.Key, r scheduler.Record) error {
				return put(row{Key: k, Record: &r}, 2*len(r.URL)+len(r.LastError)+len(r.Referrer)+len(r.Signature))
			})
		})
	case askLinks:
		return w.inSteps(q.From, func(from weburl.Key, put func(r row, bytes int) error) error {
			return store.Outlinks(ctx, from, func(k weburl.Key, links scheduler.LinkPrints) error {
				return put(row{Key: k, Links: bytes.Clone(links)}, len(links))
			})
		})
	case askGone:
		return w.inSteps(q.From, func(from weburl.Key, put func(r row, bytes int) error) error {
			return store.Gone(ctx, from, func(k weburl.Key, g scheduler.Gone) error { return put(row{Key: k, Gone: &g}, 2*len(g.URL)) })
		})
	case askOrders:
		return store.Orders(ctx, q.Orders, func(l push.Listed) error {
			l.Body = nil
			return w.put(row{Order: &l}, len(l.URL)+len(l.Words))
		})
	case askDeletions:
		return store.HeldDeletions(ctx, q.Deletions, func(d scheduler.StoredDeletion) error {
			return w.put(row{Key: d.Key, Deletion: &d}, len(d.URL)+len(d.Text))
		})
	case askCounts:
		n, err := store.Counts(ctx)
		w.add(row{Counts: &n}, 0)
		return err
	case askKeys:
		return w.keys(ctx, store, q.Keys)
	}
	return fmt.Errorf("there is no %.20q in a store", q.What)
}

// inSteps walks in the order of keys, from where the frame before ended.
func (w *rowWriter) inSteps(from weburl.Key, walk func(from weburl.Key, put func(r row, bytes int) error) error) error {
	for {
		full := false
		err := walk(from, func(r row, bytes int) error {
			if full {
				from = r.Key
				return errStop
			}
			full = w.add(r, bytes)
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			return err
		}
		if stopped := err != nil; !stopped {
			return nil
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
}

func (w *rowWriter) keys(ctx context.Context, store report.Store, keys []weburl.Key) error {
	for _, k := range keys {
		r := row{Key: k}
		found, err := store.Lookup(ctx, k)
		switch {
		case err == nil:
			r.Record = &found
		case !errors.Is(err, scheduler.ErrNotFound):
			return err
		}
		left, err := report.GoneOf(ctx, store, k)
		if err != nil {
			return err
		}
		if left.URL != "" {
			r.Gone = &left
		}
		if r.Record == nil && r.Gone == nil {
			continue
		}
		if err := w.put(r, 2*len(found.URL)+len(left.URL)); err != nil {
			return err
		}
	}
	return nil
}
