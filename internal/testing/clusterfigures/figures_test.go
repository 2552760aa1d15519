package clusterfigures

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
	"github.com/sextant-crawler/sextant/internal/testing/testproc"
)

// endless is how many pages a host has that a figure of rates does not come to the end of.
const endless = 20000

// TestFigureScale: three nodes of 32 connections each crawl at least 2.7 times as fast as one machine does alone, where every answer is 50 to 100 ms
// late: by arithmetic one makes 32/0.075 s = 427 pages a second. Both are measured in turn, each when its rate has become steady. SEXTANT_CLUSTER_SLOWER=10
// has answers that take ten times as long, so that the rest of a busy machine counts for less.
func TestFigureScale(t *testing.T) {
	Asked(t, "scale")
	file, during := program(t), time.Duration(Number(t, "SEXTANT_CLUSTER_SECONDS", 40))*time.Second
	s := newSite(t, Number(t, "SEXTANT_CLUSTER_HOSTS", 500), endless)
	s.late.Store(int64(Number(t, "SEXTANT_CLUSTER_SLOWER", 1)))
	var ratios []float64
	for range Number(t, "SEXTANT_CLUSTER_TIMES", 3) {
		alone := newCrawl(t, file, s, 0)
		alone.start()
		time.Sleep(20 * time.Second)
		one := alone.measure(during)
		alone.end()
		t.Logf("one machine: %v", one)

		c := newCrawl(t, file, s, 3)
		for range 3 {
			c.start()
		}
		took := c.share()
		time.Sleep(10 * time.Second)
		three := c.measure(during)
		c.end()
		t.Logf("three nodes: %v; 8 partitions each after %.0f s", three, took.Seconds())
		ratios = append(ratios, three.pages/one.pages)
	}
	slices.Sort(ratios)
	t.Logf("FIGURE three nodes to one machine: median %.2f, from %.2f to %.2f", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	if middle := ratios[len(ratios)/2]; middle < 2.7 {
		t.Errorf("three nodes crawl %.2f times as fast as one, want 2.7", middle)
	}
}

// TestFigureJoin: while a third node gets its copies and its partitions, the mean rate of any five seconds is at least 60 % of the mean before, and in
// the end no document is missing.
func TestFigureJoin(t *testing.T) {
	Asked(t, "join")
	const smooth = 5
	file, during := program(t), Number(t, "SEXTANT_CLUSTER_SECONDS", 40)
	s := newSite(t, Number(t, "SEXTANT_CLUSTER_HOSTS", 500), Number(t, "SEXTANT_CLUSTER_PAGES", 250000)/Number(t, "SEXTANT_CLUSTER_HOSTS", 500))
	s.late.Store(int64(Number(t, "SEXTANT_CLUSTER_SLOWER", 1)))
	c := newCrawl(t, file, s, 3)
	c.start()
	c.start()
	c.share()
	time.Sleep(10 * time.Second)
	before := c.measure(time.Duration(during) * time.Second)
	t.Logf("two nodes: %v", before)

	stop, etcd := s.rates(), testetcd.Measure(t, c.servers)
	time.Sleep(smooth * time.Second)
	c.start()
	took := c.share()
	time.Sleep(15 * time.Second)
	seconds, elections := stop(), testetcd.Measure(t, c.servers).Since(etcd).Elections
	lowest, at := lowestMean(seconds, smooth)
	after := c.measure(time.Duration(during) * time.Second)
	t.Logf("three nodes: %v", after)
	t.Logf("each second: %.0f; etcd elected another leader %.0f times meanwhile", seconds, elections)
	t.Logf("FIGURE a third node has its share after %.0f s; the lowest mean of %d s was %.0f pages/s, %.2f of %.0f before, and began %d s after its start; then %.2f of it",
		took.Seconds(), smooth, lowest, lowest/before.pages, before.pages, at-smooth, after.pages/before.pages)
	if lowest < 0.6*before.pages {
		t.Errorf("%.2f of the rate before, want 0.6", lowest/before.pages)
	}
	if left := int64(s.hosts*s.pages) - s.requests.Load(); left <= 0 {
		t.Errorf("the site ended while it was measured: set SEXTANT_CLUSTER_PAGES to more than %d", s.hosts*s.pages)
	}
	s.late.Store(0)
	n := len(c.receiver.awaits(t, s))
	t.Logf("FIGURE %d of %d documents after a third node joined", n, s.hosts*s.pages)
}

// lowestMean is the lowest of so many values in a row, and where they begin.
func lowestMean(all []float64, many int) (lowest float64, at int) {
	lowest = math.Inf(1)
	for i := range len(all) - many + 1 {
		mean := 0.0
		for _, x := range all[i : i+many] {
			mean += x / float64(many)
		}
		if mean < lowest {
			lowest, at = mean, i
		}
	}
	return lowest, at
}

// TestFigureSame: three nodes end with the documents that one machine ends with, and so does a node that has all partitions, whose memory is
// to stay under 700 MiB with 100,000 URLs.
func TestFigureSame(t *testing.T) {
	Asked(t, "same")
	file, hosts := program(t), Number(t, "SEXTANT_CLUSTER_HOSTS", 500)
	s := newSite(t, hosts, Number(t, "SEXTANT_CLUSTER_PAGES", 300000)/hosts)
	var want map[string]uint64
	for _, kind := range []struct {
		name         string
		etcds, nodes int
	}{{"one machine", 0, 1}, {"three nodes", 3, 3}} {
		c := newCrawl(t, file, s, kind.etcds)
		s.late.Store(20) // until all nodes have their share
		for range kind.nodes {
			c.start()
		}
		if kind.etcds > 0 {
			c.share()
		}
		s.late.Store(0)
		began := time.Now()
		got := c.receiver.awaits(t, s)
		took := time.Since(began)
		t.Logf("FIGURE %s: %d documents of %d hosts after %.0f s; memory: %s", kind.name, len(got), hosts, took.Seconds(), c.memory())
		c.end()
		if want == nil {
			want = got
		}
		if !maps.Equal(want, got) {
			t.Errorf("%s: %s", kind.name, differ(want, got))
		}
	}
}

// TestFigureStores: a node that has all 24 partitions of a crawl of 100,000 pages takes less than 700 MiB when it has just crawled them, and after some rest.
func TestFigureStores(t *testing.T) {
	Asked(t, "same")
	const hosts, pages, rest = 500, 100000, time.Minute
	s := newSite(t, hosts, pages/hosts)
	c := newCrawl(t, program(t), s, 3)
	c.start()
	c.receiver.awaits(t, s)
	t.Logf("FIGURE 24 stores on one machine, %d URLs: %s", pages, c.memory())
	resident, _ := testproc.Memory(t, c.nodes[0].cmd.Process.Pid)
	time.Sleep(rest)
	t.Logf("FIGURE the same after %v of rest: %s", rest, c.memory())
	if resident >= 700<<20 {
		t.Errorf("%d MiB are resident, want less than 700", resident>>20)
	}
	c.end()
}

// memory is that of all crawlers, in words.
func (c *crawl) memory() (words string) {
	c.Helper()
	for _, n := range c.nodes {
		resident, anonymous := testproc.Memory(c, n.cmd.Process.Pid)
		words += fmt.Sprintf("%s %d MiB, %d of them anonymous; ", n.name, resident>>20, anonymous>>20)
	}
	return words
}

// differ says in which documents two crawls differ.
func differ(want, got map[string]uint64) string {
	var some []string
	n := 0
	for u, content := range want {
		if other, there := got[u]; !there || other != content {
			if n++; n <= 5 {
				some = append(some, u)
			}
		}
	}
	return fmt.Sprintf("%d documents are missing or other ones, such as %v", n, some)
}

// TestFigureIdle: what nodes without work do to etcd, SEXTANT_CLUSTER_NODES of them, or 3, 6 and 10.
func TestFigureIdle(t *testing.T) {
	Asked(t, "ten")
	file := program(t)
	sizes := []int{3, 6, 10}
	if n := Number(t, "SEXTANT_CLUSTER_NODES", 1); n > 1 {
		sizes = []int{n}
	}
	s := newSite(t, 48, 1)
	for _, n := range sizes {
		c := newCrawl(t, file, s, 3)
		for range n {
			c.start()
		}
		took := c.share()
		c.receiver.awaits(t, s)
		r := c.measure(30 * time.Second)
		t.Logf("FIGURE %d nodes without work: %.0f steps and %.0f questions/s, %.0f kB/s in and %.0f out, %.2f cores of etcd, %.2f of the nodes; even after %.0f s", n,
			r.etcd.Steps, r.etcd.Questions, r.etcd.Received/1000, r.etcd.Sent/1000, r.cores[ofEtcd], r.cores[ofCrawlers], took.Seconds())
		c.end()
	}
}
