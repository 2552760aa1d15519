// heldOnce starts a goroutine that commits, and waits for it unless the gate fails. A line has a goroutine that accepts
// connections and two for each of them; close ends them. Its mutex guards the connections; those goroutines and the
// callers of its methods take it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testpostgres"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// standby holds a synchronous standby while a commit waits for it, and ends the commit's client in three ways.
func (g *gate) standby(ctx context.Context) error {
	s, replica, err := g.pair(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	defer replica.Close()
	c, err := pgxDo(ctx, s, `ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`)
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	if err := until("a synchronous standby", func() (bool, error) {
		return ask[bool](ctx, s, `SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
	}); err != nil {
		return err
	}
	line := newLine(s.Address)
	defer line.close()
	n, err := pgkv.Join(ctx, pgkv.Options{DSN: line.dsn(s), Schema: schema, Node: "a"})
	if err != nil {
		return err
	}
	for i := range g.rounds {
		for how, end := range map[string]func() error{
			"terminated": func() error { return signalled(ctx, s, "pg_terminate_backend") },
			"cancelled":  func() error { return signalled(ctx, s, "pg_cancel_backend") },
			"cut":        func() error { line.cut(); return nil },
		} {
			if err := heldOnce(ctx, s, replica, n, end); err != nil {
				return fmt.Errorf("round %d, %s: %w", i, how, err)
			}
		}
	}
	return n.Leave(ctx)
}

// pair starts a server and a standby.
func (g *gate) pair(ctx context.Context) (s, replica *testpostgres.Server, err error) {
	if s, err = g.server(ctx); err != nil {
		return nil, nil, err
	}
	dir, err := g.folder()
	if err == nil {
		replica, err = s.Follow(dir, "replica")
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, replica, nil
}

const waits = `FROM pg_stat_activity WHERE application_name LIKE 'sextant/gate/a/%' AND wait_event = 'SyncRep'`

func signalled(ctx context.Context, s *testpostgres.Server, function string) error {
	_, err := ask[bool](ctx, s, `SELECT bool_and(`+function+`(pid)) `+waits)
	return err
}

const commits = `SELECT commits FROM gate.node WHERE id = 'a'`

func heldOnce(ctx context.Context, s, replica *testpostgres.Server, n *pgkv.Node, end func() error) error {
	before, err := ask[int64](ctx, s, commits)
	if err != nil {
		return err
	}
	held, err := replica.Processes()
	if err != nil {
		return err
	}
	signal := func(sig syscall.Signal) {
		for _, pid := range held {
			_ = syscall.Kill(pid, sig)
		}
	}
	signal(syscall.SIGSTOP)
	defer signal(syscall.SIGCONT)
	done := make(chan error, 1)
	go func() { done <- n.Commit([]pgkv.Change{{Key: []byte("k"), Value: fmt.Append(nil, before+1)}}, nil) }()
	waiting := func() (bool, error) { return ask[bool](ctx, s, `SELECT count(*) > 0 `+waits) }
	if err := until("a commit that waits for the standby", waiting); err != nil {
		return err
	}
	if err := end(); err != nil {
		return err
	}
	select {
	case err := <-done:
		return fmt.Errorf("the commit returned %w while the standby was held", err)
	case <-time.After(2 * time.Second):
	}
	plain, err := ask[int64](ctx, s, commits)
	if err != nil {
		return err
	}
	signal(syscall.SIGCONT)
	if err := <-done; err != nil {
		return err
	}
	after, err := ask[int64](ctx, s, commits)
	if err == nil {
		fmt.Printf("  %d commits; while held a plain SELECT said %d, then %d\n", before, plain, after)
	}
	if err == nil && after != before+1 {
		err = fmt.Errorf("%d commits after %d", after, before)
	}
	if err == nil {
		err = until("the replica", func() (bool, error) {
			n, err := ask[int64](ctx, replica, commits)
			return n == after, err
		})
	}
	return err
}

func pgxDo(ctx context.Context, s *testpostgres.Server, statements ...string) (string, error) {
	for _, statement := range statements {
		if err := s.Run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", s.DSN(), "-c", statement); err != nil {
			return statement, err
		}
	}
	return "", ctx.Err()
}

// failover promotes a replica that lacks the last commits.
func (g *gate) failover(ctx context.Context) error {
	s, replica, err := g.pair(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	defer replica.Close()
	line := newLine(s.Address)
	defer line.close()
	o := pgkv.Options{DSN: line.dsn(s), Schema: schema, Node: "a", File: filepath.Join(g.dir, "mark")}
	n, err := pgkv.Join(ctx, o)
	if err != nil {
		return err
	}
	commit := func(times int) (err error) {
		for i := 0; i < times && err == nil; i++ {
			err = n.Commit([]pgkv.Change{{Key: []byte("k"), Value: []byte{byte(i)}}}, nil)
		}
		return err
	}
	if err := commit(5); err != nil {
		return err
	}
	if err := until("the replica", func() (bool, error) {
		n, err := ask[int64](ctx, replica, commits)
		return n == 5, err
	}); err != nil {
		return err
	}
	// The replica is down for the last five commits, so that nothing of them waits in a socket.
	err = errors.Join(replica.Stop("fast"), commit(5), s.Stop("immediate"), replica.Resume(), replica.Promote())
	if err != nil {
		return err
	}
	line.turn(replica.Address)
	if err := commit(1); !errors.Is(err, pgkv.ErrSetBack) {
		return fmt.Errorf("a commit returned %w", err)
	}
	if err := n.Leave(ctx); err != nil {
		return err
	}
	if n, err = pgkv.Join(ctx, o); err != nil {
		return err
	}
	if e := (&pgkv.Engine{Node: n}); !n.SetBack() || e.Version() != 10 {
		return fmt.Errorf("set back: %t, commits: %d", n.SetBack(), e.Version())
	}
	return errors.Join(commit(1), n.Leave(ctx))
}

// line passes connections on to a server. mu guards what follows it.
type line struct {
	listener net.Listener
	mu       sync.Mutex
	to       string
	open     []net.Conn
}

func newLine(to string) *line {
	l := &line{to: to}
	var err error
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil { //nolint:noctx // at once
		panic(err)
	}
	go l.serve()
	return l
}

func (l *line) serve() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		server, err := net.Dial("tcp", l.to) //nolint:noctx // at once
		if err != nil {
			_ = c.Close()
		} else {
			l.open = append(l.open, c, server)
			go pass(c, server)
			go pass(server, c)
		}
		l.mu.Unlock()
	}
}

func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// cut closes all connections.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

// turn directs later connections to another server.
func (l *line) turn(to string) {
	l.mu.Lock()
	l.to = to
	l.mu.Unlock()
	l.cut()
}

func (l *line) close() {
	_ = l.listener.Close()
	l.cut()
}

// dsn returns the connection string of a server over the line.
func (l *line) dsn(s *testpostgres.Server) string {
	_, from, _ := net.SplitHostPort(s.Address)
	_, port, _ := net.SplitHostPort(l.listener.Addr().String())
	return strings.Replace(s.DSN(), "port="+from, "port="+port, 1)
}
