package pgkv

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// Engine implements kv.Engine on one part of a Node, which no other Engine may have.
type Engine struct {
	*Node
	Part int16
	// Expires returns when a key may be dropped, in seconds since 1970; 0: never. Only keys that begin with the byte
	// Expiring expire. Sweep drops them.
	Expires  func(key, value []byte) uint64
	Expiring byte

	bodies []Body // of the next commit
}

var _ kv.Engine = (*Engine)(nil)

// View implements kv.Engine.
func (e *Engine) View() kv.View { return e.Node.View(e.Part) }

// Commit implements kv.Engine.
func (e *Engine) Commit(changes iter.Seq2[[]byte, []byte]) error {
	var all []Change
	for key, value := range changes {
		all = append(all, Change{e.Part, key, value})
	}
	bodies := e.bodies
	e.bodies = nil
	return e.Node.Commit(all, bodies)
}

// Append implements kv.Bodies.
func (e *Engine) Append(segment, offset uint64, value []byte) error {
	e.bodies = append(e.bodies, Body{e.Part, int64(segment), int64(offset), value}) //nolint:gosec // far below 2^63
	return nil
}

// Segment implements kv.Bodies. A segment that is missing fails when it is read.
func (e *Engine) Segment(n uint64) (kv.Segment, error) {
	return segment{e, int64(n)}, nil //nolint:gosec // far below 2^63
}

type segment struct {
	e *Engine
	n int64
}

// Close implements io.Closer.
func (segment) Close() error { return nil }

// pieces are the bodies between two offsets, and the one that begins before the first.
const pieces = `SELECT at, v FROM body WHERE part = $1 AND segment = $2 AND at < $4 AND at >= coalesce(
	(SELECT max(at) FROM body WHERE part = $1 AND segment = $2 AND at <= $3), 0) ORDER BY at`

// ReadAt implements io.ReaderAt.
func (s segment) ReadAt(b []byte, from int64) (read int, err error) {
	type piece struct {
		at int64
		v  []byte
	}
	var found []piece
	err = retry(s.e.ctx, func() error {
		rows, _ := s.e.pool.Query(s.e.ctx, pieces, s.e.Part, s.n, from, from+int64(len(b)))
		var err error
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p piece, err error) {
			err = row.Scan(&p.at, &p.v)
			return p, err
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, p := range found {
		if at := from + int64(read) - p.at; at >= 0 && at < int64(len(p.v)) {
			read += copy(b[read:], p.v[at:])
		}
	}
	switch {
	case read == 0 && len(found) == 0 && len(b) > 0:
		return 0, fs.ErrNotExist
	case read < len(b):
		return read, io.ErrUnexpectedEOF
	}
	return read, nil
}

// held locks the node's row, and has one row only if the node may write.
const held = `WITH n AS (SELECT 1 FROM node WHERE id = $1 AND incarnation = $2 AND NOT fenced FOR UPDATE) `

// Drop implements kv.Bodies.
func (e *Engine) Drop(n uint64) error { return e.Node.Drop(e.Part, n) }

// Drop removes a segment of a part.
func (n *Node) Drop(part int16, segment uint64) error {
	return n.write(`DELETE FROM body WHERE part = $3 AND segment = $4 AND EXISTS (SELECT FROM n)`,
		part, int64(segment)) //nolint:gosec // far below 2^63
}

// Keep implements kv.Bodies.
func (e *Engine) Keep(needed func(n uint64) bool, last, end uint64) error {
	var all []int64
	err := retry(e.ctx, func() (err error) {
		rows, _ := e.pool.Query(e.ctx, `SELECT DISTINCT segment FROM body WHERE part = $1`, e.Part)
		all, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err != nil {
		return err
	}
	for _, n := range all {
		if n := uint64(n); n != last && !needed(n) { //nolint:gosec // from an uint64
			if err := e.Drop(n); err != nil {
				return err
			}
		}
	}
	return e.write(`DELETE FROM body WHERE part = $3 AND segment = $4 AND at >= $5 AND EXISTS (SELECT FROM n)`,
		e.Part, int64(last), int64(end)) //nolint:gosec // far below 2^63
}

// write executes a statement that changes nothing if the node is fenced, and that may be repeated.
func (n *Node) write(statement string, args ...any) error {
	return retry(n.ctx, func() error {
		_, err := n.pool.Exec(n.ctx, held+statement, append([]any{n.o.Node, n.incarnation}, args...)...)
		return err
	})
}

// Save implements kv.Engine. Nothing is kept: the store makes its contents again.
func (*Engine) Save(func(io.Writer) error) (publish func() error, err error) {
	return func() error { return nil }, nil
}

// Load implements kv.Engine.
func (*Engine) Load() (io.ReadCloser, error) { return nil, fs.ErrNotExist }

// Room implements kv.Engine. The database's disk is seen by its administrators only.
func (*Engine) Room() error { return nil }

// Limits implements kv.Engine.
func (*Engine) Limits() kv.Limits {
	return kv.Limits{Bytes: 8 << 20, Keys: 20_000, Long: 1 << 30, Gather: 5 * time.Millisecond}
}

// Version implements kv.Engine.
func (e *Engine) Version() uint64 { return uint64(e.before.Load() + e.commits.Load()) } //nolint:gosec // a count

// Check implements kv.Engine. PostgreSQL verifies checksums, if it has them, as it reads.
func (e *Engine) Check() error {
	for _, table := range []string{"kv", "body"} {
		var sum *int64
		if err := e.pool.QueryRow(e.ctx, "SELECT sum(length(v || '')) FROM "+table).Scan(&sum); err != nil {
			return err
		}
	}
	return nil
}

// Stats implements kv.Engine.
func (e *Engine) Stats() (st kv.Stats, err error) {
	const sizes = "SELECT pg_total_relation_size('kv'), pg_total_relation_size('body')"
	err = e.pool.QueryRow(e.ctx, sizes).Scan(&st.TableBytes, &st.BodyBytes)
	return st, err
}

// Close implements kv.Engine.
func (e *Engine) Close() error { return e.Leave(context.WithoutCancel(e.ctx)) }
