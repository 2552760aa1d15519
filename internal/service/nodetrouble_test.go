package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
)

// TestEngineSilent: while the engine does not answer, a node that crawls and one that follows say so, and since when, in
// status, readiness and the log; a command that would have to wait for it is refused. When it answers all goes on.
func TestEngineSilent(t *testing.T) {
	n := newNodes(t)
	n.times.Right = 2500 * time.Millisecond // after which an engine is silent
	var log testlog.Buffer
	n.line, n.log = clustertest.NewLine(n.engine, 1), slog.New(slog.NewTextHandler(&log, nil))
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	n.start("n1")
	n.start("n2")
	n.crawls("n1", 2)
	n.ready("n1", http.StatusOK)
	n.ready("n2", http.StatusOK)
	active, standby := n.address("n1"), n.address("n2")
	for url, role := range map[string]string{active: "active", standby: "standby"} {
		a, body := n.answer(url + "/metrics")
		for _, want := range []string{`sextant_cluster_role{crawler="docs",role="` + role + `"} 1`, `sextant_cluster_in_sync{crawler="docs"} 2`, `sextant_cluster_engine_up{crawler="docs"} 1`, `sextant_cluster_behind_bytes{`, `sextant_cluster_taken_over_timestamp_seconds{`} {
			if a.StatusCode != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("the metrics of the %s node are %d without %s", role, a.StatusCode, want)
			}
		}
		if strings.Contains(body, "sextant_cluster_unprotected") != (role == "active") {
			t.Errorf("the %s node and its protection: %s", role, body)
		}
	}
	client := n.client("n1")
	n.does("pause", func() error { return client.Pause(t.Context()) })

	n.line.Set(clustertest.Faults{Dead: true})
	for name, url := range map[string]string{"n1": active, "n2": standby} {
		n.ready(name, http.StatusServiceUnavailable)
		if _, body := n.answer(url + "/readyz"); !strings.Contains(body, "engine_silent: ") || !strings.Contains(body, "has not answered since") {
			t.Errorf("%s is not ready: %s", name, body)
		}
		if _, body := n.answer(url + "/metrics"); !strings.Contains(body, `sextant_cluster_engine_up{crawler="docs"} 0`) {
			t.Errorf("%s: %s", name, body)
		}
	}
	all, err := client.Status(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	s := all[0]
	if s.IdleCode != crawl.IdleEngine || s.Cluster == nil || s.Cluster.EngineSilentSince == nil || !strings.Contains(s.Idle, "etcdctl endpoint health") {
		t.Errorf("status: %s %q, %+v", s.IdleCode, s.Idle, s.Cluster)
	}
	if err := client.Resume(t.Context()); err == nil || !strings.Contains(err.Error(), "has not answered since") {
		t.Errorf("a command: %v", err)
	}
	n.line.Set(clustertest.Faults{})
	n.ready("n1", http.StatusOK)
	n.ready("n2", http.StatusOK)
	n.does("resume", func() error { return client.Resume(t.Context()) })
	for words, want := range map[string]int{"engine does not answer: nothing is fetched": 2, "engine answers again": 2} {
		if got := strings.Count(log.String(), words); got < want {
			t.Errorf("%q is logged %d times, want once by each node", words, got)
		}
	}
}

// ready waits for an answer of a node's /readyz, wherever it is.
func (n *nodes) ready(name string, code int) {
	n.Helper()
	address := n.address(name)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		a, body := n.answer(address + "/readyz")
		if a.StatusCode == code {
			return
		}
		if time.Since(began) > 2*time.Minute {
			n.Fatalf("%s: /readyz is %d, not %d, after two minutes: %s", name, a.StatusCode, code, body)
		}
	}
}

// does waits until something can be done: on a slow machine an engine that answers late is silent for a moment.
func (n *nodes) does(what string, do func() error) {
	n.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Since(began) > 2*time.Minute {
			n.Fatalf("%s: not after two minutes: %v", what, err)
		}
	}
}

// TestNodesAreTold: the node that crawls tells which nodes there are, what they do and where; and the console has their page.
func TestNodesAreTold(t *testing.T) {
	n := newNodes(t)
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	n.start("n1")
	stop := n.start("n2")
	n.crawls("n1", 2)
	client := n.client("n1")
	told := func(what, two string) []admin.ClusterNode {
		var nodes []admin.ClusterNode
		n.does(what, func() error {
			all, err := client.Status(t.Context())
			if err != nil {
				return err
			}
			if nodes = all[0].Cluster.Nodes; len(nodes) != 2 || nodes[0].Does != "crawls" || nodes[1].Does != two {
				return fmt.Errorf("%+v", nodes)
			}
			return nil
		})
		return nodes
	}
	nodes := told("two nodes", "follows, could take over")
	if a, b := nodes[0], nodes[1]; a.Node != "n1" || !a.Crawls || !a.Alive || !a.InSync || a.LastSignOfLife == nil || a.Console != n.address("n1")+"/" ||
		b.Node != "n2" || b.Crawls || !b.Alive || !b.InSync || b.BehindBytes == nil || b.Peer == "" || b.Machine == "" {
		t.Errorf("%+v", nodes)
	}
	if a, _ := n.answer(n.address("n1") + "/cluster"); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/signin?next=%2Fcluster" {
		t.Errorf("the console's page: %d to %s", a.StatusCode, a.Header.Get("Location"))
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if two := told("n2 has stopped", "does not run")[1]; two.Alive || two.LastSignOfLife != nil {
		t.Errorf("%+v", two)
	}
}

// hiccup is an engine that answers the first check, and then not a few of them.
type hiccup struct {
	cluster.Engine
	checks atomic.Int64
}

func (h *hiccup) Check(ctx context.Context) error {
	if n := h.checks.Add(1); n == 2 {
		return cluster.ErrUnavailable
	}
	return h.Engine.Check(ctx)
}

// TestEngineAwayWhileStarting: an engine that does not answer at any moment of a node's start is waited for.
func TestEngineAwayWhileStarting(t *testing.T) {
	n := newNodes(t)
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	way := &hiccup{Engine: n.engine}
	n.way = way
	n.start("n1")
	n.crawls("n1", 1)
	if way.checks.Load() < 3 {
		t.Errorf("%d checks, want that the second one failed", way.checks.Load())
	}
}

// TestNodesOfEarlierRuns: a node knows where others were reached that have not run since it started, from what they last said of
// their copies: they may have bodies that nobody else has.
func TestNodesOfEarlierRuns(t *testing.T) {
	n := newNodes(t)
	first := n.first()
	second := n.start("n2")
	n.crawls("n1", 2)
	state, err := n.observe()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, one := range state.Nodes {
		if one.Node == "n2" {
			want = append(want, one.Peer)
		}
	}
	if err := errors.Join(second(), first()); err != nil {
		t.Fatal(err)
	}
	c := &clusterNode{Options: n.options("n1"), of: NodeOptions{Name: "n1", Engine: n.engine}}
	if all, err := c.otherNodes(); !errors.Is(err, errNotLooked) {
		t.Errorf("before it has looked: %v, %v", all, err)
	}
	c.lookForNodes(t.Context())
	if all, err := c.otherNodes(); err != nil || len(want) != 1 || !slices.Equal(all, want) {
		t.Errorf("others are at %v, %v, want %v", all, err, want)
	}
}

// client asks a node over its socket.
func (n *nodes) client(name string) *admin.Client {
	n.Helper()
	c, err := admin.Dial(n.Context(), filepath.Join(n.dir, name), "")
	if err != nil || c == nil {
		n.Fatalf("the socket of %s: %v", name, err)
	}
	return c
}

// lostAnswer takes a step and gives no answer: whoever asked has no more time.
type lostAnswer struct {
	cluster.Engine
	end context.CancelFunc
}

// Commit implements cluster.Engine.
func (l lostAnswer) Commit(ctx context.Context, s cluster.Step) (cluster.Outcome, error) {
	if _, err := l.Engine.Commit(ctx, s); err != nil {
		return cluster.Outcome{}, err
	}
	l.end()
	return cluster.Outcome{}, cluster.ErrInDoubt
}

// TestFoundAgain: a cluster init that failed leaves nothing behind that blocks the next one, and one whose answer was
// lost is ended by the next one. A store of one machine stays what it is.
func TestFoundAgain(t *testing.T) {
	n := newNodes(t)
	try := func(ctx context.Context, e cluster.Engine, from string) error {
		o := n.options("n1")
		_, _, err := FoundCluster(ctx, Founding{
			Engine: e, Node: "n1", Home: HomeOf(o.File, o.Crawlers[0], o.Data), Crawler: o.Crawlers[0], From: from,
			Token: filepath.Join(n.dir, "token"), Log: o.Log,
		})
		return err
	}
	nothingLeft := func(after string) {
		t.Helper()
		for _, pattern := range []string{"token", "n1/*"} {
			if left, err := filepath.Glob(filepath.Join(n.dir, pattern)); err != nil || len(left) > 0 {
				t.Errorf("after %s: left %v, %v", after, left, err)
			}
		}
	}
	dead, taken := clustertest.NewLine(n.engine, 1), clustertest.NewMemory()
	dead.Set(clustertest.Faults{Dead: true})
	if err := try(t.Context(), dead, ""); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("an engine that does not answer: %v", err)
	}
	nothingLeft("no answer")
	if _, err := taken.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "somebody's", Value: []byte("x")}}}); err != nil {
		t.Fatal(err)
	}
	if err := try(t.Context(), taken, ""); !errors.Is(err, cluster.ErrFounded) {
		t.Errorf("a prefix that somebody uses: %v", err)
	}
	nothingLeft("a wrong prefix")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	if err := try(ctx, lostAnswer{n.engine, end}, ""); err == nil || !strings.Contains(err.Error(), "cluster init again") {
		t.Errorf("an answer that was lost: %v, want to try again", err)
	}
	if err := try(t.Context(), n.engine, ""); err != nil {
		t.Fatalf("the next try: %v", err)
	}
	n.start("n1")
	n.crawls("n1", 1)
}

// TestFailedFoundingKeepsStore: with --from-store, too, the store of one machine is as it was when there is no cluster.
func TestFailedFoundingKeepsStore(t *testing.T) {
	n := newNodes(t)
	open := func() *Service {
		s, err := Open(t.Context(), n.options("n1"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if _, err := s.crawls[0].Submit(t.Context(), []string{n.site + "/kept"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := n.engine.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "somebody's", Value: []byte("x")}}}); err != nil {
		t.Fatal(err)
	}
	if err := n.found("n1", filepath.Join(n.dir, "n1")); !errors.Is(err, cluster.ErrFounded) {
		t.Errorf("a prefix that somebody uses: %v", err)
	}
	s = open()
	counts, err := s.crawls[0].store.Counts(t.Context())
	if err = errors.Join(err, s.Close()); err != nil || counts.Known == 0 {
		t.Errorf("%d URLs are known, %v", counts.Known, err)
	}
}
