package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
)

// receiver is `sextant indexer` as a process of its own, at a fixed address.
type receiver struct {
	t       *testing.T
	dir     string
	address string
	fail    string
	command *exec.Cmd
	output  *testlog.Buffer
}

func newReceiver(t *testing.T, fail string) *receiver {
	t.Helper()
	return &receiver{t: t, dir: t.TempDir(), address: testport.Reserve(t), fail: fail, output: &testlog.Buffer{}}
}

// start starts the process and waits until it answers.
func (r *receiver) start() {
	r.t.Helper()
	arguments := []string{"indexer", "--listen", r.address, "-d", r.dir, "--log-level=error"}
	if r.fail != "" {
		arguments = append(arguments, "--fail", r.fail)
	}
	r.command = process(r.t, arguments...)
	r.command.Stdout, r.command.Stderr = r.output, r.output
	if err := r.command.Start(); err != nil {
		r.t.Fatal(err)
	}
	for range 5000 {
		if answer, err := http.Get("http://" + r.address + "/healthz"); err == nil {
			_ = answer.Body.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.t.Fatalf("the indexer does not answer:\n%s", r.output)
}

// kill ends the process with SIGKILL.
func (r *receiver) kill() {
	r.t.Helper()
	if err := r.command.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	_ = r.command.Wait() // it was killed
}

// documents stops the process in order and reads what it has kept.
func (r *receiver) documents(connector string) []string {
	r.t.Helper()
	if err := r.command.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
	if err := r.command.Wait(); err != nil {
		r.t.Fatalf("the indexer: %v\n%s", err, r.output)
	}
	server, err := indexer.Open(filepath.Join(r.dir, "indexer"), indexer.Settings{}, slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	defer server.Close()
	uris, err := server.URIs(connector)
	if err != nil {
		r.t.Fatal(err)
	}
	return uris
}

// TestIndexerComesAndGoes crawls into an indexer that is killed, or restarts and
// loses what was not safe, and wants every document there in the end.
func TestIndexerComesAndGoes(t *testing.T) {
	for _, tt := range []struct {
		name, fail string
		kills      int
	}{
		{"killed twice while documents arrive", "slow=5ms", 2},
		{"restarts every few commands", "restart-every=9", 0},
		{"answers 503 with Retry-After", "status=503:3,retry-after=1", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site := testsite.New(t, testsite.Options{Pages: 120, Delay: 2 * time.Millisecond})
			r := newReceiver(t, tt.fail)
			r.start()
			dir := t.TempDir()
			config := filepath.Join(dir, "CrawlConfig.xml")
			if err := os.WriteFile(config, fmt.Appendf(nil, killConfig, site.URL(), r.address), 0o600); err != nil {
				t.Fatal(err)
			}
			crawl := process(t, "run", "--once", "--listen=off", "--log-level=error", "-c", config, "-d", filepath.Join(dir, "data"))
			var out testlog.Buffer
			crawl.Stdout, crawl.Stderr = &out, &out
			if err := crawl.Start(); err != nil {
				t.Fatal(err)
			}
			for i := range tt.kills {
				for len(site.Visits()) < (i+1)*40 {
					time.Sleep(5 * time.Millisecond)
				}
				r.kill()
				r.start()
			}
			if err := crawl.Wait(); err != nil {
				t.Fatalf("run --once: %v\n%s", err, &out)
			}
			if diff := cmp.Diff(site.Documents(), r.documents("kill")); diff != "" {
				t.Errorf("documents (-site +indexer):\n%s", diff)
			}
		})
	}
}

// TestIndexerIsDown: --drain-timeout bounds the wait, nothing is lost, and the
// next run delivers.
func TestIndexerIsDown(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 30})
	r := newReceiver(t, "")
	dir := t.TempDir()
	config, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
	if err := os.WriteFile(config, fmt.Appendf(nil, killConfig, site.URL(), r.address), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"run", "--once", "--drain-timeout=2s", "--listen=off", "--log-level=error", "-c", config, "-d", data}
	out, err := process(t, arguments...).CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != exitFailed || !strings.Contains(string(out), "stay in the outbox for the next run") {
		t.Errorf("%v, output:\n%s", err, out)
	}
	r.start()
	if out, err := process(t, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("the next run: %v\n%s", err, out)
	}
	if diff := cmp.Diff(site.Documents(), r.documents("kill")); diff != "" {
		t.Errorf("documents (-site +indexer):\n%s", diff)
	}
}
