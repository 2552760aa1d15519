package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
)

// beMain makes the test binary the program itself, so that tests can start and
// kill real processes.
const beMain = "SEXTANT_TEST_BE_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) == beResident {
		if err := serveCommands(os.Stdin, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	// Workers that read documents, and what runs converters, have no such environment.
	if os.Getenv(beMain) != "" || len(os.Args) > 1 && (os.Args[1] == documents.WorkerCommand || os.Args[1] == documents.ConverterCommand) {
		main()
	}
	testdir.InMemory()
	os.Exit(m.Run())
}

// process prepares the program as a process of its own, which ends with the test.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), beMain+"=1")
	return command
}

// TestKilledCrawlLosesNothing kills the crawl with SIGKILL while it makes one of its
// requests, starts it again, and wants the same documents at the indexer and in the
// files as a crawl that was left alone. SEXTANT_KILLS sets how often, SEXTANT_SITE a
// folder of HTML to crawl in place of the small test site.
func TestKilledCrawlLosesNothing(t *testing.T) {
	kills := 4
	if testing.Short() {
		kills = 1
	}
	if s := os.Getenv("SEXTANT_KILLS"); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatalf("SEXTANT_KILLS: %v", err)
		}
	}
	site := killSite(t)
	want := killedCrawl(t, site, nil, nil)
	if len(want) < 20 {
		t.Fatalf("the crawl that was left alone gave only %d documents", len(want))
	}
	r := seeded.Rand(t)
	for i, requests := 0, site.count(); i < kills; i++ {
		at := r.IntN(requests)
		got := killedCrawl(t, site, r, &at)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("kill %d at request %d (-left alone +killed):\n%s", i, at, diff)
		}
	}
}

// killSite returns the site to crawl.
func killSite(t *testing.T) *counted {
	t.Helper()
	if dir := os.Getenv("SEXTANT_SITE"); dir != "" {
		return newCounted(t, http.FileServer(http.Dir(dir)))
	}
	return newCounted(t, testsite.New(t, testsite.Options{Pages: 150, Delay: 2 * time.Millisecond}))
}

const killConfig = `<CrawlConfig>
  <Crawler name="kill" nthreads="4" aggressive="true" maxConnectionsPerHost="4">
    <Root url="%[1]s"/>
    <Rules group="default">
      <Rule><Or><Path val="/_sources/"/><Path val="/_downloads/"/><Path val="/_static/"/><Path val="/_images/"/></Or><Ignore/></Rule>
    </Rules>
    <Push kind="papi" url="http://%[2]s" connector="kill" batchCount="20" batchAgeMS="50"/>
    <Push kind="file"/>
  </Crawler>
</CrawlConfig>`

// killedCrawl crawls into a fresh indexer, with one kill at a request (nil: none), until
// the crawl ends by itself, and returns the indexed URLs with a hash of
// what each document says.
func killedCrawl(t *testing.T, site *counted, r *rand.Rand, at *int) []string {
	t.Helper()
	dir := t.TempDir()
	server, address := startIndexer(t, filepath.Join(dir, "indexer"))
	config := filepath.Join(dir, "CrawlConfig.xml")
	if err := os.WriteFile(config, fmt.Appendf(nil, killConfig, site.url, address), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	arguments := []string{"run", "--once", "--listen=off", "--log-level=warn", "-c", config, "-d", data}
	if at != nil {
		killAt(t, process(t, arguments...), site.after(*at), r, nil)
	}
	if out, err := process(t, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("run --once: %v\n%s", err, out)
	}
	if code, out, errOut := sextant(t, "", "verify", "-d", data); code != exitOK {
		t.Fatalf("verify after a kill: exit %d\n%s%s", code, out, errOut)
	}
	documents := testrun.Documents(t, filepath.Join(data, "out"))
	indexed, err := server.URIs("kill")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(indexed)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(documents)), indexed); diff != "" {
		t.Fatalf("the indexer and the files differ (-files +indexer):\n%s", diff)
	}
	var all []string
	for url, d := range documents {
		sum := sha256.Sum256([]byte(d.Title + "\n" + d.Text)) // d.Hash differs from store to store
		all = append(all, fmt.Sprintf("%s %x", url, sum[:8]))
	}
	slices.Sort(all)
	return all
}

// startIndexer runs the receiver in this process, on a socket.
func startIndexer(t *testing.T, dir string) (*indexer.Server, string) {
	t.Helper()
	server, err := indexer.Open(dir, indexer.Settings{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, listener.Addr().String()
}
