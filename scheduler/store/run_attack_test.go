//go:build linux

package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
)

const fullConfig = `<CrawlConfig>
  <Crawler name="full" nthreads="4" aggressive="true" maxConnectionsPerHost="4">
    <Root url="%s"/>
    <Push kind="file" dir="%s"/>
  </Crawler>
</CrawlConfig>`

// crawlOnFullDisk is the program, its configuration and its data folder.
type crawlOnFullDisk struct{ program, config, data string }

func (c crawlOnFullDisk) command(t *testing.T) *exec.Cmd {
	return exec.CommandContext(t.Context(), c.program, "run", "--once", "--listen=off", "--log-level=info", "-c", c.config, "-d", c.data)
}

// TestRunOnFullDisk fills the disk of a running crawl: the program must report it, but not repeatedly, and with space
// again it, or the next one if it has ended, must crawl the rest completely.
func TestRunOnFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	if !mountable(t) {
		return
	}
	const pages = 1000
	disk := smallDisk(t, "700m") // the program wants DefaultMinFree
	site := testsite.New(t, testsite.Options{Pages: pages, Delay: 2 * time.Millisecond})
	c := crawlOnFullDisk{program: filepath.Join(t.TempDir(), "sextant"), config: filepath.Join(t.TempDir(), "CrawlConfig.xml"), data: filepath.Join(disk, "data")}
	// go run keeps what it links in the build cache, unlike go build.
	if out, err := exec.Command("go", "run", "-ldflags=-s -w", "-exec=cp", "../../cmd/sextant", c.program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(c.config, fmt.Appendf(nil, fullConfig, site.URL(), filepath.Join(disk, "out")), 0o600); err != nil {
		t.Fatal(err)
	}
	ballast(t, disk, "first", DefaultMinFree+16<<20) // so that the rest is quick
	crawl := c.command(t)
	crawl.Stdout = io.Discard
	log, err := crawl.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	said, all := fillUnder(t, disk, log, func() bool { return len(site.Visits()) >= pages/4 })
	err = crawl.Wait()
	if said == 0 || said > 20 {
		t.Errorf("it was said %d times that the disk is full", said)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0: // it has ended, in order
		if out, err := c.command(t).CombinedOutput(); err != nil {
			t.Fatalf("the next crawl: %v\n%s", err, out)
		}
	case err != nil:
		t.Fatalf("%v\n%s", err, all)
	}
	if out, err := exec.Command(c.program, "verify", "-d", c.data).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	documents := documentsIn(t, filepath.Join(disk, "out"))
	for _, url := range site.Documents() {
		if !bytes.Contains(documents, []byte(`"url":"`+url+`"`)) {
			t.Errorf("%s is not in the index", url)
		}
	}
	if t.Failed() {
		t.Log(all)
	}
}

// fillUnder fills the disk of a program once begun returns true, and frees it when the program's log reports it. It
// returns the number of reports, and the log.
func fillUnder(t *testing.T, disk string, log io.Reader, begun func() bool) (said int, all string) {
	t.Helper()
	response := make(chan string)
	go func() {
		defer close(response)
		for r := bufio.NewScanner(log); r.Scan(); {
			response <- r.Text()
		}
	}()
	var remove func()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if begun() {
				look.Stop()
				remove = ballast(t, disk, "more", DefaultMinFree-4<<20)
			}
		case l, more := <-response:
			if !more {
				return said, all
			}
			if all += l + "\n"; !strings.Contains(l, scheduler.ErrFull.Error()) {
				continue
			}
			if said++; said == 1 && remove != nil {
				remove()
			}
			if !strings.Contains(l, "free some space") {
				t.Errorf("the message does not say what to do: %s", l)
			}
		}
	}
}

// documentsIn returns the lines that a file target has written.
func documentsIn(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var all []byte
	for _, name := range files {
		b := testdir.Read(t, name)
		all = append(all, b...)
	}
	return all
}
