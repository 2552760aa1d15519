package config

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/secret"
)

func TestPushOfAllKinds(t *testing.T) {
	server := func(change func(*PushServer)) *PushServer {
		s := &PushServer{
			Timeout: 2 * time.Minute, BatchCount: 500, BatchBytes: 8 << 20, BatchAge: time.Second, Connections: 2, RequestBytes: 8 << 20,
		}
		change(s)
		return s
	}
	want := []Push{
		{Name: "elasticsearch", Kind: "elasticsearch", Server: server(func(s *PushServer) {
			s.URL, s.Token, s.Gzip, s.Connections, s.RequestBytes = "https://es:9200", secret.New("a2V5"), true, 4, 1<<20
			s.MaxRequestsPerS, s.Timeout = 50, 30*time.Second
			s.Headers = []PushHeader{{"X-Tenant", secret.New("acme")}}
			s.Fields = map[string]string{"title": "dc_title", "text": "", "meta:author": "creator"}
		}), Elastic: &ElasticPush{Index: "web", Pipeline: "clean", CreateTemplate: true}},
		{Name: "opensearch", Kind: "opensearch", Server: server(func(s *PushServer) {
			s.URL, s.User, s.Password = "http://os:9200", "u", secret.New("p")
		}), Elastic: &ElasticPush{Index: "web"}},
		{Name: "solr", Kind: "solr", Server: server(func(s *PushServer) {
			s.URL, s.User, s.Password = "http://localhost:8983/solr", "u", secret.New("p")
		}), Solr: &SolrPush{Collection: "web", IDField: "key", MetaSuffix: "_txt"}},
		{Name: "funnelback", Kind: "funnelback", Source: "news", Content: true, Server: server(func(s *PushServer) {
			s.URL, s.Token = "http://fb:8080", secret.New("t")
		}), Funnelback: &FunnelbackPush{Collection: "push", Filters: "None"}},
		{Name: "webhook", Kind: "webhook", Server: server(func(s *PushServer) {
			s.URL, s.InsecureTLS, s.BatchCount, s.BatchBytes, s.BatchAge = "https://hooks.example.com/in?x=1", true, 10, 2048, 5*time.Millisecond
		}), Webhook: &WebhookPush{Secret: secret.New("s")}},
		{Name: "second", Kind: "webhook", Server: server(func(s *PushServer) {
			s.URL, s.Token = "http://127.0.0.1:10002/webhook/a", secret.New("t")
		}), Webhook: &WebhookPush{}},
	}
	got := goodCase(t, "push-kinds").Crawlers[0].Push
	if got[0].Server.Roots == nil {
		t.Error("caFile was not read")
	}
	diff := cmp.Diff(want, got[:len(want)], cmpopts.IgnoreFields(PushServer{}, "Roots"), cmpopts.IgnoreTypes(actionrules.Position{}))
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSamePush(t *testing.T) {
	text, err := os.ReadFile("../testdata/config/good/push-kinds.txtar")
	if err != nil {
		t.Fatal(err)
	}
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
