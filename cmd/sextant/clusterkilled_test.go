package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/etcd"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/internal/testing/clusterfigures"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// clusterPause is throttleTimeMS of the test: it bounds how fast the site is crawled, so that every kill
// meets a crawl that is not done.
const clusterPause = 100 * time.Millisecond

const clusterConfig = `<CrawlConfig>
  <Crawler name="kill" nthreads="4" throttleTimeMS="%d" deletionBrake="off" nearDuplicateDetector="false">
    <Root url="%s"/>
    <Push kind="papi" url="http://%s" connector="kill" batchCount="20" batchAgeMS="50"/>
  </Crawler>
</CrawlConfig>`

// member is a node of the test: a process of its own.
type member struct {
	name, data string
	config     string
	cmd        *exec.Cmd
	ended      chan struct{}
	err        error
	log        testlog.Buffer
}

// killedCluster is nodes on one crawl.
type killedCluster struct {
	*testing.T
	engine  cluster.Engine
	url     string
	token   string
	site    *testsite.Site
	front   *counted
	late    *lateness // of the site
	indexer *indexer.Server
	nodes   []*member
	servers []*testetcd.Server
	kills   int
	args    []string // of run, besides
	long    bool     // a campaign
	// hears is called by the indexer when something arrives, if it is set.
	hears atomic.Pointer[func(local, remote net.Addr)]
	began time.Time
}

func newKilledCluster(t *testing.T, servers, pages int) *killedCluster {
	t.Helper()
	c := unfounded(t, servers, pages)
	c.found()
	return c
}

// found makes the cluster, with n0 as its first node.
func (c *killedCluster) found(args ...string) {
	c.Helper()
	c.command(append([]string{"cluster", "init", "--engine", c.url, "--node", "n0", "--node-token-file", c.token, "-c", c.nodes[0].config, "-d", c.nodes[0].data}, args...)...)
}

// unfounded has everything but the cluster.
func unfounded(t *testing.T, servers, pages int) *killedCluster {
	t.Helper()
	site := testsite.New(t, testsite.Options{Pages: pages, Delay: time.Millisecond})
	front := newCounted(t, site)
	c := clusterOf(t, servers, 2, front, func(n int, indexer string) string {
		// The file of n1 has a shorter pause, which the site would see if n1 went by it.
		return fmt.Sprintf(clusterConfig, clusterPause.Milliseconds()/int64(1+4*n), front.url, indexer)
	})
	c.site = site
	return c
}

// clusterOf has everything but the site behind front and the cluster; config is the file of a node.
func clusterOf(t *testing.T, servers, nodes int, front *counted, config func(n int, indexer string) string) *killedCluster {
	t.Helper()
	all := testetcd.Start(t, servers)
	dir := t.TempDir()
	c := &killedCluster{
		T: t, url: testetcd.URL(all), token: filepath.Join(dir, "token"), servers: all, front: front, late: watchLateness(t), began: time.Now(), long: servers > 1,
	}
	s, err := etcd.ParseURL(c.url)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := etcd.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	c.engine = engine
	t.Cleanup(func() { _ = engine.Close() })
	var address string
	c.indexer, address = startIndexer(t, filepath.Join(dir, "indexer"), func(l net.Listener) net.Listener { return heard{l, c} })
	for i := range nodes {
		m := &member{name: fmt.Sprint("n", i), data: filepath.Join(dir, fmt.Sprint("n", i)), config: filepath.Join(dir, fmt.Sprint("etc", i), "CrawlConfig.xml")}
		if err := errors.Join(os.Mkdir(filepath.Dir(m.config), 0o700), os.WriteFile(m.config, []byte(config(i, address)), 0o600)); err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, m)
	}
	t.Cleanup(c.end)
	return c
}

// heard is a listener that tells whom it hears.
type heard struct {
	net.Listener
	of *killedCluster
}

// heardConn is one of its connections.
type heardConn struct {
	net.Conn
	of *killedCluster
}

func (h heard) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	return heardConn{c, h.of}, err
}

func (h heardConn) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if tell := h.of.hears.Load(); tell != nil && n > 0 {
		(*tell)(h.RemoteAddr(), h.LocalAddr())
	}
	return n, err
}

// command runs the program in this process, which must succeed.
func (c *killedCluster) command(args ...string) string {
	c.Helper()
	code, out, errOut := sextant(c.T, "", args...)
	if code != exitOK {
		c.Fatalf("%s: exit %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

func (c *killedCluster) start(n int) {
	c.Helper()
	m := c.nodes[n]
	m.cmd = process(c.T, "run", "--engine", c.url, "--node", m.name, "--node-listen", "127.0.0.1:0", "--node-token-file", c.token,
		"--listen", "off", "-c", m.config, "-d", m.data)
	m.cmd.Args = append(m.cmd.Args, c.args...)
	m.cmd.Stderr, m.ended = &m.log, make(chan struct{})
	if err := m.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		m.err = cmd.Wait()
		close(ended)
	}(m.cmd, m.ended)
}

// kill ends a node with SIGKILL.
func (c *killedCluster) kill(n int) {
	_ = c.nodes[n].cmd.Process.Kill() // it may have ended
	<-c.nodes[n].ended
}

// end kills what still runs, and shows what the nodes said if the test failed.
func (c *killedCluster) end() {
	for i, m := range c.nodes {
		if m.cmd == nil {
			continue
		}
		c.kill(i)
		if c.Failed() {
			c.Logf("%s after %d kills:\n%s", m.name, c.kills, m.log.String())
		}
	}
}

// until waits for a state of the cluster in which both nodes that should run do.
func (c *killedCluster) until(what string, is func(*cluster.State) bool) {
	c.Helper()
	for began := time.Now(); ; {
		s, err := cluster.Observe(c.Context(), c.engine, cluster.SystemClock{}, cluster.DefaultTimes())
		if err == nil && is(s) {
			return
		}
		if time.Since(began) > 3*time.Minute {
			c.Fatalf("%s: not after three minutes: %+v, %v", what, s, err)
		}
		c.stillRun()
	}
}

// stillRun wants no node to have ended by itself.
func (c *killedCluster) stillRun() {
	c.Helper()
	for _, m := range c.nodes {
		if m.cmd == nil {
			continue
		}
		select {
		case <-m.ended:
			if code := m.cmd.ProcessState.ExitCode(); code > 0 {
				c.Fatalf("%s has ended by itself: %v", m.name, m.err)
			}
		default:
		}
	}
}

// leader is the node that crawls, once one does, and both follow.
func (c *killedCluster) leader() (n int) {
	c.Helper()
	c.until("one crawls, and the other could take over", func(s *cluster.State) bool {
		p := &s.States[0]
		n, _ = strconv.Atoi(strings.TrimPrefix(p.Owner.Node, "n"))
		return !p.Released && s.Alive(p.Owner.Node) && s.Alive(c.nodes[1-n].name) && s.Unprotected(p) == ""
	})
	return n
}

// status is that of the node that crawls.
func (c *killedCluster) status(n int) (s admin.Status, ok bool) {
	code, out, _ := sextant(c.T, "", "status", "--json", "-d", c.nodes[n].data)
	return s, code == exitOK && json.Unmarshal([]byte(out), &s) == nil
}

// finish waits until nothing waits to be fetched and the indexer has what the site has, and returns who crawls then. The outbox
// may still hold what is to be pushed once more, see push.Claim.
func (c *killedCluster) finish() (n int) {
	c.Helper()
	asked, moved := 0, time.Now()
	for ; ; time.Sleep(100 * time.Millisecond) {
		n = c.leader()
		s, ok := c.status(n)
		if now := c.front.count(); now != asked {
			asked, moved = now, time.Now()
		}
		var waiting uint64
		for _, w := range s.Pending {
			waiting += w
		}
		if ok && s.Outbox.Dead > 0 { // bodies that only a dead node had
			sextant(c.T, "", "outbox", "retry", "--all", "-d", c.nodes[n].data)
			continue
		}
		missing := c.missing()
		if ok && waiting == 0 && s.InFlight == 0 && s.Known > 10 && missing == "" {
			return n
		}
		if time.Since(moved) > 3*time.Minute {
			c.Fatalf("the crawl does not end: %+v\nsite and indexer differ (-site +indexer):\n%s", s, missing)
		}
	}
}

// missing is how the indexer differs from the site.
func (c *killedCluster) missing() string {
	c.Helper()
	indexed, err := c.indexer.URIs("kill")
	if err != nil {
		c.Fatal(err)
	}
	slices.Sort(indexed)
	var want []string
	for _, u := range c.site.Documents() {
		want = append(want, strings.Replace(u, c.site.Origins()[0]+"/", c.front.url, 1))
	}
	slices.Sort(want)
	return cmp.Diff(want, indexed)
}

// settle stops both nodes with all of the log on both disks.
func (c *killedCluster) settle(leads int) {
	c.Helper()
	end := func() (at uint64, whole bool) {
		c.until("the cluster is looked at", func(s *cluster.State) bool {
			p := &s.States[0]
			at, whole = p.Entries, len(p.Copies) == 2 && p.Copies[0].Seq == p.Entries && p.Copies[1].Seq == p.Entries
			return true
		})
		return at, whole
	}
	for began := time.Now(); time.Since(began) < 3*time.Minute; {
		at, whole := end()
		if !whole {
			time.Sleep(200 * time.Millisecond)
			continue
		}
		other := c.nodes[1-leads]
		if err := other.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			c.Fatal(err)
		}
		<-other.ended
		if other.err != nil {
			c.Errorf("%s: %v", other.name, other.err)
		}
		c.kill(leads)
		if now, _ := end(); now == at {
			return
		}
		c.start(leads)
		c.start(1 - leads)
		leads = c.leader()
	}
	c.Fatal("the log does not come to rest")
}

// compare wants equal copies that verify finds nothing in.
func (c *killedCluster) compare() {
	c.Helper()
	var copies [2]bytes.Buffer
	for i, m := range c.nodes {
		dir := filepath.Join(m.data, "store")
		r, err := badgerstore.OpenReplica(dir, badgerstore.Options{})
		if err != nil {
			c.Fatal(err)
		}
		if err := errors.Join(r.Snapshot(context.Background(), &copies[i]), r.Close()); err != nil {
			c.Fatal(err)
		}
		c.command("verify", "-d", m.data)
	}
	if !bytes.Equal(copies[0].Bytes(), copies[1].Bytes()) {
		c.Errorf("the copies differ: %d and %d bytes", copies[0].Len(), copies[1].Len())
	}
	if diff := c.missing(); diff != "" {
		c.Errorf("site and indexer differ (-site +indexer):\n%s", diff)
	}
	c.pauses()
}

// pauses wants the pause between all requests that the site saw. A request that was cut, because the engine was silent, ends at the node when
// it is cut, and is followed a pause later; the site may begin and end to answer it after that, as late as this process was seen to be then.
func (c *killedCluster) pauses() {
	c.Helper()
	const answer = 5 * time.Millisecond // in which the site answers, which takes a millisecond
	u, err := url.Parse(c.front.url)
	if err != nil {
		c.Fatal(err)
	}
	var before testsite.Visit
	shortest := time.Hour
	for _, v := range c.site.Visits() {
		if v.Host != u.Host {
			continue
		}
		gap := v.Begin.Sub(before.End)
		shortest = min(shortest, gap)
		if gap < clusterPause-answer {
			late := c.late.most(before.Begin.Add(-clusterPause), v.Begin)
			say := c.Logf
			if gap < clusterPause-answer-late {
				say = c.Errorf
			}
			say("the site saw %s from %v until %v, and %s from %v, %v later, and was late by %v: want %v between them", before.Path, before.Begin, before.End, v.Path, v.Begin, gap, late, clusterPause)
		}
		before = v
	}
	c.Logf("the shortest pause was %v", shortest)
}

// lateness is how late this process was run when it was due.
type lateness struct {
	mu  sync.Mutex
	all []spell
}

// spell is a time in which the process did not run.
type spell struct{ due, ran time.Time }

// watchLateness sees it until the test ends.
func watchLateness(t *testing.T) *lateness {
	l := &lateness{}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for due := time.Now(); ; due = time.Now() {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if s := (spell{due.Add(2 * time.Millisecond), time.Now()}); s.ran.Sub(s.due) > time.Millisecond {
				l.mu.Lock()
				l.all = append(l.all, s)
				l.mu.Unlock()
			}
		}
	}()
	return l
}

// most is how late it was at most between two times.
func (l *lateness) most(from, to time.Time) (most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		if s.ran.After(from) && s.due.Before(to) {
			most = max(most, s.ran.Sub(s.due))
		}
	}
	return most
}

// clusterPoints are the moments at which a node is killed: at a request of its crawl, or as soon as a key of the engine has changed.
// %[1]s is the node that crawls, %[2]s the other one.
var clusterPoints = []struct{ name, key string }{
	{"a request", ""},
	{"an append that nobody was told of", "head/p00"},
	{"a sync of its copy", "done/p00/%[1]s"},
	{"a sync of the other copy", "done/p00/%[2]s"},
	{"a trim of the log", "first/p00"},
}

// reach waits until the node n is at a point, in half of the cases some moments beyond it.
func (c *killedCluster) reach(r *rand.Rand, n, point int) {
	c.Helper()
	p := clusterPoints[point]
	select {
	case <-c.front.after(r.IntN(30)):
	case <-time.After(5 * time.Second): // the crawl may be done
	}
	if p.key != "" {
		key := p.key
		if strings.Contains(key, "%") {
			key = fmt.Sprintf(key, c.nodes[n].name, c.nodes[1-n].name)
		}
		c.changes(key)
	}
	if c.long && r.IntN(2) == 0 {
		seeded.Pause(r, 100*time.Millisecond)
	}
}

// changes waits until a key of the engine changes, if it does.
func (c *killedCluster) changes(key string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 8*time.Second)
	defer cancel()
	for was := cluster.Revision(-1); ctx.Err() == nil; {
		v, err := c.engine.Read(ctx, key)
		if err != nil {
			continue
		}
		now := v.Keys[0].Revision
		if was >= 0 && now != was {
			return
		}
		was = now
		_ = c.engine.Wait(ctx, key, now) // it only wakes
	}
}

// Ways in which wound hurts a cluster.
const (
	wayKill    = iota
	waySleep   // it sleeps until another one has taken over, and wakes up
	wayBoth    // both are killed
	wayDisk    // it is killed, and its disk is lost
	wayClaim   // the one that takes over is killed when it has claimed
	wayCopy    // its disk is lost, and the other one is killed while it is copied
	wayEngine  // a machine of the engine is killed with it
	wayRelease // it is killed while it hands over
	wayStall   // the machine of etcd's leader is frozen for 20 seconds, while its connections stay
	waysEnd
)

// wound does one thing to the node that crawls, after which the other one takes over.
func (c *killedCluster) wound(r *rand.Rand, way, point int) {
	c.Helper()
	n := c.leader()
	c.reach(r, n, point)
	c.kills++
	c.Logf("after %.1f s kill %d: %s, in the way %d, at %s", time.Since(c.began).Seconds(), c.kills, c.nodes[n].name, way, clusterPoints[point].name)
	switch way {
	case waySleep:
		_ = c.nodes[n].cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(4+r.IntN(4)) * time.Second)
		_ = c.nodes[n].cmd.Process.Signal(syscall.SIGCONT)
		return
	case wayBoth:
		c.kill(1 - n)
		c.kill(n)
		c.start(1 - n)
	case wayDisk:
		c.loseDisk(n)
	case wayClaim:
		c.kill(n)
		c.changes("own/p00")
		seeded.Pause(r, 50*time.Millisecond)
		c.kill(1 - n)
		c.start(1 - n)
	case wayCopy:
		c.loseDisk(n)
		c.start(n)
		seeded.Pause(r, 3*time.Second)
		c.kill(1 - n)
		c.start(1 - n)
		return // only it has a copy, unless the new one is whole
	case wayEngine:
		member := c.servers[r.IntN(len(c.servers))]
		member.Kill()
		c.kill(n)
		c.until("the other one crawls without a machine of the engine", func(s *cluster.State) bool { return s.States[0].Owner.Node == c.nodes[1-n].name })
		member.Run(c.T)
	case wayStall:
		testetcd.Leader(c.T, c.servers).Freeze(c.T, 20*time.Second)
		return
	case wayRelease:
		release := process(c.T, "cluster", "release", "--engine", c.url, "--node-token-file", c.token)
		if err := release.Start(); err != nil {
			c.Fatal(err)
		}
		seeded.Pause(r, time.Second)
		c.kill(n)
		_ = release.Wait() // it may have come too late
	default:
		c.kill(n)
	}
	if !c.long || r.IntN(2) == 0 {
		c.until("the other one crawls", func(s *cluster.State) bool {
			return s.States[0].Owner.Node == c.nodes[1-n].name && s.Alive(c.nodes[1-n].name)
		})
	}
	c.start(n)
}

// loseDisk kills a node, whose store is lost.
func (c *killedCluster) loseDisk(n int) {
	c.Helper()
	c.kill(n)
	if err := os.RemoveAll(filepath.Join(c.nodes[n].data, "store")); err != nil {
		c.Fatal(err)
	}
}

// configure changes what is in force by the commands, on an etcd and with nodes that run.
func (c *killedCluster) configure() {
	c.Helper()
	was := c.command("cluster", "config", "--engine", c.url)
	if text, err := os.ReadFile(c.nodes[0].config); err != nil || was != string(text) {
		c.Errorf("in force is %s, want the file of n0: %s, %v", was, text, err)
	}
	next := filepath.Join(c.TempDir(), "next.xml")
	text := strings.Replace(was, "<CrawlConfig>", "<CrawlConfig><!-- the next -->", 1)
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	for _, check := range []bool{true, false} {
		args := []string{"cluster", "apply", next, "--engine", c.url, "--node-token-file", c.token, "--json"}
		if check {
			args = append(args, "--check")
		}
		var done service.Applied
		want := service.Applied{Version: 2, Changed: true}
		if check {
			want.Version = 1
		}
		if out := c.command(args...); json.Unmarshal([]byte(out), &done) != nil || done != want {
			c.Errorf("%v: %s, want %+v", args, out, want)
		}
	}
	if now := c.command("cluster", "config", "--engine", c.url); now != text {
		c.Errorf("in force is %s, want %s", now, text)
	}
}

// backup makes a backup by the command, and restores it.
func (c *killedCluster) backup() {
	c.Helper()
	dir := filepath.Join(c.TempDir(), "backup")
	c.command("cluster", "backup", dir, "--engine", c.url, "--node-token-file", c.token)
	data := c.TempDir()
	c.command("restore", dir, "-d", data)
	c.command("verify", "-d", data)
	if out := c.command("status", "-d", data); !strings.HasPrefix(out, "kill: not running") {
		c.Errorf("a restored store is called %.60q", out)
	}
}

// TestClusterKilled kills the node that crawls with SIGKILL at one of its requests, again and again, and wants in the end that
// both copies are equal, verify finds nothing, the indexer has what the site has, and the site saw no two requests closer than its pause. SEXTANT_CLUSTER_KILLS
// sets how often; then there are three etcd, and nodes are killed at all clusterPoints and hurt in all ways; SEXTANT_CLUSTER_TALLY names a file that
// gets a line if that ends well.
func TestClusterKilled(t *testing.T) {
	kills, servers := clusterfigures.Number(t, "SEXTANT_CLUSTER_KILLS", 1), 1
	if os.Getenv("SEXTANT_CLUSTER_KILLS") != "" {
		servers = 3
	}
	c := newKilledCluster(t, servers, 50+30*kills) // as many as are fetched between two kills
	r := seeded.Rand(t)
	c.start(0)
	c.start(1)
	ways, points := r.Perm(waysEnd), r.Perm(len(clusterPoints))
	for i := range kills {
		way, point := wayKill, 0
		if c.long { // after waysEnd * len(clusterPoints) kills each way was met at each point, whose numbers have no common divisor
			way, point = ways[i%waysEnd], points[i%len(points)]
		}
		c.wound(r, way, point)
	}
	step := func(what string, do func()) {
		do()
		c.Logf("after %.1f s and %d requests: %s", time.Since(c.began).Seconds(), c.front.count(), what)
	}
	step("wounds", func() { c.leader() })
	step("configured", c.configure)
	step("crawled", func() { c.finish() })
	step("backed up", c.backup)
	step("settled", func() { c.settle(c.finish()) })
	step("compared", c.compare)
	if file := os.Getenv("SEXTANT_CLUSTER_TALLY"); file != "" && !t.Failed() {
		c.tally(file)
	}
}

// tally notes in a file how many kills ended well, with which seed.
func (c *killedCluster) tally(file string) {
	c.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.Fatal(err)
	}
	_, err = fmt.Fprintf(f, "%d kills, seed %d, %d requests\n", c.kills, seeded.Seed(c.T), c.front.count())
	if err := errors.Join(err, f.Close()); err != nil {
		c.Fatal(err)
	}
}
