package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/demo/site"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

const pollPause = 100 * time.Millisecond

// world is a site, an indexer, and the service that crawls the one into the other.
type world struct {
	site     *changingSite
	siteURL  string
	origin   string // of the service
	operator string // tokens
	reader   string
	config   string // path
	// environment is added to that of the service.
	environment []string

	dir     string
	command *exec.Cmd
	stderr  *os.File
	closers []func()
}

// changingSite is the sample site, and pages that can be changed.
type changingSite struct {
	sample http.Handler
	mu     sync.Mutex
	pages  map[string]answer // by the path as it was sent
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (s *changingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	a, ok := s.pages[r.RequestURI]
	s.mu.Unlock()
	if !ok {
		s.sample.ServeHTTP(w, r)
		return
	}
	maps.Copy(w.Header(), a.header)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func (s *changingSite) set(path string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = a
}

// worlds are to be closed at the end.
var (
	worldsMu sync.Mutex
	worlds   []*world
)

func closeWorlds() {
	worldsMu.Lock()
	defer worldsMu.Unlock()
	for _, w := range worlds {
		w.close()
	}
	worlds = nil
}

// openWorld starts a site with pages that mean ill, an indexer, and the service, and
// waits until the site is crawled.
func openWorld() (*world, error) {
	w, err := startWorld(hostilePages())
	if err != nil {
		return nil, err
	}
	return w, w.crawled()
}

// startWorld starts it; pages are added to the sample site, below /hostile/ and /old/.
func startWorld(pages map[string]answer) (w *world, err error) {
	w = &world{site: &changingSite{sample: site.Handler(), pages: pages}}
	worldsMu.Lock()
	worlds = append(worlds, w)
	worldsMu.Unlock()
	if w.dir, err = os.MkdirTemp("", "sextant-world-"); err != nil {
		return nil, err
	}
	server := httptest.NewServer(w.site)
	w.closers = append(w.closers, server.Close)
	w.siteURL = server.URL
	index, err := w.serveIndexer()
	if err != nil {
		return nil, err
	}
	text := site.Config(site.Places{Site: w.siteURL, Indexer: index})
	for old, with := range map[string]string{
		`name="demo"`: `name="demo" deletionRestS="3600"`,
		// Fields, main content and a log-in have their places on the pages of overview, host and URL; "nowhere" is
		// found in no page.
		`</Crawler>`: `<Field name="heading" select="css:h1"/><Field name="nowhere" select="css:.nowhere"/><MainContent/>
			<Fetch name="old" auth="basic" user="robot" password="secret" origins="` + w.siteURL + `" render="auto"><Path val="/old/"/></Fetch></Crawler>`,
		`<Rules group="`: `<Root url="` + w.siteURL + `/hostile/" group="tidewell"/><Root url="` + w.siteURL + `/old/" group="tidewell"/>` + "\n\n    <Rules group=\"",
	} {
		if !strings.Contains(text, old) {
			return nil, fmt.Errorf("the sample configuration has no %s", old)
		}
		text = strings.Replace(text, old, with, 1)
	}
	w.config = filepath.Join(w.dir, "CrawlConfig.xml")
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return w, w.startService()
}

// serveIndexer starts an indexer that is empty.
func (w *world) serveIndexer() (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server, err := indexer.Open(filepath.Join(w.dir, "indexer"), indexer.Settings{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Run(ctx, l) // that it fails is seen by the service
	}()
	w.closers = append(w.closers, func() {
		cancel()
		<-done
		_ = server.Close()
	})
	return "http://" + l.Addr().String(), nil
}

// startService runs the program on the configuration.
func (w *world) startService() error {
	address, release, err := testport.New()
	if err != nil {
		return err
	}
	w.closers = append(w.closers, func() { _ = release() })
	w.origin = "http://" + address
	data := filepath.Join(w.dir, "data")
	if err := os.MkdirAll(data, 0o750); err != nil {
		return err
	}
	for role, token := range map[string]*string{"operator": &w.operator, "reader": &w.reader} {
		path, err := exec.Command(program, "token", "--role", role, "-d", data).Output()
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		b, err := os.ReadFile(strings.TrimSpace(string(path)))
		if err != nil {
			return err
		}
		*token = strings.TrimSpace(string(b))
	}
	if w.stderr, err = os.Create(filepath.Join(w.dir, "stderr")); err != nil {
		return err
	}
	w.command = exec.Command(program, "run", "-c", w.config, "-d", data, "--listen", address)
	w.command.Stderr = w.stderr
	w.command.Env = append(w.command.Environ(), w.environment...)
	if err := w.command.Start(); err != nil {
		return err
	}
	return w.until("the service is ready", func() bool {
		answer, err := http.Get(w.origin + "/readyz")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
}

// until waits for something about the service.
func (w *world) until(what string, ok func() bool) error {
	end := time.Now().Add(pageTimeout)
	for !ok() {
		if time.Now().After(end) {
			said, _ := os.ReadFile(w.stderr.Name())
			return fmt.Errorf("%s: not so after %s; it said:\n%s", what, pageTimeout, said)
		}
		time.Sleep(pollPause)
	}
	return nil
}

// crawled waits until nothing waits, is in flight or is unsent.
func (w *world) crawled() error {
	var all [1]struct {
		Known, Indexed uint64
		Pending        map[string]uint64
		Outbox         struct{ Waiting uint64 }
	}
	var last error
	err := w.until("the site is crawled", func() bool {
		if last = w.api(http.MethodGet, "/status", "", &all); last != nil {
			return false
		}
		s := all[0]
		waiting := s.Outbox.Waiting
		for _, n := range s.Pending {
			waiting += n
		}
		return s.Known > 40 && s.Indexed > 20 && waiting == 0
	})
	if err != nil {
		return fmt.Errorf("%w\nits status: %+v, %w", err, all, last)
	}
	return nil
}

// api asks the service as the operator.
func (w *world) api(method, path, body string, into any) error {
	request, err := http.NewRequest(method, w.origin+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+w.operator)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, answer.StatusCode, b)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}

func (w *world) close() {
	if w.command != nil && w.command.Process != nil {
		_ = w.command.Process.Signal(syscall.SIGTERM)
		_ = w.command.Wait()
	}
	if w.stderr != nil {
		_ = w.stderr.Close()
	}
	for _, c := range w.closers {
		c()
	}
	removeAll(w.dir)
}

// shared returns the world that tests look at and do not change.
func shared(t testing.TB) *world {
	t.Helper()
	needsBrowser(t)
	w, err := everything()
	if err != nil {
		t.Fatal(err)
	}
	return w
}
