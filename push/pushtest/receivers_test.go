package pushtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/elastic"
	"github.com/sextant-crawler/sextant/push/papi"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/webhook"
	"github.com/sextant-crawler/sextant/push/wire"
)

// child holds directory and address of an indexer that this binary is to be.
const child = "SEXTANT_PUSHTEST_INDEXER"

const hookSecret = "of the webhook"

func TestMain(m *testing.M) {
	if where := os.Getenv(child); where != "" {
		if err := beIndexer(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker")) // Bleve's own, from its init
}

func beIndexer(where string) error {
	dir, address, _ := strings.Cut(where, "|")
	address, fail, _ := strings.Cut(address, "|")
	script, err := indexer.ParseFail(fail)
	if err != nil {
		return err
	}
	server, err := indexer.Open(dir, indexer.Settings{
		Fail: script, WebhookSecret: hookSecret, MaxPendingBytes: 1 << 40, // nothing is synced but when it is asked for
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return server.Run(context.Background(), l)
}

// process is an indexer in a process of its own. Several requests may kill it at once.
type process struct {
	t    testing.TB
	dir  string
	fail string

	mu      sync.Mutex
	address string
	cmd     *exec.Cmd
}

func startIndexer(t testing.TB, fail string) *process {
	p := &process{t: t, dir: t.TempDir(), address: testport.Reserve(t), fail: fail}
	p.start()
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stop()
	})
	return p
}

func (p *process) start() {
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), child+"="+p.dir+"|"+p.address+"|"+p.fail)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		p.t.Fatalf("the indexer did not start: %v; its error stands on stderr", err)
	}
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // "signal: killed", or its own end
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	p.start()
}

func (p *process) url() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "http://" + p.address
}

// read asks the indexer for JSON.
func (p *process) read(path string, query url.Values, into any) {
	p.t.Helper()
	resp, err := http.Get(p.url() + path + "?" + query.Encode())
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %d, %v: %.200s", path, resp.StatusCode, err, body)
	}
}

// safe kills the process and reads what the next one has.
func (p *process) safe() pushtest.Index {
	p.t.Helper()
	p.kill()
	return p.synced()
}

// synced reads what is found, which is what is on disk.
func (p *process) synced() pushtest.Index {
	p.t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	x := pushtest.Index{}
	for from := 0; ; from += 100 {
		var found struct {
			Hits []struct {
				URL       string `json:"url"`
				Connector string `json:"connector"`
			} `json:"hits"`
		}
		p.read("/api/search", url.Values{"from": {fmt.Sprint(from)}, "size": {"100"}}, &found)
		for _, hit := range found.Hits {
			var d struct {
				Text string `json:"text"`
			}
			p.read("/documents", url.Values{"url": {hit.URL}, "connector": {hit.Connector}}, &d)
			x[hit.URL] = d.Text
		}
		if len(found.Hits) < 100 {
			return x
		}
	}
}

func (p *process) served(open func(t testing.TB, s wire.Settings) (push.Target, error)) pushtest.Served {
	return pushtest.Served{Address: p.url(), Safe: p.safe, Read: p.synced, Kill: p.kill, Open: func(t testing.TB, s wire.Settings) push.Target {
		t.Helper()
		target, err := open(t, s)
		if err != nil {
			t.Fatal(err)
		}
		return target
	}}
}

const refuseBad = "bad=" + pushtest.Bad

func TestPAPI(t *testing.T) {
	t.Parallel()
	pushtest.TestServed(t, func(t *testing.T) pushtest.Served {
		return startIndexer(t, refuseBad).served(func(_ testing.TB, s wire.Settings) (push.Target, error) {
			return papi.New(papi.Settings{Server: s, Connector: "web", SyncFirstPoll: time.Millisecond})
		})
	})
}

func TestElastic(t *testing.T) {
	t.Parallel()
	pushtest.TestServed(t, func(t *testing.T) pushtest.Served {
		return startIndexer(t, refuseBad).served(func(_ testing.TB, s wire.Settings) (push.Target, error) {
			s.URL += "/elastic"
			s.Gzip = true
			return elastic.New(elastic.Settings{Server: s, Index: "web", CreateTemplate: true, Limits: wire.Limits{Count: 7, Requests: 3}})
		})
	})
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	pushtest.TestServed(t, func(t *testing.T) pushtest.Served {
		return startIndexer(t, refuseBad).served(func(_ testing.TB, s wire.Settings) (push.Target, error) {
			s.URL += "/webhook/web"
			s.Gzip = true
			return webhook.New(webhook.Settings{Server: s, Secret: secret.New(hookSecret), Limits: wire.Limits{Count: 7, Requests: 3}})
		})
	})
}
