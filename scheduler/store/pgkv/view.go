package pgkv

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// View is a snapshot of one part. It holds a connection.
type View struct {
	n       *Node
	part    int16
	conn    *pgxpool.Conn
	given   bool  // something was read
	commits int64 // of all nodes, in the snapshot
}

// allCommits is the number of commits that are stored.
const allCommits = "SELECT coalesce(sum(commits), 0)::bigint FROM node"

// errMoved reports a lost snapshot of which something was read. The caller may repeat all of it with a new View.
var errMoved = errors.New("the connection of a snapshot was lost, and the database has changed since: read again")

// View returns a snapshot of a part.
func (n *Node) View(part int16) *View {
	v := &View{n: n, part: part}
	_ = v.read(func(*pgx.Conn) error { return nil }) // the next read repeats it
	v.given = false
	return v
}

// read calls fn until it does not fail for a lost connection. A new snapshot takes the place of a lost one if nothing
// was read from that, or nothing was committed since.
func (v *View) read(fn func(*pgx.Conn) error) error {
	return retry(v.n.ctx, func() error {
		if v.conn == nil {
			if err := v.begin(); err != nil {
				v.Close()
				return err
			}
		}
		err := fn(v.conn.Conn())
		if err != nil && passing(err) && v.conn.Conn().IsClosed() {
			v.Close()
		}
		v.given = v.given || err == nil
		return err
	})
}

// begin opens the snapshot in one round trip.
func (v *View) begin() (err error) {
	if v.conn, err = v.n.pool.Acquire(v.n.ctx); err != nil {
		v.conn = nil
		return err
	}
	var b pgx.Batch
	var commits int64
	b.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	b.Queue(allCommits).QueryRow(func(row pgx.Row) error { return row.Scan(&commits) })
	if err := v.conn.SendBatch(v.n.ctx, &b).Close(); err != nil {
		return err
	}
	if v.given && commits != v.commits {
		return refusal{errMoved}
	}
	v.commits = commits
	return nil
}

// Close implements kv.View.
func (v *View) Close() {
	if v.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.n.ctx), 5*time.Second)
	defer cancel()
	if _, err := v.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = v.conn.Conn().Close(ctx) // Release drops a closed connection
	}
	v.conn.Release()
	v.conn = nil
}

// Get implements kv.View.
func (v *View) Get(key []byte) (value []byte, err error) {
	err = v.read(func(c *pgx.Conn) error {
		return c.QueryRow(v.n.ctx, "SELECT v FROM kv WHERE part = $1 AND k = $2", v.part, key).Scan(&value)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// GetMany returns the stored ones of a part's keys, in any order, in one statement.
func (n *Node) GetMany(part int16, keys [][]byte) (stored []Change, err error) {
	err = retry(n.ctx, func() (err error) {
		rows, _ := n.pool.Query(n.ctx, "SELECT k, v FROM kv WHERE part = $1 AND k = ANY ($2)", part, keys)
		stored, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Change, error) {
			c := Change{Part: part}
			err := row.Scan(&c.Key, &c.Value)
			return c, err
		})
		return err
	})
	return stored, err
}

// pages of a walk grow: many walks end with their first keys.
const firstPage, lastPage = 16, 1024

const (
	page     = `SELECT k, v FROM kv WHERE part = $1 AND k >= $2 AND k < $3 ORDER BY k LIMIT $4`
	pageKeys = `SELECT k, NULL::bytea FROM kv WHERE part = $1 AND k >= $2 AND k < $3 ORDER BY k LIMIT $4`
)

type pair struct{ key, value []byte }

// Walk implements kv.View.
func (v *View) Walk(prefix, from []byte, values bool, fn func(key, value []byte) error) error {
	statement := pageKeys
	if values {
		statement = page
	}
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	if from == nil {
		from = []byte{} // nil is NULL
	}
	for size := firstPage; ; size = min(2*size, lastPage) {
		var pairs []pair
		err := v.read(func(c *pgx.Conn) error {
			rows, _ := c.Query(v.n.ctx, statement, v.part, from, behind(prefix), size) // CollectRows returns the error
			var err error
			pairs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p pair, err error) {
				err = row.Scan(&p.key, &p.value)
				return p, err
			})
			return err
		})
		if err != nil {
			return err
		}
		for _, p := range pairs {
			if err := fn(p.key, p.value); err != nil {
				return err
			}
		}
		if len(pairs) < size {
			return nil
		}
		from = append(bytes.Clone(pairs[len(pairs)-1].key), 0)
	}
}

// behind returns the first key behind those with a prefix.
func behind(prefix []byte) []byte {
	end := bytes.TrimRight(prefix, "\xff")
	if len(end) == 0 {
		return bytes.Repeat([]byte{0xff}, 64) // no key begins so
	}
	end = bytes.Clone(end)
	end[len(end)-1]++
	return end
}
