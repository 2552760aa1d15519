package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/file"
	"github.com/sextant-crawler/sextant/push/papi"
	"github.com/sextant-crawler/sextant/push/wire"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// compareCrawlers leaves out the compiled rules, functions and all positions.
func compareCrawlers(want, got Crawler) string {
	got.Frontier.LeavesTarget = nil
	return cmp.Diff(want, got, cmpopts.IgnoreFields(Crawler{}, "Engine", "Gates"), cmpopts.IgnoreFields(policy.Settings{}, "ReadingKey"), cmpopts.IgnoreUnexported(Crawler{}, Push{}),
		cmpopts.IgnoreTypes(actionrules.Position{}), cmp.Comparer(func(a, b weburl.URL) bool { return a == b }))
}

func goodCase(t *testing.T, name string) *File {
	t.Helper()
	return caseIn(t, "good", name)
}

func caseIn(t *testing.T, folder, name string) *File {
	t.Helper()
	text := testdir.Read(t, filepath.Join("..", "testdata", "config", folder, name+".txtar"))
	file, report := parseCase(parseArchive(string(text)))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return file
}

func mustURL(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func defaultCrawler(name string) Crawler {
	c := Crawler{
		Durability: store.Sync, ReadDocuments: true,
		Reading: documents.Settings{Workers: 1, Timeout: 30 * time.Second, MaxMemory: 512 << 20},
		Push:    []Push{{Name: "file", TargetSettings: push.TargetSettings{Kind: "file"}, Settings: file.Settings{Name: "file", RotateBytes: 256 << 20}}},
	}
	c.Settings = policy.Settings{
		Name: name, Workers: 1, Rules: actionrules.RuleSet{DefaultFollowRoots: true}, NearDuplicates: true, DetectPatterns: true,
		RobotsAgent: "Sextant", MaxPDFBytes: 32 << 20, MaxRedirects: 10, OutboxMaxBytes: 4 << 30,
		CrawlSitemaps: true, SitemapMaxBytes: 50 << 20, SitemapMaxLinks: 50_000, SitemapMaxPerHost: 10_000,
		Frontier: scheduler.DefaultSettings(), Fetcher: fetcher.DefaultSettings(), Robots: robots.Settings{Agent: "Sextant", MaxDelay: time.Minute},
	}
	c.Frontier.LinkGraph = true
	c.Fetcher.UserAgent = ""
	return c
}

func TestDefaults(t *testing.T) {
	file := goodCase(t, "minimal")
	if diff := compareCrawlers(defaultCrawler("a"), file.Crawlers[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEverySetting(t *testing.T) {
	want := Crawler{
		Durability: store.OS, Reading: documents.Settings{Workers: 3, Timeout: 4 * time.Second, MaxMemory: 400 << 20},
		Push: []Push{
			{
				Name: "lines", Content: true, TargetSettings: push.TargetSettings{Kind: "file", Source: new("s")},
				Settings: file.Settings{Name: "lines", Dir: "out", RotateBytes: 4096, Retention: 7 * time.Second},
			},
			{
				Name: "papi", TargetSettings: push.TargetSettings{Kind: "papi", BatchCount: 5, BatchBytes: 4096, BatchAge: 6 * time.Millisecond},
				Settings: papi.Settings{
					Name: "papi", Server: wire.Settings{URL: "http://cloudview:10002", User: "admin", Password: secret.New("open sesame"), Timeout: 2 * time.Minute},
					Connector: "web", CheckpointName: "e", Class: "d", Stamp: papi.StampSeq,
					SyncParameter: "sync", StampPart: "p", ClassPart: "c", DeletionsInURL: true,
				},
			},
		},
	}
	want.Settings = policy.Settings{
		Name: "all", Workers: 8, IgnoreRobots: true, Unconditional: true, CrawlLog: "log/crawl.log", RobotsAgent: "Test", PushContent: true,
		CrawlSitemaps: true, SitemapMaxBytes: 50 << 20, SitemapMaxLinks: 50_000, SitemapMaxPerHost: 10_000,
		MaxPDFBytes: 4096, MaxRedirects: 2, EmbeddedLinks: true, IgnoreNoFollow: true, IgnoreNoIndex: true, Collapse: true, CollapseDepth: 2,
		OutboxMaxBytes: 1 << 20, Robots: robots.Settings{Agent: "Test", MaxDelay: time.Minute},
		Frontier: scheduler.DefaultSettings(), Fetcher: fetcher.DefaultSettings(),
	}
	w := &want.Frontier
	w.Weights, w.Aggressive, w.Throttle, w.MaxConnectionsPerHost = [6]int{10000, 2000, 1000, 200, 10, 0}, true, 100*time.Millisecond, 4
	w.SmartRefresh, w.MinAge, w.MaxAge, w.PushUnchanged, w.IndexRedirectSources = true, time.Minute, 2*time.Minute, true, false
	w.Policy, w.MaxTemporaryErrors, w.TemporaryErrorMin, w.ErrorRefresh = scheduler.Cautious, 3, 7*time.Second, 90*time.Second
	w.Deletions = scheduler.Deletions{Off: true, Rest: 2 * time.Second, Confirm: 3 * time.Second, Hold: 4 * time.Second, Gone: 5 * time.Second}
	w.ForgetDeleted = true
	f := &want.Fetcher
	f.UserAgent, f.From, f.MaxBodyBytes, f.MaxConnectionsPerHost = "Test/1.0 (+http://example.com/bot)", "bot@example.com", 2048, 4
	f.ConnectTimeout, f.TLSTimeout, f.FirstByteTimeout = time.Millisecond, 2*time.Millisecond, 3*time.Millisecond
	f.IdleTimeout, f.DownloadTimeout = 4*time.Millisecond, 5*time.Millisecond
	want.Written.Accept, want.Written.Follow = true, true
	want.Rules = wantRules(t)
	file := goodCase(t, "everything")
	if diff := compareCrawlers(want, file.Crawlers[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func wantRules(t *testing.T) actionrules.RuleSet {
	t.Helper()
	atom := func(f actionrules.Field, k actionrules.Kind, value string) actionrules.Atom {
		return actionrules.Atom{Field: f, Kind: k, Value: value}
	}
	inQuery := atom(actionrules.FieldQuery, actionrules.KindInside, "q")
	inQuery.Regexp = true
	top := atom(actionrules.FieldFragment, actionrules.KindInside, "top")
	top.Norm = actionrules.NormLower
	return actionrules.RuleSet{
		DefaultAccept: true,
		Roots: []actionrules.Root{
			{
				URL: mustURL(t, "http://www.example.com/a?b&c#d"), Priority: -2, Group: "g",
				KVs: []actionrules.Meta{{Name: "k", Value: "v"}, {Name: "l", Value: "w"}},
			},
			{URL: mustURL(t, "http://www.example.org/ü"), Site: true, Group: "default"},
			{URL: mustURL(t, "https://www.example.org/"), Site: true, Group: "default"},
		},
		Rules: []actionrules.Rule{
			{
				Group: "g", If: actionrules.Domain("example.com", actionrules.NormLower, false, actionrules.Position{}),
				Then: []actionrules.Action{
					{Verb: actionrules.Accept},
					{Verb: actionrules.Ignore},
					{Verb: actionrules.Index},
					{Verb: actionrules.NoIndex},
					{Verb: actionrules.Follow},
					{Verb: actionrules.NoFollow},
				},
			},
			{
				Group: "g", If: actionrules.Or{Of: []actionrules.Condition{
					atom(actionrules.FieldPath, actionrules.KindPrefix, "/${x}"),
					atom(actionrules.FieldPath, actionrules.KindSuffix, ".gif"),
					atom(actionrules.FieldHost, actionrules.KindExact, "h"),
					atom(actionrules.FieldURL, actionrules.KindExact, "http://h/"),
					atom(actionrules.FieldScheme, actionrules.KindExact, "https"),
				}},
				Then: []actionrules.Action{{Verb: actionrules.SetSource}},
			},
			{
				Group: "g", If: actionrules.And{Of: []actionrules.Condition{
					atom(actionrules.FieldQuery, actionrules.KindExact, "q"),
					inQuery,
					actionrules.Not{Of: atom(actionrules.FieldQuery, actionrules.KindLength, "[1:2]")},
				}},
				Then: []actionrules.Action{{Verb: actionrules.Priority, Shift: -2}},
			},
			{
				Group: "default", If: top,
				Then: []actionrules.Action{{Verb: actionrules.AddMeta, Name: "n"}},
			},
		},
	}
}

func TestPositionsOfRulesAndRoots(t *testing.T) {
	text := "<CrawlConfig>\n <Crawler name='a'>\n  <Root\n    url='http://a/'/>\n  <Rules>\n   <Rule><Path norm='none' val='/é'/><Accept/></Rule>\n  </Rules>\n </Crawler>\n</CrawlConfig>"
	file, report := Parse("dir/f.xml", []byte(text), Lookups{})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	c := file.Crawlers[0]
	got := []actionrules.Position{c.At, c.Rules.Roots[0].At, c.Rules.Rules[0].At, c.Rules.Rules[0].If.(actionrules.Atom).At}
	want := []actionrules.Position{{File: "dir/f.xml", Line: 2, Column: 2}, {File: "dir/f.xml", Line: 4, Column: 10}, {File: "dir/f.xml", Line: 6, Column: 4}, {File: "dir/f.xml", Line: 6, Column: 33}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEngineIsThatOfTheRules(t *testing.T) {
	file := goodCase(t, "real-file")
	for raw, want := range map[string]bool{
		"http://www.archive.example/shelf/books/1234567":     true,
		"http://www.archive.example/shelf/books/123456":      false, // accepted, neither indexed nor followed
		"http://www.archive.example/shelf/books/1234567.pdf": false,
	} {
		if d := file.Crawlers[0].Engine.Decide(mustURL(t, raw)); d.Crawl() != want {
			t.Errorf("%s: %+v, want crawl %v", raw, d, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		testdir.Write(t, filepath.Join(dir, name), text)
	}
	if _, _, err := Load(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), FileName) {
		t.Errorf("a folder without %s: %v", FileName, err)
	}
	if _, _, err := Load(filepath.Join(dir, "other.xml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	t.Setenv("SEXTANT_TEST_HOST", "www.example.com")
	write("roots.txt", "www.example.com\n")
	write(FileName, `<CrawlConfig><Crawler name="a"><Root url="http://${SEXTANT_TEST_HOST}/"/><Push dir="out"/></Crawler></CrawlConfig>`)
	for _, path := range []string{dir, filepath.Join(dir, FileName)} {
		parsed, report, err := Load(path)
		if err != nil || report.Err() != nil {
			t.Fatalf("%s: %v %v", path, err, report.Err())
		}
		c := parsed.Crawlers[0]
		if got := c.Rules.Roots[0].URL.String(); got != "http://www.example.com/" {
			t.Errorf("root %s", got)
		}
		if got := c.Push[0].Settings.(file.Settings).Dir; got != filepath.Join(dir, "out") {
			t.Errorf("dir %s", got)
		}
	}
	write(FileName, `<CrawlConfig><Crawler name="a"><Roots file="roots.txt"/></Crawler></CrawlConfig>`)
	write("crawl.rules", "nonsense")
	_, report, err := Load(dir)
	if err != nil || len(report.Errors) != 2 || report.Errors[0].At.File != filepath.Join(dir, "crawl.rules") {
		t.Errorf("error %v, report %v", err, report.Err())
	}
}
