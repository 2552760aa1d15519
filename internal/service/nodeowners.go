package service

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/letters"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/scheduler"
)

// nodeowners.go: what a node with partitions knows of the others, and what it answers them. The mutexes of owners and brake guard what was seen last.

// owners are where the owners of partitions are reached, as last seen. The mutex guards it.
type owners struct {
	engine cluster.Engine
	node   string // this one

	mu sync.Mutex
	at map[int]place
}

// place is where an owner is reached. moved is closed once that is not so any more.
type place struct {
	address string
	moved   chan struct{}
}

// look sees who owns what now.
func (o *owners) look(ctx context.Context) error {
	owned, err := cluster.Owners(ctx, o.engine)
	if err != nil {
		return err
	}
	nodes, err := cluster.Nodes(ctx, o.engine)
	if err != nil {
		return err
	}
	addresses := map[string]string{}
	for _, n := range nodes {
		addresses[n.Node] = n.Peer
	}
	at := map[int]string{}
	for i := range owned.Owners {
		one := &owned.Owners[i]
		if address := addresses[one.Node]; !one.Released && one.Node != o.node && address != "" {
			at[int(one.Partition)] = address
		}
	}
	o.saw(at)
	return nil
}

// saw notes who is where.
func (o *owners) saw(at map[int]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.at, func(partition int, p place) bool {
		goes := at[partition] != p.address
		if goes {
			close(p.moved)
		}
		return goes
	})
	if o.at == nil {
		o.at = map[int]place{}
	}
	for partition, address := range at {
		if o.at[partition].address == "" {
			o.at[partition] = place{address, make(chan struct{})}
		}
	}
}

// address is where the owner of a partition is reached, and moved as letters.Carrier wants it.
func (o *owners) address(partition int) (address string, moved <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.at[partition]
	return p.address, p.moved
}

// brake knows how many documents the partitions have that are elsewhere. The mutex guards it.
type brake struct {
	node *clusterNode

	mu    sync.Mutex
	there scheduler.BrakeCount
}

// elsewhere is their sum, as last told.
func (b *brake) elsewhere() scheduler.BrakeCount {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.there
}

// look tells what is here, and reads what the others have told. What has left is counted by process: its first partition tells that.
func (b *brake) look(ctx context.Context, r *running) error {
	b.node.mu.Lock()
	here := maps.Clone(b.node.active)
	b.node.mu.Unlock()
	var own []shared.Count
	for _, p := range slices.Sorted(maps.Keys(here)) {
		one, err := countOf(ctx, here[p])
		if err != nil {
			return err
		}
		if len(own) == 0 {
			one.Deleted = r.SentDeletions()
		}
		own = append(own, one)
	}
	if err := shared.SayCounts(ctx, b.node.of.Engine, b.node.of.Name, own); err != nil {
		return err
	}
	all, err := shared.Counts(ctx, b.node.of.Engine)
	if err != nil {
		return err
	}
	var there scheduler.BrakeCount
	for _, one := range all {
		if here[one.Partition] == nil {
			there.Documents += one.Documents
			there.Left += one.Deleted
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.there = there
	return nil
}

func countOf(ctx context.Context, a *node.Active) (shared.Count, error) {
	n, err := a.Store.Counts(ctx)
	return shared.Count{Partition: cluster.Partition(a.Partition), Epoch: a.Epoch(), Documents: n.Indexed}, err
}

// current is the session that takes partitions, nil if none does.
func (c *clusterNode) current() *session {
	c.mu.Lock()
	p := c.parts
	c.mu.Unlock()
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// receiver takes letters from other nodes, nil if nothing does now.
func (c *clusterNode) receiver() letters.Receiver {
	if s := c.current(); s != nil {
		return s.over.Store
	}
	return nil
}

// answerNode answers another node about this one's part.
func (c *clusterNode) answerNode(w http.ResponseWriter, r *http.Request) {
	if s := c.current(); s != nil {
		s.whole.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// lacks says which partitions this node owns and does not have yet: its claim stands before its crawl has taken them in.
func (p *parts) lacks(ctx context.Context, has func(partition int) bool) string {
	owned, err := cluster.Owners(ctx, p.of.Engine)
	if err != nil {
		return "which partitions it should have is not known: " + err.Error()
	}
	var all []string
	for i := range owned.Owners {
		if o := &owned.Owners[i]; !o.Released && o.Node == p.of.Name && !has(int(o.Partition)) {
			all = append(all, o.Partition.String())
		}
	}
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, ", ") + " on the way to it"
}
