// Package ration divides the limits of a whole crawl by the nodes that have partitions, so that all together never exceed them, also
// while nodes come, go, freeze or are cut off.
//
// A table in the engine names the nodes that have a ration: each the same. A node follows it by its own clock alone:
//
//   - a smaller ration counts at once, a larger one when the table has been seen for Times.Silence;
//   - any ration is over Times.Right after the last read of the table was SENT, and who had none begins anew, with nothing;
//   - nobody replaces a table that they have not seen for Times.Silence.
//
// Why the sum holds: let T be the table in force Times.Right before some moment. Whoever has a ration at that moment has read T or the table
// after it since, because tables last longer than Right; if the later one, less than Silence ago, and T before. So nobody has more
// than T gives. As for claims, no two clocks may differ in speed by more than Silence / Right.
//
// Goroutines: Run has one for each question, which ends with it. There is no lock.
package ration

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
)

// name is that of the table among the small values of package shared.
const name = "ration"

// table names the nodes that have a ration.
type table struct {
	Number int64    `json:"number"`
	Nodes  []string `json:"nodes"`
}

// of is a node's ration.
func (t *table) of(node string) float64 {
	if !slices.Contains(t.Nodes, node) {
		return 0
	}
	return 1 / float64(len(t.Nodes))
}

// Node has a ration in one process.
type Node struct {
	Name   string
	Engine cluster.Engine
	Clock  cluster.Clock
	Times  cluster.Times
	// Set is told the part of each limit that this process may use, between 0 and 1, when it changes; 0 at first.
	Set func(part float64)

	seen  []sight // tables that bound the ration, the current one last
	until time.Duration
	at    cluster.Revision
	part  float64
}

// sight is a table, with when it was seen first and when a later one was.
type sight struct {
	table
	since, replaced time.Duration
}

// Run follows the table until ctx ends, which is no error, and keeps it equal to who owns partitions. It returns an error for what
// only a person can end.
func (n *Node) Run(ctx context.Context) error {
	defer n.set(0)
	n.Set(0)
	for {
		err := n.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !cluster.Passes(err) && !errors.Is(err, cluster.ErrRefused) && !errors.Is(err, context.Canceled):
			return err
		}
		next := n.Times.Beat / 2
		if left := n.until - n.Clock.Now(); len(n.seen) > 0 && left > 0 {
			next = min(next, left)
		}
		if err := n.Clock.Sleep(ctx, next); err != nil {
			return nil //nolint:nilerr // the end of ctx
		}
	}
}

// round reads the table, takes what it gives, and replaces it if others own partitions by now.
func (n *Node) round(ctx context.Context) error {
	defer n.judge()
	n.judge()
	asking, ended := n.within(ctx)
	defer ended()
	sent := n.Clock.Now()
	var t table
	at, err := shared.Value(asking, n.Engine, name, &t)
	if err != nil {
		return err
	}
	n.saw(t, at, sent)
	if n.judge(); len(n.seen) == 0 { // the answer came too late
		return nil
	}
	owners, err := cluster.Owners(asking, n.Engine)
	if err != nil {
		return err
	}
	want := having(&owners)
	current := n.seen[len(n.seen)-1]
	if slices.Equal(want, t.Nodes) || at != 0 && n.Clock.Now()-current.since < n.Times.Silence {
		return nil
	}
	err = shared.SetValue(asking, n.Engine, name, at, table{Number: t.Number + 1, Nodes: want})
	if errors.Is(err, shared.ErrChanged) {
		err = nil
	}
	return err
}

// within gives a question no longer than what was read before counts: an answer that comes late would keep a ration that is over.
func (n *Node) within(ctx context.Context) (asking context.Context, ended func()) {
	d := n.Times.Right
	if len(n.seen) > 0 {
		d = n.until - n.Clock.Now()
	}
	asking, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		if n.Clock.Sleep(asking, d) == nil {
			cancel()
		}
	})
	return asking, func() { cancel(); watch.Wait() }
}

// having are the nodes that own partitions.
func having(o *cluster.Ownership) (nodes []string) {
	for i := range o.Owners {
		if one := &o.Owners[i]; !one.Released {
			nodes = append(nodes, one.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// saw takes in a table that was read by a question sent at a time.
func (n *Node) saw(t table, at cluster.Revision, sent time.Duration) {
	now := n.Clock.Now()
	if len(n.seen) == 0 { // with nothing, until this has been in force for long enough
		n.seen = []sight{{since: now}}
		n.at = -1
	}
	if n.at != at {
		n.seen[len(n.seen)-1].replaced = now
		n.seen, n.at = append(n.seen, sight{table: t, since: now}), at
	}
	n.until = sent + n.Times.Right
}

// judge sets what may be used now.
func (n *Node) judge() {
	now := n.Clock.Now()
	if len(n.seen) > 0 && now >= n.until {
		n.seen = nil // the next table begins anew
	}
	if len(n.seen) == 0 {
		n.set(0)
		return
	}
	n.seen = slices.DeleteFunc(n.seen, func(s sight) bool { return s.replaced != 0 && now-s.replaced >= n.Times.Silence })
	last := len(n.seen) - 1
	part := n.seen[last].of(n.Name)
	for i := range n.seen[:last] {
		part = min(part, n.seen[i].of(n.Name))
	}
	n.set(part)
}

func (n *Node) set(part float64) {
	if part != n.part {
		n.part = part
		n.Set(part)
	}
}
