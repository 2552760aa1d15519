package pgkv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// Options are a node and its crawl.
type Options struct {
	DSN          string // a connection string of PostgreSQL
	Schema, Node string // of the form Name
	// File holds the node's last commit on the node's machine; "" only in tests.
	// Without a Node the file also holds the node's name, which is made of the machine's.
	File  string
	Clock permit.Clock // nil: the machine's
}

// Node is one incarnation of a node.
type Node struct {
	o           Options
	ctx         context.Context // of Join
	incarnation int64
	commits     atomic.Int64
	before      atomic.Int64 // commits of other nodes when parts were claimed
	pool        *pgxpool.Pool
	conn        *pgx.Conn // of commits; nil: lost
	mark        *mark
	right       *permit.Right
	setBack     bool
	replicated  bool
}

// beatEvery is the time between two beats of a node.
const beatEvery = time.Second

// Join begins a new incarnation of a node, and waits until no earlier one can write or act. The end of ctx ends all
// waits for the database. Call Run at once, and Leave in the end.
func Join(ctx context.Context, o Options) (*Node, error) {
	n := &Node{o: o, ctx: ctx}
	n.o.Clock = cmp.Or[permit.Clock](o.Clock, permit.SystemClock{})
	var err error
	if n.mark, err = openMark(o.File); err != nil {
		return nil, err
	}
	n.o.Node = cmp.Or(o.Node, n.mark.node)
	n.mark.node = n.o.Node
	if !Name.MatchString(o.Schema) || !Name.MatchString(n.o.Node) {
		return nil, fmt.Errorf("schema %q, node %q: write up to 18 lower-case letters, digits, _ or -", o.Schema, n.o.Node)
	}
	if err = n.endEarlier(); err == nil {
		err = n.begin()
	}
	if err != nil {
		return nil, errors.Join(err, n.mark.close())
	}
	return n, nil
}

// endEarlier fences an incarnation that has not left, once its beats have ceased.
func (n *Node) endEarlier() error {
	before := &Node{o: n.o, ctx: n.ctx}
	if err := before.open(); err != nil {
		return err
	}
	defer before.pool.Close()
	if err := initialised(n.ctx, before.pool, n.o.Schema); err != nil {
		return err
	}
	w := before.Watch()
	for {
		silent, err := w.Look(n.ctx)
		if err != nil && !passing(err) {
			return err
		}
		alone := err == nil
		for _, s := range silent {
			if s.Node == n.o.Node {
				if err := before.Fence(n.ctx, s); !errors.Is(err, ErrBeats) {
					return err
				}
			}
		}
		for id := range w.seen {
			alone = alone && id != n.o.Node
		}
		if alone {
			return nil
		}
		if err := n.o.Clock.Sleep(n.ctx, beatEvery/2); err != nil {
			return err
		}
	}
}

func (n *Node) open() error {
	c, err := n.o.settings(n.incarnation)
	if err == nil {
		n.pool, err = pgxpool.NewWithConfig(n.ctx, c)
	}
	return err
}

// begin stores the new incarnation. Numbers continue behind those of the local file even if the database was set back.
func (n *Node) begin() error {
	conn, err := n.o.settings(0)
	if err != nil {
		return err
	}
	c, err := pgx.ConnectConfig(n.ctx, conn.ConnConfig)
	if err != nil {
		return err
	}
	sent := n.o.Clock.Now()
	err = pgx.BeginFunc(n.ctx, c, func(tx pgx.Tx) error {
		added, err := tx.Exec(n.ctx, `INSERT INTO node (id) VALUES ($1) ON CONFLICT DO NOTHING`, n.o.Node)
		if err != nil {
			return err
		}
		var incarnation, commits int64
		var fenced bool
		if err := tx.QueryRow(n.ctx, counted, n.o.Node).Scan(&incarnation, &commits, &fenced); err != nil {
			return err
		}
		if !fenced {
			return refusal{fmt.Errorf("node %s: another process has just begun with this name", n.o.Node)}
		}
		other, err := n.identify(tx)
		if err != nil {
			return err
		}
		behind := incarnation < n.mark.incarnation || commits < n.mark.commits
		n.setBack = behind && (!other || added.RowsAffected() == 0)
		n.incarnation = max(incarnation, n.mark.incarnation) + 1
		n.commits.Store(max(commits, n.mark.commits))
		if _, err := tx.Exec(n.ctx, `UPDATE node SET incarnation = $2, commits = $3, fenced = false,
			set_back = CASE WHEN $4 THEN now() ELSE set_back END WHERE id = $1`,
			n.o.Node, n.incarnation, n.commits.Load(), n.setBack); err != nil {
			return err
		}
		_, err = tx.Exec(n.ctx, `INSERT INTO beat VALUES ($1, $2, 0)
			ON CONFLICT (node) DO UPDATE SET incarnation = excluded.incarnation, n = 0`, n.o.Node, n.incarnation)
		return err
	})
	if err := errors.Join(err, c.Close(n.ctx)); err != nil {
		return err
	}
	n.right = permit.NewRight(n.o.Clock, sent)
	return errors.Join(n.open(), n.mark.write(n.incarnation, n.commits.Load()))
}

// identify reads which database this is into the node's file, and reports whether it was another one before. The system
// identifier is that of initdb, and replicas share it.
func (n *Node) identify(tx pgx.Tx) (other bool, err error) {
	const identity = `SELECT system_identifier,
		('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint,
		current_setting('synchronous_standby_names') <> '' FROM pg_control_system()`
	var system, timeline int64
	err = tx.QueryRow(n.ctx, identity).Scan(&system, &timeline, &n.replicated)
	other = n.mark.system != system
	n.mark.system, n.mark.timeline = system, timeline
	return other, err
}

// Name returns the node's name.
func (n *Node) Name() string { return n.o.Node }

// Replicated reports whether a commit waits for a replica, so that a failover loses none.
func (n *Node) Replicated() bool { return n.replicated }

// SetBackAt returns when a node last noticed that the database was set back; zero: never.
func (n *Node) SetBackAt(ctx context.Context) (at time.Time, err error) {
	err = n.pool.QueryRow(ctx, "SELECT coalesce(max(set_back), '0001-01-01 00:00Z') FROM node").Scan(&at)
	return at, err
}

// SetBack reports whether the database lacks commits that it had confirmed to an earlier incarnation.
func (n *Node) SetBack() bool { return n.setBack }

// Right returns the node's permit, which its beats extend.
func (n *Node) Right() *permit.Right { return n.right }

// Run beats until ctx ends or the node is fenced, which it returns as ErrFenced.
func (n *Node) Run(ctx context.Context) error {
	for {
		if err := n.Beat(ctx); errors.Is(err, ErrFenced) {
			return err
		}
		if err := n.o.Clock.Sleep(ctx, beatEvery); err != nil {
			return err
		}
	}
}

// Beat stores one beat. It retries for permit.Lasts; after ErrFenced the node's right is lost.
func (n *Node) Beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, permit.Lasts)
	defer cancel()
	return retry(ctx, func() error {
		sent := n.o.Clock.Now()
		const beat = `UPDATE beat SET n = n + 1 WHERE node = $1 AND incarnation = $2`
		tag, err := n.pool.Exec(ctx, beat, n.o.Node, n.incarnation)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			n.right.Revoke(ErrFenced)
			return refusal{ErrFenced}
		}
		n.right.Confirmed(sent)
		return nil
	})
}

// Leave ends the incarnation, so that its parts are free at once, and closes the connections.
func (n *Node) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, permit.Lasts)
	defer cancel()
	n.right.Revoke(ErrFenced)
	var b pgx.Batch
	b.Queue(`UPDATE node SET fenced = true WHERE id = $1 AND incarnation = $2`, n.o.Node, n.incarnation)
	b.Queue(`DELETE FROM beat WHERE node = $1 AND incarnation = $2`, n.o.Node, n.incarnation)
	err := n.pool.SendBatch(ctx, &b).Close()
	if n.conn != nil {
		_ = n.conn.Close(ctx)
	}
	n.pool.Close()
	return errors.Join(err, n.mark.close())
}
