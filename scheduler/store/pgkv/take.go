package pgkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// Sighting is a beat that was seen.
type Sighting struct {
	Node           string
	Incarnation, N int64
	since          time.Duration // when it was first read
}

// Watch watches the beats of all nodes, for one goroutine.
type Watch struct {
	n     *Node
	seen  map[string]Sighting
	last  time.Duration // the last successful look
	again bool          // it was not the first one after a gap
}

// Watch returns a watch that has seen nothing.
func (n *Node) Watch() *Watch { return &Watch{n: n, seen: map[string]Sighting{}} }

// Look reads the beats, and returns those that have been the same for permit.TakenAfter while the database responded.
// Call it at least once each two seconds: a longer pause restarts the time.
func (w *Watch) Look(ctx context.Context) (silent []Sighting, err error) {
	rows, _ := w.n.pool.Query(ctx, `SELECT node, incarnation, n FROM beat WHERE incarnation > 0`)
	now, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Sighting, err error) {
		err = row.Scan(&s.Node, &s.Incarnation, &s.N)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	at := w.n.o.Clock.Now()
	gap := at-w.last > 2*beatEvery
	before := w.seen
	w.seen, w.last, w.again = map[string]Sighting{}, at, !gap && len(before) > 0
	for _, s := range now {
		old, ok := before[s.Node]
		s.since = at
		if ok && !gap && old.Incarnation == s.Incarnation && old.N == s.N {
			s.since = old.since
		}
		w.seen[s.Node] = s
		if at-s.since >= permit.TakenAfter {
			silent = append(silent, s)
		}
	}
	return silent, nil
}

// Beats reports whether a node sent a beat between the last two looks.
func (w *Watch) Beats(node string) bool {
	s, ok := w.seen[node]
	return ok && s.since == w.last && w.again
}

// ErrBeats reports that a node has beaten since it was last seen.
var ErrBeats = errors.New("the node beats")

// Fence ends the incarnation of a silent node: it can neither write nor beat again, and its sessions are ended, since
// they may hold locks. The beat and the fence change in one transaction: a beat that is under way either comes first
// and fails the fence, or finds no row.
func (n *Node) Fence(ctx context.Context, s Sighting) error {
	sessions := application(n.o.Schema, s.Node, s.Incarnation)
	err := retry(ctx, func() error {
		if err := n.endSessions(ctx, sessions); err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, n.pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `UPDATE beat SET incarnation = 0 WHERE node = $1 AND incarnation = $2 AND n = $3`,
				s.Node, s.Incarnation, s.N)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return refusal{ErrBeats}
			}
			const fence = `UPDATE node SET fenced = true WHERE id = $1 AND incarnation = $2`
			_, err = tx.Exec(ctx, fence, s.Node, s.Incarnation)
			return err
		})
	})
	if err != nil {
		return err
	}
	return retry(ctx, func() error { return n.endSessions(ctx, sessions) })
}

func (n *Node) endSessions(ctx context.Context, application string) error {
	const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`
	_, err := n.pool.Exec(ctx, end, application)
	return err
}

// claim takes those of the parts whose holder was fenced or that are free.
const claim = `INSERT INTO part SELECT p, $1, $2 FROM unnest($3::smallint[]) AS x (p)
	WHERE EXISTS (SELECT FROM n) ORDER BY p
	ON CONFLICT (part) DO UPDATE SET node = excluded.node, incarnation = excluded.incarnation
	WHERE NOT EXISTS (SELECT FROM node WHERE id = part.node AND incarnation = part.incarnation AND NOT fenced)
	RETURNING part`

// Holder returns the node that holds a part, "" if the part is free.
func (n *Node) Holder(ctx context.Context, part int16) (node string, err error) {
	const find = `SELECT coalesce((SELECT part.node FROM part JOIN node ON id = part.node
		AND node.incarnation = part.incarnation AND NOT fenced WHERE part = $1), '')`
	err = n.pool.QueryRow(ctx, find, part).Scan(&node)
	return node, err
}

// Claim takes the free ones of some parts, and returns them.
func (n *Node) Claim(ctx context.Context, parts []int16) (taken []int16, err error) {
	err = retry(ctx, func() (err error) {
		rows, _ := n.pool.Query(ctx, held+claim, n.o.Node, n.incarnation, parts)
		taken, err = pgx.CollectRows(rows, pgx.RowTo[int16])
		return err
	})
	if err == nil && len(taken) > 0 {
		err = n.countBefore(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("claiming parts: %w", err)
	}
	return taken, nil
}

// countBefore adds the commits of the nodes that held parts before to Engine.Version.
func (n *Node) countBefore(ctx context.Context) error {
	return retry(ctx, func() error {
		var all int64
		err := n.pool.QueryRow(ctx, allCommits).Scan(&all)
		n.before.Store(all - n.commits.Load())
		return err
	})
}
