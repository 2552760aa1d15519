package cluster

// node.go: one process in a cluster. Node.Run starts a goroutine for beats, one that appends, one that proves that
// appends arrive again, one that looks how full the engine is, and with several partitions one for the map, and waits for all. Node.mu guards holds and queue; members, beats and appends take it.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/cluster/entry"
)

// NodeSettings are what a node needs to know of itself.
type NodeSettings struct {
	Name  string
	Clock Clock // SystemClock, except in tests; nil is that
	Times Times // DefaultTimes, except in tests
	Log   *slog.Logger
	// Addresses are told to the other nodes.
	Addresses Addresses
	// Known is what the node's disk remembers of the cluster, zero on a new one; Seen the highest
	// revision of the engine that it remembers. Either makes Join refuse an engine that was set back.
	Known Meta
	Seen  Revision
	// Unfit, if not nil, says why this node must not own partitions at present, "" if it may. Any goroutine may call it. The map
	// gives such a node none, as long as others can have them.
	Unfit func() string
	// Levels are those of the program; zero, except in tests.
	Levels Levels
}

// Node is one process in a cluster, for all partitions that it holds.
type Node struct {
	name        string
	addresses   Addresses
	unfit       func() string
	run         string // the session: drawn at each start
	clock       Clock
	times       Times
	log         *slog.Logger
	engine      *session
	meta        Meta
	metaAt      Revision
	levels      levels
	incarnation entry.ID
	wake        chan struct{} // there is something in queue
	guard       guard
	packer      *entry.Packer
	chart       chart
	unheard     atomic.Pointer[Step] // an append that got no answer while signs of life did; nil: none

	mu    sync.Mutex
	holds map[Partition]*hold
	queue []*pending
}

// hold is one partition that this process has claimed.
type hold struct {
	partition Partition
	author    entry.Author
	epoch     Revision
	right     *right
	keeps     keeps
	leaving   chan struct{} // closed when the partition is to go to another node
	leave     func()        // closes it
	// The end of the log, and the revision of its key. Node.Run's appends alone use them once the hold is taken up.
	end   entry.Position
	endAt Revision
}

func (h *hold) condition() Condition { return Condition{ownKey(h.partition), h.epoch} }

// Join makes the process a node of the cluster that the engine holds. ErrNoCluster if there is none,
// ErrSetBack or ErrStranger if it is not the one that the node's disk remembers, ErrUntrusted if
// the engine cannot be trusted.
func Join(ctx context.Context, e Engine, s NodeSettings) (*Node, error) {
	if !nodeName().MatchString(s.Name) {
		return nil, fmt.Errorf("node %q: a name has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit", s.Name)
	}
	if err := e.Check(ctx); err != nil {
		return nil, err
	}
	if s.Clock == nil {
		s.Clock = SystemClock{}
	}
	if s.Levels == (Levels{}) {
		s.Levels = thisVersion()
	}
	if s.Unfit == nil {
		s.Unfit = func() string { return "" }
	}
	n := &Node{
		name: s.Name, addresses: s.Addresses, unfit: s.Unfit, levels: levels{Levels: s.Levels}, run: NewID().String(), clock: s.Clock, times: s.Times, log: s.Log.With("node", s.Name),
		engine: &session{engine: e, clock: s.Clock, answered: s.Clock.Now(), answeredAt: s.Clock.Wall()}, wake: make(chan struct{}, 1), holds: map[Partition]*hold{},
	}
	var err error
	if n.packer, err = entry.NewPacker(); err != nil {
		return nil, err
	}
	v, err := n.engine.read(ctx, metaKey, levelKey)
	if err != nil {
		return nil, err
	}
	at := v.Keys[0]
	switch {
	case at.Revision == 0 && s.Known != (Meta{}):
		return nil, fmt.Errorf("%w: the cluster that this node remembers is not there: sextant cluster recover", ErrSetBack)
	case at.Revision == 0:
		return nil, fmt.Errorf("%w under the prefix that --engine names: correct it, or make one by sextant cluster init", ErrNoCluster)
	}
	if err := read(at, &n.meta); err != nil {
		return nil, err
	}
	if s.Known != (Meta{}) && s.Known != n.meta {
		return nil, fmt.Errorf("%w: the store is of %s (incarnation %s), the engine holds %s (%s): name the engine and the prefix in which this one was made, or move the store away to get a copy", ErrStranger, s.Known.Cluster, s.Known.Incarnation, n.meta.Cluster, n.meta.Incarnation)
	}
	// Only now: another engine, or one that was recovered from another copy, has revisions of its own.
	if err := n.engine.saw(s.Seen, v.Revision); err != nil {
		return nil, err
	}
	n.metaAt = at.Revision
	if err := n.takeLevel(v.Keys[1]); err != nil {
		return nil, err
	}
	if n.incarnation, err = n.meta.incarnation(); err != nil {
		return nil, err
	}
	if err := n.forget(ctx); err != nil && !errors.Is(err, ErrInDoubt) && !errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	return n, nil
}

// Meta is the cluster that the node joined, for its disk to remember.
func (n *Node) Meta() Meta { return n.meta }

// Seen is the highest revision of the engine that was seen, for its disk to remember.
func (n *Node) Seen() Revision { return n.engine.highest() }

// same is the condition that the cluster was not recovered meanwhile.
func (n *Node) same() Condition { return Condition{metaKey, n.metaAt} }

func (n *Node) recovered() error {
	return fmt.Errorf("%w: it was recovered while this node ran: its stores must be rebuilt", ErrStranger)
}

// Run sends beats and appends until ctx ends, which is no error. It returns an error for what only a
// person can end, and then nothing is held any more.
func (n *Node) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.beats(ctx) })
	g.Go(func() error { return n.appends(ctx) })
	g.Go(func() error { return n.fullness(ctx) })
	g.Go(func() error { return n.prove(ctx) })
	if n.meta.Partitions > 1 {
		g.Go(func() error { return n.leadership(ctx) })
	}
	err := g.Wait()
	n.mu.Lock()
	held := n.holds
	n.holds = map[Partition]*hold{}
	n.mu.Unlock()
	for _, h := range held {
		h.right.lose(ErrFenced)
	}
	n.farewell(context.WithoutCancel(ctx))
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// beats sends a sign of life each Times.Beat, and soon again when one was not answered. A node that has heard
// nothing for long may be deaf: its beats arrive, so nobody else could claim, but no answer comes, so it may not act
// itself. Then it asks, which changes nothing, until something answers.
func (n *Node) beats(ctx context.Context) error {
	heard, silent := n.clock.Now(), false
	for count := uint64(1); ; count++ {
		sent := n.clock.Now()
		silent = n.tellSilence(silent)
		if sent-heard > deafAfter*n.times.Right {
			_, err := n.engine.read(ctx, metaKey)
			switch {
			case errors.Is(err, ErrSetBack):
				return err
			case err != nil:
				if err := n.clock.Sleep(ctx, 4*n.times.Retry); err != nil {
					return err
				}
				continue
			}
			sent = n.clock.Now()
		}
		err := n.beat(ctx, sent, count)
		next := n.times.Beat
		switch {
		case errors.Is(err, ErrStranger) || errors.Is(err, ErrSetBack) || errors.Is(err, ErrLevel):
			return err
		case err != nil:
			n.log.Debug("a beat was not confirmed", "error", err)
			next = 4 * n.times.Retry
		default:
			heard = n.clock.Now()
		}
		if err := n.clock.Sleep(ctx, next-(n.clock.Now()-sent)); err != nil {
			return err
		}
	}
}

// Silent is since when the engine has not answered; zero if it does. A node asks nothing of sites and indexers then.
func (n *Node) Silent() time.Time { return n.engine.silent(n.times.Right) }

// tellSilence logs that the engine does not answer, and that it does again, once each.
func (n *Node) tellSilence(told bool) bool {
	since := n.Silent()
	switch {
	case !since.IsZero() && !told:
		n.log.Error("the cluster's engine does not answer: nothing is fetched, pushed or stored until it does", "since", since)
	case since.IsZero() && told:
		n.log.Info("the cluster's engine answers again")
	}
	return !since.IsZero()
}

// sign is a sign of life of this process.
func (n *Node) sign(count uint64) beat {
	return beat{Wall: n.clock.Wall(), Count: count, Addresses: n.addresses, Refuses: n.chart.refusal(n.clock.Now()), Unfit: n.mayNotOwn() != "", Level: n.levels.Newest}
}

// A node is deaf after so many times Times.Right without an answer, and its appends are if they have none while
// its beats have.
const (
	deafAfter       = 4
	deafAppendAfter = 12
)

// beat is confirmed for every partition that the node still owns: the same step compares all
// epochs. A plain write would let an owner go on that has lost its claim without knowing.
func (n *Node) beat(ctx context.Context, sent time.Duration, count uint64) error {
	for {
		held := n.held()
		step := Step{If: []Condition{n.same(), {levelKey, n.levels.at}}, Then: []Write{Put(beatKey(n.name, n.run), n.sign(count))}}
		for _, h := range held {
			step.If = append(step.If, h.condition())
		}
		out, err := n.engine.commit(ctx, step)
		if err != nil {
			return err
		}
		if out.Taken {
			for _, h := range held {
				h.right.extend(sent + n.times.Right)
			}
			return nil
		}
		if out.Found[0].Revision != n.metaAt {
			return n.recovered()
		}
		if level := out.Found[1]; level.Revision != n.levels.at {
			if err := n.takeLevel(level); err != nil {
				return err
			}
		}
		for i, h := range held {
			if out.Found[i+2].Revision != h.epoch {
				n.drop(h, ErrFenced)
			}
		}
		sent = n.clock.Now()
	}
}

func (n *Node) held() []*hold {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]*hold, 0, len(n.holds))
	for p := range Partition(n.meta.Partitions) {
		if h := n.holds[p]; h != nil {
			all = append(all, h)
		}
	}
	return all
}

func (n *Node) take(h *hold) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.holds[h.partition] = h
}

// drop ends a hold of this process; what the engine says of it is not touched.
func (n *Node) drop(h *hold, why error) {
	n.mu.Lock()
	if n.holds[h.partition] == h {
		delete(n.holds, h.partition)
	}
	n.mu.Unlock()
	h.right.lose(why)
}

// release gives a partition up in order: whoever is in the set may claim at once. Nothing may act for it
// any more. It tries until it is decided, or ctx ends.
func (n *Node) release(ctx context.Context, h *hold, seat Seat, why string) error {
	n.drop(h, ErrFenced)
	step := Step{
		If:   []Condition{n.same(), h.condition()},
		Then: []Write{Put(ownKey(h.partition), ownership{Seat: seat, Session: n.run, Claim: h.author.Claim.String(), Released: true, Why: why, Since: n.clock.Wall()})},
	}
	for {
		out, err := n.engine.commit(ctx, step)
		if err == nil && (out.Taken || out.Found[1].Revision != h.epoch) || errors.Is(err, ErrSetBack) {
			return err
		}
		if err := n.clock.Sleep(ctx, n.times.Retry); err != nil {
			return err
		}
	}
}
