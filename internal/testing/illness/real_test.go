package illness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The real form: the program as it is built, its own indexer, and a site on loopback. The
// clock is that of the machine, so a day of the rule takes two minutes: a loss is asked for again after two seconds, a
// minute, and two minutes.
const (
	realRest     = 2 * time.Second
	realConfirm  = 2 * time.Minute
	realIllness  = 8 * realRest
	realRecovery = 15 * time.Minute // an ill host is well again after ten at the earliest
	realPause    = 200 * time.Millisecond
)

// TestRealIllness is a part of the matrix with nothing in memory.
func TestRealIllness(t *testing.T) {
	if os.Getenv("SEXTANT_ILLNESS") != "real" {
		t.Skip("it takes minutes: make illness-real runs it")
	}
	program := filepath.Join(t.TempDir(), "sextant")
	build := exec.CommandContext(t.Context(),
		"go", "build", "-o", program, "github.com/sextant-crawler/sextant/cmd/sextant")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the program does not build: %v\n%s", err, out)
	}
	var mu sync.Mutex
	var rows []string
	t.Run("cells", func(t *testing.T) {
		for _, illness := range realIllnesses() {
			for _, pages := range []int{16, 60} {
				t.Run(fmt.Sprintf("%s/%d", illness, pages), func(t *testing.T) {
					t.Parallel()
					r := &realWorld{t: t, program: program, dir: t.TempDir()}
					defer func() {
						mu.Lock()
						defer mu.Unlock()
						rows = append(rows, fmt.Sprintf("%-24s %3d %5d  %s", illness, pages, r.lost, r.recovered))
					}()
					r.try(illness, pages)
				})
			}
		}
	})
	slices.Sort(rows)
	t.Logf("%-24s %3s %5s  %s\n%s", "illness", "of", "lost", "well after", strings.Join(rows, "\n"))
}

// realIllnesses returns those that can be had without a name server and without patience: the
// program keeps a robots.txt for a day. Of apologies that differ but for an identifier some stand for all.
func realIllnesses() []Illness {
	return slices.DeleteFunc(Illnesses(), func(i Illness) bool {
		switch i {
		case Disallowed, SignOn, Parked, ContinueToSee, Incident,
			BlockedByRule, EverySixthPage:
			return true
		}
		return i.DNS()
	})
}

// realWorld is a site, an indexer and a service.
type realWorld struct {
	t            *testing.T
	program, dir string
	site         *Server
	indexer      string // "127.0.0.1:PORT"
	lost         int
	recovered    string
}

func (r *realWorld) try(illness Illness, pages int) {
	t := r.t
	r.recovered = "never"
	var err error
	site := Options{Documents: pages, Validators: pages%2 == 0, RetryAfter: 5}
	r.site, err = NewServer(site, illness.TLS())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.site.Close() })
	r.startIndexer()
	r.startService()
	var want map[string]string
	r.until("the site is crawled", time.Minute, func() bool {
		want = r.entries()
		return len(want) == pages
	})

	r.site.Site().FallIll(illness)
	if illness == HomeElsewhere {
		for range 2 {
			r.command("refresh", r.site.Site().URL(0))
			time.Sleep(realRest)
		}
	}
	r.command("refresh", "--all")
	for begin := time.Now(); time.Since(begin) < realIllness; time.Sleep(realPause) {
		got := r.entries()
		r.lost = max(r.lost, absent(want, got)+foreign(want, got))
	}
	if r.lost > firstDay(pages) {
		t.Errorf("%d of %d documents left or were overwritten, want at most %d", r.lost, pages, firstDay(pages))
	}

	r.site.Site().Heal()
	healed := time.Now()
	var state string
	r.until("all is back, and nothing of it is pending", realRecovery, func() bool {
		got := r.entries()
		strange := absent(got, want)
		missing, foreign, pending := absent(want, got), foreign(want, got), r.undone()
		state = fmt.Sprintf("%d documents are missing and %d not the site's own, %d deletions are pending; "+
			"%d documents came with the illness",
			missing, foreign, pending, strange)
		return missing+foreign == 0 && pending <= strange
	}, &state)
	r.recovered = time.Since(healed).Round(time.Second).String()
}

// absent counts what is wanted and not there.
func absent(want, got map[string]string) (n int) {
	for uri := range want {
		if _, ok := got[uri]; !ok {
			n++
		}
	}
	return n
}

// foreign counts what is there with another content than it should have.
func foreign(want, got map[string]string) (n int) {
	for uri, stamp := range want {
		if other, ok := got[uri]; ok && other != stamp {
			n++
		}
	}
	return n
}

const realConfig = `<CrawlConfig>
  <Crawler name="test" nthreads="2" aggressive="true" smartRefresh="true" smartRefreshMinAgeS="20"
      smartRefreshMaxAgeS="40" errorRefreshS="20" firstByteTimeoutMS="1000" connectTimeoutMS="1000" downloadTimeoutMS="3000"%s>
    <Root url="%s" site="true"/>
    <MimeTypes><MimeType type="%s"/></MimeTypes>
    <Push kind="papi" url="http://%s" connector="test" batchAgeMS="50"/>
  </Crawler>
</CrawlConfig>
`

func (r *realWorld) startService() {
	rests := ""
	if schema := r.output("schema"); bytes.Contains(schema, []byte("deletionRestS")) {
		rests = fmt.Sprintf(` deletionRestS="%.0f" deletionConfirmS="%.0f"`, realRest.Seconds(), realConfirm.Seconds())
	}
	text := fmt.Sprintf(realConfig, rests, r.site.Site().URL(0), SickType, r.indexer)
	roots := filepath.Join(r.dir, "roots.pem")
	for path, content := range map[string][]byte{r.config(): []byte(text), roots: r.site.Roots()} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.start("service.log", append(os.Environ(), "SSL_CERT_FILE="+roots),
		"run", "-c", r.config(), "-d", r.data(), "--listen", "off")
}

func (r *realWorld) startIndexer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.indexer = l.Addr().String()
	if err := l.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(http.DefaultClient.CloseIdleConnections)
	r.start("indexer.log", os.Environ(), "indexer", "-d", filepath.Join(r.dir, "index"), "--listen", r.indexer)
	r.until("the indexer answers", time.Minute, func() bool { _, err := r.ask("ping", nil); return err == nil })
}

func (r *realWorld) config() string { return filepath.Join(r.dir, "CrawlConfig.xml") }
func (r *realWorld) data() string   { return filepath.Join(r.dir, "data") }

// start runs the program until the test ends.
func (r *realWorld) start(log string, env []string, args ...string) {
	r.t.Helper()
	file, err := os.Create(filepath.Join(r.dir, log))
	if err != nil {
		r.t.Fatal(err)
	}
	command := exec.Command(r.program, args...)
	command.Env, command.Stdout, command.Stderr = env, file, file
	if err := command.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = command.Wait()
		_ = file.Close()
	})
}

// command runs the program on the service's configuration.
func (r *realWorld) command(args ...string) []byte {
	r.t.Helper()
	return r.output(slices.Insert(args, 1, "-c", r.config(), "-d", r.data())...)
}

func (r *realWorld) output(args ...string) []byte {
	r.t.Helper()
	out, err := exec.CommandContext(r.t.Context(), r.program, args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("sextant %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// undone returns how many deletions and replacements are pending.
func (r *realWorld) undone() int {
	r.t.Helper()
	var status struct {
		Outbox struct{ Pending, Held, Resting int }
	}
	out := r.command("status", "--json")
	if err := json.Unmarshal(out, &status); err != nil {
		r.t.Fatalf("status: %v\n%s", err, out)
	}
	return status.Outbox.Pending + status.Outbox.Held + status.Outbox.Resting
}

// ask returns a GET of the Push API.
func (r *realWorld) ask(command string, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	path := "/papi/4/connectors/test/" + command
	address := url.URL{Scheme: "http", Host: r.indexer, Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", command, resp.Status, body)
	}
	return body, err
}

// entries returns the documents of the indexer, with their stamps.
func (r *realWorld) entries() map[string]string {
	r.t.Helper()
	session, err := r.ask("get_current_session_id", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	body, err := r.ask("enumerate_synced_entries", url.Values{
		"PAPI_session": {strings.TrimSpace(string(session))}, "PAPI_rootPath": {""},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	entries := map[string]string{}
	for line := range strings.Lines(string(body)) {
		escaped, stamp, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		uri, err := url.QueryUnescape(escaped)
		if err != nil {
			r.t.Fatal(err)
		}
		entries[uri] = stamp
	}
	return entries
}

// until waits for something; state, if there is one, is told where that does not come.
func (r *realWorld) until(what string, patience time.Duration, ok func() bool, state ...*string) {
	r.t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(realPause) {
		if time.Since(begin) > patience {
			words := ""
			for _, s := range state {
				words += ": " + *s
			}
			said, _ := os.ReadFile(filepath.Join(r.dir, "service.log"))
			r.t.Fatalf("%s: not so after %s%s\nthe service said:\n%s", what, patience, words, lastLines(said, 10))
		}
	}
}

func lastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
