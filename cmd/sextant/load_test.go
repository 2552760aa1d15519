package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
)

const loadedConfig = `<CrawlConfig>
  <Crawler name="one" nthreads="4" aggressive="true" maxConnectionsPerHost="8" crawlLog="one.log">
    <Root url="%[1]s"/>
    %[2]s
    <Push kind="file"/>
  </Crawler>
  <Crawler name="two" nthreads="4" aggressive="true" maxConnectionsPerHost="8" crawlLog="two.log">
    <Root url="%[1]s"/>
    <Push kind="file"/>
  </Crawler>
</CrawlConfig>`

const loadRule = `<Rules><Rule><Path val="/never/"/><Ignore/></Rule></Rules>`

// loaded is a service at work whose process tests treat badly.
type loaded struct {
	*testing.T
	dir, config, root string
	service           *exec.Cmd
	out               bytes.Buffer
	messages          <-chan map[string]string
	socket            string
}

func (l *loaded) write(rule string) {
	l.Helper()
	if err := os.WriteFile(l.config+".new", fmt.Appendf(nil, loadedConfig, l.root, rule), 0o600); err != nil {
		l.Fatal(err)
	}
	if err := os.Rename(l.config+".new", l.config); err != nil {
		l.Fatal(err)
	}
}

func (l *loaded) start() {
	l.Helper()
	l.service = process(l.T, "run", "--listen=off", "--threads=3", "-c", l.config, "-d", filepath.Join(l.dir, "data"))
	l.service.Env = append(l.service.Env, "NOTIFY_SOCKET="+l.socket)
	l.service.Stdout, l.service.Stderr = &l.out, &l.out
	if err := l.service.Start(); err != nil {
		l.Fatal(err)
	}
}

func (l *loaded) signal(s syscall.Signal) {
	l.Helper()
	if err := l.service.Process.Signal(s); err != nil && !strings.Contains(err.Error(), "finished") {
		l.Fatal(err)
	}
}

// TestServiceUnderLoad reloads a service again and again while it crawls, stops it at
// several moments (also while it starts), kills it, and then wants all documents, stores
// without a fault, and a crawl log of whole lines.
func TestServiceUnderLoad(t *testing.T) {
	const pages = 400
	random := seeded.Rand(t)
	site := testsite.New(t, testsite.Options{Pages: pages, Delay: 4 * time.Millisecond})
	l := &loaded{T: t, dir: t.TempDir(), root: site.URL()}
	l.config = filepath.Join(l.dir, "CrawlConfig.xml")
	l.socket, l.messages = notifySocket(t)
	defer func() {
		if t.Failed() {
			t.Logf("%s", l.out.String())
		}
	}()
	l.write("")
	l.start()
	awaitMessage(t, l.messages, "READY")
	for i := range 50 {
		switch i % 3 {
		case 0:
			l.write(loadRule)
		case 1:
			l.write("")
		case 2:
			l.write("<Rules><Broken/></Rules>")
		}
		l.signal(syscall.SIGHUP)
		if m := awaitMessage(t, l.messages, "RELOADING"); m["RELOADING"] != "1" {
			t.Errorf("%v", m)
		}
		// The watch of the folder reloads too, perhaps the file before this one.
		for refused := i%3 == 2; ; {
			if m := awaitMessage(t, l.messages, "READY"); strings.Contains(m["STATUS"], "refused") == refused {
				break
			}
		}
	}
	l.write("")
	l.signal(syscall.SIGTERM) // while the folder's watch may reload
	if err := l.service.Wait(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	begin := func(i int) {
		l.start()
		if i%2 == 1 {
			awaitMessage(t, l.messages, "READY")
		}
		seeded.Pause(random, 400*time.Millisecond)
	}
	for i := range 4 {
		begin(i)
		l.signal(syscall.SIGHUP)
		l.signal(syscall.SIGTERM)
		l.signal(syscall.SIGHUP) // is refused or comes too late
		// Before the process has asked for signals they end it.
		if err := l.service.Wait(); err != nil && !strings.Contains(err.Error(), "signal: ") {
			t.Errorf("SIGTERM: %v", err)
		}
	}
	for i := range 2 {
		begin(i)
		l.signal(syscall.SIGKILL)
		_ = l.service.Wait()
	}
	if out, err := process(t, "run", "--once", "--listen=off", "--threads=3", "-c", l.config, "-d", filepath.Join(l.dir, "data")).CombinedOutput(); err != nil {
		t.Fatalf("run --once: %v\n%s", err, out)
	}
	for _, name := range []string{"one", "two"} {
		verifyData(t, filepath.Join(l.dir, "data", name))
		if n := len(testrun.Documents(t, filepath.Join(l.dir, "data", name, "out"))); n < pages {
			t.Errorf("%s: %d documents of %d pages", name, n, pages)
		}
		checkCrawlLog(t, filepath.Join(l.dir, name+".log"), pages)
	}
}

// checkCrawlLog wants whole lines, and most pages in them: a kill loses a second's.
func checkCrawlLog(t *testing.T, path string, pages int) {
	t.Helper()
	content := testdir.Read(t, path)
	added := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 7 || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%s: no whole line: %q", path, line)
		}
		if fields[1] == "added" {
			added[fields[4]] = true
		}
	}
	if len(added) == 0 || len(added) > 2*pages {
		t.Errorf("%s: %d pages added", path, len(added))
	}
}

// errStillThere is that a process has not ended.
var errStillThere = errors.New("still there")

// TestSecondSignalEndsAtOnce stops a service that cannot end: a page never comes.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 5, Delay: time.Hour})
	l := &loaded{T: t, dir: t.TempDir(), root: site.URL()}
	l.config = filepath.Join(l.dir, "CrawlConfig.xml")
	l.socket, l.messages = notifySocket(t)
	l.write("")
	l.start()
	awaitMessage(t, l.messages, "READY")
	l.signal(syscall.SIGTERM)
	awaitMessage(t, l.messages, "STOPPING")
	awaitMessage(t, l.messages, "EXTEND_TIMEOUT_USEC") // the page in flight may yet come
	ended := make(chan error, 1)
	go func() { ended <- l.service.Wait() }()
	err := errStillThere
	for errors.Is(err, errStillThere) {
		l.signal(syscall.SIGTERM) // one that comes with the first is the same wish
		select {
		case err = <-ended:
		case <-time.After(together):
		}
	}
	if code := l.service.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(l.out.String(), "ended at once") {
		t.Errorf("exit %d %v\n%s", code, err, l.out.String())
	}
	for _, name := range []string{"one", "two"} {
		verifyData(t, filepath.Join(l.dir, "data", name))
	}
}
