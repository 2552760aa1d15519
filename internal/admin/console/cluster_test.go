package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/whole"
)

// clusterOf is a status of two nodes, of which n2 may take over, and of one that catches up; text is what others may have written.
func clusterOf(text string) *admin.ClusterStatus {
	at, behind := day(), uint64(3<<20)
	return &admin.ClusterStatus{
		Role: "active", TakenOverAt: &at, TakenOverWhy: text, EngineBytes: 5 << 20, EngineQuotaBytes: 20 << 20, InSync: []string{"n1" + text, "n2"}, KeptBytes: 7 << 20, ConfigVersion: 12,
		Nodes: []admin.ClusterNode{
			{Node: "n1" + text, Does: "crawls", Alive: true, Crawls: true, InSync: true, BehindBytes: &behind, LastSignOfLife: &at, Machine: text, Peer: text, Console: text},
			{Node: "n2", Does: "follows, could take over", Alive: true, InSync: true, BehindBytes: &behind, LastSignOfLife: &at, Machine: "m2", Peer: "m2:7371"},
			{Node: "n3", Does: "catches up, could not take over", Alive: true, LastSignOfLife: &at},
		},
	}
}

// clusterConsole is the console of a node of a cluster, seen by a reader.
func clusterConsole(t *testing.T, s *admin.Status) *Console {
	t.Helper()
	return consoleOf(t, admin.Reader, answers(t, map[string]any{"GET /status": []admin.Status{*s}}), Settings{Crawlers: []string{"a"}, Cluster: true})
}

func inCluster(c *admin.ClusterStatus) *admin.Status {
	return &admin.Status{Status: crawl.Status{Crawler: "a"}, Details: admin.Details{Cluster: c}}
}

// textOf is what a page says, without its markup.
func textOf(body string) string {
	_, body, _ = strings.Cut(body, "<main")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")), " ")
}

// saysAll fails where a page lacks something.
func saysAll(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: the page lacks %q:\n%s", what, w, text)
		}
	}
}

// TestClusterPage: who crawls, who could take over, and what is wrong, with what to do about it.
func TestClusterPage(t *testing.T) {
	show := func(c *admin.ClusterStatus) string {
		t.Helper()
		code, body := visitPage(t, clusterConsole(t, inCluster(c)), "/cluster")
		if code != http.StatusOK || !strings.Contains(body, `<a href="/cluster" aria-current="page">Cluster</a>`) {
			t.Errorf("%d\n%s", code, body)
		}
		return textOf(body)
	}
	c := clusterOf("")
	c.TakenOverWhy = "n2 gave no sign of life"
	text := show(c)
	saysAll(t, "all is well", text, "n1 crawls. If it is lost, 1 other node could take over.", "n1 crawls yes – ", "n2 follows, could take over yes 3.0 MiB m2 other nodes: m2:7371",
		"n3 catches up, could not take over Nothing: it gets a copy, or what it lacks, by itself while it runs. no – –", "When 2026-03-04", "Why n2 gave no sign of life", "version 12", "none differs", "answers", "5.0 MiB of 20 MiB;", "7.0 MiB for the slowest copy")
	if strings.Contains(text, "Unprotected") || strings.Contains(text, "What went wrong") {
		t.Errorf("all is well: %s", text)
	}

	at := time.Now().Add(-3 * time.Hour)
	c.EngineSilentSince, c.Unprotected, c.ConfigDiffers = &at, "no other node of the in-sync set is alive", "version 12 is in force in the cluster; the file of n2 differs from it"
	c.Nodes[1].Alive, c.Nodes[1].Does, c.Nodes[1].LastSignOfLife = false, "gives no sign of life", &at
	c.Nodes[2] = admin.ClusterNode{Node: "n3", Does: "does not run"}
	text = show(c)
	saysAll(t, "trouble", text, "has not answered since "+at.UTC().Format(minutes), "etcdctl endpoint health --cluster", "Unprotected: no other node of the in-sync set is alive.", "the file of n2 differs from it. Copy the right file", "sextant cluster apply FILE",
		"n2 gives no sign of life The last was 3 h ago . Start it. If its disk is lost, give it the configuration and node.token again: it gets a new copy of the store. yes", "n3 does not run Start it if it still belongs", "before the engine fell silent", "silent since", "What went wrong", "differ")
	if strings.Contains(text, "could take over.") || strings.Contains(text, "none differs") {
		t.Errorf("all is well in trouble: %s", text)
	}

	c = clusterOf("")
	c.Nodes[1].Does = "follows, takes nothing over"
	c.Nodes[1].Unfit, c.Unprotected = "CrawlConfig.xml:3:5: no such program", "n2 cannot use the configuration in force"
	text = show(c)
	saysAll(t, "unfit", text, "n2 follows, takes nothing over It cannot use the configuration in force: mend that there. It says: CrawlConfig.xml:3:5: no such program yes")

	saysAll(t, "full", show(&admin.ClusterStatus{InSync: []string{"n1", "n2"}, Held: "the engine holds 12 MiB"}), "Nothing is stored: the engine holds 12 MiB.", "nearly full",
		"How the nodes are is not known yet: look again in some seconds. In the in-sync set: n1 , n2 .", "In force none yet", "In use –", "When –")
	saysAll(t, "on its way", show(nil), "not known yet")
}

// TestClusterOnOverview: the overview leads to the page, and to what was lost.
func TestClusterOnOverview(t *testing.T) {
	c := clusterOf("")
	c.Unprotected = "nobody else"
	s := inCluster(c)
	s.Lost = 3
	_, body := visitPage(t, clusterConsole(t, s), "/")
	saysAll(t, "overview", body, `Unprotected: nobody else.</bdi> <a id="trouble-unprotected" href="/cluster">Look at the cluster</a>`, `href="/urls?fate=body_lost">Show 3 URLs</a>`, "3 documents were lost before they were sent", `<dt>Documents lost</dt><dd class="warn-text"><a href="/urls?fate=body_lost">3</a>`)
	_, body = visitPage(t, clusterConsole(t, inCluster(clusterOf(""))), "/")
	if strings.Contains(body, "lost") || strings.Contains(body, "trouble-unprotected") {
		t.Errorf("all is well: %s", body)
	}
}

// TestNoClusterPage: a machine that is alone has neither the page nor a way to it.
func TestNoClusterPage(t *testing.T) {
	c := newConsole(t, admin.Operator, answers(t, map[string]any{"GET /status": []admin.Status{*inCluster(nil)}}))
	if code, _ := visitPage(t, c, "/cluster"); code != http.StatusNotFound {
		t.Errorf("the page is answered with %d", code)
	}
	if _, body := visitPage(t, c, "/"); strings.Contains(body, "cluster") || strings.Contains(body, "Cluster") {
		t.Errorf("the overview has %s", body)
	}
}

// TestHostileNodes: what a node says of itself is text, and not much of it.
func TestHostileNodes(t *testing.T) {
	for _, bad := range hostile() {
		c := clusterOf(bad)
		c.Unprotected, c.ConfigDiffers, c.Held = bad, bad, bad
		for i := range c.Nodes {
			c.Nodes[i].Does, c.Nodes[i].Unfit = bad, bad
		}
		console := clusterConsole(t, inCluster(c))
		for _, path := range []string{"/cluster", "/"} {
			code, body := visitPage(t, console, path)
			if code != http.StatusOK || len(body) > 50_000 {
				t.Errorf("%s with %.20q: %d, %d bytes", path, bad, code, len(body))
			}
			if found := forbidden().FindString(body); found != "" {
				t.Errorf("%s with %.20q holds %.80q", path, bad, found)
			}
			harmlessPage(t, path, body)
		}
	}
}

// TestMissingNode: a page says which nodes are not in what it shows, on each page in the same place.
func TestMissingNode(t *testing.T) {
	api := answers(t, map[string]any{"GET /status": []admin.Status{*inCluster(nil)}, "GET /urls": admin.URLPage{}})
	for _, path := range []string{"/", "/urls"} {
		for who, want := range map[string]bool{"": false, "n3: <b>it gave no answer in time</b>": true} {
			c := consoleOf(t, admin.Reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if who != "" {
					w.Header().Set(whole.Missing, who)
				}
				api.ServeHTTP(w, r)
			}), Settings{Crawlers: []string{"a"}, Cluster: true})
			_, body := visitPage(t, c, path)
			if got := strings.Contains(body, "Not all of the cluster is in what is shown. Missing:"); got != want || strings.Contains(body, "<b>it") {
				t.Errorf("%s, missing %q: %t\n%s", path, who, got, body)
			}
		}
	}
}

// TestPartitionsPage: who has which partition, what is on its way, and what needs a person.
func TestPartitionsPage(t *testing.T) {
	at := day()
	c := clusterOf("")
	c.ClusterMap = &admin.ClusterMap{Leader: "n2", Partitions: []admin.ClusterPartition{
		{Partition: "p00", Owner: "n1", Since: &at, Why: "n3 gave no sign of life", Followers: []admin.ClusterFollower{{Node: "n2", InSync: true, BehindBytes: 3 << 20}}},
		{Partition: "p01", Owner: "n2", Since: &at, Why: "handed over", MovesTo: "n3", Followers: []admin.ClusterFollower{{Node: "n1", InSync: true}, {Node: "n3"}}},
	}}
	show := func() string {
		_, body := visitPage(t, clusterConsole(t, inCluster(c)), "/cluster")
		return textOf(body)
	}
	saysAll(t, "all is well", show(), "All 2 partitions are crawled, and each could be taken over by another node.", "Partitions, 1 of which go to another node; n2 says who shall have which",
		"p00 n1 2026-03-04", "n3 gave no sign of life n2 (3.0 MiB behind)", "p01 n2 goes to n3", "n1 (0 B behind), n3 (0 B behind, could not take over)")
	c.Partitions[1] = admin.ClusterPartition{Partition: "p01", Why: "n2, which has it, gives no sign of life", Unprotected: "no other node is in the in-sync set"}
	c.Leader, c.Drained, c.Unprotected = "", []string{"n3"}, "p01 (no other node is in the in-sync set)"
	text := show()
	saysAll(t, "trouble", text, "1 partition is crawled by no node: p01.", "No node says who shall have which partition", "Drained, so that they get no partition: n3. sextant cluster drain NODE --back", "Unprotected: p01 (no other node",
		"p01 nobody no other node is in the in-sync set – n2, which has it, gives no sign of life none p00 n1")
	if strings.Contains(text, "are crawled, and each") {
		t.Errorf("all is well in trouble: %s", text)
	}
	for _, bad := range hostile() {
		c.Leader, c.Drained, c.Leaving = bad, []string{bad}, []string{bad}
		c.Partitions = []admin.ClusterPartition{{Partition: bad, Owner: bad, Why: bad, Unprotected: bad, MovesTo: bad, Followers: []admin.ClusterFollower{{Node: bad}}}, {Partition: bad}}
		code, body := visitPage(t, clusterConsole(t, inCluster(c)), "/cluster")
		if found := forbidden().FindString(body); code != http.StatusOK || len(body) > 50_000 || found != "" {
			t.Errorf("%.20q: %d, %d bytes, holds %.80q", bad, code, len(body), found)
		}
		harmlessPage(t, "/cluster", body)
	}
}
