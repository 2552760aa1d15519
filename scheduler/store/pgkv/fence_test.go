package pgkv_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// clock is a clock that tests move; Sleep moves it too.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Duration { return time.Duration(c.now.Load()) }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now.Add(int64(d))
	return ctx.Err()
}

// world is a schema with nodes that share a clock.
type world struct {
	*testing.T
	*clock
	schema string
}

func newWorld(t *testing.T) *world {
	w := &world{t, &clock{}, schemaOf(t)}
	w.must(pgkv.Init(t.Context(), dsn(t), w.schema))
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wants(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("got %v, want %v", err, want)
	}
}

// join begins an incarnation, which the test leaves.
func (w *world) join(name, file string) *pgkv.Node {
	w.Helper()
	ctx := context.WithoutCancel(w.Context())
	n, err := pgkv.Join(ctx, pgkv.Options{DSN: dsn(w), Schema: w.schema, Node: name, File: file, Clock: w.clock})
	w.must(err)
	w.Cleanup(func() { _ = n.Leave(ctx) })
	return n
}

func (w *world) claims(n *pgkv.Node, want int) {
	w.Helper()
	taken, err := n.Claim(w.Context(), []int16{0, 1, 2})
	if w.must(err); len(taken) != want {
		w.Fatalf("claimed %v, want %d parts", taken, want)
	}
}

func one(value string) []pgkv.Change { return []pgkv.Change{{Key: []byte("k"), Value: []byte(value)}} }

// TestFence: a node is silent after five seconds without a beat, no sooner, and a gap between looks restarts the time.
// Once fenced it can neither write nor beat, and its parts are free.
func TestFence(t *testing.T) {
	w := newWorld(t)
	a, b := w.join("a", ""), w.join("b", "")
	w.claims(a, 3)
	w.claims(b, 0)
	w.must(a.Commit(one("a"), nil))
	watch := b.Watch()
	look := func(pause time.Duration) (silent []pgkv.Sighting) {
		t.Helper()
		w.now.Add(int64(pause))
		w.must(b.Beat(t.Context()))
		silent, err := watch.Look(t.Context())
		w.must(err)
		return silent
	}
	look(time.Second)
	w.must(a.Beat(t.Context()))
	look(time.Second)
	look(10 * time.Second) // the database may not have responded in the meantime
	for i := range 4 {
		if silent := look(time.Second); len(silent) > 0 {
			t.Fatalf("after %d s: %v", i+1, silent)
		}
	}
	silent := look(time.Second)
	if len(silent) != 1 || silent[0].Node != "a" {
		t.Fatalf("silent: %v", silent)
	}
	w.must(b.Fence(t.Context(), silent[0]))
	w.wants(a.Commit(one("late"), nil), pgkv.ErrFenced)
	w.wants(a.Beat(t.Context()), pgkv.ErrFenced)
	w.wants(a.Right().Lost(), pgkv.ErrFenced)
	w.claims(a, 0)
	w.claims(b, 3)
	if v := query[string](t, w.schema, "SELECT convert_from(v, 'UTF8') FROM kv"); v != "a" {
		t.Errorf("stored: %s", v)
	}
}

// TestBeatBeforeFence: a node that beat after it was seen is not fenced.
func TestBeatBeforeFence(t *testing.T) {
	w := newWorld(t)
	a, b := w.join("a", ""), w.join("b", "")
	_, err := b.Watch().Look(t.Context())
	w.must(err)
	w.must(a.Beat(t.Context()))
	w.wants(b.Fence(t.Context(), pgkv.Sighting{Node: "a", Incarnation: 1, N: 0}), pgkv.ErrBeats)
	w.must(a.Commit(one("a"), nil))
}

// TestJoinAgain: a process begins at once behind one that left, and otherwise when the earlier one is silent and
// fenced.
func TestJoinAgain(t *testing.T) {
	w := newWorld(t)
	first := w.join("a", "")
	w.must(first.Commit(one("first"), nil))
	w.must(first.Leave(t.Context()))
	second := w.join("a", "")
	if now := w.Now(); now != 0 {
		t.Errorf("waited %v for a node that left", now)
	}
	third := w.join("a", "")
	if now := w.Now(); now < permit.TakenAfter {
		t.Errorf("waited only %v", now)
	}
	w.wants(second.Commit(one("second"), nil), pgkv.ErrFenced)
	w.must(third.Commit(one("third"), nil))
	if v := (&pgkv.Engine{Node: third}).Version(); v != 2 {
		t.Errorf("version %d", v)
	}
}

// TestCommitInDoubt: a commit whose session ends while it waits is stored once.
func TestCommitInDoubt(t *testing.T) {
	w := newWorld(t)
	a := w.join("a", "")
	w.must(a.Commit(one("first"), nil))
	conn, err := pgx.Connect(t.Context(), dsn(t)+" search_path="+w.schema)
	w.must(err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tx, err := conn.Begin(t.Context())
	w.must(err)
	_, err = tx.Exec(t.Context(), "SELECT FROM node FOR UPDATE")
	w.must(err)
	done := make(chan error)
	go func() { done <- a.Commit(one("second"), nil) }()
	const ended = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE wait_event_type = 'Lock' AND application_name LIKE 'sextant/' || $1 || '/%'`
	for query[int](t, w.schema, ended, w.schema) == 0 {
		time.Sleep(time.Millisecond)
	}
	w.must(tx.Commit(t.Context()))
	w.must(<-done)
	if n := query[int](t, w.schema, "SELECT commits::int FROM node"); n != 2 {
		t.Errorf("%d commits", n)
	}
}

// TestSetBack: a database that lacks a confirmed commit is noticed by the process and by the next one, whose numbers
// continue behind the lost ones.
func TestSetBack(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "mark")
	a := w.join("a", file)
	for _, v := range []string{"first", "second"} {
		w.must(a.Commit(one(v), nil))
	}
	query[int](t, w.schema, "UPDATE node SET commits = 1 RETURNING 1")
	w.wants(a.Commit(one("third"), nil), pgkv.ErrSetBack)
	w.must(a.Leave(t.Context()))
	b := w.join("a", file)
	if v := (&pgkv.Engine{Node: b}).Version(); !b.SetBack() || v != 2 {
		t.Errorf("set back: %t, version %d", b.SetBack(), v)
	}
	w.must(b.Commit(one("fourth"), nil))
}
