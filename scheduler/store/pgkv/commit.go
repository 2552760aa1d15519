package pgkv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

var (
	// ErrFenced reports that another process has ended this incarnation, which can write no more.
	ErrFenced = errors.New("another process has taken this node's place")
	// ErrSetBack reports that the database lacks commits that it had confirmed: it was restored, or a replica that
	// lacked them took over.
	ErrSetBack = errors.New("the database was set back: it lacks commits that it had confirmed")
)

// Change is a change of a key; a nil Value removes it.
type Change struct {
	Part       int16
	Key, Value []byte
}

// Body is a value in a segment.
type Body struct {
	Part        int16
	Segment, At int64
	Value       []byte
}

const (
	remove = `DELETE FROM kv USING unnest($1::smallint[], $2::bytea[]) AS x (part, k)
		WHERE kv.part = x.part AND kv.k = x.k`
	put = `INSERT INTO kv SELECT * FROM unnest($1::smallint[], $2::bytea[], $3::bytea[])
		ON CONFLICT (part, k) DO UPDATE SET v = excluded.v`
	putBodies = `INSERT INTO body SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::bytea[])
		ON CONFLICT (part, segment, at) DO UPDATE SET v = excluded.v`
	// count is the fence: without a row it divides by zero, and nothing of the transaction is stored.
	count = `WITH n AS (UPDATE node SET commits = commits + 1
		WHERE id = $1 AND incarnation = $2 AND commits = $3 AND NOT fenced RETURNING 1) SELECT 1 / count(*) FROM n`
	// counted waits for a commit that is under way, and, since a row lock is written to the log, for the standby too. A
	// SELECT without a lock does not see a commit that waits for the standby.
	counted = `SELECT incarnation, commits, fenced FROM node WHERE id = $1 FOR UPDATE`
	end     = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1::bigint AND application_name = $2`
)

// Commit stores all changes and bodies or none, and returns when they are durable. Keys are distinct; changes is
// sorted. It repeats the commit until the database responds or the context of Join ends. Errors wrap
// ErrFenced or ErrSetBack where one fits; after any error the node has lost its right, and must not be used again.
func (n *Node) Commit(changes []Change, bodies []Body) error {
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Part, b.Part), bytes.Compare(a.Key, b.Key))
	})
	b := n.batch(changes, bodies)
	err := retry(n.ctx, func() error {
		err := n.try(b())
		if err == nil {
			return nil
		}
		// The commit may still be stored.
		stored, err2 := n.decide()
		switch {
		case err2 != nil:
			return err2
		case stored:
			return nil
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("commit %d of node %s: %w", n.commits.Load()+1, n.o.Node, err)
		n.right.Revoke(err)
		return err
	}
	n.commits.Add(1)
	return n.mark.write(n.incarnation, n.commits.Load())
}

// batch returns a function that returns the statements of one commit, which are sent at once as one transaction.
func (n *Node) batch(changes []Change, bodies []Body) func() *pgx.Batch {
	var gone, stored, in []int16
	var goneKeys, keys, values, contents [][]byte
	var segments, at []int64
	for _, c := range changes {
		if c.Value == nil {
			gone, goneKeys = append(gone, c.Part), append(goneKeys, c.Key)
			continue
		}
		stored, keys, values = append(stored, c.Part), append(keys, c.Key), append(values, c.Value)
	}
	for _, b := range bodies {
		in, contents = append(in, b.Part), append(contents, b.Value)
		segments, at = append(segments, b.Segment), append(at, b.At)
	}
	return func() *pgx.Batch {
		var b pgx.Batch
		if len(gone) > 0 {
			b.Queue(remove, gone, goneKeys)
		}
		if len(stored) > 0 {
			b.Queue(put, stored, keys, values)
		}
		if len(in) > 0 {
			b.Queue(putBodies, in, segments, at, contents)
		}
		b.Queue(count, n.o.Node, n.incarnation, n.commits.Load())
		return &b
	}
}

// try sends the statements of a commit.
func (n *Node) try(b *pgx.Batch) error {
	if err := n.connect(); err != nil {
		return err
	}
	if err := n.conn.SendBatch(n.ctx, b).Close(); err != nil {
		return err
	}
	return warning(n.conn)
}

// connect opens the connection of commits if it is not open.
func (n *Node) connect() (err error) {
	if n.conn == nil || n.conn.IsClosed() {
		n.conn, err = pgx.ConnectConfig(n.ctx, n.pool.Config().ConnConfig)
	}
	return err
}

// decide reports whether the database has stored the commit that failed. It asks over a new connection, and ends the
// session of the old one, which may hold locks.
func (n *Node) decide() (stored bool, err error) {
	err = retry(n.ctx, func() (err error) {
		var old uint32
		if n.conn != nil {
			old = n.conn.PgConn().PID()
			_ = n.conn.Close(context.WithoutCancel(n.ctx)) // it may be lost
			n.conn = nil
		}
		if err := n.connect(); err != nil {
			return err
		}
		name := application(n.o.Schema, n.o.Node, n.incarnation)
		if _, err := n.conn.Exec(n.ctx, end, int64(old), name); err != nil {
			return err
		}
		stored, err = n.isStored()
		return err
	})
	return stored, err
}

func (n *Node) isStored() (bool, error) {
	var incarnation, commits int64
	var fenced bool
	err := n.conn.QueryRow(n.ctx, counted, n.o.Node).Scan(&incarnation, &commits, &fenced)
	if err == nil {
		err = warning(n.conn)
	}
	before := n.commits.Load()
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && (incarnation < n.incarnation || commits < before):
		return false, refusal{ErrSetBack}
	case err != nil:
		return false, err
	case incarnation > n.incarnation || fenced && commits == before:
		return false, refusal{ErrFenced}
	case commits > before+1:
		return false, refusal{fmt.Errorf("%w: %d commits, not %d", ErrFenced, commits, before)}
	}
	return commits == before+1, nil
}
