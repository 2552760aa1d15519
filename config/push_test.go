package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/elastic"
	"github.com/sextant-crawler/sextant/push/funnelback"
	"github.com/sextant-crawler/sextant/push/solr"
	"github.com/sextant-crawler/sextant/push/webhook"
	"github.com/sextant-crawler/sextant/push/wire"
)

func TestPushOfAllKinds(t *testing.T) {
	batch := push.TargetSettings{BatchCount: 500, BatchBytes: 8 << 20, BatchAge: time.Second}
	of := func(kind string, settings any) Push {
		t := Push{Name: kind, Settings: settings, TargetSettings: batch}
		t.Kind = kind
		return t
	}
	header := func(name, value string) []wire.Header { return []wire.Header{{Name: name, Value: secret.New(value)}} }
	limits := wire.Limits{Bytes: 8 << 20, Requests: 2}
	server := wire.Settings{Timeout: 2 * time.Minute}
	at := func(url string, change func(*wire.Settings)) wire.Settings {
		s := server
		s.URL = url
		change(&s)
		return s
	}
	user := func(s *wire.Settings) { s.User, s.Password = "u", secret.New("p") }
	want := []Push{
		of("elasticsearch", elastic.Settings{
			Name: "elasticsearch", Index: "web", Pipeline: "clean", CreateTemplate: true,
			Fields: wire.Names{"title": "dc_title", "text": "", "meta:author": "creator"}, Limits: wire.Limits{Bytes: 1 << 20, Requests: 4},
			Server: at("https://es:9200", func(s *wire.Settings) {
				s.Headers = append(header("Authorization", "ApiKey a2V5"), header("X-Tenant", "acme")...)
				s.Gzip, s.MaxRequestsPerS, s.Timeout = true, 50, 30*time.Second
			}),
		}),
		of("opensearch", elastic.Settings{Name: "opensearch", OpenSearch: true, Index: "web", Limits: limits, Server: at("http://os:9200", user)}),
		of("solr", solr.Settings{Name: "solr", Collection: "web", IDField: "key", MetaSuffix: "_txt", Limits: limits, Server: at("http://localhost:8983/solr", user)}),
		of("funnelback", funnelback.Settings{
			Name: "funnelback", Collection: "push", Filters: "None", NoCommit: true, Limits: wire.Limits{Bytes: 8 << 20, Requests: 2},
			Server: at("http://fb:8080", func(s *wire.Settings) { s.Headers = header("X-Security-Token", "t") }),
		}),
		of("webhook", webhook.Settings{
			Name: "webhook", Secret: secret.New("s"), Limits: limits,
			Server: at("https://hooks.example.com/in?x=1", func(s *wire.Settings) { s.InsecureTLS = true }),
		}),
		of("webhook", webhook.Settings{
			Name: "second", Limits: limits,
			Server: at("http://127.0.0.1:10002/webhook/a", func(s *wire.Settings) { s.Headers = header("Authorization", "Bearer t") }),
		}),
	}
	want[3].Source, want[3].Content = new("news"), true
	want[4].BatchCount, want[4].BatchBytes, want[4].BatchAge = 10, 2048, 5*time.Millisecond
	want[5].Name = "second"
	got := goodCase(t, "push-kinds").Crawlers[0].Push
	if got[0].Settings.(elastic.Settings).Server.Roots == nil {
		t.Error("caFile was not read")
	}
	diff := cmp.Diff(want, got[:len(want)], cmpopts.IgnoreFields(wire.Settings{}, "Roots"), cmpopts.IgnoreTypes(actionrules.Position{}), cmpopts.IgnoreUnexported(Push{}))
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSamePush(t *testing.T) {
	text := testdir.Read(t, "../testdata/config/good/push-kinds.txtar")
	read := func(change ...string) []Push {
		file, report := parseCase(parseArchive(strings.NewReplacer(change...).Replace(string(text))))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		return file.Crawlers[0].Push
	}
	for _, change := range [][]string{{}, {"<Root", "\n\n <Root"}} {
		if !slices.EqualFunc(read(), read(change...), Push.Same) {
			t.Errorf("not the same after %q", change)
		}
	}
	for _, change := range [][]string{
		{`index="web" token`, `index="site" token`}, {`as="dc_title"`, `as="name"`}, {"acme", "other"}, {"KEY=a2V5", "KEY=b"},
		{` caFile="ca.pem"`, ""}, {`source="news"`, ""}, {`name="second"`, `name="2nd"`},
	} {
		if slices.EqualFunc(read(), read(change...), Push.Same) {
			t.Errorf("the same after %q", change)
		}
	}
}

// TestSamePushFolder: a target is the same however the path of the file is written, as it is by a
// user at the start and by the service at a reload; and it is another with another setting.
func TestSamePushFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	first := func(path, push string) Push {
		file, report := Parse(path, []byte(`<CrawlConfig><Crawler name="a"><Root url="http://a.example/"/>`+push+`</Crawler></CrawlConfig>`), Lookups{})
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		return file.Crawlers[0].Push[0]
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	written := first(FileName, `<Push kind="file" dir="out"/>`)
	if !written.Same(first(here+"/"+FileName, `<Push kind="file" dir="out"/>`)) {
		t.Error("a folder's path as it was written at the start is another target than the absolute one")
	}
	for _, other := range []string{`<Push kind="file" dir="other"/>`, `<Push kind="file" dir="out" rotateBytes="4096"/>`, `<Push kind="file"/>`} {
		if written.Same(first(FileName, other)) {
			t.Errorf("%s is the same target as one with dir=\"out\" alone", other)
		}
	}
}

// TestPushOpens: a file target writes below the data directory, and a PAPI target's checkpoint has the Crawler's name.
func TestPushOpens(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // one that is opened again is the same
		target, err := openPush(t, `<Push kind="file"/>`, dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = target.Push(t.Context(), []push.Entry{{Seq: 1, URL: "http://a.example/", Body: []byte(`{}`)}})
		if err := errors.Join(err, target.Checkpoint(t.Context(), 1), target.Close()); err != nil {
			t.Error(err)
		}
		if found, err := filepath.Glob(filepath.Join(dir, "out", "*.jsonl")); err != nil || len(found) == 0 {
			t.Errorf("nothing in out, %v", err)
		}
	}
	if name := checkpointName(t); name != "docs" {
		t.Errorf("the checkpoint %q", name)
	}
}

// openPush returns the target of a configuration with this one Push.
func openPush(t *testing.T, written, dir string) (push.Target, error) {
	t.Helper()
	file, report := Parse(filepath.Join(dir, FileName), []byte(`<CrawlConfig><Crawler name="docs"><Root url="http://a.example/"/>`+written+`</Crawler></CrawlConfig>`), Lookups{})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return file.Crawlers[0].Push[0].Open(dir, slog.New(slog.DiscardHandler))
}

// checkpointName returns the name under which a PAPI target sets its first checkpoint. The server is
// its own, as a request that was given up may still arrive.
func checkpointName(t *testing.T) string {
	t.Helper()
	names := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "1") // the id of a session
		if name := r.FormValue("PAPI_name"); name != "" {
			select {
			case names <- name:
			default: // the first is what counts
			}
		}
	}))
	defer server.Close()
	target, err := openPush(t, `<Push kind="papi" url="`+server.URL+`" connector="c"/>`, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- target.Checkpoint(ctx, 1) }()
	var name string
	select {
	case name = <-names:
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) { // it waits until the index has all: this one never says so
			t.Error(err)
		}
	case err := <-ended:
		cancel()
		t.Errorf("no checkpoint: %v", err)
	}
	if err := target.Close(); err != nil {
		t.Error(err)
	}
	return name
}

// TestTakenNames: a PushField onto the name of another part is warned of, unless that part goes elsewhere.
func TestTakenNames(t *testing.T) {
	for push, want := range map[string]bool{
		`kind="webhook" url="https://a"><PushField name="meta:body" as="text"/>`:                                     true,
		`kind="webhook" url="https://a"><PushField name="meta:body" as="text"/><PushField name="text" drop="true"/>`: false,
		`kind="webhook" url="https://a"><PushField name="meta:body" as="text"/><PushField name="text" as="plain"/>`:  false,
		`kind="webhook" url="https://a"><PushField name="title" as="metas"/>`:                                        true,
		`kind="webhook" url="https://a"><PushField name="meta:body" as="content"/>`:                                  false,
		`kind="webhook" url="https://a" content="true"><PushField name="meta:body" as="content"/>`:                   true,
		`kind="webhook" url="https://a"><PushField name="text" as="text"/>`:                                          false,
		`kind="elasticsearch" url="https://a" index="i"><PushField name="meta:body" as="title"/>`:                    true,
		`kind="solr" url="https://a" collection="i"><PushField name="meta:body" as="title"/>`:                        false,
		`kind="solr" url="https://a" collection="i"><PushField name="meta:body" as="title_t"/>`:                      true,
	} {
		_, report := Parse(FileName, []byte(`<CrawlConfig><Crawler name="a" smartRefresh="true"><Root url="https://a/"/><Push `+push+`</Push></Crawler></CrawlConfig>`), Lookups{})
		if err := report.Err(); err != nil {
			t.Errorf("%s: %v", push, err)
		}
		if got := strings.Contains(fmt.Sprint(report.Warnings), "goes: the target gets both, as a list"); got != want {
			t.Errorf("%s: %v", push, report.Warnings)
		}
	}
}
