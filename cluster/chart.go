package cluster

// chart.go: what a node knows of the map. Node.awaitNamed has a timer's goroutine, and waits for it. chart.mu guards the chart; the node's leadership writes, members and whoever makes copies
// read. What is read may be a beat old: every step that must not be wrong compares revisions.

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster/placement"
)

// ErrHandOver says that a partition goes to another node, in order.
var ErrHandOver = errors.New("the partition goes to another node")

// errLeft says that a member has left: the map gives its partition to others.
var errLeft = errors.New("the map gives this partition to other nodes")

// mapped is the map as it is stored. One of an earlier incarnation is void.
type mapped struct {
	Incarnation string `json:"incarnation"`
	placement.Map
}

// chart is the map as last seen; it is not known in a cluster of one partition, and until a leader has written it.
type chart struct {
	mu      sync.Mutex
	at      Revision
	now     placement.Map
	changed chan struct{} // closed at the next change; nil: nobody waits
	refuses string        // why no copy is made
	until   time.Duration // so long
}

// saw takes in the map of a revision.
func (c *chart) saw(m placement.Map, at Revision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at <= c.at {
		return
	}
	c.at, c.now = at, m
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// look is the map, and what is closed when there is another one.
func (c *chart) look() (m placement.Map, at Revision, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.now, c.at, c.changed
}

// names reports whether the map names a node for a partition; known is false if there is no map.
func (c *chart) names(p Partition, node string) (named, known bool) {
	m, at, _ := c.look()
	return slices.Contains(m.Of(int(p)), node), at != 0
}

// ahead is how many nodes of the in-sync set take over before this one, the last owner apart.
func (c *chart) ahead(p Partition, node string, v view) (n int) {
	m, _, _ := c.look()
	for _, other := range m.Of(int(p)) {
		if other == node {
			break
		}
		if other != v.owner.Node && slices.ContainsFunc(v.inSync.Seats, func(s Seat) bool { return s.Node == other }) {
			n++
		}
	}
	return n
}

// refuse has the beats say why no copy is made, until then.
func (c *chart) refuse(why string, until time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuses, c.until = why, until
}

func (c *chart) refusal(now time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now >= c.until {
		return ""
	}
	return c.refuses
}

// awaitNamed returns when the map names the node for a partition, or ctx ends, or so much time is over (0: never).
func (n *Node) awaitNamed(ctx context.Context, p Partition, most time.Duration) (named bool, err error) {
	if most > 0 {
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		var timer sync.WaitGroup
		defer timer.Wait()
		defer cancel()
		timer.Go(func() {
			_ = n.clock.Sleep(limited, most)
			cancel()
		})
		named, err = n.awaitNamed(limited, p, 0)
		if ctx.Err() == nil {
			err = nil
		}
		return named, err
	}
	for {
		m, _, changed := n.chart.look()
		if slices.Contains(m.Of(int(p)), n.name) {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-changed:
		}
	}
}

// step leaves the in-sync set of a partition that the map gives to others, when all of these are in it. errLeft if it is done.
func (m *Member) step(ctx context.Context, v view) error {
	if !v.inSync.has(m.seat) {
		return errLeft
	}
	now, at, _ := m.node.chart.look()
	for _, name := range now.Of(int(m.partition)) {
		if !slices.ContainsFunc(v.inSync.Seats, func(s Seat) bool { return s.Node == name }) {
			return nil // this copy counts until there is the other one
		}
	}
	stay := slices.DeleteFunc(slices.Clone(v.inSync.Seats), func(s Seat) bool { return s == m.seat })
	out, err := m.node.engine.commit(ctx, Step{
		If:   []Condition{m.node.same(), {mapKey, at}, {v.own.Key, v.own.Revision}, {v.set.Key, v.set.Revision}},
		Then: []Write{Put(v.set.Key, syncSet{stay})},
	})
	if err != nil || !out.Taken {
		return err
	}
	m.log.Info("this node leaves the in-sync set: other nodes have the partition")
	return errLeft
}

// handOver tells whoever leads when the map gives the partition to another node, and ends the lead if that takes too long. A map
// from before the claim says nothing of it.
func (m *Member) handOver(ctx context.Context, h *hold, end context.CancelCauseFunc) {
	for {
		now, at, changed := m.node.chart.look()
		if first := now.First(int(m.partition)); first != "" && first != m.seat.Node && at > h.epoch {
			m.log.Info("the partition goes to another node", "to", first)
			h.leave()
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-h.leaving:
			if m.node.clock.Sleep(ctx, m.node.times.HandOver) == nil {
				end(ErrHandOver)
			}
			return
		}
	}
}

// leads notes how the member is told to hand over; nil: it does not lead.
func (m *Member) leads(leave func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.handing = leave
}

// HandOver has the member give up the partition in order, for others to claim, and reports whether it owns it.
func (m *Member) HandOver() bool {
	m.mu.Lock()
	leave := m.handing
	m.mu.Unlock()
	if leave != nil {
		leave()
	}
	return leave != nil
}
