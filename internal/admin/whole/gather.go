package whole

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Gathered is the store of all nodes, for one request: for what cannot be made of the nodes' answers, such as the pages that link to a URL, which
// other nodes may have. Lists are merged in their order. Named values are those of this node. One goroutine at a time may use it.
type Gathered struct {
	report.Store // of this node
	server       *Server
	others       []Node
	ask          Question

	missing []*part // that count no more
	told    bool    // who is missing: what gets lost from then on is an error
	known   map[weburl.Key]row
}

var _ report.Store = (*Gathered)(nil)

// StorePath is where nodes give what Gathered reads.
const StorePath = "/api/v1/part/store"

// Gather begins one.
func (s *Server) Gather(ctx context.Context, own report.Store, crawler string, by Asker) (*Gathered, error) {
	others, err := s.others(ctx, &Rule{})
	if err != nil {
		return nil, err
	}
	ask := Question{Method: http.MethodGet, Path: StorePath + "?crawler=" + url.QueryEscape(crawler), Role: by.Role, Name: by.Name, Media: "application/json"}
	g := &Gathered{Store: own, server: s, others: others, ask: ask}
	if lacks := s.lacks(ctx); lacks != "" {
		g.missing = append(g.missing, &part{node: s.Name, lacks: lacks})
	}
	return g, nil
}

// Tell names the nodes that are missing, when the answer begins. If one gets lost later the answer breaks off.
func (g *Gathered) Tell(h http.Header) {
	if g.told {
		return
	}
	g.told = true
	tell(h, g.missing)
}

// Lacking names the nodes that are missing so far, "" if none is.
func (g *Gathered) Lacking() string { return lacking(g.missing) }

// lose leaves a node out from now on, unless it is too late to say so.
func (g *Gathered) lose(p *part) error {
	if g.told {
		return fmt.Errorf("node %s got lost: %w", p.node, p.err)
	}
	g.missing = append(g.missing, p)
	g.others = slices.DeleteFunc(slices.Clone(g.others), func(n Node) bool { return n.Name == p.node })
	return nil
}

// without notes what a node does not have yet.
func (g *Gathered) without(p *part) {
	if p.lacks != "" && !slices.ContainsFunc(g.missing, func(m *part) bool { return m.node == p.node }) {
		g.missing = append(g.missing, &part{node: p.node, lacks: p.lacks})
	}
}

// open asks all others at once.
func (g *Gathered) open(ctx context.Context, q *storeQuestion) ([]*part, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	ask := g.ask
	ask.Body = body
	parts := open(ctx, g.others, &ask)
	var live []*part
	for _, p := range parts {
		if p.err == nil && p.status != http.StatusOK {
			p.fail("it answered %d: %s", p.status, detail(p.rest()))
		}
		if p.err == nil {
			live = append(live, p)
			g.without(p)
			continue
		}
		closeAll([]*part{p})
		if err := ctx.Err(); err != nil {
			closeAll(live)
			return nil, err
		}
		if err := g.lose(p); err != nil {
			closeAll(parts)
			return nil, err
		}
	}
	return live, nil
}

// keyed is what is walked over in the order of keys.
type keyed[T any] struct {
	key   weburl.Key
	value T
}

func byKey[T any](a, b keyed[T]) int { return a.key.Compare(b.key) }

// byKeys walks in the order of keys.
func byKeys[T any](ctx context.Context, g *Gathered, q *storeQuestion, own func(fn func(weburl.Key, T) error) error, of func(*row) T, fn func(weburl.Key, T) error) error {
	return gather(ctx, g, q, func(yield func(keyed[T]) error) error {
		return own(func(k weburl.Key, v T) error { return yield(keyed[T]{k, v}) })
	}, func(r *row) keyed[T] { return keyed[T]{r.Key, of(r)} }, byKey, func(v keyed[T]) error { return fn(v.key, v.value) })
}

// Inspect implements scheduler.Reader. It selects by From alone.
func (g *Gathered) Inspect(ctx context.Context, f scheduler.Filter, fn func(weburl.Key, scheduler.Record) error) error {
	if f != (scheduler.Filter{From: f.From}) {
		return fmt.Errorf("records of all nodes: %w", errors.ErrUnsupported)
	}
	return byKeys(ctx, g, &storeQuestion{What: askRecords, From: f.From},
		func(fn func(weburl.Key, scheduler.Record) error) error { return g.Store.Inspect(ctx, f, fn) },
		func(r *row) (found scheduler.Record) { return orZero(r.Record) }, fn)
}

func orZero[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}

// Outlinks implements report.Store.
func (g *Gathered) Outlinks(ctx context.Context, from weburl.Key, fn func(page weburl.Key, links scheduler.LinkPrints) error) error {
	return byKeys(ctx, g, &storeQuestion{What: askLinks, From: from},
		func(fn func(weburl.Key, scheduler.LinkPrints) error) error { return g.Store.Outlinks(ctx, from, fn) },
		func(r *row) scheduler.LinkPrints { return r.Links }, fn)
}

// Gone implements report.Store.
func (g *Gathered) Gone(ctx context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error {
	return byKeys(ctx, g, &storeQuestion{What: askGone, From: from},
		func(fn func(weburl.Key, scheduler.Gone) error) error { return g.Store.Gone(ctx, from, fn) },
		func(r *row) scheduler.Gone { return orZero(r.Gone) }, fn)
}

// Orders implements report.Store. Of dead letters those of this node come first.
func (g *Gathered) Orders(ctx context.Context, sel push.Selection, fn func(push.Listed) error) error {
	return gather(ctx, g, &storeQuestion{What: askOrders, Orders: sel},
		func(yield func(push.Listed) error) error { return g.Store.Orders(ctx, sel, yield) },
		func(r *row) push.Listed { return orZero(r.Order) }, ordersInOrder, fn)
}

func ordersInOrder(a, b push.Listed) int {
	states := push.States()
	if by := cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)); by != 0 || a.State == push.DeadLetter {
		return cmp.Or(by, strings.Compare(a.Target, b.Target))
	}
	return cmp.Compare(a.Seq, b.Seq)
}

// HeldDeletions implements scheduler.Reader.
func (g *Gathered) HeldDeletions(ctx context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	return gather(ctx, g, &storeQuestion{What: askDeletions, Deletions: f},
		func(yield func(scheduler.StoredDeletion) error) error { return g.Store.HeldDeletions(ctx, f, yield) },
		func(r *row) scheduler.StoredDeletion { return orZero(r.Deletion) },
		func(a, b scheduler.StoredDeletion) int {
			return cmp.Or(cmp.Compare(a.Seq, b.Seq), a.Key.Compare(b.Key))
		}, fn)
}

// Counts implements scheduler.Reader.
func (g *Gathered) Counts(ctx context.Context) (scheduler.Counts, error) {
	sum, err := g.Store.Counts(ctx)
	if err != nil {
		return sum, err
	}
	err = g.each(ctx, &storeQuestion{What: askCounts}, func(r *row) {
		if r.Counts != nil {
			sum = sum.Plus(*r.Counts)
		}
	})
	return sum, err
}

// Lookup implements scheduler.Reader.
func (g *Gathered) Lookup(ctx context.Context, k weburl.Key) (scheduler.Record, error) {
	r, err := g.Store.Lookup(ctx, k)
	if !errors.Is(err, scheduler.ErrNotFound) {
		return r, err
	}
	if _, asked := g.known[k]; !asked {
		if err := g.learn(ctx, []weburl.Key{k}); err != nil {
			return r, err
		}
	}
	if found := g.known[k].Record; found != nil {
		return *found, nil
	}
	return r, scheduler.ErrNotFound
}

// GoneOf is what is left of a URL.
func (g *Gathered) GoneOf(ctx context.Context, k weburl.Key) (scheduler.Gone, error) {
	if _, asked := g.known[k]; !asked {
		if err := g.learn(ctx, []weburl.Key{k}); err != nil {
			return scheduler.Gone{}, err
		}
	}
	if found := g.known[k].Gone; found != nil {
		return *found, nil
	}
	return report.GoneOf(ctx, g.Store, k)
}

const (
	// maxAsked is how many URLs are asked for at once, and maxKnown how many are kept.
	maxAsked = 20_000
	maxKnown = 100_000
)

// Know asks for many URLs at once that are looked up next, in place of those that were asked for before.
func (g *Gathered) Know(ctx context.Context, keys []weburl.Key) error {
	g.known = nil
	for some := range slices.Chunk(keys[:min(len(keys), maxKnown)], maxAsked) {
		if err := g.learn(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// learn asks for some URLs. What was asked for before is kept while it is not too much.
func (g *Gathered) learn(ctx context.Context, keys []weburl.Key) error {
	if g.known == nil || len(g.known)+len(keys) > maxKnown {
		g.known = map[weburl.Key]row{}
	}
	for _, k := range keys {
		g.known[k] = row{}
	}
	return g.each(ctx, &storeQuestion{What: askKeys, Keys: keys}, func(r *row) {
		if _, asked := g.known[r.Key]; asked {
			g.known[r.Key] = *r
		}
	})
}

// each calls fn for each row of all others.
func (g *Gathered) each(ctx context.Context, q *storeQuestion, fn func(*row)) error {
	parts, err := g.open(ctx, q)
	if err != nil {
		return err
	}
	defer closeAll(parts)
	for _, p := range parts {
		f := frames{part: p}
		for r := f.next(); r != nil; r = f.next() {
			fn(r)
		}
		if p.err == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.lose(p); err != nil {
			return err
		}
	}
	return nil
}
