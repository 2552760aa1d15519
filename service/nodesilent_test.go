package service

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/testlog"
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
	client := n.client("n1")
	n.does("pause", func() error { return client.Pause(t.Context()) })

	n.line.Set(clustertest.Faults{Dead: true})
	for name, url := range map[string]string{"n1": active, "n2": standby} {
		n.ready(name, http.StatusServiceUnavailable)
		if _, body := n.answer(url + "/readyz"); !strings.Contains(body, "has not answered since") {
			t.Errorf("%s is not ready: %s", name, body)
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

// client asks a node over its socket.
func (n *nodes) client(name string) *admin.Client {
	n.Helper()
	c, err := admin.Dial(n.Context(), filepath.Join(n.dir, name), "")
	if err != nil || c == nil {
		n.Fatalf("the socket of %s: %v", name, err)
	}
	return c
}
