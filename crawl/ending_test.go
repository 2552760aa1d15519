package crawl

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// comeToEnd looks each second until all nodes say that a stage is over, twice with the same arrivals, as package finish does.
func (f *fleet) comeToEnd(what string, all []*Ending, look func(*Ending) (bool, error)) {
	f.t.Helper()
	var before []uint64
	for begun := time.Now(); time.Since(begun) < time.Hour; time.Sleep(time.Second) {
		var arrivals []uint64
		over := true
		for _, e := range all {
			arrivals = append(arrivals, e.c.partitions.Store.Arrivals())
			is, err := look(e)
			f.must(err)
			over = over && is
		}
		same := len(before) == len(arrivals)
		for i := range before {
			same = same && before[i] == arrivals[i]
		}
		if before = arrivals; over && same {
			return
		}
		if !over {
			before = nil
		}
	}
	f.t.Fatalf("%s: not after an hour", what)
}

// TestEnding: nodes that look at themselves alone find the end of what all of them do: nothing is left when they have, though partitions
// move meanwhile, and not before.
func TestEnding(t *testing.T) {
	const pages = fleetHosts * (fleetDepth + 1)
	inFleet(t, 3, func(f *fleet) {
		var all []*Ending
		for _, n := range f.nodes {
			e := n.Ending()
			e.Judges = true
			defer e.Close()
			all = append(all, e)
		}
		f.await(fleetHosts)
		f.move(0, f.nodes[1])
		f.comeToEnd("the crawl", all, func(e *Ending) (bool, error) { return e.CrawlEnds(f.t.Context()) })
		if n := len(f.visits); n != pages {
			t.Errorf("%d pages were fetched at the end, want %d", n, pages)
		}
		f.comeToEnd("the last words", all, func(e *Ending) (bool, error) { return e.LastWords(f.t.Context()) })
		if n := len(f.documents()); n != pages {
			t.Errorf("%d documents at the end, want %d", n, pages)
		}
	})
}

// TestEndingAwaitsLetters: a node whose own hosts are done has something left to do as long as nobody takes its letters.
func TestEndingAwaitsLetters(t *testing.T) {
	inFleet(t, 2, func(f *fleet) {
		f.nodes[1].dead.Store(true)
		e := f.nodes[0].Ending()
		time.Sleep(10 * time.Minute)
		if idle, err := f.nodes[0].frontier.Idle(f.t.Context()); !idle || err != nil {
			t.Fatalf("the node's hosts are not done: %v", err)
		}
		if over, err := e.CrawlEnds(f.t.Context()); over || err != nil {
			t.Errorf("it has nothing left to do, though letters wait: %v", err)
		}
		f.nodes[1].dead.Store(false)
		f.check(0)
		f.comeToEnd("with both", []*Ending{e, f.nodes[1].Ending()}, func(e *Ending) (bool, error) { return e.CrawlEnds(f.t.Context()) })
	})
}

// stuck is a target that takes nothing.
type stuck struct{ memoryTarget }

func (*stuck) Push(context.Context, []push.Entry) ([]push.Refusal, error) {
	return nil, errors.New("down")
}

// TestEndingPatience: an indexer that is down is waited for as long as was said.
func TestEndingPatience(t *testing.T) {
	inFleet(t, 1, func(f *fleet) {
		f.down = &stuck{}
		for i := range fleetParts {
			f.move(i, f.nodes[0])
		}
		e := f.nodes[0].Ending()
		e.Patience = time.Minute
		defer e.Close()
		f.comeToEnd("the crawl", []*Ending{e}, func(e *Ending) (bool, error) { return e.CrawlEnds(f.t.Context()) })
		var err error
		began := time.Now()
		for over := false; !over && err == nil; time.Sleep(time.Second) {
			over, err = e.LastWords(f.t.Context())
		}
		if took := time.Since(began); !errors.Is(err, ErrIndexerDown) || took < time.Minute || took > 2*time.Minute {
			t.Errorf("%v after %v, want %v after a minute", err, took, ErrIndexerDown)
		}
	})
}
