package main

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
)

// sleeps has a node sleep for a minute, and wants nobody to hear of it, once it is awake, for a partition that another node owns then.
func (c *killedParts) sleeps(n int) {
	c.Helper()
	m := c.nodes[n]
	if err := m.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.Fatal(err)
	}
	time.Sleep(time.Minute)
	c.until("the others have all", func(s *cluster.State) bool {
		return !slices.ContainsFunc(s.States, func(p cluster.PartitionState) bool { return p.Released || p.Owner.Node == m.name })
	})
	var asked, pushed atomic.Int64
	mine := func(local, remote net.Addr) bool {
		is, err := testport.Whose(m.cmd.Process.Pid, local, remote)
		if err != nil {
			c.Errorf("whose %v is: %v", local, err)
		}
		return is
	}
	all := make([]cluster.Partition, c.partitions)
	for i := range all {
		all[i] = cluster.Partition(i)
	}
	pushes := func(local, remote net.Addr) {
		if mine(local, remote) {
			pushed.Add(1)
			if !c.owns(m.name, all...) {
				c.Errorf("%s, which was asleep, tells the indexer something, and owns nothing", m.name)
			}
		}
	}
	site := c.front.site
	defer c.front.swap(site)
	c.front.swap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := net.ResolveTCPAddr("tcp", r.RemoteAddr)
		if err != nil {
			c.Error(err)
		} else if here, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && mine(from, here) {
			asked.Add(1)
			p := cluster.Partition(partitioned.ByOrigin("http://"+r.Host, c.partitions))
			if !c.owns(m.name, p) && r.Context().Err() == nil { // who loses a partition ends its requests before
				c.Errorf("%s, which was asleep, asks for %s%s of %s, which it does not own", m.name, r.Host, r.URL, p)
			}
		}
		site.ServeHTTP(w, r)
	}))
	c.hears.Store(&pushes)
	defer c.hears.Store(nil)
	if err := m.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.Fatal(err)
	}
	time.Sleep(20 * time.Second)
	c.Logf("awake, it asked %d times, and was heard %d times by the indexer", asked.Load(), pushed.Load())
}

// owns reports whether a node owns one of some partitions.
func (c *killedParts) owns(name string, partitions ...cluster.Partition) bool {
	keys := make([]string, len(partitions))
	for i, p := range partitions {
		keys[i] = "own/" + p.String()
	}
	v, err := c.engine.Read(c.Context(), keys...)
	if err != nil {
		return true // it is not known
	}
	return slices.ContainsFunc(v.Keys, func(kv cluster.KeyValue) bool {
		var own struct {
			Node     string
			Released bool
		}
		return json.Unmarshal(kv.Value, &own) == nil && own.Node == name && !own.Released
	})
}
