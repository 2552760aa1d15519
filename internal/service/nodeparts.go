package service

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/finish"
	"github.com/sextant-crawler/sextant/cluster/letters"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/cluster/ration"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/whole"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/partitioned/union"
)

// nodeparts.go: a node of a cluster of several partitions. A service runs as long as the node takes part, whichever partitions it has; its crawl
// adopts each that the node comes to lead, and yields it at the end of that. parts.serve is a goroutine, beside that of cluster/node, which calls
// lead on one for each partition; each session has one that keeps up with the others, and one that waits until the crawl takes partitions. parts.mu
// guards the session, and which partitions are led, that of a session which its crawl has taken in; they are held over no call.

// parts are the partitions that this node has.
type parts struct {
	*clusterNode
	number int // of the crawl's

	mu      sync.Mutex
	now     *session      // that takes partitions; nil: none does
	led     int           // calls of lead under way
	changed chan struct{} // closed and replaced when now or led change
}

// session is a service that runs over partitions.
type session struct {
	service *Service
	run     *running
	over    *crawl.Partitions
	turns   *push.Turns
	whole   http.Handler // answers other nodes
	keeper  keeper
	items   bool // letters bring documents; of who begins the session, and then of keepUp

	mu   sync.Mutex
	mine map[int]int64 // claims of the partitions that the crawl has taken in
}

// parts are the partitions that the crawl has taken in.
func (s *session) parts() []finish.Part {
	arrivals := s.over.Store.Arrivals() // before it is looked what there is to do
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []finish.Part
	for _, number := range slices.Sorted(maps.Keys(s.mine)) {
		all = append(all, finish.Part{Partition: cluster.Partition(number), Epoch: s.mine[number], Seq: arrivals})
	}
	return all
}

// has notes that the crawl has taken in a partition, or, if epoch is 0, that it is about to lose it.
func (s *session) has(number int, epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.mine, number); epoch != 0 {
		s.mine[number] = epoch
	}
}

// letters has letters bring documents of feeds once all nodes read such ones.
func (s *session) letters(ctx context.Context, engine cluster.Engine) (err error) {
	if !s.items {
		if s.items, err = cluster.LettersHaveItems(ctx, engine); s.items {
			s.over.Store.LettersHaveItems()
		}
	}
	return err
}

// targetTurns is how many requests to a target are under way at once, of all partitions of a node.
const targetTurns = 4

// takeParts runs a node of a cluster of several partitions.
func (c *clusterNode) takeParts(ctx context.Context, number int) error {
	if err := c.isCopy(c.home.Store()); err != nil {
		return err
	}
	p := &parts{clusterNode: c, number: number, changed: make(chan struct{})}
	c.mu.Lock()
	c.parts = p
	c.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.serve(ctx) })
	group.Go(func() error {
		return c.follow(ctx, func(context.Context) error { return nil }, p.lead)
	})
	return group.Wait()
}

// serve runs a service whenever this node can go by what is in force, until the node is to stop.
func (p *parts) serve(ctx context.Context) error {
	for ctx.Err() == nil {
		in, err := p.inForce(ctx)
		if err == nil {
			err = p.session(ctx, in)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, cluster.ErrUnavailable): // it answered a moment ago
			p.wait("the engine does not answer: " + err.Error())
			_ = (cluster.SystemClock{}).Sleep(ctx, nodeRetry)
		case err != nil:
			return err
		}
	}
	return nil
}

// inForce waits for a configuration that this node can go by. The first one of the cluster is the file of a node that has copies before there is one.
func (p *parts) inForce(ctx context.Context) (in inForce, err error) {
	for {
		in, err = p.common.current(ctx, hasParts(p.home.Store()))
		switch {
		case err == nil && in.Number > 0:
			return in, nil
		case err != nil && p.common.Unfit() == "":
			return in, err
		}
		if err := (cluster.SystemClock{}).Sleep(ctx, p.of.times.Beat); err != nil {
			return in, err
		}
	}
}

// session runs a service over partitions until it ends, and until none is led any more.
func (p *parts) session(ctx context.Context, in inForce) (err error) {
	if !p.begin(nil) {
		<-ctx.Done() // it is to stop
		return nil
	}
	defer p.ended(nil)
	owners := &owners{engine: p.of.Engine, node: p.of.Name}
	carrier := &letters.Carrier{Lines: &peer.Lines{Client: &peer.Client{Token: p.of.Token}}, Owner: owners.address}
	defer func() { err = errors.Join(err, carrier.Lines.Close()) }()
	values := &values{engine: p.of.Engine, times: p.of.times, dir: filepath.Join(p.home.Store(), valuesFolder)}
	store, err := partitioned.New(partitioned.Options{Partitions: p.number, Values: values, Carrier: carrier, Logger: p.Log})
	if err != nil {
		return err
	}
	values.owns = store.Owns
	defer func() { err = errors.Join(err, store.Close()) }()
	s := &session{
		over:  &crawl.Partitions{Store: store, Relays: push.NewRelays(p.Log), Number: p.number, Start: p.startRun},
		turns: push.NewTurns(targetTurns), keeper: keeper{store: store}, mine: map[int]int64{},
	}
	l := &lent{store: union.Store{Store: store}, over: s.over, joins: func(server *admin.Server) {
		client := &peer.Client{Token: p.of.Token}
		all := server.InCluster(p.of.Name, &whole.Peers{Name: p.of.Name, Engine: p.of.Engine, Client: client})
		all.Lacks = func(ctx context.Context) string { return p.lacks(ctx, store.Has) }
		s.whole = all.Handler(p.Log)
	}}
	if err = s.letters(ctx, p.of.Engine); err != nil {
		return err
	}
	return p.crawl(ctx, in, l, s.parts, func(service *Service) func() {
		s.service, s.run = service, service.crawls[0]
		return p.beside(ctx, s, owners)
	})
}

// startRun begins the run of a schedule for all nodes.
func (p *parts) startRun(ctx context.Context, name string, due func(last time.Time) (time.Time, bool)) (time.Time, error) {
	return shared.Start(ctx, p.of.Engine, "refresh "+url.QueryEscape(name), due)
}

// beside keeps a session up with the other nodes, and has it take partitions once its crawl runs, until the returned function is called, which waits
// until none is led.
func (p *parts) beside(ctx context.Context, s *session, owners *owners) (end func()) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	brake := &brake{node: p.clusterNode}
	s.run.Elsewhere(brake.elsewhere)
	var all sync.WaitGroup
	all.Go(func() { p.keepUp(ctx, s, owners, brake) })
	all.Go(func() {
		n := ration.Node{Name: p.of.Name, Engine: p.of.Engine, Clock: cluster.SystemClock{}, Times: p.of.times, Set: s.run.Ration}
		if err := n.Run(ctx); err != nil {
			p.Log.Error("this node has no part of the crawl's limits: where there are any, it fetches nothing", "error", err)
		}
	})
	all.Go(func() {
		if s.run.Alive(ctx) == nil {
			p.change(func() { p.now = s })
		}
	})
	return func() {
		stop()
		all.Wait()
		p.change(func() { p.now = nil })
		p.await(context.Background(), func() bool { return p.led == 0 })
	}
}

// keepUp looks each beat at what other nodes have changed.
func (p *parts) keepUp(ctx context.Context, s *session, owners *owners, brake *brake) {
	for {
		for what, look := range map[string]func(context.Context) error{
			"which partitions are where": owners.look, "what other nodes have told the crawl": s.run.Renew,
			"whether all nodes read letters with documents": func(ctx context.Context) error { return s.letters(ctx, p.of.Engine) },
			"how many documents there are":                  func(ctx context.Context) error { return brake.look(ctx, s.run) },
		} {
			looking, cancel := context.WithTimeout(ctx, p.of.times.Right)
			if err := look(looking); err != nil && ctx.Err() == nil {
				p.Log.Debug("it is not known "+what, "error", err)
			}
			cancel()
		}
		if (cluster.SystemClock{}).Sleep(ctx, p.of.times.Beat) != nil {
			return
		}
	}
}

// change makes a change, and tells who waits for one.
func (p *parts) change(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn()
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until is, or ctx ends.
func (p *parts) await(ctx context.Context, is func() bool) bool {
	for {
		p.mu.Lock()
		done, changed := is(), p.changed
		p.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// lead has the crawl go on with a partition while this node holds its claim.
func (p *parts) lead(ctx context.Context, a *node.Active) error {
	number := cluster.Partition(a.Partition)
	p.clusterNode.mu.Lock()
	p.active[number] = a
	p.clusterNode.mu.Unlock()
	defer func() {
		p.clusterNode.mu.Lock()
		defer p.clusterNode.mu.Unlock()
		delete(p.active, number)
	}()
	s := p.taking(ctx, a)
	if s == nil {
		return nil // it is told why, and the claim is released
	}
	defer p.change(func() { p.led-- })
	if err := s.adopt(ctx, p.home, a); err != nil {
		if s.service.ending.Load() {
			return nil
		}
		return err
	}
	s.has(a.Partition, a.Epoch())
	p.Log.Info("this node crawls a partition", "partition", number.String())
	select {
	case <-ctx.Done():
	case <-a.Leaving():
	case <-s.run.ended:
	}
	s.has(a.Partition, 0) // before it leaves
	_, err := s.run.Yield(ctx, a.Partition)
	return err
}

// adopt has the crawl go on with a partition, which has targets of its own.
func (s *session) adopt(ctx context.Context, h Home, a *node.Active) error {
	claim, err := a.Claim(ctx)
	if err != nil {
		return err
	}
	relay, err := relayOf(s.run.opened, h, cluster.Partition(a.Partition).String(), a.Store.Outbox(), s.run.log)
	if err != nil {
		return err
	}
	relay.Under(claim)
	relay.Sharing(s.turns)
	err = s.run.Adopt(ctx, crawl.Owned{Number: a.Partition, Store: a.Store, Permit: claim.Permit, Relay: relay})
	if err != nil {
		ended, end := context.WithCancel(ctx)
		end()
		_ = relay.Run(ended) // closes its targets, if it did not run
	}
	return err
}

// taking waits for a session that takes partitions, and counts as one that is led; nil if the partition is to be given up instead.
func (p *parts) taking(ctx context.Context, a *node.Active) (s *session) {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		defer cancel()
		look := time.NewTicker(p.of.times.Beat)
		defer look.Stop()
		for p.common.Unfit() == "" && !p.stops() {
			select {
			case <-ctx.Done():
				return
			case <-a.Leaving():
				return
			case <-look.C:
			}
		}
	})
	p.await(ctx, func() bool {
		if s = p.now; s != nil {
			p.led++
		}
		return s != nil
	})
	return s
}

func (p *parts) stops() bool {
	p.clusterNode.mu.Lock()
	defer p.clusterNode.mu.Unlock()
	return p.stopping
}
