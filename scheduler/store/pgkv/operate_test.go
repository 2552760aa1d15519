package pgkv_test

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// TestDSN: a password is only a reference, and servers beyond this machine must prove their identity.
func TestDSN(t *testing.T) {
	environment := map[string]string{"SECRET": "p@ss/:?"}
	for written, want := range map[string]string{
		"postgres://u@localhost/db":                     "postgres://u@localhost/db",
		"postgres://u@127.0.0.1:5433/db?sslmode=prefer": "postgres://u@127.0.0.1:5433/db?sslmode=prefer",
		"postgres:///db?host=/run/postgresql":           "postgres:///db?host=/run/postgresql",
		"postgres://u@db1,db2/db":                       "postgres://u@db1,db2/db?sslmode=verify-full",
		"postgres://u@localhost,db2/db?passfile=/none":  "postgres://u@localhost,db2/db?passfile=/none&sslmode=verify-full",
		"postgresql://u@db.example/db?sslmode=require":  "postgresql://u@db.example/db?sslmode=require",
		"postgres://u:${SECRET}@localhost/db":           "postgres://u:p%40ss%2F%3A%3F@localhost/db",
		"postgres://u:${UNSET}@localhost/db":            "the environment variable UNSET is empty or not set",
		"postgres://u:literal@localhost/db":             "write ${VARIABLE} in its place",
		"postgres://u@localhost/db?password=literal":    "no other password",
		"host=localhost password=literal":               "has the form postgres://",
		"postgres://u@localhost:port/db":                "the database's address",
	} {
		got, err := pgkv.DSN(written, func(name string) string { return environment[name] })
		if err == nil && got.Reveal() == want {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "literal") {
			t.Errorf("%s: %q, %v; want %q", written, got.Reveal(), err, want)
		}
	}
}

// TestSchema: no two names share a schema, and its form needs no quotes in messages.
func TestSchema(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("x", 200)
	for _, name := range []string{"intranet", "Intranet", "public", "pg_x", "a b", "a_b", "Ärzte", "", long, long[1:]} {
		schema := pgkv.Schema(name)
		if before, twice := seen[schema]; twice {
			t.Errorf("%q and %q: %s", before, name, schema)
		}
		if seen[schema] = name; !pgkv.Name.MatchString(schema) || schema == "public" || strings.HasPrefix(schema, "pg_") {
			t.Errorf("%q: %s", name, schema)
		}
	}
}

// TestRoles: the statements of Grants suffice for a node and for a reader, which cannot write. Without Init both are
// refused.
func TestRoles(t *testing.T) {
	const crawler, node, reader = "It's a crawl", "a_node", "a_reader"
	schema := pgkv.Schema(crawler)
	as := func(role string) string { return strings.Replace(dsn(t), "user=sextant", "user="+role, 1) }
	execute := func(statements ...string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), dsn(t))
		for _, statement := range statements {
			if err == nil {
				_, err = conn.Exec(t.Context(), statement)
			}
		}
		if err := errors.Join(err, conn.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.WithoutCancel(t.Context())
	o := pgkv.Options{DSN: as(node), Schema: schema, File: filepath.Join(t.TempDir(), "node")}
	execute("CREATE ROLE "+node+" LOGIN", "CREATE ROLE "+reader+" LOGIN")
	if _, err := pgkv.Join(ctx, o); !errors.Is(err, pgkv.ErrNotInit) {
		t.Errorf("Join: %v", err)
	}
	if _, err := pgkv.Read(ctx, as(reader), schema); !errors.Is(err, pgkv.ErrNotInit) {
		t.Errorf("Read: %v", err)
	}
	for range 2 {
		if err := pgkv.Init(ctx, dsn(t), crawler); err != nil {
			t.Fatal(err)
		}
	}
	execute(pgkv.Grants(crawler, node, reader)...)
	names, err := pgkv.Crawlers(ctx, as(reader))
	if err != nil || !strings.Contains(strings.Join(names, "\n"), crawler) {
		t.Errorf("Crawlers: %q, %v", names, err)
	}
	n, err := pgkv.Join(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`-[a-z2-7]{4}$`).MatchString(n.Name()) {
		t.Errorf("the node is named %q", n.Name())
	}
	e := &pgkv.Engine{Node: n}
	taken, err := n.Claim(ctx, []int16{0})
	if err == nil {
		err = errors.Join(n.Beat(ctx), n.Commit(one("a"), nil), e.Clear(), n.Commit(one("b"), nil))
	}
	if err != nil || len(taken) != 1 {
		t.Errorf("a node: %v, %v", taken, err)
	}
	r, err := pgkv.Read(ctx, as(reader), schema)
	if err != nil {
		t.Fatal(err)
	}
	v := r.View()
	if value, err := v.Get([]byte("k")); err != nil || string(value) != "b" || r.Version() != 2 {
		t.Errorf("a reader: %q, %v, version %d", value, err, r.Version())
	}
	v.Close()
	if holder, err := r.Holder(ctx, 0); err != nil || holder != n.Name() {
		t.Errorf("the holder is %q, %v", holder, err)
	}
	if err := errors.Join(r.Close(), e.Close()); err != nil {
		t.Error(err)
	}
	if again, err := pgkv.Join(ctx, o); err != nil || again.Name() != n.Name() {
		t.Errorf("the node again: %v", err)
	} else if err := again.Leave(ctx); err != nil {
		t.Error(err)
	}
}

// TestVersionRises: the next node's versions begin above those of the one before.
func TestVersionRises(t *testing.T) {
	w := newWorld(t)
	a := w.join("a", "")
	w.claims(a, 3)
	for range 3 {
		w.must(a.Commit(one("a"), nil))
	}
	w.must(a.Leave(t.Context()))
	b := w.join("b", "")
	w.claims(b, 3)
	w.must(b.Commit(one("b"), nil))
	if v := (&pgkv.Engine{Node: b}).Version(); v != 4 {
		t.Errorf("version %d", v)
	}
}

// TestOtherDatabase: an empty database in place of the known one was not set back.
func TestOtherDatabase(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "node")
	a := w.join("a", file)
	w.must(a.Commit(one("a"), nil))
	w.must(a.Leave(t.Context()))
	forget := func(system string) {
		t.Helper()
		query[int](t, w.schema, "WITH d AS (DELETE FROM node) SELECT 1")
		if system == "" {
			return
		}
		text := testdir.Read(t, file)
		fields := strings.Fields(string(text))
		fields[3] = system
		testdir.Write(t, file, strings.Join(fields, " ")+"\n")
	}
	forget("00000000000000000001")
	b := w.join("a", file)
	if b.SetBack() {
		t.Error("another database counts as set back")
	}
	w.must(b.Commit(one("b"), nil))
	w.must(b.Leave(t.Context()))
	forget("")
	if c := w.join("a", file); !c.SetBack() {
		t.Error("a database without the node was not set back")
	} else if at, err := c.SetBackAt(t.Context()); err != nil || time.Since(at) > time.Hour {
		t.Errorf("set back at %s, %v", at, err)
	}
}

// cancelling is a clock whose Sleep ends a context.
type cancelling struct {
	*clock
	cancel context.CancelFunc
}

func (c cancelling) Sleep(ctx context.Context, _ time.Duration) error {
	c.cancel()
	<-ctx.Done()
	return ctx.Err()
}

// TestSweep: expired keys are removed, and no others.
func TestSweep(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := pgkv.Options{DSN: dsn(t), Schema: w.schema, Node: "a", Clock: cancelling{w.clock, cancel}}
	n, err := pgkv.Join(context.WithoutCancel(ctx), o)
	w.must(err)
	defer func() { w.must(n.Leave(context.WithoutCancel(ctx))) }()
	w.claims(n, 3)
	var changes []pgkv.Change
	for _, key := range []string{"aold", "gnew", "gold", "hold"} {
		changes = append(changes, pgkv.Change{Key: []byte(key), Value: []byte(key)})
	}
	for i := range 3000 {
		changes = append(changes, pgkv.Change{Key: []byte{'g', 'x', byte(i >> 8), byte(i)}, Value: []byte("xold")})
	}
	w.must(n.Commit(changes, nil))
	e := &pgkv.Engine{Node: n, Expiring: 'g', Expires: func(_, value []byte) uint64 {
		if string(value[1:]) == "old" {
			return 1
		}
		return 0
	}}
	w.wants(e.Sweep(ctx), context.Canceled)
	const all = "SELECT string_agg(convert_from(k, 'UTF8'), ' ' ORDER BY k) FROM kv"
	if left := query[string](t, w.schema, all); left != "aold gnew hold" {
		t.Errorf("left: %q", left)
	}
}

// TestReadAgain: a read whose snapshot is lost goes on in a new one unless it has read something that may have changed
// since.
func TestReadAgain(t *testing.T) {
	w := newWorld(t)
	a := w.join("a", "")
	w.must(a.Commit(one("first"), nil))
	end := func() {
		t.Helper()
		const ended = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE state LIKE 'idle in transaction%' AND application_name LIKE 'sextant/' || $1 || '/%'`
		for query[int](t, w.schema, ended, w.schema) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	get := func(v *pgkv.View, want string) {
		t.Helper()
		if got, err := v.Get([]byte("k")); err != nil || string(got) != want {
			t.Errorf("read %q, %v, want %q", got, err, want)
		}
	}
	fresh, read := a.View(0), a.View(0)
	defer fresh.Close()
	defer read.Close()
	get(read, "first")
	end()
	get(read, "first") // nothing has changed
	end()
	w.must(a.Commit(one("second"), nil))
	get(fresh, "second")
	if got, err := read.Get([]byte("k")); err == nil || !strings.Contains(err.Error(), "read again") {
		t.Errorf("read %q, %v", got, err)
	}
}
