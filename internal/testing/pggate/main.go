// Command pggate subjects nodes on PostgreSQL to failures of the database and of its clients, and measures them under
// load. It starts servers in a temporary folder. Each part prints a line, and the first failure ends the command:
//
//	fence     a node is stopped in the middle of a commit, another takes its part, and the first goes on
//	standby   a synchronous standby is held while the client of a commit dies
//	failover  a replica takes over that lacks commits
//	load      three nodes commit pages for -for, with a snapshot of -snapshot in the middle
//
// Goroutines and mutexes: each file starts with its list; all goroutines are waited for, or end with the process. A
// mutex guards the connections of a line, another the figures of a worker.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sextant-crawler/sextant/internal/testing/testpostgres"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// gate is one run.
type gate struct {
	dir      string
	rounds   int
	lasts    time.Duration
	snapshot time.Duration
	rate     int // pages a second
	servers  int
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		child(os.Args[2], os.Args[3])
		return
	}
	var g gate
	flag.IntVar(&g.rounds, "rounds", 5, "`rounds` of each fault")
	flag.DurationVar(&g.lasts, "for", 30*time.Minute, "`time` of the load")
	flag.DurationVar(&g.snapshot, "snapshot", 3*time.Minute, "how `long` a snapshot is held in the middle of the load")
	flag.IntVar(&g.rate, "rate", 3000, "`pages` a second")
	flag.Parse()
	if err := g.run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pggate:", err)
		os.Exit(1)
	}
}

func (g *gate) run(names []string) (err error) {
	if g.dir, err = os.MkdirTemp("", "pggate-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(g.dir) }()
	if err := os.Chmod(g.dir, 0o755); err != nil { //nolint:gosec // the servers' user must reach its folders
		return err
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"fence", g.fence}, {"standby", g.standby}, {"failover", g.failover}, {"load", g.load}} {
		if len(names) > 0 && !slices.Contains(names, part.name) {
			continue
		}
		began := time.Now()
		if err := part.run(context.Background()); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Printf("%s: passed, %.0f s\n", part.name, time.Since(began).Seconds())
	}
	return nil
}

// folder makes a folder for a server.
func (g *gate) folder() (string, error) {
	g.servers++
	dir := filepath.Join(g.dir, fmt.Sprint(g.servers))
	return dir, os.Mkdir(dir, 0o755) //nolint:gosec // the server's user must reach it
}

const schema = "gate"

// server starts a server with an empty schema.
func (g *gate) server(ctx context.Context, settings ...string) (*testpostgres.Server, error) {
	dir, err := g.folder()
	if err != nil {
		return nil, err
	}
	s, err := testpostgres.New(dir, settings...)
	if err != nil {
		return nil, err
	}
	if err := pgkv.Init(ctx, s.DSN(), schema); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ask returns the value that a statement selects over a new connection.
func ask[T any](ctx context.Context, s *testpostgres.Server, statement string, args ...any) (v T, err error) {
	c, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return v, err
	}
	err = c.QueryRow(ctx, statement, args...).Scan(&v)
	return v, errors.Join(err, c.Close(ctx))
}

// until calls fn until it returns true.
func until(what string, fn func() (bool, error)) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ok, err := fn()
		switch {
		case ok || err != nil:
			return err
		case time.Now().After(deadline):
			return errors.New("waited for long: " + what)
		}
	}
}
