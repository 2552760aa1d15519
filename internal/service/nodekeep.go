package service

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
)

// nodekeep.go: while partitions are backed up one after the other each node keeps the letters to other partitions that have arrived. A link that went
// from one that is not backed up yet to one that is would be in neither backup. Who backs up asks all nodes again and again; a node tells by a name
// that it has kept all letters since it told it first.
//
// The mutex of a keeper guards its fields, and is held over nothing that waits. during has one goroutine, which asks again, and for which it waits;
// keeping is used by one goroutine at a time.

const (
	keepPath = "/v1/keep"
	// keepFor is how long letters are kept after the last question.
	keepFor = 30 * time.Second
	// keepAgain is when the next question comes.
	keepAgain = 5 * time.Second
)

// keeper keeps the letters of a session's partitions.
type keeper struct {
	store *partitioned.Store

	mu    sync.Mutex
	name  string // "": nothing is kept
	last  *time.Timer
	ended func()
}

// keep keeps letters for some time, and names the whole time over which they are kept.
func (k *keeper) keep(d time.Duration) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.name != "" && k.last.Stop() {
		k.last.Reset(d)
		return k.name
	}
	name, release := cluster.NewID().String(), k.store.Keep()
	k.name, k.ended = name, release
	k.last = time.AfterFunc(d, func() { k.release(name) })
	return name
}

// release ends a time over which letters are kept.
func (k *keeper) release(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last.Stop()
	k.ended()
	if k.name == name {
		k.name = ""
	}
}

// answerKeep tells who backs up that letters are kept.
func (c *clusterNode) answerKeep(w http.ResponseWriter, r *http.Request) {
	s := c.current()
	if s == nil {
		http.NotFound(w, r)
		return
	}
	_, _ = io.WriteString(w, s.keeper.keep(keepFor))
}

// keeping is what the nodes of a cluster have said that they keep, by where they are reached.
type keeping struct {
	client *peer.Client
	nodes  []cluster.NodeState
	names  map[string]string // of the times over which letters are kept
}

// ask has all nodes keep letters. One that does not answer, or has not kept all since the first time, is an error.
func (k *keeping) ask(ctx context.Context) error {
	for _, n := range k.nodes {
		said, err := k.askOne(ctx, n.Peer)
		if err != nil {
			return fmt.Errorf("node %s does not keep links to other partitions meanwhile: %w", n.Node, err)
		}
		if before, asked := k.names[n.Peer]; asked && before != said {
			return fmt.Errorf("node %s began anew meanwhile: try again", n.Node)
		}
		k.names[n.Peer] = said
	}
	return nil
}

func (k *keeping) askOne(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keepFor/2)
	defer cancel()
	answer, err := k.client.Do(ctx, http.MethodPost, address, keepPath)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Close() }()
	said, err := io.ReadAll(io.LimitReader(answer, 1<<10))
	return string(said), err
}

// during calls fn while the nodes keep letters.
func (k *keeping) during(ctx context.Context, fn func(context.Context) error) error {
	if err := k.ask(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	asking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for (cluster.SystemClock{}).Sleep(asking, keepAgain) == nil {
			if err := k.ask(asking); err != nil && asking.Err() == nil {
				cancel(err)
			}
		}
	})
	err := fn(ctx)
	stop()
	all.Wait()
	switch why := context.Cause(ctx); {
	case err != nil && why != nil:
		return why
	case err != nil:
		return err
	}
	return k.ask(ctx)
}
