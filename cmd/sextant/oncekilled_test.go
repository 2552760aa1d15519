package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/internal/testing/clusterfigures"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// TestOnceKilled kills nodes that crawl a site of 40 hosts once, and starts them again, and wants them to come to its end, not one of them before, with
// every document. Its settings are those of TestPartitionsKilled.
func TestOnceKilled(t *testing.T) {
	if os.Getenv("SEXTANT_CLUSTER_KILLS") == "" {
		t.Skip("make cluster-crash PARTITIONS=6 KILLED=TestOnceKilled runs it")
	}
	kills := max(1, clusterfigures.Number(t, "SEXTANT_CLUSTER_KILLS", 0))
	nodes, partitions, replicas := clusterfigures.Number(t, "SEXTANT_NODES", 3), clusterfigures.Number(t, "SEXTANT_PARTITIONS", 6), clusterfigures.Number(t, "SEXTANT_REPLICAS", 2)
	c := killedOnce{killedParts: newKilledParts(t, 3, nodes, partitions, replicas, 40, 20+10*kills)}
	c.args = []string{"--once"}
	for n := range c.nodes {
		c.begin(n)
	}
	for r := seeded.Rand(t); c.kills < kills && c.killOne(r); {
	}
	for _, m := range c.nodes {
		select {
		case <-m.ended:
		case <-time.After(15 * time.Minute):
			t.Fatalf("%s does not end, %d kills: %s", m.name, c.kills, c.missing())
		}
		t.Logf("%s ended after %.1f s", m.name, time.Since(c.began).Seconds())
	}
	c.watches.Wait()
	if missing := c.missing(); missing != "" {
		t.Errorf("site and indexer differ (-site +indexer):\n%s", missing)
	}
	for _, words := range c.hosts.close(partsPause / 2) {
		t.Errorf("%s: want %v between them", words, partsPause)
	}
	for _, m := range c.nodes {
		for p := range cluster.Partition(partitions) {
			if dir := node.StoreDir(filepath.Join(m.data, "store"), partitions, p); badgerstore.Exists(dir) {
				c.content(dir)
			}
		}
	}
	if file := os.Getenv("SEXTANT_CLUSTER_TALLY"); file != "" && !t.Failed() {
		c.tally(file)
	}
}

// killedOnce is a crawl by sextant run --once, which wants each node that ends to end in order, with all documents at the indexer.
type killedOnce struct {
	*killedParts
	watches sync.WaitGroup
}

func (c *killedOnce) begin(n int) {
	c.start(n)
	name, cmd, ended := c.nodes[n].name, c.nodes[n].cmd, c.nodes[n].ended
	c.watches.Go(func() {
		<-ended
		code := cmd.ProcessState.ExitCode()
		if code < 0 {
			return // it was killed
		}
		if code > 0 {
			c.Errorf("%s ends with exit code %d", name, code)
		}
		if indexed, err := c.indexer.URIs("kill"); err != nil || len(indexed) != len(c.hosts.documents()) {
			c.Errorf("%s ends with %d of %d documents, %v", name, len(indexed), len(c.hosts.documents()), err)
		}
	})
}

// killOne kills a node and starts it again; it reports false if that has ended before.
func (c *killedOnce) killOne(r *rand.Rand) bool {
	select {
	case <-c.front.after(r.IntN(300)):
	case <-time.After(20 * time.Second): // the crawl may be done
	}
	seeded.Pause(r, 100*time.Millisecond)
	n := r.IntN(len(c.nodes))
	select {
	case <-c.nodes[n].ended:
		c.Logf("the crawl ended after %d kills", c.kills)
		return false
	default:
	}
	c.kills++
	c.Logf("after %.1f s kill %d: %s", time.Since(c.began).Seconds(), c.kills, c.nodes[n].name)
	c.kill(n)
	seeded.Pause(r, 6*time.Second) // with it, others take over, or not
	c.begin(n)
	return true
}
