package badgerstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// lead.go: a place in the log is stored in the form of encodePosition, a step in that of package record.

// Log is what the changes of a store go into before they are stored. cluster.Lead is one.
type Log interface {
	// Append puts a step behind the log's end and returns the position behind it. After an
	// error it is not known whether the step is in the log, and nothing may be appended any more.
	Append(ctx context.Context, step []byte) (entry.Position, error)
}

// leading is what a store needs while it writes to a log. The writer uses it, and whoever opens and
// closes the store while no writer runs. The form of a step is that of package record.
type leading struct {
	replica *Replica
	ctx     context.Context // of all appends
	log     Log
	step    []byte // used again
	once    sync.Once
	failed  func(error)
}

// append puts a batch into the log, all of it that is not of this copy alone.
func (l *leading) append(b *batch) (entry.Position, error) {
	l.step = append(l.step[:0], record.BeginStep()...)
	_ = b.each(func(e *edit) error { // which gives no error
		if !record.IsLocal(e.key) {
			l.step = record.AppendEdit(l.step, e.key, e.value)
		}
		return nil
	})
	return l.send()
}

func (l *leading) send() (entry.Position, error) {
	behind, err := l.log.Append(l.ctx, l.step)
	if err != nil {
		err = fmt.Errorf("the log of the cluster did not take a change: %w", err)
		l.fail(err)
	}
	const usual = 2 << 20
	if cap(l.step) > usual {
		l.step = nil
	}
	return behind, err
}

// mark stores the counters, as the first step under this claim and as the last.
func (l *leading) mark(c *record.Counters) error {
	l.step = record.AppendEdit(append(l.step[:0], record.BeginStep()...), record.CountersKey(), c.Encode())
	step := l.step
	behind, err := l.send()
	if err != nil {
		return err
	}
	return l.replica.store(step, behind)
}

// fail tells whoever promoted the copy that it no longer leads.
func (l *leading) fail(err error) { l.once.Do(func() { l.failed(err) }) }

// encodePosition is the form of a position that is stored: two numbers of 8 bytes, and the hash.
func encodePosition(p entry.Position) []byte {
	b := binary.BigEndian.AppendUint64(nil, p.Seq)
	b = binary.BigEndian.AppendUint64(b, p.Size)
	return append(b, p.Hash[:]...)
}

func decodePosition(b []byte) (p entry.Position, err error) {
	if len(b) != 16+len(p.Hash) {
		return p, fmt.Errorf("place in the log: %w", record.ErrLength)
	}
	return entry.Position{Seq: binary.BigEndian.Uint64(b), Size: binary.BigEndian.Uint64(b[8:]), Hash: entry.Hash(b[16:])}, nil
}
