package service

import (
	"context"
	"sync"

	"github.com/sextant-crawler/sextant/cluster"
)

// owners are where the owners of partitions are reached, as last seen. The mutex guards it.
type owners struct {
	engine cluster.Engine
	node   string // this one

	mu sync.Mutex
	at map[int]string
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
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at = at
	return nil
}

// address is where the owner of a partition is reached.
func (o *owners) address(partition int) (address string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	address, ok = o.at[partition]
	return address, ok
}
