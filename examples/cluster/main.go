// Command cluster starts a whole cluster on this machine, to be tried and broken: three etcd, two
// nodes of Sextant, an indexer, and a site to crawl. Run it in a clone, with nothing but Go:
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
	pages = 20_000 // of the site
	pace  = 50     // milliseconds between two requests
	rest  = 8 * time.Second
)

const configuration = `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21" xmlns:ar="exa:com.exalead.actionrules.v21">
  <Crawler name="docs" nthreads="4" throttleTimeMS="%d" smartRefresh="true">
    <Root url="http://%s/"/>
    <Push kind="papi" url="http://%s" connector="docs"/>
  </Crawler>
</CrawlConfig>
`

func main() {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "sextant-cluster"), "where all data lies; it is emptied at the start")
	port := flag.Int("port", 7380, "the first of 12 `PORT`s")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *dir, *port)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// place is where all of the example is.
type place struct {
	dir  string
	port int
}

func (p place) at(offset int) string { return "127.0.0.1:" + strconv.Itoa(p.port+offset) }

// The offsets of ports: site, indexer, then two for each node, and two for each etcd.
func (p place) site() string              { return p.at(0) }
func (p place) indexer() string           { return p.at(1) }
func (p place) console(n int) string      { return p.at(1 + n) }
func (p place) peer(n int) string         { return p.at(3 + n) }
func (p place) client(m int) string       { return p.at(4 + 2*m) }
func (p place) etcd(m int) string         { return p.at(5 + 2*m) }
func (p place) path(name string) string   { return filepath.Join(p.dir, name) }
func (p place) node(n int) string         { return "n" + strconv.Itoa(n) }
func (p place) program(sub string) string { return p.path(sub) }

func (p place) engine() string {
	return fmt.Sprintf("etcd://%s,%s,%s", p.client(1), p.client(2), p.client(3))
}

func run(ctx context.Context, dir string, port int) error {
	p := place{dir, port}
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
	for n := 1; n <= 2; n++ {
		processes.Go(func() {
			p.keep(ctx, p.node(n), "sextant", "run", "--engine", p.engine(), "--node", p.node(n), "--node-listen", p.peer(n),
				"--node-token-file", p.path("token"), "--listen", p.console(n), "-c", p.path("CrawlConfig.xml"), "-d", p.path(p.node(n)))
		})
	}
	p.guide(os.Stdout)
	<-ctx.Done()
	fmt.Println("stopping: each node finishes what it fetches")
	processes.Wait()
	return nil
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
	return os.WriteFile(p.path("CrawlConfig.xml"), fmt.Appendf(nil, configuration, pace, p.site(), p.indexer()), 0o600)
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
		command := exec.CommandContext(ctx, p.program("sextant"), "cluster", "init", "--engine", p.engine(), "--node", p.node(1),
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
	fmt.Fprintf(w, `
two nodes crawl http://%s/, three etcd keep their log; all data and logs are in %s

  console of n1      http://%s/   token: %s
  console of n2      http://%s/   token: %s

in another terminal:

  export SEXTANT_ENGINE=%s
  alias sextant=%s
  sextant cluster status
  kill -9 $(cat %s)                     # and look at the status again
  kill -9 $(cat %[9]s); rm -rf %s    # the same, and its disk is lost
  sextant cluster release --node-token-file %[11]s
  kill -9 $(cat %[12]s)                  # one etcd of three

What was killed is started again after %[13]v. Ctrl-C ends all.
`, p.site(), p.dir, p.console(1), p.path("n1/operator.token"), p.console(2), p.path("n2/operator.token"), p.engine(), p.program("sextant"),
		p.path("n1.pid"), p.path("n1/store"), p.path("token"), p.path("etcd1.pid"), rest)
}

// page is a page of the site: a text, and links to others.
func page(w http.ResponseWriter, r *http.Request) {
	n := 0
	if r.URL.Path != "/" {
		var err error
		if n, err = strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); err != nil || n < 0 || n >= pages {
			http.NotFound(w, r)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<title>Page %d</title><p>This is page %d of %d.</p>", n, n, pages)
	for _, to := range []int{2*n + 1, 2*n + 2, (7*n + 3) % pages} {
		fmt.Fprintf(w, `<a href="/%d">page %d</a> `, to%pages, to%pages)
	}
}
