package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCrawler is a Crawler over a store in memory.
type fakeCrawler struct {
	name   string
	store  *teststore.Store
	broken error
	whole  bool       // it loses no document
	round  *time.Time // of discovery: when the last one began and ended
}

func (f fakeCrawler) Name() string { return f.name }
func (f fakeCrawler) Status(ctx context.Context) (Status, error) {
	if f.broken != nil {
		return Status{}, f.broken
	}
	stored, err := crawl.StoredStatus(ctx, f.name, f.store)
	if err != nil {
		return Status{}, err
	}
	next := crawl.Schedule{Spec: "@daily", Group: "news", Next: time.Unix(86400, 0).UTC()}
	s := Status{Status: stored, Schedules: []crawl.Schedule{next, next}, Store: &StoreStatus{Stats: store.Stats{Commits: 5, Stats: kv.Stats{TableBytes: 1, LogBytes: 2, BodyBytes: 4}}}}
	l, err := f.Losses(ctx)
	if err != nil {
		return s, err
	}
	return s, s.AddDeletions(ctx, f.store, &PendingTally{}, l)
}

// Losses: a.test is a host with many documents, b.test is ill.
func (f fakeCrawler) Losses(context.Context) (*Losses, error) {
	if f.whole {
		return &Losses{}, nil
	}
	return fakeLosses(), nil
}

func fakeLosses() *Losses {
	key := func(url string) weburl.HostKey {
		u, _ := weburl.FromCanonical(url)
		return u.HostKey()
	}
	return NewLosses([]deletion.HostState{
		{Host: key("http://a.test/"), Origin: "http://a.test", Pending: 2, Documents: 100},
		{Host: key("https://b.test/"), Pending: 30, Documents: 60, Class: scheduler.LossMost, Ill: true, Silent: time.Unix(1, 0), GoneAt: time.Unix(9e9, 0)},
	}, []deletion.Edit{{Number: 16, State: deletion.EditSent}, {Number: 17, State: deletion.EditHeld}, {Number: 18, State: deletion.EditOpen}},
		scheduler.DefaultSettings().Deletions)
}

func (f fakeCrawler) Hosts(ctx context.Context, n int, fn func(scheduler.HostInfo) error) error {
	return scheduler.New(f.store, scheduler.DefaultSettings(), slog.New(slog.DiscardHandler)).Hosts(ctx, n, fn)
}

func (f fakeCrawler) Backup(_ context.Context, w io.Writer) error {
	if _, err := io.WriteString(w, "a backup"); err != nil {
		return err
	}
	return f.broken
}

func (f fakeCrawler) Submit(_ context.Context, urls []string) ([]crawl.Submitted, error) {
	return []crawl.Submitted{{URL: strings.Join(urls, " "), Result: crawl.SubmitQueued}}, f.broken
}
func (f fakeCrawler) Verify(_ context.Context, fn func(string)) (uint64, error) {
	fn("a fault of " + f.name)
	return 7, f.broken
}

func (f fakeCrawler) Refresh(_ context.Context, s crawl.Selection) (crawl.Refreshed, error) {
	return crawl.Refreshed{URLs: len(s.URLs), Waiting: 1, Excluded: 2}, f.broken
}

func (f fakeCrawler) Remove(_ context.Context, s crawl.Selection) (crawl.Removed, error) {
	return crawl.Removed{URLs: len(s.URLs), Deletions: 1, Roots: []string{"http://root/"}}, f.broken
}
func (f fakeCrawler) Pause(context.Context) error  { return f.broken }
func (f fakeCrawler) Resume(context.Context) error { return f.broken }

// fakeDeletions returns the deletions of every fakeCrawler, oldest first: one of the rules, one of
// a host that is ill, and one that a visit is to confirm.
func fakeDeletions() []scheduler.StoredDeletion {
	loss := func(s int64) scheduler.Loss { return scheduler.NewLoss(true, time.Unix(s, 0)) }
	return []scheduler.StoredDeletion{
		{Seq: 1, URL: "https://b.test/1", Reason: scheduler.ReasonNotFound, Loss: loss(1), Text: "404 Not Found"},
		{Seq: 2, URL: "https://b.test/2", Reason: scheduler.ReasonRules, Edit: 17, Loss: loss(2), Text: "rule 3 at CrawlConfig.xml:9:1"},
		{Seq: 3, URL: "http://a.test/3", Source: "s", Reason: scheduler.ReasonNewText, Replaces: true, Loss: loss(3), Text: "its text has changed"},
	}
}

func (f fakeReports) PendingDeletions(_ context.Context, filter scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	for _, d := range fakeDeletions() {
		if !filter.Selects(&d) {
			continue
		}
		if err := fn(d); err != nil {
			return err
		}
	}
	return f.broken
}

func (f fakeCrawler) Release(_ context.Context, filter scheduler.DeletionFilter) (int, error) {
	if filter.Edit == 99 {
		return 0, fmt.Errorf("edit 99: %w", scheduler.ErrNotFound)
	}
	return len(filter.URLs), f.broken
}

func (f fakeCrawler) DropDeletions(_ context.Context, filter scheduler.DeletionFilter) (int, error) {
	return 10 + len(filter.URLs), f.broken
}

// fakeService refuses every configuration.
type fakeService struct{}

func (fakeService) Reload(context.Context, ReloadOptions) (Reloaded, error) {
	return Reloaded{}, &Declined{Err: errors.New("CrawlConfig.xml:3:5: broken")}
}

// serve runs a server for the crawlers on a socket and on TCP.
func serve(t *testing.T, crawlers ...Crawler) (data, address string) {
	t.Helper()
	data, err := os.MkdirTemp("", "admin") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return data, runServer(t, NewServer(crawlers, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler)), data)
}

// runServer runs a server on the socket of data and on TCP until the test ends, and then
// removes data.
func runServer(t *testing.T, server *Server, data string) (address string) {
	t.Helper()
	owner, err := net.Listen("unix", SocketPath(data))
	if err != nil {
		t.Fatal(err)
	}
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, open, owner) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := errors.Join(owner.Close(), os.RemoveAll(data)); err != nil {
			t.Error(err)
		}
	})
	return open.Addr().String()
}

// storeWith is a store that knows these URLs.
func storeWith(t *testing.T, urls ...string) *teststore.Store {
	t.Helper()
	m := teststore.New(t)
	for _, raw := range urls {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Add(t.Context(), []scheduler.Link{{URL: u, Fifo: scheduler.Index}}, false); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestClient(t *testing.T) {
	data, _ := serve(t, fakeCrawler{name: "a", store: storeWith(t, "http://a.test/1", "http://b.test/2")}, fakeCrawler{name: "b", store: storeWith(t)})
	ctx := t.Context()
	a := dial(t, data, "a")
	if all, err := a.Status(ctx); err != nil || len(all) != 1 || all[0].Known != 2 {
		t.Errorf("Status = %+v, %v", all, err)
	}
	var listed []string
	err := Each(ctx, a, "/urls", url.Values{"host": {"b.test"}, "class": {"pending"}, "status": {"0"}, "fifo": {"index"}}, func(u report.StoredURL) error {
		listed = append(listed, u.URL)
		return nil
	})
	if err != nil || len(listed) != 1 || listed[0] != "http://b.test/2" {
		t.Errorf("Stored = %v, %v", listed, err)
	}
	if u, err := asked[report.StoredURL](t, a, "/url", "url", "http://a.test/1"); err != nil || u.Class != "pending" {
		t.Errorf("storedOne = %+v, %v", u, err)
	}
	if _, err := asked[report.StoredURL](t, a, "/url", "url", "http://a.test/unknown"); !errors.Is(err, ErrNotKnown) {
		t.Errorf("storedOne of an unknown URL: %v", err)
	}
	if got, err := a.Submit(ctx, []string{"x", "y"}); err != nil || len(got) != 1 || got[0].URL != "x y" {
		t.Errorf("Submit = %+v, %v", got, err)
	}
	if v, err := asked[Verification](t, a, "/verify"); err != nil || v.URLs != 7 || len(v.Faults) != 1 {
		t.Errorf("Verify = %+v, %v", v, err)
	}
	if err := a.Post(ctx, "/reload", nil, nil, new(Reloaded)); !errors.Is(err, ErrDeclined) || !strings.Contains(err.Error(), "CrawlConfig.xml:3:5") {
		t.Errorf("Reload of a broken configuration: %v", err)
	}
	next := filepath.Join(t.TempDir(), "new.xml")
	testdir.Write(t, next, "broken")
	if err := a.Post(ctx, "/preview", nil, PreviewRequest{Path: next}, nil); !errors.Is(err, ErrDeclined) || !strings.Contains(err.Error(), ":3:5: broken") {
		t.Errorf("Preview of a broken configuration: %v", err)
	}
	unnamed := dial(t, data, "")
	if all, err := unnamed.Status(ctx); err != nil || len(all) != 2 {
		t.Errorf("Status of all = %+v, %v", all, err)
	}
	if _, err := asked[Verification](t, unnamed, "/verify"); err == nil || !strings.Contains(err.Error(), "--crawler") {
		t.Errorf("a command for one of two Crawlers without a name: %v", err)
	}
	if c, err := Dial(ctx, t.TempDir(), ""); c != nil || err != nil {
		t.Error("a service is found where none runs")
	}
}

func TestFailingCrawler(t *testing.T) {
	data, address := serve(t, fakeCrawler{name: "a", store: storeWith(t), broken: errors.New("the store is broken")})
	c := dial(t, data, "")
	if _, err := c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "the store is broken") {
		t.Errorf("Status: %v", err)
	}
	if _, err := c.Submit(t.Context(), []string{"x"}); err == nil || !strings.Contains(err.Error(), "the store is broken") {
		t.Errorf("Submit: %v", err)
	}
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b := make([]byte, 1<<16)
	n, _ := answer.Body.Read(b)
	if !strings.Contains(string(b[:n]), `sextant_status_error{crawler="a"} 1`) {
		t.Errorf("metrics of a broken Crawler:\n%s", b[:n])
	}
}

// TestMetrics: each figure has its name, labels and type.
func TestMetrics(t *testing.T) {
	_, address := serve(t, fakeCrawler{name: "a", store: storeWith(t, "http://a.test/1")})
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# TYPE sextant_urls_known gauge", `sextant_urls_known{crawler="a"} 1`,
		`sextant_paused{crawler="a"} 0`, `sextant_idle{crawler="a",reason="paused"} 0`, `sextant_idle{crawler="a",reason="hosts_closed"} 0`,
		`sextant_schedule_next_run_timestamp_seconds{crawler="a",group="news",match="",schedule="@daily"} 86400`,
		`sextant_store_disk_bytes{crawler="a",kind="bodies"} 4`,
		"# TYPE sextant_store_commits_total counter", `sextant_store_commits_total{crawler="a"} 5`,
		`sextant_fingerprints_bytes{crawler="a"} 0`,
	} {
		if !strings.Contains(string(b), want+"\n") {
			t.Errorf("no %s in\n%s", want, b)
		}
	}
}

// TestHosts: hosts with the most work first, also those that were not asked yet.
func TestHosts(t *testing.T) {
	data, _ := serve(t, fakeCrawler{name: "a", store: storeWith(t, "http://a.test/1", "http://b.test/1", "http://b.test/2", "http://c.test/1")})
	a := dial(t, data, "")
	hosts, err := asked[[]HostStatus](t, a, "/hosts", "n", "2")
	if err != nil || len(hosts) != 2 || hosts[0].Host != "http://b.test" || hosts[0].Waiting != 2 || hosts[1].Waiting != 1 {
		t.Errorf("Hosts = %+v, %v", hosts, err)
	}
	if _, err := asked[[]HostStatus](t, a, "/hosts", "n", "0"); !errors.Is(err, ErrRefused) {
		t.Errorf("Hosts of none: %v", err)
	}
}

func TestHostWords(t *testing.T) {
	soon := time.Now().Add(time.Second)
	for want, info := range map[string]scheduler.HostInfo{
		"":                                  {Origin: "http://h", Waiting: [scheduler.Sources]uint64{1, 2}},
		"the pause between two requests":    {Until: soon},
		"its robots.txt requires a pause":   {Until: soon, Closing: scheduler.ByCrawlDelay},
		"it failed":                         {Until: soon, Closing: scheduler.ByBackoff, Errors: 3},
		"outside the hours of its Throttle": {Until: soon, Closing: scheduler.ByHours},
		"asked for":                         {Until: soon, Closing: scheduler.ByCaller},
	} {
		if h := NewHostStatus(info); h.Why() != want || (h.ClosedUntil == nil) != info.Until.IsZero() {
			t.Errorf("%+v: %s, want %q", info, h.Why(), want)
		}
	}
}

// TestOpenRoutes: on TCP nothing can be changed, and only a loopback Host is answered.
func TestOpenRoutes(t *testing.T) {
	_, address := serve(t, fakeCrawler{name: "a", store: storeWith(t)})
	for _, tt := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/healthz", "", 200},
		{"GET", "/status", "", 200},
		{"GET", "/metrics", "localhost:1", 200},
		{"GET", "/status", "[::1]:7370", 200},
		{"GET", "/status", "evil.example", 403},
		{"GET", "/status", "10.0.0.1", 403},
		{"POST", "/status", "", 405},
		{"POST", "/api/v1/add", "", 401},
		{"GET", "/api/v1/urls", "", 401},
		{"GET", "/", "", 404},
	} {
		request := httptest.NewRequest(tt.method, "http://"+address+tt.path, nil)
		request.RequestURI = ""
		if tt.host != "" {
			request.Host = tt.host
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != tt.want {
			t.Errorf("%s %s (Host %q): %d, want %d", tt.method, tt.path, tt.host, answer.StatusCode, tt.want)
		}
	}
}

func TestSocketPath(t *testing.T) {
	if SocketPath("d") != filepath.Join("d", "sextant.sock") {
		t.Error("the socket has moved")
	}
}

// asked returns what a route of the API gives for a query of names and values.
func asked[T any](t *testing.T, c *Client, path string, query ...string) (out T, err error) {
	t.Helper()
	err = c.Get(t.Context(), path, Query(query...), &out)
	return out, err
}
