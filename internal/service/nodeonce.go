package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/finish"
	"github.com/sextant-crawler/sextant/crawl"
)

// nodeonce.go: the end of a crawl that several nodes run once. Each node that was started with --once awaits it in a goroutine of its own, and stops then as
// after a signal; all others help it to come, and go on. clusterNode.mu guards what is at work.

const (
	// lateFor is how long after the end of a run a node that was not there comes too late for it.
	lateFor = 10 * time.Minute
	// The stages of the end: nothing is left to crawl anywhere; what rests was judged, and all was sent.
	crawlEnds  = 0
	stagesOnce = 2
)

// beginning is what a node does before it takes part.
type beginning struct {
	waits   string // for what, "" if the node runs
	started bool   // the engine has answered
}

// toEnd is what a node knows of the end of its run.
type toEnd struct {
	work    *atWork // nil: it has nothing of the crawl
	began   bool    // the first of them was not refused
	summary Summary // once the run has ended
	failed  error   // why the node ends before
}

// atWork is what a node has of the crawl.
type atWork struct {
	run    *running
	ending *crawl.Ending
	parts  func() []finish.Part // that are taken in whole
	last   []finish.Part        // at the last look
}

// told is what a node tells the others at the end.
type told struct {
	Summary CrawlSummary `json:"summary"`
	Roots   crawl.Roots  `json:"roots"`
}

// awaitEnd waits until nothing is left to do in the whole crawl, and stops the node, if it was started for that; else it helps others to come to
// that end until ctx ends.
func (c *clusterNode) awaitEnd(ctx context.Context) error {
	n := finish.Node{
		Name: c.of.Name, Of: "run", Engine: c.of.Engine, Clock: cluster.SystemClock{}, Times: c.of.times, Stages: stagesOnce, Late: lateFor,
		Idle: c.idle, Say: c.say,
	}
	defer c.sets(func(e *toEnd) { e.work = nil })
	if !c.start.Once.Drain {
		for ctx.Err() == nil {
			if err := n.Assist(ctx); ctx.Err() == nil {
				c.Log.Warn("nodes that run once cannot be told whether this one has anything left to do", "error", err)
				_ = n.Clock.Sleep(ctx, time.Minute)
			}
		}
		return nil
	}
	waiting, end := context.WithCancelCause(ctx)
	defer end(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.watchNobody(waiting, end)
	}()
	defer func() { <-watched }()
	defer end(nil)
	how, err := n.Await(waiting)
	if ctx.Err() != nil {
		return nil
	}
	if why := context.Cause(waiting); why != nil {
		err = why
	}
	var summary Summary
	if err == nil {
		if how.Late {
			c.Log.Info("the crawl ended before this node was started: nothing is left to do", "ended", how.At)
		}
		summary, err = c.wholeOf(&how)
	}
	c.sets(func(e *toEnd) { e.summary, e.failed = summary, err })
	c.stop()
	return nil
}

// sets changes what is known of the end.
func (c *clusterNode) sets(fn func(*toEnd)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.toEnd)
}

// works notes what this node has of the crawl until the returned function is called. It is refused while the crawl is paused, as on one machine, unless
// it went on before.
func (c *clusterNode) works(s *Service, parts func() []finish.Part) (ended func(), err error) {
	w := &atWork{run: s.crawls[0], parts: parts}
	w.ending = w.run.Ending()
	w.ending.Judges, w.ending.Patience = c.start.Once.Drain, c.start.Once.DrainTimeout
	c.sets(func(e *toEnd) {
		if c.start.Once.Drain && !e.began && w.run.Paused() {
			err = crawl.ErrPaused
			return
		}
		e.work, e.began = w, true
	})
	return func() { c.sets(func(e *toEnd) { e.work = nil }) }, err
}

// idle is for finish: what this node has of the crawl, and whether nothing is left to do in that.
func (c *clusterNode) idle(ctx context.Context, stage int) ([]finish.Part, bool, error) {
	c.mu.Lock()
	w := c.toEnd.work
	c.mu.Unlock()
	if w == nil {
		return nil, false, nil
	}
	parts := w.parts()
	if len(parts) == 0 {
		return nil, false, nil
	}
	if !slices.EqualFunc(parts, w.last, func(a, b finish.Part) bool { return a.Partition == b.Partition && a.Epoch == b.Epoch }) {
		w.ending.Came()
	}
	w.last = parts
	look := w.ending.CrawlEnds
	if stage > crawlEnds {
		look = w.ending.LastWords
	}
	idle, err := look(ctx)
	if errors.Is(err, crawl.ErrIndexerDown) {
		return nil, false, err
	}
	if err != nil { // a partition has left meanwhile, or the crawl ends by it
		c.Log.Debug("it is not known whether anything is left to do", "error", err)
		return nil, false, nil
	}
	return parts, idle && slices.Equal(parts, w.parts()), nil
}

// say is for finish: what this node has done.
func (c *clusterNode) say(ctx context.Context) (json.RawMessage, error) {
	c.mu.Lock()
	w := c.toEnd.work
	c.mu.Unlock()
	if w == nil {
		return nil, nil
	}
	status, err := w.run.Status(ctx)
	if err != nil {
		return nil, err
	}
	t := told{Summary: summaryOf(w.run.Name(), status, *w.run.weights.Load())}
	if t.Roots, err = w.run.Roots(ctx); err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

// wholeOf is what all nodes together have done.
func (c *clusterNode) wholeOf(how *finish.End) (Summary, error) {
	whole := CrawlSummary{Crawler: c.Crawlers[0].Name, Node: c.of.Name}
	var roots crawl.Roots
	for _, said := range how.Said {
		var t told
		if err := json.Unmarshal(said.Words, &t); err != nil {
			return Summary{}, fmt.Errorf("what node %s says at the end of the run cannot be read: %w", said.Node, err)
		}
		whole.add(&t.Summary)
		roots.Add(t.Roots)
		if said.Node == c.of.Name && !how.Late {
			whole.NodePages = t.Summary.Pages
		}
	}
	s := Summary{RootsFailed: roots.Err()}
	if s.RootsFailed != nil {
		whole.RootsFailed = s.RootsFailed.Error()
		s.RootsFailed = fmt.Errorf("%s: %w", whole.Crawler, s.RootsFailed)
	}
	s.Crawls = []CrawlSummary{whole}
	return s, nil
}

// errNobody ends a run that would wait for ever.
var errNobody = errors.New("and this crawl cannot end without them")

// watchNobody ends the wait when nobody has had some partitions for so long that nobody will: their copies would have been made elsewhere.
func (c *clusterNode) watchNobody(ctx context.Context, end context.CancelCauseFunc) {
	var since time.Time
	for (cluster.SystemClock{}).Sleep(ctx, c.of.times.Beat) == nil {
		c.mu.Lock()
		seen := c.known.seen
		c.mu.Unlock()
		var nobody []string
		if seen != nil && seen.Alive(c.of.Name) {
			for i := range seen.States {
				if p := partitionOf(seen, &seen.States[i]); p.Owner == "" {
					nobody = append(nobody, p.Partition)
				}
			}
		}
		switch {
		case len(nobody) == 0:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > c.of.times.Gone:
			names := strings.Join(nobody[:min(len(nobody), unprotectedTold)], ", ")
			if more := len(nobody) - unprotectedTold; more > 0 {
				names += fmt.Sprintf(" and %d more", more)
			}
			end(fmt.Errorf("no node has crawled %d of %d partitions (%s) for %s, %w: start the other nodes, which sextant cluster status names, and run it again",
				len(nobody), len(seen.States), names, c.of.times.Gone, errNobody))
			return
		}
	}
}
