package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testpostgres"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
)

// severalPause is the pause of the site's host, severalPages the number of its pages.
const (
	severalPause = 25 * time.Millisecond
	severalPages = 80
)

const severalConfig = `<CrawlConfig>
  <Crawler name="%[1]s" nthreads="4" throttleTimeMS="25" nearDuplicateDetector="false"%[4]s>
    <Root url="%[2]s"/>
    <Push kind="papi" url="http://%[3]s" connector="%[1]s" batchCount="10" batchAgeMS="20"/>
  </Crawler>
</CrawlConfig>`

// paced is a site that notes the shortest time between the beginnings of two requests.
type paced struct {
	http.Handler
	mu       sync.Mutex
	last     time.Time
	shortest time.Duration
}

func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	now := time.Now()
	if gap := now.Sub(p.last); p.shortest == 0 || gap < p.shortest {
		p.shortest = gap
	}
	p.last = now
	p.mu.Unlock()
	p.Handler.ServeHTTP(w, r)
}

// several is a crawl on PostgreSQL, with its own site and indexer.
type several struct {
	*testing.T
	db      *testpostgres.Server
	name    string
	dir     string
	config  string
	front   *counted
	pace    *paced
	indexer *indexer.Server
	want    []string // the documents
}

func newSeveral(t *testing.T, db *testpostgres.Server, name, attributes string) *several {
	s := &several{T: t, db: db, name: name, dir: t.TempDir()}
	site := testsite.New(t, testsite.Options{Pages: severalPages, Delay: time.Millisecond})
	s.pace = &paced{Handler: site}
	s.front = newCounted(t, s.pace)
	var address string
	s.indexer, address = startIndexer(t, filepath.Join(s.dir, "indexer"))
	s.config = filepath.Join(s.dir, "CrawlConfig.xml")
	testdir.Write(t, s.config, fmt.Sprintf(severalConfig, name, s.front.url, address, attributes))
	for i := range severalPages {
		s.want = append(s.want, strings.TrimSuffix(s.front.url, "/")+testsite.Path(i))
	}
	slices.Sort(s.want)
	s.sextant(exitOK, "", "store", "init")
	return s
}

// sextant runs a command on the data directory of a node.
func (s *several) sextant(want int, node string, args ...string) (stdout, stderr string) {
	s.Helper()
	args = append(args, "--crawler", s.name, "-c", s.config, "-d", filepath.Join(s.dir, node), "--database", s.db.URL())
	code, stdout, stderr := sextant(s.T, "", args...)
	if code != want {
		s.Fatalf("%v: exit %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout, stderr
}

// node is the process of a node.
type node struct {
	*exec.Cmd
	log   *bytes.Buffer // to be read when it has ended
	ended chan error
}

// start starts a node's process. The end of the test kills it.
func (s *several) start(name string, args ...string) *node {
	s.Helper()
	data := filepath.Join(s.dir, name)
	args = append([]string{"run", "--listen=off", "-c", s.config, "-d", data, "--database", s.db.URL()}, args...)
	n := &node{Cmd: process(s.T, args...), log: &bytes.Buffer{}, ended: make(chan error, 1)}
	n.Stderr = n.log
	if err := n.Start(); err != nil {
		s.Fatal(err)
	}
	go func() { n.ended <- n.Wait() }()
	s.Cleanup(func() {
		_ = n.Process.Kill()
		if s.Failed() {
			s.Logf("node %s: %v\n%s", name, <-n.ended, n.log)
		}
	})
	return n
}

// kill ends the process without warning.
func (n *node) kill() {
	_ = n.Process.Kill()
	err := <-n.ended
	n.ended <- err
}

// stop ends the process by SIGTERM.
func (s *several) stop(n *node) {
	s.Helper()
	err := n.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = <-n.ended
		n.ended <- err
	}
	if err != nil {
		s.Errorf("a stopped node: %v", err)
	}
}

func (s *several) signal(n *node, sig syscall.Signal) {
	s.Helper()
	if err := n.Process.Signal(sig); err != nil {
		s.Fatal(err)
	}
}

// restart kills the database and starts it again.
func (s *several) restart() {
	s.Helper()
	if err := s.db.Stop("immediate"); err != nil {
		s.Fatal(err)
	}
	if err := s.db.Resume(); err != nil {
		s.Fatal(err)
	}
}

// until waits until fn returns true.
func (s *several) until(what string, fn func() bool) {
	s.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !fn(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatal("waited for too long: " + what)
		}
	}
}

// standsBy waits until a node stands by.
func (s *several) standsBy(name string) {
	s.Helper()
	s.until(name+" stands by", func() bool {
		_, _, words := sextant(s.T, "", "status", "--ready", "-d", filepath.Join(s.dir, name))
		return strings.Contains(words, "this node stands by: node ")
	})
}

// crawls waits until a node crawls.
func (s *several) crawls(name string) {
	s.Helper()
	s.until(name+" crawls", func() bool {
		code, _, _ := sextant(s.T, "", "status", "--ready", "-d", filepath.Join(s.dir, name))
		return code == exitOK
	})
}

// whole waits until the indexer has all documents, and checks the store and the site's pause.
func (s *several) whole() {
	s.Helper()
	var found []string
	s.until("all documents", func() bool {
		var err error
		if found, err = s.indexer.URIs(s.name); err != nil {
			s.Fatal(err)
		}
		return len(found) >= len(s.want)
	})
	slices.Sort(found)
	if diff := cmp.Diff(s.want, found); diff != "" {
		s.Errorf("the index (-want +got):\n%s", diff)
	}
	if s.pace.shortest < severalPause {
		s.Errorf("two requests within %s", s.pace.shortest)
	}
}

// verify checks the store when no node runs.
func (s *several) verify() {
	s.Helper()
	s.sextant(exitOK, "", "verify")
}

// row returns the one row that a statement selects in the crawl's schema.
func (s *several) row(statement string, into ...any) {
	s.Helper()
	conn, err := pgx.Connect(s.Context(), s.db.DSN()+" search_path="+s.name)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = conn.Close(s.Context()) }()
	if err := conn.QueryRow(s.Context(), statement).Scan(into...); err != nil {
		s.Fatal(err)
	}
}

// TestSeveral: nodes on one PostgreSQL. The server is stopped without warning in one part, so its commits must be with
// the operating system.
func TestSeveral(t *testing.T) {
	db := testpostgres.Start(t, "fsync=off", "full_page_writes=off")
	for name, test := range map[string]func(*several){
		"killed": killedNode, "left": leavingNode, "frozen": frozenNode, "commands": commandsBesideNodes,
	} {
		t.Run(name, func(t *testing.T) { test(newSeveral(t, db, name, "")) })
	}
	t.Run("restarted", func(t *testing.T) { restartedDatabase(newSeveral(t, db, "restarted", "")) })
}

// killedNode: a standby takes the place of a node that was killed, and nothing is lost.
func killedNode(s *several) {
	a := s.start("a")
	<-s.front.after(20)
	b := s.start("b")
	s.standsBy("b")
	a.kill()
	s.whole()
	s.stop(b)
	if !strings.Contains(b.log.String(), "a node is silent") {
		s.Error("the killed node was not fenced")
	}
	s.verify()
}

// leavingNode: a standby takes the place of a node that is stopped without waiting for silence.
func leavingNode(s *several) {
	a := s.start("a")
	<-s.front.after(10)
	b := s.start("b")
	s.standsBy("b")
	s.stop(a)
	s.whole()
	s.stop(b)
	if strings.Contains(b.log.String(), "a node is silent") {
		s.Error("the standby waited for silence")
	}
	s.verify()
}

// frozenNode: a node that was stopped for longer than its right lasts writes nothing when it goes on, and begins again
// as a standby.
func frozenNode(s *several) {
	a := s.start("a")
	<-s.front.after(20)
	s.crawls("a")
	b := s.start("b")
	s.standsBy("b")
	s.signal(a, syscall.SIGSTOP)
	s.crawls("b")
	const first = "SELECT id, incarnation, commits FROM node WHERE fenced"
	var name string
	var incarnation, commits, then int64
	s.row(first, &name, &incarnation, &commits)
	s.signal(a, syscall.SIGCONT)
	s.standsBy("a")
	s.row("SELECT commits FROM node WHERE id = '"+name+"'", &then)
	if then != commits {
		s.Errorf("the node made %d commits after it was fenced", then-commits)
	}
	s.whole()
	s.stop(b)
	s.crawls("a")
	s.stop(a)
	s.verify()
}

// restartedDatabase: a crawl goes on by itself when the database was killed and started again.
func restartedDatabase(s *several) {
	a := s.start("a")
	<-s.front.after(20)
	for range 2 {
		s.restart()
		<-s.front.after(10)
	}
	s.whole()
	s.stop(a)
	s.verify()
}

// commandsBesideNodes: commands without a service read the database beside a node that crawls elsewhere, and change
// nothing; a run that ends by itself, and a restore, need the crawl for themselves.
func commandsBesideNodes(s *several) {
	a := s.start("a")
	<-s.front.after(20)
	s.crawls("a")
	if out, _ := s.sextant(exitOK, "c", "status"); !strings.Contains(out, " crawls\n") {
		s.Errorf("status:\n%s", out)
	}
	for _, args := range [][]string{{"remove", "--all", "--yes"}, {"run", "--once", "--listen=off"}} {
		if _, words := s.sextant(exitFailed, "c", args...); !strings.Contains(words, " crawls "+s.name) {
			s.Errorf("%v: %s", args, words)
		}
	}
	s.whole()
	s.stop(a)
	s.sextant(exitOK, "c", "run", "--once", "--listen=off")
	if out, _ := s.sextant(exitOK, "c", "status"); strings.Contains(out, "set back") {
		s.Errorf("status before:\n%s", out)
	}
	var commits int
	const earlier = "UPDATE node SET commits = commits - 1 WHERE commits = (SELECT min(commits) FROM node) " +
		"RETURNING commits"
	s.row(earlier, &commits)
	_, words := s.sextant(exitOK, "c", "run", "--once", "--listen=off")
	if !strings.Contains(words, "the database was set back") {
		s.Errorf("a run on a database that was set back:\n%s", words)
	}
	if out, _ := s.sextant(exitOK, "c", "status"); !strings.Contains(out, "set back") {
		s.Errorf("status after:\n%s", out)
	}
	backup := filepath.Join(s.dir, "backup")
	s.sextant(exitOK, "c", "backup", backup)
	const refused = "holds a store of this Crawler already"
	if _, words := s.sextant(exitFailed, "c", "restore", backup); !strings.Contains(words, refused) {
		s.Errorf("restore over a store: %s", words)
	}
	known := func(database ...string) string {
		code, out, words := sextant(s.T, "", append([]string{"urls", "--json", "--crawler", s.name}, database...)...)
		if code != exitOK {
			s.Fatal(words)
		}
		return out
	}
	before := known("--database", s.db.URL())
	onDisk := filepath.Join(s.dir, "disk")
	code, _, words := sextant(s.T, "", "restore", backup, "-c", s.config, "--crawler", s.name, "-d", onDisk)
	if code != exitOK {
		s.Fatal(words)
	}
	if diff := cmp.Diff(before, known("-d", onDisk)); diff != "" {
		s.Errorf("restored to a data directory (-database +directory):\n%s", diff)
	}
	var none string
	s.row("WITH k AS (DELETE FROM kv) SELECT ''", &none)
	s.sextant(exitOK, "c", "restore", backup)
	if diff := cmp.Diff(before, known("--database", s.db.URL())); diff != "" {
		s.Errorf("restored to the database (-before +after):\n%s", diff)
	}
}

// TestManyTakeOvers has nodes and the database fail at random, SEXTANT_SEVERAL times, while pages are fetched again and
// again.
func TestManyTakeOvers(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("SEXTANT_SEVERAL"))
	if rounds == 0 {
		t.Skip("only with SEXTANT_SEVERAL, see the Makefile")
	}
	random := seeded.Rand(t)
	s := newSeveral(t, testpostgres.Start(t, "fsync=off", "full_page_writes=off"), "many", ` minimumAgedS="3"`)
	first, second := "a", "b"
	nodes := map[string]*node{first: s.start(first)}
	s.crawls(first)
	nodes[second] = s.start(second)
	for i := range rounds {
		s.standsBy(second)
		<-s.front.after(random.IntN(40) + 1)
		how := random.IntN(5)
		t.Logf("round %d: fault %d of node %s", i, how, first)
		switch how {
		case 0:
			nodes[first].kill()
		case 1:
			s.stop(nodes[first])
		case 2:
			s.signal(nodes[first], syscall.SIGSTOP)
			s.crawls(second)
			s.signal(nodes[first], syscall.SIGCONT)
		case 3:
			s.restart()
			<-s.front.after(10)
			continue
		default:
			var n int
			s.row("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'sextant/%'", &n)
			<-s.front.after(10)
			continue
		}
		s.crawls(second)
		if how < 2 {
			nodes[first] = s.start(first)
		}
		first, second = second, first
	}
	s.whole()
	s.stop(nodes[second])
	s.stop(nodes[first])
	s.verify()
}

// TestSameDocuments: a crawl on PostgreSQL makes the same documents as one in a data directory.
func TestSameDocuments(t *testing.T) {
	db := testpostgres.Start(t, testpostgres.NoSync...)
	site := newCounted(t, testsite.New(t, testsite.Options{Pages: 150}))
	dir := t.TempDir()
	config := filepath.Join(dir, "CrawlConfig.xml")
	const text = `<CrawlConfig><Crawler name="Same pages" nthreads="4" aggressive="true" maxConnectionsPerHost="4">
		<Root url="%s"/><Push kind="file"/></Crawler></CrawlConfig>`
	if err := os.WriteFile(config, fmt.Appendf(nil, text, site.url), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for _, database := range []string{"", db.URL()} {
		data := filepath.Join(dir, fmt.Sprint("data", len(all)))
		common := []string{"-c", config, "-d", data, "--database", database}
		if database != "" {
			code, _, words := sextant(t, "", append([]string{"run", "--once", "--listen=off"}, common...)...)
			if code != exitFailed || !strings.Contains(words, "store init") {
				t.Fatalf("without store init: %d %s", code, words)
			}
			if code, _, words = sextant(t, "", append([]string{"store", "init"}, common...)...); code != exitOK {
				t.Fatal(words)
			}
		}
		if code, _, words := sextant(t, "", append([]string{"run", "--once", "--listen=off"}, common...)...); code != exitOK {
			t.Fatal(words)
		}
		documents := map[string]string{}
		for url, d := range testrun.Documents(t, filepath.Join(data, "out")) {
			documents[url] = d.Title + "\n" + d.Text
		}
		all = append(all, documents)
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" || len(all[0]) < 100 {
		t.Errorf("%d documents (-directory +database):\n%s", len(all[0]), diff)
	}
}
