package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/clusterfigures"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// manyHosts is a site of many hosts, whose pages are linked from pages of other hosts. The mutex guards what it saw.
type manyHosts struct {
	hosts, depth int
	port         string

	mu     sync.Mutex
	visits map[string][]atHost // by host
}

// atHost is a request, from when its header had been read until its answer was written.
type atHost struct {
	path       string
	begin, end time.Time
}

// newManyHosts serves at each address of this machine, so that each is a host.
func newManyHosts(t *testing.T, hosts, depth int) (*manyHosts, *counted) {
	t.Helper()
	s := &manyHosts{hosts: hosts, depth: depth, visits: map[string][]atHost{}}
	front := &counted{site: s, waiting: map[int]chan struct{}{}}
	s.port = testport.Everywhere(t, front)
	return s, front
}

// page is the URL of the page k of a host.
func (s *manyHosts) page(host, k int) string {
	path := ""
	if k > 0 {
		path = fmt.Sprint(k)
	}
	return fmt.Sprintf("http://127.0.4.%d:%s/%s", 1+host%s.hosts, s.port, path)
}

// documents are the URLs of all pages, sorted.
func (s *manyHosts) documents() (all []string) {
	for h := range s.hosts {
		for k := range s.depth {
			all = append(all, s.page(h, k))
		}
	}
	slices.Sort(all)
	return all
}

// ServeHTTP implements http.Handler.
func (s *manyHosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, h, k := atHost{path: r.URL.Path, begin: time.Now()}, 0, 0
	_, badHost := fmt.Sscanf(r.Host, "127.0.4.%d:", &h)
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &k); badHost != nil || err != nil && r.URL.Path != "/" {
		w.WriteHeader(http.StatusNotFound)
	} else {
		_, _ = fmt.Fprintf(w, "<title>t</title><p>Page %d of host %d", k, h-1)
		for _, to := range []int{h*7 + k*13, h*11 + 5, h - 1} {
			if k+1 < s.depth {
				_, _ = fmt.Fprintf(w, ` <a href="%s">a link</a>`, s.page(to, k+1))
			}
		}
	}
	v.end = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits[r.Host] = append(s.visits[r.Host], v)
}

// close are requests of one host that came too soon after the one before. A page that follows itself was cut, and asked for again.
func (s *manyHosts) close(gap time.Duration) (found []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for host, all := range s.visits {
		slices.SortFunc(all, func(a, b atHost) int { return a.begin.Compare(b.begin) })
		for i := 1; i < len(all); i++ {
			before, v := all[i-1], all[i]
			if v.begin.Sub(before.end) < gap && v.path != before.path {
				found = append(found, fmt.Sprintf("%s saw %s until %v, and %s from %v", host, before.path, before.end, v.path, v.begin))
			}
		}
	}
	return found
}

// killedParts is nodes that have partitions of one crawl.
type killedParts struct {
	*killedCluster
	hosts      *manyHosts
	partitions int
	replicas   int
}

func newKilledParts(t *testing.T, servers, nodes, partitions, replicas, many, depth int) *killedParts {
	t.Helper()
	hosts, front := newManyHosts(t, many, depth)
	var roots strings.Builder
	for h := range hosts.hosts {
		fmt.Fprintf(&roots, "<Root url=\"%s\"/>", hosts.page(h, 0))
	}
	c := clusterOf(t, servers, nodes, front, func(_ int, indexer string) string {
		return fmt.Sprintf(killedPartsConfig, partsPause.Milliseconds(), roots.String(), indexer)
	})
	c.found("--partitions", fmt.Sprint(partitions), "--replicas", fmt.Sprint(replicas))
	return &killedParts{c, hosts, partitions, min(replicas, nodes)}
}

// partsPause is throttleTimeMS of the test.
const partsPause = 300 * time.Millisecond

const killedPartsConfig = `<CrawlConfig>
  <Crawler name="kill" nthreads="4" throttleTimeMS="%d" deletionBrake="off" nearDuplicateDetector="false">
    %s
    <Push kind="papi" url="http://%s" connector="kill" batchCount="20" batchAgeMS="50"/>
  </Crawler>
</CrawlConfig>`

// whole waits until every partition is owned by a node that lives, and has as many copies that could take over as there should be.
func (c *killedParts) whole() (last *cluster.State) {
	c.Helper()
	c.until("all partitions are owned, and have their copies", func(s *cluster.State) bool {
		last = s
		return !slices.ContainsFunc(s.States, func(p cluster.PartitionState) bool {
			return p.Released || len(p.InSync) < c.replicas || slices.ContainsFunc(p.InSync, func(seat cluster.Seat) bool { return !s.Alive(seat.Node) })
		}) && !slices.ContainsFunc(c.nodes, func(m *member) bool { return !s.Alive(m.name) })
	})
	return last
}

// Ways in which wound hurts nodes of several partitions.
const (
	partsKill   = iota
	partsSleep  // it sleeps until others have taken over, and wakes up
	partsTwo    // two are killed
	partsAll    // all are
	partsDisk   // it is killed, and its disk is lost
	partsClaim  // one that takes over is killed when it has claimed
	partsDrain  // it is killed while it hands over, and drained no longer
	partsMoving // the node that gives it partitions back is killed meanwhile
	partsEngine // a machine of the engine is killed with it
	partsStall  // the machine of etcd's leader is frozen, while its connections stay
	partsPaused // the crawl is paused while it dies
	partsLong   // it sleeps for a minute, until others have all it had, and wakes up
	partsEnd
)

// wound does one thing to a node.
func (c *killedParts) wound(r *rand.Rand) {
	c.Helper()
	c.whole()
	n, way, p := r.IntN(len(c.nodes)), partsKill, r.IntN(c.partitions)
	other := (n + 1 + r.IntN(len(c.nodes)-1)) % len(c.nodes)
	select {
	case <-c.front.after(r.IntN(60)):
	case <-time.After(5 * time.Second): // the crawl may be done
	}
	if c.long {
		way = clusterfigures.Number(c.T, "SEXTANT_CLUSTER_WAY", 0)
		if os.Getenv("SEXTANT_CLUSTER_WAY") == "" {
			way = r.IntN(partsEnd)
		}
		seeded.Pause(r, 100*time.Millisecond)
	}
	c.kills++
	c.Logf("kill %d: %s, in the way %d", c.kills, c.nodes[n].name, way)
	switch way {
	case partsSleep:
		_ = c.nodes[n].cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(4+r.IntN(4)) * time.Second)
		_ = c.nodes[n].cmd.Process.Signal(syscall.SIGCONT)
		return
	case partsLong:
		c.sleeps(n)
		return
	case partsTwo:
		c.kill(other)
		c.kill(n)
		c.start(other)
	case partsAll:
		for i := range c.nodes {
			c.kill(i)
		}
		for i := range c.nodes {
			if i != n {
				c.start(i)
			}
		}
	case partsDisk:
		c.loseDisk(n)
	case partsClaim:
		c.kill(n)
		c.changes(fmt.Sprintf("own/p%02d", p))
		c.kill(other)
		c.start(other)
	case partsDrain:
		drain := process(c.T, "cluster", "drain", c.nodes[n].name, "--engine", c.url)
		if err := drain.Start(); err != nil {
			c.Fatal(err)
		}
		seeded.Pause(r, 3*time.Second)
		c.kill(n)
		_ = drain.Wait()
		c.command("cluster", "drain", c.nodes[n].name, "--back", "--engine", c.url)
	case partsMoving:
		c.kill(n)
		c.start(n)
		c.changes("map")
		c.kill(other)
		c.start(other)
		return
	case partsEngine:
		server := c.servers[r.IntN(len(c.servers))]
		server.Kill()
		c.kill(n)
		seeded.Pause(r, 5*time.Second)
		server.Run(c.T)
	case partsStall:
		testetcd.Leader(c.T, c.servers).Freeze(c.T, 20*time.Second)
		return
	case partsPaused:
		c.tell(other, "pause")
		c.kill(n)
		seeded.Pause(r, 4*time.Second)
		c.tell(other, "resume")
	default:
		c.kill(n)
	}
	if r.IntN(2) == 0 {
		c.until("the others have all", func(s *cluster.State) bool {
			return !slices.ContainsFunc(s.States, func(p cluster.PartitionState) bool { return p.Released || !s.Alive(p.Owner.Node) })
		})
	}
	c.start(n)
}

// tell gives a node a command, until it does it: it may wait for the engine.
func (c *killedParts) tell(n int, command string) {
	c.Helper()
	var code int
	var errOut string
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(200 * time.Millisecond) {
		if code, _, errOut = sextant(c.T, "", command, "-d", c.nodes[n].data); code == exitOK {
			return
		}
	}
	c.Fatalf("%s at %s: exit %d, %s", command, c.nodes[n].name, code, errOut)
}

// missing is how the indexer differs from the site.
func (c *killedParts) missing() string {
	c.Helper()
	indexed, err := c.indexer.URIs("kill")
	if err != nil {
		c.Fatal(err)
	}
	slices.Sort(indexed)
	return diff.Diff(c.hosts.documents(), indexed)
}

// finish waits until each node says that nothing waits to be fetched, and the indexer has what the site has.
func (c *killedParts) finish() {
	c.Helper()
	asked, moved := 0, time.Now()
	for ; ; time.Sleep(200 * time.Millisecond) {
		if now := c.front.count(); now != asked {
			asked, moved = now, time.Now()
		}
		c.stillRun()
		missing, words := c.missing(), ""
		for n := range c.nodes {
			var s admin.Status
			code, out, errOut := sextant(c.T, "", "status", "--json", "-d", c.nodes[n].data)
			if code != exitOK || json.Unmarshal([]byte(out), &s) != nil {
				words = cmp.Or(errOut, "it says nothing")
				continue
			}
			var waiting uint64
			for _, w := range s.Pending {
				waiting += w
			}
			if s.Outbox.Dead > 0 { // bodies that only a dead node had
				sextant(c.T, "", "outbox", "retry", "--all", "-d", c.nodes[n].data)
			}
			if want := uint64(len(c.hosts.documents())); waiting > 0 || s.InFlight > 0 || s.Outbox.Dead > 0 || s.Known != want {
				words = fmt.Sprintf("%s: %d wait, %d in flight, %d dead, %d known, want %d", c.nodes[n].name, waiting, s.InFlight, s.Outbox.Dead, s.Known, want)
			}
		}
		if missing == "" && words == "" {
			return
		}
		if time.Since(moved) > 3*time.Minute {
			c.Fatalf("the crawl does not end: %s\nsite and indexer differ (-site +indexer):\n%s", words, missing)
		}
	}
}

// settle ends all nodes, with all of the logs on the disk of every copy that counts.
func (c *killedParts) settle() *cluster.State {
	c.Helper()
	var late []cluster.PartitionState // when it was looked last
	for began := time.Now(); time.Since(began) < 5*time.Minute; time.Sleep(200 * time.Millisecond) {
		s := c.whole()
		if late = slices.DeleteFunc(slices.Clone(s.States), func(p cluster.PartitionState) bool { return !behind(p) }); len(late) > 0 {
			continue
		}
		for n := range c.nodes {
			c.kill(n)
		}
		now, err := cluster.Observe(c.Context(), c.engine, cluster.SystemClock{}, cluster.DefaultTimes())
		if err != nil {
			c.Fatal(err)
		}
		if !slices.ContainsFunc(now.States, behind) {
			return now
		}
		for n := range c.nodes {
			c.start(n)
		}
	}
	c.Fatalf("the logs do not come to rest: %+v", late)
	return nil
}

// behind reports whether a copy that counts lacks something of the log.
func behind(p cluster.PartitionState) bool {
	return slices.ContainsFunc(p.InSync, func(seat cluster.Seat) bool {
		return !slices.ContainsFunc(p.Copies, func(one cluster.CopyState) bool { return one.Node == seat.Node && one.Seq == p.Entries })
	})
}

// compare wants the copies of each partition to be equal, with nothing wrong in them, and what the site and the indexer saw to be right.
func (c *killedParts) compare(s *cluster.State) {
	c.Helper()
	data := map[string]string{}
	for _, m := range c.nodes {
		data[m.name] = m.data
	}
	for i := range s.States {
		p, first := &s.States[i], []byte(nil)
		for _, seat := range p.InSync {
			content := c.content(node.StoreDir(filepath.Join(data[seat.Node], "store"), c.partitions, p.Partition))
			if first == nil {
				first = content
			} else if !bytes.Equal(first, content) {
				c.Errorf("copies of %s differ: %d bytes at %s, %d before", p.Partition, len(content), seat.Node, len(first))
			}
		}
	}
	if missing := c.missing(); missing != "" {
		c.Errorf("site and indexer differ (-site +indexer):\n%s", missing)
	}
	for _, words := range c.hosts.close(partsPause / 2) {
		c.Errorf("%s: want %v between them", words, partsPause)
	}
}

// content is that of a copy, in which Verify finds nothing.
func (c *killedParts) content(dir string) []byte {
	c.Helper()
	r, err := badgerstore.OpenReplica(dir, badgerstore.Options{})
	if err != nil {
		c.Fatal(err)
	}
	var content bytes.Buffer
	if err := errors.Join(r.Snapshot(context.Background(), &content), r.Close()); err != nil {
		c.Fatal(err)
	}
	s, err := badgerstore.Open(dir, badgerstore.Options{ReadOnly: true})
	if err != nil {
		c.Fatal(err)
	}
	_, err = s.Verify(c.Context(), func(f badgerstore.Fault) { c.Errorf("%s: %s %s", dir, f.URL, f.Words) })
	if err := errors.Join(err, s.Close()); err != nil {
		c.Error(err)
	}
	return content.Bytes()
}

// TestPartitionsKilled kills nodes that have partitions of one crawl with SIGKILL, again and again, and wants in the end that the copies of each
// partition are equal, that nothing is wrong in them, that the indexer has what the site has, and that no host saw two requests closer than its pause.
// SEXTANT_CLUSTER_KILLS sets how often: 0 is once, in the plainest way, on one etcd. SEXTANT_PARTITIONS, SEXTANT_NODES and SEXTANT_REPLICAS say of
// what, SEXTANT_CLUSTER_WAY is the number of the only way that a campaign is to hurt, and SEXTANT_CLUSTER_TALLY names a file that gets a line if that ends well.
func TestPartitionsKilled(t *testing.T) {
	if os.Getenv("SEXTANT_CLUSTER_KILLS") == "" {
		t.Skip("make cluster-crash PARTITIONS=6 runs it")
	}
	kills, servers := clusterfigures.Number(t, "SEXTANT_CLUSTER_KILLS", 0), 3
	long := kills > 0
	if !long {
		kills, servers = 1, 1
	}
	nodes, partitions, replicas := clusterfigures.Number(t, "SEXTANT_NODES", 3), clusterfigures.Number(t, "SEXTANT_PARTITIONS", 6), clusterfigures.Number(t, "SEXTANT_REPLICAS", 2)
	depth := 30
	if long {
		depth += 20 * kills
		if clusterfigures.Number(t, "SEXTANT_CLUSTER_WAY", 0) == partsLong {
			depth += 300 * kills // the crawl is to go on when a node wakes up
		}
	}
	c := newKilledParts(t, servers, nodes, partitions, replicas, 24, depth)
	r := seeded.Rand(t)
	for n := range c.nodes {
		c.start(n)
	}
	for range kills {
		c.wound(r)
	}
	c.finish()
	c.compare(c.settle())
	if file := os.Getenv("SEXTANT_CLUSTER_TALLY"); file != "" && !t.Failed() {
		c.tally(file)
	}
}
