package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

// A member has two goroutines, which send beats and end the right in time, from join to Close, which waits for them.

// nodeFile holds the node's name and its last commit, in the Crawler's part of the data directory.
const nodeFile = "node"

// member is the node of one Crawler on PostgreSQL. It is the store's engine: closing the store closes it.
type member struct {
	pgkv.Engine
	crawler string
	log     *slog.Logger
	beating *errgroup.Group
	lost    context.Context // ends when the node may act no more; its cause is why
	end     context.CancelFunc
	close   sync.Once
}

// join begins a node, which stands by until take returns. ctx bounds the beginning, life the whole life of the node.
func (h Home) join(ctx, life context.Context, log *slog.Logger) (*member, error) {
	if err := os.MkdirAll(h.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	life, end := context.WithCancel(life)
	begun := context.AfterFunc(ctx, end)
	n, err := pgkv.Join(life, pgkv.Options{
		DSN: h.Database.Reveal(), Schema: pgkv.Schema(h.Crawler), File: filepath.Join(h.Dir, nodeFile),
	})
	if err == nil && !begun() {
		err = errors.Join(ctx.Err(), n.Leave(context.WithoutCancel(ctx)))
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("the database: %w", err)
	}
	m := &member{crawler: h.Crawler, log: log.With("node", n.Name()), end: end}
	m.Engine = pgkv.Engine{Node: n, Expires: record.Expires, Expiring: record.KindGone}
	lost, lose := context.WithCancelCause(life)
	m.lost, m.beating = lost, &errgroup.Group{}
	m.beating.Go(func() error { return n.Run(lost) })
	m.beating.Go(func() error {
		lose(n.Right().Watch(lost))
		return nil
	})
	m.report()
	return m, nil
}

// report logs what an operator must know of the database.
func (m *member) report() {
	if m.SetBack() {
		m.log.Error("the database was set back: it lacks changes that it had confirmed. "+
			"Compare the index with it: sextant push verify --repair", "crawler", m.crawler)
	}
	if !m.Replicated() {
		m.log.Warn("the database does not wait for a replica (synchronous_standby_names): " +
			"if its machine is lost, so are the last changes")
	}
}

// takePause is the time between two looks at the node that crawls.
const takePause = 500 * time.Millisecond

// take returns when the node holds the Crawler. Meanwhile it calls report twice a second. A node that has been silent
// for permit.TakenAfter is fenced. With now set, take returns an error that wraps scheduler.ErrLocked if a node crawls.
func (m *member) take(ctx context.Context, now bool, report func(words string)) error {
	w := m.Watch()
	for {
		holder, err := m.Holder(ctx, m.Part)
		if err == nil && holder == "" {
			var taken []int16
			if taken, err = m.Claim(ctx, []int16{m.Part}); err == nil && len(taken) > 0 {
				return nil
			}
		}
		if err == nil {
			err = m.fence(ctx, w, holder)
		}
		switch {
		case err != nil:
			report("the database does not respond: " + err.Error())
		case now && w.Beats(holder):
			return fmt.Errorf("%w: node %s crawls %s: stop it, or use it on its machine", scheduler.ErrLocked, holder, m.crawler)
		default:
			report(fmt.Sprintf("node %s crawls %s", holder, m.crawler))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.lost.Done():
			return context.Cause(m.lost)
		case <-time.After(takePause):
		}
	}
}

// fence fences the holder if it is silent.
func (m *member) fence(ctx context.Context, w *pgkv.Watch, holder string) error {
	silent, err := w.Look(ctx)
	for _, s := range silent {
		if s.Node != holder {
			continue
		}
		switch err := m.Fence(ctx, s); {
		case err == nil:
			m.log.Warn("a node is silent: this one takes its place", "crawler", m.crawler, "silent", holder)
		case !errors.Is(err, pgkv.ErrBeats):
			return err
		}
	}
	return err
}

// during calls fn while the node holds the Crawler: when it no longer does, the context ends, and the error is the
// reason.
func (m *member) during(ctx context.Context, fn func(context.Context) error) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.lost, cancel)()
	endSweep := beside(within, func(within context.Context) {
		if err := m.Sweep(within); within.Err() == nil {
			m.log.Error("expired keys are not removed", "crawler", m.crawler, "error", err)
		}
	})
	err := fn(within)
	endSweep()
	if ctx.Err() == nil && m.lost.Err() != nil {
		if errors.Is(err, context.Canceled) {
			err = nil // a consequence
		}
		err = errors.Join(context.Cause(m.lost), err)
	}
	return err
}

// Close implements kv.Engine. It gives the Crawler up. Further calls do nothing.
func (m *member) Close() (err error) {
	m.close.Do(func() {
		err = m.Engine.Close()
		m.end()
		_ = m.beating.Wait() // it was fenced, or has left
	})
	return err
}

// lateFor is how long a request that an earlier node sent may take until it is in force at an indexer: it may wait in a
// proxy, or in the indexer's own queue.
const lateFor = 2 * time.Minute

// repeatName is the value that keeps Claim's Repeat for the next node.
var repeatName = scheduler.CrawlValue("push.repeat")

// claim returns the claim by which the relay pushes. If the node that crawled before did not give up in order, or the
// one before that and less than lateFor ago, the relay repeats the orders that were not safe then.
func (m *member) claim(ctx context.Context, s *store.Store) (push.Claim, error) {
	const what = "until when requests of an earlier node may arrive"
	c, now := push.Claim{Permit: m.Right()}, time.Now()
	if !s.ClosedCleanly() {
		c.Repeat = now.Add(lateFor)
		return c, scheduler.SaveValue(ctx, s, repeatName, what, c.Repeat)
	}
	var until time.Time
	err := scheduler.LoadValue(ctx, s, repeatName, what, &until)
	if until.After(now) {
		c.Repeat = now.Add(min(until.Sub(now), lateFor)) // by this node's clock, which may be behind the other's
	}
	return c, err
}
