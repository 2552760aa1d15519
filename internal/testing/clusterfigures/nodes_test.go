package clusterfigures

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/etcd"
	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testproc"
)

// program is the one that is measured, which SEXTANT_PROGRAM may name.
func program(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("SEXTANT_PROGRAM"); named != "" {
		return named
	}
	file := filepath.Join(t.TempDir(), "sextant")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", file, "github.com/sextant-crawler/sextant/cmd/sextant")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the program does not build: %v\n%s", err, out)
	}
	return file
}

const (
	partitions  = cluster.MaxPartitions
	connections = 32 // of a node
)

// config is a crawl without pauses. A page of each host at a time is enough: there are more hosts than connections.
const config = `<CrawlConfig>
  <Crawler name="many" nthreads="%d" aggressive="true" maxConnectionsPerHost="1" nearDuplicateDetector="false" crawlSitemaps="false">
    %s
    <Push kind="webhook" url="%s" batchCount="200"/>
  </Crawler>
</CrawlConfig>`

// crawl is a crawl that begins anew, by one machine alone or by nodes of a cluster.
type crawl struct {
	*testing.T
	program  string
	dir      string
	config   string
	site     *site
	receiver *receiver
	nodes    []*crawler

	servers []*testetcd.Server // none: one machine
	url     string
	engine  cluster.Engine
	ended   bool
}

// crawler is a process of it.
type crawler struct {
	name string
	cmd  *exec.Cmd
	log  testlog.Buffer
}

func newCrawl(t *testing.T, program string, s *site, etcds int) *crawl {
	t.Helper()
	c := &crawl{T: t, program: program, dir: t.TempDir(), site: s, receiver: newReceiver(t)}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			if t.Failed() && !c.ended {
				t.Logf("%s:\n%s", n.name, n.log.String())
			}
		}
		c.end()
	})
	c.config = filepath.Join(c.dir, "CrawlConfig.xml")
	if err := os.WriteFile(c.config, fmt.Appendf(nil, config, connections, s.roots(), c.receiver.url), 0o600); err != nil {
		t.Fatal(err)
	}
	if etcds == 0 {
		return c
	}
	c.servers = testetcd.Start(t, etcds)
	c.url = testetcd.URL(c.servers)
	settings, err := etcd.ParseURL(c.url)
	if err != nil {
		t.Fatal(err)
	}
	if c.engine, err = etcd.Open(settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.engine.Close() })
	args := append([]string{"cluster", "init", "--partitions", strconv.Itoa(partitions), "--replicas", "2", "-c", c.config, "-d", c.data("n0")}, c.as("n0")...)
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return c
}

func (c *crawl) data(name string) string { return filepath.Join(c.dir, name) }

// as are the flags that make a command that of a node.
func (c *crawl) as(name string) []string {
	return []string{"--engine", c.url, "--node", name, "--node-token-file", filepath.Join(c.dir, "token")}
}

// start starts one more process.
func (c *crawl) start() {
	c.Helper()
	one := &crawler{name: fmt.Sprint("n", len(c.nodes))}
	args := []string{"run", "--listen", "off", "--log-level", "info", "-c", c.config, "-d", c.data(one.name)}
	if len(c.servers) > 0 {
		args = append(append(args, c.as(one.name)...), "--node-listen", "127.0.0.1:0")
	}
	one.cmd = exec.Command(c.program, args...)
	one.cmd.Stdout, one.cmd.Stderr = &one.log, &one.log
	if err := one.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.nodes = append(c.nodes, one)
}

// end kills all. If the crawl is not ended before the test, because something failed, it shows what the nodes said.
func (c *crawl) end() {
	if c.ended {
		return
	}
	c.ended = true
	for _, n := range c.nodes {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
	}
	for _, s := range c.servers {
		s.Kill()
	}
	_ = os.RemoveAll(c.dir) // what is left is taken away with the test
}

// shared reports whether the nodes own equally many partitions, and each partition has its copies.
func (c *crawl) shared() bool {
	ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
	defer cancel()
	s, err := cluster.Glance(ctx, c.engine, nil)
	if err != nil {
		return false
	}
	owned := map[string]int{}
	for _, p := range s.States {
		if p.Released || len(p.InSync) < min(2, len(c.nodes)) {
			return false
		}
		owned[p.Owner.Node]++
	}
	for _, n := range owned {
		if n > (partitions+len(c.nodes)-1)/len(c.nodes) {
			return false
		}
	}
	return len(owned) == len(c.nodes)
}

// share waits until it is shared, and says how long that took.
func (c *crawl) share() time.Duration {
	c.Helper()
	began := time.Now()
	for !c.shared() {
		if time.Since(began) > 10*time.Minute {
			s, err := cluster.Glance(c.Context(), c.engine, nil)
			c.Fatalf("not shared after 10 minutes: %+v, %v", s, err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	return time.Since(began)
}

// processes are those of its crawlers.
func (c *crawl) processes() (all []int) {
	for _, n := range c.nodes {
		all = append(all, n.cmd.Process.Pid)
	}
	return all
}

// rate is how a crawl went for a while.
type rate struct {
	pages float64 // a second
	busy  float64 // connections that waited for the site, on the mean
	cpu   float64 // ms of a page, of the crawlers
	cores [3]float64
	etcd  testetcd.Load
}

// cores that are busy.
const (
	ofCrawlers = iota
	ofEtcd
	ofSite
)

func (r rate) String() string {
	return fmt.Sprintf("%5.0f pages/s, %4.1f connections wait for an answer, %.3f ms of CPU a page; busy cores: %.2f crawlers, %.2f etcd, %.2f site; %.0f steps/s of etcd",
		r.pages, r.busy, r.cpu, r.cores[ofCrawlers], r.cores[ofEtcd], r.cores[ofSite], r.etcd.Steps)
}

// measure is the rate of the next so many seconds.
func (c *crawl) measure(during time.Duration) (r rate) {
	c.Helper()
	var before testetcd.Load
	if len(c.servers) > 0 {
		before = testetcd.Measure(c, c.servers)
	}
	began, requests, waited := time.Now(), c.site.requests.Load(), c.site.waited.Load()
	crawlers, here := testproc.CPU(c, c.processes()...), testproc.CPU(c, os.Getpid())
	time.Sleep(during)
	took := time.Since(began).Seconds()
	pages := float64(c.site.requests.Load() - requests)
	crawlers, here = testproc.CPU(c, c.processes()...)-crawlers, testproc.CPU(c, os.Getpid())-here
	r.pages, r.busy = pages/took, time.Duration(c.site.waited.Load()-waited).Seconds()/took
	if len(c.servers) > 0 {
		r.etcd = testetcd.Measure(c, c.servers).Since(before)
	}
	r.cpu = crawlers.Seconds() * 1000 / pages
	r.cores = [3]float64{crawlers.Seconds() / took, r.etcd.CPU.Seconds(), here.Seconds() / took}
	return r
}

// rates are those of each second from now on, until stop.
func (s *site) rates() (stop func() []float64) {
	var all []float64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for at, before := time.Now(), s.requests.Load(); ; {
			select {
			case <-end:
				return
			case <-time.After(time.Until(at.Add(time.Second))):
			}
			now, count := time.Now(), s.requests.Load()
			all = append(all, float64(count-before)/now.Sub(at).Seconds())
			at, before = now, count
		}
	}()
	return func() []float64 {
		close(end)
		<-ended
		return all
	}
}
