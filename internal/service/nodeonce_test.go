package service

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/crawl"
)

// runs are nodes that end by themselves. The mutex guards what they said.
type runs struct {
	*fleet
	mu   sync.Mutex
	said map[string]outcome
}

type outcome struct {
	Summary
	err error
}

func newRuns(t *testing.T) *runs {
	t.Helper()
	r := &runs{fleet: newFleet(t), said: map[string]outcome{}}
	r.once = crawl.Once{Drain: true}
	r.ended = func(name string, s Summary, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said[name] = outcome{s, err}
	}
	return r
}

// end waits until nodes have ended, and gives what each said.
func (r *runs) end(names ...string) map[string]outcome {
	r.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		r.mu.Lock()
		all := map[string]outcome{}
		for _, name := range names {
			if o, ended := r.said[name]; ended {
				all[name] = o
			}
		}
		r.mu.Unlock()
		if len(all) == len(names) {
			return all
		}
		if time.Since(began) > 2*time.Minute {
			r.Fatalf("of %v only %v have ended after two minutes; %d documents", names, all, len(r.indexed()))
		}
	}
}

// again forgets what nodes have said.
func (r *runs) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.said)
}

// whole checks what a node said of a whole run.
func (r *runs) whole(name string, o outcome) CrawlSummary {
	r.Helper()
	if o.err != nil || o.RootsFailed != nil || len(o.Crawls) != 1 {
		r.Fatalf("%s: %+v, %v", name, o.Summary, o.err)
	}
	c := o.Crawls[0]
	if c.Known != fleetPages+1 || c.Indexed != fleetPages || c.NotDone != (NotDone{}) || c.Node != name {
		r.Errorf("%s says %+v, want %d documents, and nothing left", name, c, fleetPages)
	}
	return c
}

// TestOnce: nodes with partitions end by themselves when nothing is left anywhere, not before, and each tells what all have done. One that comes after
// the end has nothing to do; the next run finds nothing new, and ends, too. A node that was not started for it goes on, and lets the others end.
func TestOnce(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	r.times = newNodes(t).times // nobody loses anything to a slow machine, and so n1 keeps all: TestEnding of crawl has letters
	r.configure(r.roots(fleetHosts))
	r.divide(2)
	for _, name := range []string{"n1", "n2"} {
		r.start(name)
	}
	for name, o := range r.end("n1", "n2") {
		r.whole(name, o)
	}
	if n := len(r.indexed()); n != fleetPages {
		t.Errorf("%d documents, want %d", n, fleetPages)
	}

	r.again()
	r.start("n3")
	if c := r.whole("n3", r.end("n3")["n3"]); c.NodePages != 0 {
		t.Errorf("the node that came late fetched %d pages", c.NodePages)
	}

	r.again()
	r.once = crawl.Once{}
	stop := r.start("n1") // it goes on
	r.once = crawl.Once{Drain: true}
	r.start("n2")
	r.whole("n2", r.end("n2")["n2"])
	r.mu.Lock()
	if o, ended := r.said["n1"]; ended {
		t.Errorf("the node that is to go on ended: %+v", o)
	}
	r.mu.Unlock()
	if err := stop(); err != nil {
		t.Error(err)
	}

	r.again()
	r.start("n3")
	r.whole("n3", r.end("n3")["n3"]) // late for the second run, too
	r.again()
	r.times.Gone = time.Second
	r.refused = errNobody
	r.start("n3") // it has no copy
	if o := r.end("n3")["n3"]; !errors.Is(o.err, errNobody) || !strings.Contains(o.err.Error(), " of 6 partitions (p0") {
		t.Errorf("a node that lacks partitions for good: %+v, %v", o.Summary, o.err)
	}
}

// TestOnceAloneAndStandby: the same in a cluster of one partition: who crawls and who follows end at once. What no root could be fetched means is
// told by both; a crawl that is paused does not begin.
func TestOnceAloneAndStandby(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	r.times = newNodes(t).times
	if err := r.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n1", "n2"} {
		r.start(name)
	}
	for name, o := range r.end("n1", "n2") {
		if o.err != nil || !errors.Is(o.RootsFailed, crawl.ErrNoRoot) || !strings.Contains(o.Crawls[0].RootsFailed, r.site) {
			t.Errorf("%s: %+v, %v, want that no root could be fetched", name, o.Summary, o.err)
		}
	}

	r.again()
	r.once = crawl.Once{}
	stop := r.start("n1")
	r.until("n1 crawls", func(s *cluster.State) bool {
		return s.Alive("n1") && !s.States[0].Released && s.States[0].Owner.Node == "n1"
	})
	client := r.client("n1")
	r.does("pause", func() error { return client.Pause(t.Context()) })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.again()
	r.once = crawl.Once{Drain: true}
	r.refused = crawl.ErrPaused
	r.start("n1")
	if o := r.end("n1")["n1"]; !errors.Is(o.err, crawl.ErrPaused) {
		t.Errorf("%+v, %v, want %v", o.Summary, o.err, crawl.ErrPaused)
	}
}
