package cluster

// stop.go: how a node of a cluster stops. Node.RunWith starts a goroutine for the node, and one that watches whether the engine answers once members
// are to end; it waits for both.

import (
	"context"
	"errors"
	"sync"
)

// RunWith runs the node, and its members beside it, until ctx or one of the two ends. Members end first: until then they may append, and release
// their claims. While the engine does not answer they can do neither, and when ctx has ended they wait for it a silence long.
func (n *Node) RunWith(ctx context.Context, members func(context.Context) error) error {
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	ctx, fail := context.WithCancel(ctx)
	defer fail()
	ended := make(chan error, 1)
	go func() {
		defer fail()
		ended <- n.Run(alive)
	}()
	var patience sync.WaitGroup
	patience.Go(func() {
		if n.patience(ctx, alive) {
			stop()
		}
	})
	err := members(ctx)
	stop()
	patience.Wait()
	return errors.Join(err, <-ended)
}

// patience waits until ctx ends, and from then on until alive does. It reports whether the engine did not answer for too long meanwhile: members
// that wait for it are to end without it.
func (n *Node) patience(ctx, alive context.Context) (over bool) {
	select {
	case <-ctx.Done():
	case <-alive.Done():
	}
	for since := n.clock.Now(); n.clock.Sleep(alive, n.times.Beat) == nil; {
		silent := n.Silent()
		switch {
		case silent.IsZero():
			since = n.clock.Now()
		case n.clock.Now()-since >= n.times.Silence:
			n.log.Warn("this node stops, and the cluster's engine does not answer: pages in flight are given up; who takes their partitions over fetches them again", "since", silent)
			return true
		}
	}
	return false
}

// farewell takes back this process's sign of life, so that its next start need not wait to see whether
// it still lives. If that fails the next start waits.
func (n *Node) farewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.times.Beat)
	defer cancel()
	_, err := n.engine.commit(ctx, Step{If: []Condition{n.same()}, Then: []Write{{Key: beatKey(n.name, n.run), Remove: true}}})
	if err != nil {
		n.log.Debug("the last sign of life was not taken back", "error", err)
	}
	n.resign(ctx)
}
