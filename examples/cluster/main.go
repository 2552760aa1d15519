// Command cluster starts a whole cluster on this machine, to be tried, broken and made larger: three etcd, two
// nodes of Sextant, an indexer, and hosts to crawl. Run it in a clone, with nothing but Go:
//
//	go run ./examples/cluster
//
// It starts a goroutine for the site and one for each process, which starts its process again some seconds after its end, as
// systemd would; run waits for all of them. There is no lock.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	hosts = 60
	pages = 1000 // of each host
	pace  = 500  // milliseconds between two requests to a host
	rest  = 8 * time.Second
	// most is how many nodes there may be.
	most = 6
)

const configuration = `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21" xmlns:ar="exa:com.exalead.actionrules.v21">
  <Crawler name="docs" nthreads="8" throttleTimeMS="%d" smartRefresh="true" fetcher="site">
    <Fetch name="site" proxy="http://%s"/>
%s    <Push kind="papi" url="http://%s" connector="docs"/>
  </Crawler>
</CrawlConfig>
`

func main() {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "sextant-cluster"), "where all data lies; it is emptied at the start")
	port := flag.Int("port", 7380, "the first of 20 `PORT`s")
	partitions := flag.Int("partitions", 6, "how many partitions the crawl is divided into, 1 to 24; with 1 one node crawls, and the others follow")
	nodes := flag.Int("nodes", 2, "how many nodes are started, 1 to 6")
	flag.Parse()
	if *nodes < 1 || *nodes > most {
		fmt.Fprintf(os.Stderr, "cluster: -nodes %d: write a number from 1 to %d\n", *nodes, most)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, place{*dir, *port, *partitions, *nodes})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// place is where all of the example is.
type place struct {
	dir               string
	port              int
	partitions, nodes int
}

func (p place) at(offset int) string { return "127.0.0.1:" + strconv.Itoa(p.port+offset) }

// The offsets of ports: site, indexer, then two for each node, and two for each etcd.
func (p place) site() string              { return p.at(0) }
func (p place) indexer() string           { return p.at(1) }
func (p place) console(n int) string      { return p.at(1 + n) }
func (p place) peer(n int) string         { return p.at(1 + most + n) }
func (p place) client(m int) string       { return p.at(2*most + 2*m) }
func (p place) etcd(m int) string         { return p.at(2*most + 1 + 2*m) }
func (p place) path(name string) string   { return filepath.Join(p.dir, name) }
func (p place) node(n int) string         { return "n" + strconv.Itoa(n) }
func (p place) program(sub string) string { return p.path(sub) }

func (p place) engine() string {
	return fmt.Sprintf("etcd://%s,%s,%s", p.client(1), p.client(2), p.client(3))
}

func run(ctx context.Context, p place) error {
	// The port comes first: another one of these that runs may have the same folder.
	site, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.site())
	if err != nil {
		return fmt.Errorf("%w: choose other ports with -port, and another folder with -dir", err)
	}
	if err := p.prepare(ctx); err != nil {
		return errors.Join(err, site.Close())
	}
	// The site outlives the nodes: they finish what they fetch.
	var served, processes sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(page), ReadHeaderTimeout: 10 * time.Second}
	served.Go(func() { _ = server.Serve(site) }) // it ends by Close
	defer served.Wait()
	defer server.Close()
	beside, end := context.WithCancel(context.WithoutCancel(ctx)) // etcd and the indexer, which the nodes need to stop in order
	var others sync.WaitGroup
	defer others.Wait()
	defer end()
	others.Go(func() {
		p.keep(beside, "indexer", "sextant", "indexer", "--listen", p.indexer(), "--data", p.path("indexer"))
	})
	for m := 1; m <= 3; m++ {
		others.Go(func() { p.keep(beside, fmt.Sprint("etcd", m), "sextant-etcd", p.etcdFlags(m)...) })
	}
	if err := p.found(ctx); err != nil {
		return err
	}
	for n := 1; n <= p.nodes; n++ {
		processes.Go(func() { p.keep(ctx, p.node(n), "sextant", p.runFlags(n)...) })
	}
	p.guide(os.Stdout)
	<-ctx.Done()
	fmt.Println("stopping: each node finishes what it fetches")
	processes.Wait()
	return nil
}

// runFlags have sextant run as a node.
func (p place) runFlags(n int) []string {
	return []string{
		"run", "--engine", p.engine(), "--node", p.node(n), "--node-listen", p.peer(n),
		"--node-token-file", p.path("token"), "--listen", p.console(n), "-c", p.path("CrawlConfig.xml"), "-d", p.path(p.node(n)),
	}
}

// mark is a file by which a folder is known to be this program's.
const mark = "sextant-example"

// empty makes an empty folder. It removes what an earlier run left, and nobody else's files.
func (p place) empty() error {
	left, err := os.ReadDir(p.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ours := slices.ContainsFunc(left, func(e fs.DirEntry) bool { return e.Name() == mark })
	if len(left) > 0 && !ours {
		return fmt.Errorf("%s holds files that are not this example's: name an empty folder by -dir", p.dir)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(p.path(mark), nil, 0o600)
}

// prepare builds both programs, and writes the configuration.
func (p place) prepare(ctx context.Context) error {
	if err := p.empty(); err != nil {
		return err
	}
	fmt.Println("building sextant and sextant-etcd, the first time for some minutes")
	for _, build := range [][]string{{"build", "-o", p.program("sextant"), "./cmd/sextant"}, {"build", "-C", "sextant-etcd", "-o", p.program("sextant-etcd"), "."}} {
		command := exec.CommandContext(ctx, "go", build...)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("go %s: %w: run this in the folder of the clone", strings.Join(build, " "), err)
		}
	}
	var roots strings.Builder
	for h := range hosts {
		fmt.Fprintf(&roots, "    <Root url=\"http://%s/\"/>\n", host(h))
	}
	return os.WriteFile(p.path("CrawlConfig.xml"), fmt.Appendf(nil, configuration, pace, p.site(), roots.String(), p.indexer()), 0o600)
}

func (p place) etcdFlags(m int) []string {
	var all []string
	for i := 1; i <= 3; i++ {
		all = append(all, fmt.Sprintf("m%d=http://%s", i, p.etcd(i)))
	}
	return []string{
		"--name", fmt.Sprint("m", m), "--data-dir", p.path(fmt.Sprint("etcd", m)), "--log-level", "warn",
		"--listen-client-urls", "http://" + p.client(m), "--advertise-client-urls", "http://" + p.client(m),
		"--listen-peer-urls", "http://" + p.etcd(m), "--initial-advertise-peer-urls", "http://" + p.etcd(m),
		"--initial-cluster", strings.Join(all, ","),
	}
}

// found makes the cluster as soon as etcd has a leader.
func (p place) found(ctx context.Context) error {
	for began := time.Now(); ; {
		command := exec.CommandContext(ctx, p.program("sextant"), "cluster", "init", "--engine", p.engine(), "--node", p.node(1), "--partitions", strconv.Itoa(p.partitions),
			"--node-token-file", p.path("token"), "-c", p.path("CrawlConfig.xml"), "-d", p.path(p.node(1)))
		said, err := command.CombinedOutput()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Since(began) > time.Minute {
			return fmt.Errorf("sextant cluster init: %w: %s", err, said)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// keep runs a program until ctx ends, again whenever it has ended, some seconds later.
func (p place) keep(ctx context.Context, name, program string, args ...string) {
	for ctx.Err() == nil {
		if err := p.once(ctx, name, program, args); err != nil && ctx.Err() == nil {
			fmt.Printf("%s has ended (%v), and is started again in %v\n", name, err, rest)
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
}

func (p place) once(ctx context.Context, name, program string, args []string) (err error) {
	log, err := os.OpenFile(p.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	command := exec.CommandContext(ctx, p.program(program), args...)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 30 * time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this program, which stops them in order
	if err := command.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(p.path(name+".pid"), []byte(strconv.Itoa(command.Process.Pid)), 0o600); err != nil {
		return errors.Join(err, command.Cancel(), command.Wait())
	}
	return command.Wait()
}

// guide says what to try.
func (p place) guide(w io.Writer) {
	fmt.Fprintf(w, "\n%d nodes crawl %d hosts in %d partitions, three etcd keep their log; all data and logs are in %s\n\n", p.nodes, hosts, p.partitions, p.dir)
	for n := 1; n <= p.nodes; n++ {
		fmt.Fprintf(w, "  console of %s      http://%s/   token: %s\n", p.node(n), p.console(n), p.path(p.node(n)+"/operator.token"))
	}
	more := p.node(p.nodes + 1)
	grow := fmt.Sprintf("sextant %s", strings.Join(p.runFlags(p.nodes+1), " ")) + "   # one more node takes its share; in a terminal of its own"
	leave := fmt.Sprintf("sextant cluster drain %s --leave", more) + "   # and gives it back; then end it with Ctrl-C"
	switch {
	case p.partitions == 1:
		grow, leave = fmt.Sprintf("sextant cluster release --node-token-file %s", p.path("token")), "sextant cluster status"
	case p.nodes == most:
		grow, leave = fmt.Sprintf("sextant cluster drain %s", p.node(1)), fmt.Sprintf("sextant cluster drain %s --back", p.node(1))
	}
	fmt.Fprintf(w, `
in another terminal:

  export SEXTANT_ENGINE=%s
  alias sextant=%s
  sextant cluster status
  kill -9 $(cat %s)                     # and look at the status again
  kill -9 $(cat %[3]s); rm -rf %s    # the same, and its disk is lost
  kill -9 $(cat %[5]s)                  # one etcd of three
  %[6]s
  %[7]s
  sextant cluster backup %[8]s --node-token-file %[9]s

What was killed is started again after %[10]v. Ctrl-C ends all.
`, p.engine(), p.program("sextant"), p.path("n1.pid"), p.path("n1/store"), p.path("etcd1.pid"), grow, leave, p.path("backup"), p.path("token"), rest)
}

// host is the name of one, which only the site knows: nodes reach it as a proxy.
func host(h int) string { return fmt.Sprintf("h%d.example", h%hosts) }

// page is a page of a host: a text, and links to others, there and elsewhere.
func page(w http.ResponseWriter, r *http.Request) {
	h, n := 0, 0
	if _, err := fmt.Sscanf(r.Host, "h%d.example", &h); err != nil || h < 0 || h >= hosts {
		http.NotFound(w, r)
		return
	}
	if r.URL.Path != "/" {
		var err error
		if n, err = strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); err != nil || n < 0 || n >= pages {
			http.NotFound(w, r)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<title>Page %d of %s</title><p>This is page %d of %d of %s.</p>", n, host(h), n, pages, host(h))
	for _, to := range []int{2*n + 1, 2*n + 2} {
		fmt.Fprintf(w, `<a href="/%d">page %d</a> `, to%pages, to%pages)
	}
	to, away := (7*n+3)%pages, host(7*h+n+1)
	fmt.Fprintf(w, `<a href="http://%s/%d">page %d of %s</a>`, away, to, to, away)
}
