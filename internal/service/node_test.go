package service

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testpermit"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// nodes are those of a test, around one engine in memory, which never die of a slow machine.
type nodes struct {
	*testing.T
	dir     string
	engine  *clustertest.Memory
	line    *clustertest.Line // by which nodes reach it; nil: directly
	way     cluster.Engine    // the same, of any kind
	times   cluster.Times
	log     *slog.Logger                                  // nil: none
	config  string                                        // the file of every node
	own     map[string]string                             // by name: that of a node that has another one
	site    string                                        // that is crawled
	asked   *sync.Map                                     // its paths
	refused error                                         // that a node may end with; nil: none
	once    crawl.Once                                    // as nodes are started
	ended   func(name string, summary Summary, err error) // nil: nobody asks
}

func newNodes(t *testing.T) *nodes {
	t.Helper()
	n := &nodes{T: t, dir: t.TempDir(), engine: clustertest.NewMemory(), times: cluster.DefaultTimes(), own: map[string]string{}, asked: &sync.Map{}}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.asked.Store(r.URL.Path, true)
		http.NotFound(w, r)
	}))
	t.Cleanup(site.Close)
	n.times.Right, n.times.Silence = time.Hour, 2*time.Hour
	n.times.Beat, n.times.Sync = 100*time.Millisecond, 300*time.Millisecond
	n.config, n.site = filepath.Join(n.dir, config.FileName), site.URL
	n.write(n.config, n.text("docs", "/"))
	return n
}

// text is a configuration with roots.
func (n *nodes) text(crawler string, roots ...string) string {
	text := `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21"><Crawler name="` + crawler + `" nthreads="1" throttleTimeMS="10">`
	for _, root := range roots {
		text += `<Root url="` + n.site + root + `"/>`
	}
	return text + "</Crawler></CrawlConfig>"
}

func (n *nodes) write(path, text string) {
	n.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		n.Fatal(err)
	}
}

// file gives a node a file of its own.
func (n *nodes) file(name, text string) {
	n.Helper()
	n.own[name] = filepath.Join(n.dir, "etc-"+name, config.FileName)
	n.write(n.own[name], text)
}

func (n *nodes) options(name string) Options {
	n.Helper()
	path := cmp.Or(n.own[name], n.config)
	parsed, report, err := config.LoadWith(path, config.OSLookups())
	if err != nil || parsed == nil {
		n.Fatal(err, report.Err())
	}
	return Options{
		Path: path, File: parsed, Crawlers: parsed.Crawlers, Data: filepath.Join(n.dir, name), Listen: "127.0.0.1:0",
		Access: &admin.AccessSettings{}, Log: slog.New(slog.DiscardHandler), Version: "test", Agent: "test",
	}
}

// found makes the cluster, with name as its first node.
func (n *nodes) found(name, from string) error {
	o := n.options(name)
	_, _, err := FoundCluster(n.Context(), Founding{
		Engine: n.engine, Node: name, Home: HomeOf(o.File, o.Crawlers[0], o.Data), Crawler: o.Crawlers[0], From: from,
		Token: filepath.Join(n.dir, "token"), Log: o.Log,
	})
	return err
}

func (n *nodes) token() peer.Token {
	n.Helper()
	token, err := NodeToken(filepath.Join(n.dir, "token"))
	if err != nil {
		n.Fatal(err)
	}
	return token
}

// first begins a cluster with the node n1, and waits until that crawls.
func (n *nodes) first() (stop func() error) {
	n.Helper()
	if err := n.found("n1", ""); err != nil {
		n.Fatal(err)
	}
	stop = n.start("n1")
	n.crawls("n1", 1)
	return stop
}

// start runs a node until the returned function ends it, and gives its error.
func (n *nodes) start(name string) (stop func() error) {
	n.Helper()
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	token, o, once := n.token(), n.options(name), n.once
	engine := cluster.Engine(n.engine)
	if n.line != nil {
		engine = n.line
	}
	if n.way != nil {
		engine = n.way
	}
	if n.log != nil {
		o.Log = n.log
	}
	go func() {
		summary, err := RunNode(context.Background(), o, NodeOptions{Name: name, Engine: engine, Token: token, Listen: "127.0.0.1:0", times: n.times}, Start{Stop: ctx, Once: once})
		if n.ended != nil {
			n.ended(name, summary, err)
		}
		ended <- err
	}()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		end()
		return <-ended
	}
	n.Cleanup(func() {
		if err := stop(); err != nil && (n.refused == nil || !errors.Is(err, n.refused)) {
			n.Errorf("%s: %v", name, err)
		}
	})
	return stop
}

func (n *nodes) observe() (*cluster.State, error) {
	times := n.times
	times.Right = cluster.DefaultTimes().Right // how long one that is dead is looked at
	return cluster.Observe(n.Context(), n.engine, cluster.SystemClock{}, times)
}

// until waits for a state of the cluster.
func (n *nodes) until(what string, is func(*cluster.State) bool) {
	n.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		s, err := n.observe()
		if err == nil && is(s) {
			return
		}
		if time.Since(began) > 2*time.Minute {
			n.Fatalf("%s: not after two minutes: %+v, %v", what, s, err)
		}
	}
}

func (n *nodes) crawls(name string, inSync int) {
	n.Helper()
	n.until(name+" crawls", func(s *cluster.State) bool {
		p := &s.States[0]
		return p.Owner.Node == name && !p.Released && s.Alive(name) && len(p.InSync) == inSync
	})
}

// address is where a node answers, as the others are told.
func (n *nodes) address(name string) string {
	n.Helper()
	s, err := n.observe()
	if err != nil {
		n.Fatal(err)
	}
	for _, one := range s.Nodes {
		if one.Node == name {
			return strings.TrimSuffix(one.Console, "/")
		}
	}
	n.Fatalf("no node %s: %+v", name, s.Nodes)
	return ""
}

// answer asks without following a redirect.
func (n *nodes) answer(url string) (*http.Response, string) {
	n.Helper()
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	a, err := client.Get(url)
	if err != nil {
		n.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	if err = errors.Join(err, a.Body.Close()); err != nil {
		n.Fatal(err)
	}
	return a, string(body)
}

// TestNodes: a second node gets its copy by itself, answers as a standby, takes over when the first is asked to
// hand over, in one process each, and the first one follows then.
func TestNodes(t *testing.T) {
	n := newNodes(t)
	first := n.first()
	second := n.start("n2")
	n.crawls("n1", 2)
	active, standby := n.address("n1"), n.address("n2")
	n.until("n2 is ready", func(*cluster.State) bool {
		a, _ := n.answer(standby + "/readyz")
		return a.StatusCode == http.StatusOK
	})
	if a, body := n.answer(standby + "/status?crawler=docs"); a.StatusCode != http.StatusTemporaryRedirect || a.Header.Get("Location") != active+"/status?crawler=docs" || !strings.Contains(body, "n1 crawls") {
		t.Errorf("a standby answers %d, to %q: %s", a.StatusCode, a.Header.Get("Location"), body)
	}
	client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n2"), "")
	if err != nil || client == nil {
		t.Fatalf("the socket of a standby: %v", err)
	}
	if _, err := client.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "n1 crawls") {
		t.Errorf("the socket of a standby: %v", err)
	}
	n.until("n1 answers", func(*cluster.State) bool {
		a, _ := n.answer(active + "/readyz")
		return a.StatusCode == http.StatusOK
	})
	n.until("n1 has handed over", func(s *cluster.State) bool {
		if s.States[0].Owner.Node == "n2" {
			return true
		}
		_, _, err := ReleaseCluster(t.Context(), n.engine, n.token()) // n1 may not know yet that it may
		return err == nil
	})
	n.crawls("n2", 2)
	n.until("the console has moved", func(*cluster.State) bool {
		a, _ := n.answer(active + "/status")
		return a.StatusCode == http.StatusTemporaryRedirect && a.Header.Get("Location") == standby+"/status"
	})
	for _, stop := range []func() error{first, second} {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"n1", "n2"} {
		s, err := badgerstore.Open(filepath.Join(n.dir, name, storeFolder), badgerstore.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Verify(t.Context(), func(f badgerstore.Fault) { t.Errorf("%s: %s %s", name, f.URL, f.Words) })
		if err = errors.Join(err, s.Close()); err != nil || found.URLs == 0 {
			t.Errorf("%s: %d URLs, %v", name, found.URLs, err)
		}
	}
}

// TestReleaseAlone: a node that nobody could take over from goes on.
func TestReleaseAlone(t *testing.T) {
	n := newNodes(t)
	n.first()
	n.until("it is refused", func(*cluster.State) bool {
		_, _, err := ReleaseCluster(t.Context(), n.engine, n.token())
		return errors.Is(err, peer.ErrDeclined) && strings.Contains(err.Error(), "no other node")
	})
	n.crawls("n1", 1)
}

// TestNodeRefuses what a person has to mend: each error says how.
func TestNodeRefuses(t *testing.T) {
	n := newNodes(t)
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	alone, err := Open(t.Context(), n.options("alone"))
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	n.start("n1")
	n.crawls("n1", 1)
	other, err := peer.ParseToken(strings.Repeat("another ", 8))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, data string
		engine     cluster.Engine
		token      peer.Token
		want       error
		words      string
	}{
		{"n1", "twin", n.engine, n.token(), cluster.ErrTwice, "a name of its own"},
		{"n3", "alone", n.engine, n.token(), nil, "--from-store"},
		{"n3", "n3", n.engine, other, peer.ErrProof, "the same one"},
		{"n3", "n4", clustertest.NewMemory(), n.token(), cluster.ErrNoCluster, "cluster init"},
	} {
		o := n.options(tt.data)
		_, err := RunNode(t.Context(), o, NodeOptions{Name: tt.name, Engine: tt.engine, Token: tt.token, Listen: "127.0.0.1:0", times: n.times}, Start{Stop: t.Context()})
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s in %s: %v, want %v, %q", tt.name, tt.data, err, tt.want, tt.words)
		}
	}
}

// TestFoundCluster: a store of one machine becomes the first copy only by the operator's word, and with all that it has.
func TestFoundCluster(t *testing.T) {
	n := newNodes(t)
	s, err := Open(t.Context(), n.options("n1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.crawls[0].Submit(t.Context(), []string{n.site + "/kept"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := n.found("n1", ""); err == nil || !strings.Contains(err.Error(), "--from-store") {
		t.Errorf("without a word: %v", err)
	}
	if err := n.found("n1", t.TempDir()); err == nil || !strings.Contains(err.Error(), "lies in") {
		t.Errorf("another folder: %v", err)
	}
	if err := n.found("n1", filepath.Join(n.dir, "n1")); err != nil {
		t.Fatal(err)
	}
	if err := n.found("n1", filepath.Join(n.dir, "n1")); !errors.Is(err, cluster.ErrFounded) {
		t.Errorf("twice: %v", err)
	}
	n.start("n1")
	n.crawls("n1", 1)
	n.start("n2")
	n.crawls("n1", 2)
	if _, err := Open(t.Context(), n.options("n2")); err == nil {
		t.Error("a copy is opened as a store of one machine")
	}
}

// TestNodeAsksItsPermit: while a node leads, the requests of its crawl are asked of its claim, also after a reload.
func TestNodeAsksItsPermit(t *testing.T) {
	n := newNodes(t)
	o := n.options("n1")
	store, err := badgerstore.Open(filepath.Join(o.Data, storeFolder), badgerstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	given := testpermit.New()
	o.lent = &lent{store: single{store}, claim: push.Claim{Permit: given}}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := s.crawls[0]
	if got := r.Settings().Fetcher.Permit; got != given {
		t.Errorf("the crawl asks %v", got)
	}
	if o.Crawlers[0].Fetcher.Permit != nil {
		t.Error("the permit has got into the configuration")
	}
	given.Take()
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a dry run asks without a permit") }))
	defer site.Close()
	u, err := weburl.Parse(site.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Fetch(ctx, r, u.String(), u); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a dry run without a permit: %v, want that it waits", err)
	}
	if err := errors.Join(s.Close(), store.Close()); err != nil {
		t.Error(err)
	}
}
