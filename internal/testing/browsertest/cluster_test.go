package browsertest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/console"
)

// nodeStatus is an API that tells one status, to a reader.
type nodeStatus struct{ admin.Status }

func (nodeStatus) Caller(*http.Request) (admin.Caller, *admin.Problem) {
	return admin.Caller{Role: admin.Reader, Name: "test"}, nil
}

func (nodeStatus) SignIn(*http.Request, string) (admin.Caller, *admin.Problem) {
	return admin.Caller{}, &admin.Problem{Status: http.StatusUnauthorized}
}

func (s nodeStatus) As(admin.Caller) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode([]admin.Status{s.Status}) // to memory
	})
}

// clusterStates are a cluster that is well, and one in which all that can be is wrong.
func clusterStates() map[string]*admin.ClusterStatus {
	at, behind := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), uint64(56<<10)
	one := admin.ClusterNode{Node: "n1", Does: "crawls", Alive: true, Crawls: true, InSync: true, LastSignOfLife: &at, Machine: "search-1.example.org", Peer: "search-1.example.org:7371", Console: "https://search-1.example.org:7370/"}
	two := admin.ClusterNode{Node: "n2", Does: "follows, could take over", Alive: true, InSync: true, BehindBytes: &behind, LastSignOfLife: &at, Machine: "search-2.example.org", Peer: "search-2.example.org:7371"}
	well := admin.ClusterStatus{Role: "active", TakenOverAt: &at, TakenOverWhy: "n2 gave no sign of life", EngineBytes: 5 << 20, EngineQuotaBytes: 2 << 30, InSync: []string{"n1", "n2"}, ConfigVersion: 12, Nodes: []admin.ClusterNode{one, two}}
	ill := well
	two.Alive, two.Does = false, "gives no sign of life"
	ill.Nodes = []admin.ClusterNode{one, two, {Node: "n3", Does: "catches up, could not take over", Alive: true}, {Node: "n4", Does: "does not run"}}
	ill.EngineSilentSince, ill.Held = &at, "the engine holds 1100 MiB, more than half of its quota of 2048 MiB"
	ill.Unprotected = "no other node of the in-sync set is alive: if this one is lost, the crawl stops until one of them is back"
	ill.ConfigDiffers = "version 12 is in force in the cluster; the file of n2 differs from it"
	return map[string]*admin.ClusterStatus{"cluster": &well, "cluster-ill": &ill, "cluster-parts": partitioned(well, &at, false), "cluster-parts-ill": partitioned(ill, &at, true)}
}

// partitioned is a cluster of 24 partitions on three nodes; if it is ill, one has no owner, one no second copy, and one moves.
func partitioned(c admin.ClusterStatus, at *time.Time, ill bool) *admin.ClusterStatus {
	names := []string{"n1", "n2", "search-3.example.org"}
	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Does = "crawls 8 partitions, could take over 8 more"
	}
	c.ClusterMap = &admin.ClusterMap{Leader: "n2"}
	for i := range 24 {
		c.Partitions = append(c.Partitions, admin.ClusterPartition{
			Partition: fmt.Sprintf("p%02d", i), Owner: names[i%3], Since: at, Why: "n1 gave it up: the partition goes to another node",
			Followers: []admin.ClusterFollower{{Node: names[(i+1)%3], InSync: true, BehindBytes: uint64(i) << 12}},
		})
	}
	if ill {
		c.Partitions[3].Owner, c.Partitions[3].Why, c.Partitions[3].Followers = "", "n2, which had it, gives no sign of life", nil
		c.Partitions[4].Unprotected, c.Partitions[4].Followers[0].InSync = "no other node is in the in-sync set", false
		c.Partitions[5].MovesTo = "n2"
		c.Unprotected, c.Drained, c.Leaving, c.Leader = "p04 (no other node is in the in-sync set)", []string{"n2"}, []string{"n3"}, ""
	}
	return &c
}

// TestClusterPage: the page of a cluster is as the others are, which a machine shows that is alone.
func TestClusterPage(t *testing.T) {
	needsBrowser(t)
	for name, c := range clusterStates() {
		status := admin.Status{Status: crawl.Status{Crawler: "docs"}, Details: admin.Details{Cluster: c}}
		pages, err := console.New(nodeStatus{status}, console.Settings{Crawlers: []string{"docs"}, Version: "test", Cluster: true}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(pages)
		defer server.Close()
		tab := newTab(t, server.URL)
		tab.open("/cluster")
		if c.ClusterMap == nil {
			tab.see("Last take-over")
		} else {
			tab.see("p23")
		}
		tab.look(pictureDir(t), name)
		tab.looksForReader(pictureDir(t), name)
	}
}
