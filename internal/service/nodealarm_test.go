package service

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/internal/notices"
)

// TestDesertion: a node that follows tells that nobody crawls, and of a silent engine if the node that crawled is gone as well;
// what else there is, the node that crawls tells.
func TestDesertion(t *testing.T) {
	seen := func(released bool, alive string) *cluster.State {
		s := &cluster.State{States: []cluster.PartitionState{{Owner: cluster.Seat{Node: "n1"}, Released: released, Why: "its disk is full", Epoch: 7}}}
		for _, name := range []string{"n1", "n2"} {
			s.Nodes = append(s.Nodes, cluster.NodeState{Node: name, Alive: strings.Contains(alive, name)})
		}
		return s
	}
	standby := cluster.Standing{Role: cluster.Standby}
	behind := cluster.Standing{Role: cluster.CatchingUp, Unprotected: "it would lack part of the log"}
	silent := cluster.Standing{Role: cluster.Standby, Silent: time.Now()}
	for _, one := range []struct {
		name  string
		at    cluster.Standing
		seen  *cluster.State
		unfit string
		there bool
		known bool
		want  string // part of the words, "" for none
		of    string
	}{
		{"this node crawls", cluster.Standing{Role: cluster.Active}, seen(false, "n2"), "", true, true, "", ""},
		{"it takes over", cluster.Standing{Role: cluster.TakingOver}, seen(false, "n2"), "", true, false, "", ""},
		{"looked once", standby, seen(false, ""), "", true, true, "", ""},
		{"the other one crawls", standby, seen(false, "n1 n2"), "", true, true, "", ""},
		{"the other one is gone", behind, seen(false, "n2"), "", true, true, "nobody crawls: n1, which did, gives no sign of life; n2 cannot take over: it would lack part of the log", "7"},
		{"the other one gave up", standby, seen(true, "n1 n2"), "a secret is missing", true, true, "gave it up: its disk is full; n2 cannot take over: a secret is missing", "7"},
		{"silent, and the other one is there", silent, seen(false, "n1 n2"), "", true, true, "", ""},
		{"silent, and the other one is gone", silent, seen(false, "n1 n2"), "", false, true, "nor does n1 answer, which crawled", ""},
	} {
		words, of, known := desertion("n2", one.at, one.seen, &one.seen.States[0], one.unfit, func() bool { return one.there })
		if known != one.known || of != one.of || (words == "") != (one.want == "") || !strings.Contains(words, one.want) {
			t.Errorf("%s: %q, %q, known %v; want %q, %q, %v", one.name, words, of, known, one.want, one.of, one.known)
		}
	}
	several := seen(false, "n2")
	several.Partitions, several.States[0].Partition = 24, 7
	if words, _, _ := desertion("n2", standby, several, &several.States[0], "", nil); !strings.HasPrefix(words, "nobody crawls partition p07: n1") {
		t.Errorf("of several partitions: %q", words)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if !knocks(t.Context(), address) {
		t.Error("who listens is not there")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if knocks(t.Context(), address) {
		t.Error("who does not listen is there")
	}
}

// TestOneNodeTells: of two nodes that see the same, the first one tells, and goes on doing so; of what they cannot speak of, each does.
func TestOneNodeTells(t *testing.T) {
	n := newNodes(t)
	told := map[string]int{}
	for range 2 {
		for _, name := range []string{"n2", "n3"} {
			a := &alarm{node: &clusterNode{of: NodeOptions{Name: name, Engine: n.engine}}}
			for _, of := range []string{"7", "7", "8", ""} {
				mine, err := a.tells(t.Context(), of)
				if err != nil {
					t.Fatal(err)
				}
				if mine {
					told[name+" of "+of]++
				}
			}
		}
	}
	for what, want := range map[string]int{"n2 of 7": 4, "n2 of 8": 2, "n2 of ": 2, "n3 of 7": 0, "n3 of 8": 0, "n3 of ": 2} {
		if told[what] != want {
			t.Errorf("%s: %d times, want %d", what, told[what], want)
		}
	}
}

// TestNobodyCrawlsIsTold: the node that crawls goes, and the one that follows may not take over: its operator is told, once, by what
// its file names.
func TestNobodyCrawlsIsTold(t *testing.T) {
	t.Parallel() // it waits for some seconds, since notices look every five
	n := newNodes(t)
	bodies := make(chan notices.Notice, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var one notices.Notice
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Error(err)
		}
		bodies <- one
	}))
	t.Cleanup(hook.Close)
	text := func(crawler string) string {
		return strings.Replace(n.text(crawler, "/"), "</CrawlConfig>", `<Notify webhook="`+hook.URL+`" on="cluster"/></CrawlConfig>`, 1)
	}
	n.write(n.config, text("docs"))
	n.file("n2", text("other"))
	first := n.first()
	second := n.start("n2")
	n.until("both live", func(s *cluster.State) bool { return s.Alive("n1") && s.Alive("n2") })
	if err := first(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.After(2 * time.Minute); ; {
		select {
		case one := <-bodies:
			if one.Subject != "nobody" {
				continue // what n1 told while it crawled
			}
			for _, want := range []string{"nobody crawls: n1, which did, gave it up", "n2 cannot take over: ", `no Crawler "other"`} {
				if !strings.Contains(one.Words, want) {
					t.Errorf("told is %q, want %q in it", one.Words, want)
				}
			}
		case <-deadline:
			t.Fatal("nobody is told")
		}
		break
	}
	if err := second(); err != nil {
		t.Error(err)
	}
}
