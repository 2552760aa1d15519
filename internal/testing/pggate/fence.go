// fenceOnce starts a goroutine that reads a child's output, and waits for it unless the gate fails. Goroutines
// that beat end with the process.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testpostgres"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// A child's commit is 30 MB, more than the buffers of a connection hold: stopping it often cuts one.
const (
	childKeys  = 1500
	childValue = 20_000
)

// child commits as node a until it is fenced, and writes the number of each commit that was confirmed.
func child(dsn, part string) {
	ctx := context.Background()
	number, _ := strconv.Atoi(part)
	n, err := pgkv.Join(ctx, pgkv.Options{DSN: dsn, Schema: schema, Node: "a"})
	if err != nil {
		fmt.Println("join:", err)
		return
	}
	go func() { _ = n.Run(ctx) }()
	p := int16(number) //nolint:gosec // below 64
	if taken, err := n.Claim(ctx, []int16{p}); err != nil || len(taken) != 1 {
		fmt.Println("claim:", taken, err)
		return
	}
	for i := 1; ; i++ {
		changes := []pgkv.Change{
			{Part: p, Key: fmt.Appendf(nil, "gone %d", i-1)},
			{Part: p, Key: fmt.Appendf(nil, "gone %d", i), Value: []byte{1}},
		}
		for k := range childKeys {
			v := append(fmt.Appendf(nil, "%d ", i), bytes.Repeat([]byte{byte(i)}, childValue)...)
			changes = append(changes, pgkv.Change{Part: p, Key: fmt.Appendf(nil, "key %d", k), Value: v})
		}
		if err := n.Commit(changes, nil); err != nil {
			if errors.Is(err, pgkv.ErrFenced) {
				fmt.Println("fenced")
			}
			fmt.Println(err)
			return
		}
		fmt.Println(i)
	}
}

// fence stops a child in the middle of a commit, has another node take its part, and lets the child go on.
func (g *gate) fence(ctx context.Context) error {
	s, err := g.server(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	b, err := pgkv.Join(ctx, pgkv.Options{DSN: s.DSN(), Schema: schema, Node: "b"})
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	go func() { _ = b.Run(run) }()
	for round := range g.rounds {
		if err := fenceOnce(ctx, s, b, int16(round)); err != nil { //nolint:gosec // a few
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return b.Leave(ctx)
}

func fenceOnce(ctx context.Context, s *testpostgres.Server, b *pgkv.Node, part int16) error {
	cmd := exec.CommandContext(ctx, os.Args[0], "child", s.DSN(), fmt.Sprint(part))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill() }()
	var confirmed atomic.Int64
	said := make(chan string, 1)
	go func() { said <- follow(out, &confirmed) }()
	if err := until("commits of the child", func() (bool, error) { return confirmed.Load() > 2, nil }); err != nil {
		return err
	}
	if err := stopWithin(ctx, s, cmd.Process); err != nil {
		return err
	}
	w := b.Watch()
	if err := until("silence", func() (bool, error) {
		time.Sleep(200 * time.Millisecond)
		silent, err := w.Look(ctx)
		if err != nil || len(silent) == 0 {
			return false, err
		}
		return true, b.Fence(ctx, silent[0])
	}); err != nil {
		return err
	}
	if taken, err := b.Claim(ctx, []int16{part}); err != nil || len(taken) != 1 {
		return fmt.Errorf("claimed %v: %w", taken, err)
	}
	last, err := contents(b, part)
	if err == nil && last < confirmed.Load() {
		err = fmt.Errorf("commit %d was confirmed, and %d is the last", confirmed.Load(), last)
	}
	if err == nil {
		err = b.Commit([]pgkv.Change{{Part: part, Key: fmt.Appendf(nil, "gone %d", last), Value: []byte("taken")}}, nil)
	}
	if err == nil {
		err = cmd.Process.Signal(syscall.SIGCONT)
	}
	if err != nil {
		return err
	}
	if words := <-said; words != "fenced" {
		return fmt.Errorf("the child said %q", words)
	}
	after, err := contents(b, part)
	if err == nil && (after != last || confirmed.Load() > last) {
		err = fmt.Errorf("commit %d after %d, confirmed %d", after, last, confirmed.Load())
	}
	_ = cmd.Wait()
	return err
}

// follow reads the numbers of a child's confirmed commits, and returns the first other line.
func follow(out io.Reader, confirmed *atomic.Int64) string {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			return lines.Text()
		}
		confirmed.Store(n)
	}
	return "nothing"
}

// moments draws when children are stopped.
var moments = rand.New(rand.NewPCG(1, 1)) //nolint:gosec // a test

// stopWithin stops a child while the database waits for the rest of its commit.
func stopWithin(ctx context.Context, s *testpostgres.Server, p *os.Process) error {
	const cut = `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sextant/gate/a/%' AND xact_start IS NOT NULL
		AND wait_event = 'ClientRead' AND query LIKE 'DELETE%'`
	return until("a cut commit", func() (bool, error) {
		time.Sleep(time.Duration(moments.IntN(100)) * time.Millisecond)
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return false, err
		}
		time.Sleep(50 * time.Millisecond) // the bytes under way arrive
		n, err := ask[int](ctx, s, cut)
		if n == 1 || err != nil {
			return n == 1, err
		}
		return false, p.Signal(syscall.SIGCONT)
	})
}

// contents returns the commit that stored all keys of a part.
func contents(n *pgkv.Node, part int16) (last int64, err error) {
	v := n.View(part)
	defer v.Close()
	keys := 0
	err = v.Walk([]byte("key "), nil, true, func(key, value []byte) error {
		keys++
		word, _, _ := bytes.Cut(value, []byte{' '})
		commit, err := strconv.ParseInt(string(word), 10, 64)
		if err == nil && keys > 1 && commit != last {
			err = fmt.Errorf("%s is of commit %d, others are of %d", key, commit, last)
		}
		last = commit
		return err
	})
	if err == nil && keys != childKeys {
		err = fmt.Errorf("%d keys", keys)
	}
	return last, err
}
