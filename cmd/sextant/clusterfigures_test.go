package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/internal/testing/clusterfigures"
	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
	"github.com/sextant-crawler/sextant/internal/testing/testproc"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// told logs what was measured.
func told(t *testing.T, what string, all []time.Duration) {
	t.Helper()
	slices.Sort(all)
	at := func(share float64) time.Duration { return all[int(share*float64(len(all)-1)+0.5)] }
	t.Logf("FIGURE %s: %d times, median %.2f s, p95 %.2f s, from %.2f to %.2f s", what, len(all), at(0.5).Seconds(), at(0.95).Seconds(), all[0].Seconds(), all[len(all)-1].Seconds())
}

// next waits for the next request of the crawl.
func (c *killedCluster) next(what string) {
	c.Helper()
	select {
	case <-c.front.after(1):
	case <-time.After(time.Minute):
		c.Fatalf("%s: no request within a minute", what)
	}
}

// TestFigureTakeOver: how long after a kill -9 of the node that crawls the site is asked again; every third time the machine
// of etcd's leader is killed with it.
func TestFigureTakeOver(t *testing.T) {
	clusterfigures.Asked(t, "takeover")
	n := clusterfigures.Number(t, "SEXTANT_CLUSTER_TIMES", 30)
	c := newKilledCluster(t, 3, 200*n)
	c.start(0)
	c.start(1)
	var alone, both []time.Duration
	for i := range n {
		leads := c.leader()
		c.next("before a kill")
		var with *testetcd.Server
		if i%3 == 2 {
			with = testetcd.Leader(t, c.servers)
			with.Kill()
		}
		killed := time.Now()
		c.kill(leads)
		time.Sleep(100 * time.Millisecond) // what was on its way has arrived
		c.next("after a kill")
		if took := time.Since(killed); with != nil {
			both = append(both, took)
			with.Run(t)
		} else {
			alone = append(alone, took)
		}
		c.start(leads)
	}
	told(t, "kill -9 to the next request", alone)
	if len(both) > 0 {
		told(t, "the same, and etcd's leader killed with it", both)
	}
}

// TestFigureHandOver: how long after cluster release the site is asked by the other node.
func TestFigureHandOver(t *testing.T) {
	clusterfigures.Asked(t, "handover")
	n := clusterfigures.Number(t, "SEXTANT_CLUSTER_TIMES", 12)
	c := newKilledCluster(t, 3, 200*n)
	c.start(0)
	c.start(1)
	var all []time.Duration
	for range n {
		to := c.nodes[1-c.leader()].name
		c.next("before a hand-over")
		var began time.Time
		released := make(chan string, 1)
		for owner := ""; owner != to; owner = c.owner() {
			if began.IsZero() {
				began = time.Now()
				go func() {
					_, _, errOut := sextant(t, "", "cluster", "release", "--engine", c.url, "--node-token-file", c.token)
					released <- errOut
				}()
			}
			select {
			case <-released: // the node that crawls does not know yet that the other one could take over
				began = time.Time{}
			case <-time.After(5 * time.Millisecond):
			}
		}
		c.next("after a hand-over")
		all = append(all, time.Since(began))
		<-released
	}
	told(t, "cluster release to the next request", all)
}

// owner is who owns the crawl now, "" if nobody does.
func (c *killedCluster) owner() string {
	c.Helper()
	var own struct {
		Node     string `json:"node"`
		Released bool   `json:"released"`
	}
	v, err := c.engine.Read(c.Context(), "own/p00")
	if err == nil && v.Keys[0].Revision != 0 {
		err = json.Unmarshal(v.Keys[0].Value, &own)
	}
	if err != nil || own.Released {
		return ""
	}
	return own.Node
}

// rateConfig is a crawl without pauses that never ends.
const rateConfig = `<CrawlConfig>
  <Crawler name="rate" nthreads="32" aggressive="true" maxConnectionsPerHost="32" nearDuplicateDetector="false">
    <Root url="%s/"/>
    <Push kind="file"/>
  </Crawler>
</CrawlConfig>`

// TestFigureRate: how many pages a second a crawler on one core crawls alone, and as the only node of a cluster on three etcd that do not sync their
// files, and that do, in turn. The site and etcd are on the other core: the test is to run there. Where that core is busy all the time the site
// was measured, and where the crawler's is not, what it waits for.
func TestFigureRate(t *testing.T) {
	clusterfigures.Asked(t, "rate")
	site := newCounted(t, profiledSite())
	kinds := []struct {
		name  string
		etcds int
		syncs string // of testetcd
	}{{"alone", 0, ""}, {"in a cluster, etcd without syncs", 3, ""}, {"in a cluster", 3, "1"}}
	ratios := make([][]float64, len(kinds))
	for round := range clusterfigures.Number(t, "SEXTANT_CLUSTER_TIMES", 10) {
		var alone float64
		for i := range kinds {
			if round%2 == 1 && i > 0 {
				i = len(kinds) - i
			}
			t.Setenv("SEXTANT_ETCD_SYNCS", kinds[i].syncs)
			r := crawlRate(t, site, kinds[i].etcds)
			if i == 0 {
				alone = r.pages
			}
			ratios[i] = append(ratios[i], r.pages/alone)
			t.Logf("%2d %-32s %5.0f pages/s, %.3f of alone; %.3f ms of CPU a page, its core %3.0f %% busy, site and etcd %3.0f %%", round+1, kinds[i].name, r.pages, r.pages/alone, r.cpu, r.busy, r.others)
		}
	}
	for i, all := range ratios[1:] {
		slices.Sort(all)
		t.Logf("FIGURE rate of a node %s to that of one machine: median %.3f, from %.3f to %.3f", kinds[i+1].name, all[len(all)/2], all[0], all[len(all)-1])
	}
}

// rate is how a crawl went: pages a second, CPU time for one in ms, and how busy its core and that of the others was, in percent.
type rate struct{ pages, cpu, busy, others float64 }

// crawlRate is the rate in the 10 seconds after the first thousand pages.
func crawlRate(t *testing.T, site *counted, etcds int) rate {
	t.Helper()
	dir := t.TempDir()
	config, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
	if err := os.WriteFile(config, fmt.Appendf(nil, rateConfig, strings.TrimSuffix(site.url, "/")), 0o600); err != nil {
		t.Fatal(err)
	}
	args, others := []string{"run", "--listen=off", "--log-level=warn", "-c", config, "-d", data}, []int{os.Getpid()}
	if etcds > 0 {
		servers := testetcd.Start(t, etcds)
		defer func() {
			for _, s := range servers {
				s.Kill()
			}
		}()
		for _, s := range servers {
			others = append(others, s.Process())
		}
		of := []string{"--engine", testetcd.URL(servers), "--node", "n1", "--node-token-file", filepath.Join(dir, "token")}
		if code, out, errOut := sextant(t, "", append([]string{"cluster", "init", "-c", config, "-d", data}, of...)...); code != exitOK {
			t.Fatal(out, errOut)
		}
		args = append(args, append(of, "--node-listen", "127.0.0.1:0")...)
	}
	crawl := process(t, args...)
	pinned := exec.CommandContext(t.Context(), "taskset", append([]string{"-c", "0"}, crawl.Args...)...)
	pinned.Env, pinned.Stderr = crawl.Env, os.Stderr
	first := site.after(1000)
	if err := pinned.Start(); err != nil {
		t.Fatal(err)
	}
	<-first
	began, requests, before, beforeElsewhere := time.Now(), site.count(), testproc.CPU(t, pinned.Process.Pid), testproc.CPU(t, others...)
	time.Sleep(10 * time.Second)
	took, pages := time.Since(began).Seconds(), float64(site.count()-requests)
	used, usedElsewhere := (testproc.CPU(t, pinned.Process.Pid) - before).Seconds(), (testproc.CPU(t, others...) - beforeElsewhere).Seconds()
	_ = pinned.Process.Kill()
	_ = pinned.Wait() // it was killed
	_ = os.RemoveAll(data)
	return rate{pages / took, used * 1000 / pages, used * 100 / took, usedElsewhere * 100 / took}
}

// TestFigurePromotion: how long after its claim a node crawls that follows a store of two million URLs of a thousand hosts.
func TestFigurePromotion(t *testing.T) {
	clusterfigures.Asked(t, "promotion")
	const hosts, each = 1000, 2000
	c := unfounded(t, 1, 20)
	store, err := badgerstore.Open(filepath.Join(c.nodes[0].data, "store"), badgerstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for h := range hosts {
		var links []scheduler.Link
		for n := range each {
			u, err := weburl.Parse(fmt.Sprintf("http://host%d.invalid/section/page-%d.html", h, n))
			if err != nil {
				t.Fatal(err)
			}
			links = append(links, scheduler.Link{URL: u, Fifo: scheduler.IndexFollow})
		}
		if _, _, err := store.Add(t.Context(), links, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	c.found("--from-store", c.nodes[0].data)
	c.start(0)
	c.start(1)
	var all []time.Duration
	for range clusterfigures.Number(t, "SEXTANT_CLUSTER_TIMES", 4) {
		n := c.leader()
		c.kill(n)
		other := c.nodes[1-n]
		known := len(tookOver(other.log.String()))
		c.until("the other one crawls", func(*cluster.State) bool { return len(tookOver(other.log.String())) > known })
		all = append(all, tookOver(other.log.String())[known])
		c.start(n)
	}
	told(t, "two million URLs, from the claim to the crawl", all)
}

// tookOver are the times from claims to crawls in a node's log.
func tookOver(log string) (all []time.Duration) {
	var claimed time.Time
	for line := range strings.Lines(log) {
		stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		switch {
		case err != nil:
		case strings.Contains(rest, `msg="this node takes over"`):
			claimed = at
		case strings.Contains(rest, `msg="this node crawls"`) && !claimed.IsZero():
			all = append(all, at.Sub(claimed))
		}
	}
	return all
}
