package cluster

// lead.go: what a member does while it owns its partition. Member.lead starts a goroutine that
// watches the right to act, one for chores and one that looks whether to hand over, and waits for all.

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/cluster/entry"
)

// Lead is a claim on a partition, as its copy uses it.
type Lead struct {
	node *Node
	hold *hold
	copy Copy
}

// Epoch is the claim's number: higher than that of every claim before it.
func (l *Lead) Epoch() int64 { return int64(l.hold.epoch) }

// Append puts a step behind the end of the log and returns the position behind it. Once it has, the step stays
// in the log whatever dies. It waits while the engine does not answer or is nearly full. After an error the claim is over:
// the step may be in the log or not, and Lead must return.
func (l *Lead) Append(ctx context.Context, step []byte) (entry.Position, error) {
	return l.node.append(ctx, l.hold, step)
}

// May reports whether this node may ask anything of a site or an indexer at this moment. Who
// is about to connect asks it, even under Acting: a process that was stopped wakes up before its timers do.
func (l *Lead) May() bool { return l.hold.right.holds() }

// Acting waits until this node may act, and returns a context that ends when it no longer may: with
// the cause ErrPaused if it may again later, ErrFenced if the claim is over. Call cancel when done.
func (l *Lead) Acting(ctx context.Context) (acting context.Context, cancel context.CancelFunc, err error) {
	return l.hold.right.acting(ctx)
}

// Leaving is closed when the partition is to go to another node: whoever leads finishes what is in flight, begins nothing, and
// returns. After Times.HandOver its context ends, with the cause ErrHandOver.
func (l *Lead) Leaving() <-chan struct{} { return l.hold.leaving }

// lead lets the copy write until the claim is lost, it returns, or ctx ends.
func (m *Member) lead(ctx context.Context, h *hold) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	beside, stop := context.WithCancel(ctx)
	g, beside := errgroup.WithContext(beside)
	g.Go(func() error {
		h.right.watch(beside, func(why error) {
			m.become(Fenced, 0)
			end(why)
		})
		return nil
	})
	g.Go(func() error {
		err := m.chores(beside, h)
		if beside.Err() != nil {
			return nil
		}
		end(err)
		return err
	})
	g.Go(func() error {
		m.handOver(beside, h, end)
		return nil
	})
	m.leads(h.leave)
	err := m.copy.Lead(ctx, &Lead{m.node, h, m.copy})
	m.leads(nil)
	stop()
	if failed := g.Wait(); failed != nil && err == nil {
		err = failed
	}
	if why := h.right.over(); why != nil {
		return why
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrHandOver) {
		return nil // the process stops, or another one goes on: the partition is released
	}
	return err
}

// progress is how far a seat of the in-sync set was when it was last seen to advance.
type progress struct {
	seq   uint64
	since time.Duration
}

// owner is what the chores remember from one round to the next.
type owner struct {
	progress  map[Seat]progress
	beats     map[string]Revision // keys of beats
	compacted time.Duration
	looked    time.Duration
}

// chores are the owner's, each Times.Sync: the sync of its copy, the in-sync set, trimming. What cannot be done
// now is done in the next round; every step compares what it was decided by.
func (m *Member) chores(ctx context.Context, h *hold) error {
	n, o := m.node, owner{progress: map[Seat]progress{}, beats: map[string]Revision{}, compacted: m.node.clock.Now()}
	for {
		err := m.round(ctx, h, &o)
		switch {
		case err == nil:
		case Passes(err) || errors.Is(err, ErrRefused):
			m.log.Debug("a round of chores was not done", "error", err)
		default:
			return err
		}
		if err := n.clock.Sleep(ctx, n.times.Sync); err != nil {
			return err
		}
	}
}

func (m *Member) round(ctx context.Context, h *hold, o *owner) error {
	n := m.node
	safe, err := m.sync(ctx)
	if err != nil {
		return err
	}
	v, err := m.look(ctx)
	if err != nil {
		return err
	}
	if v.own.Revision != h.epoch {
		n.drop(h, ErrFenced)
		return nil
	}
	m.stand(func(s *Standing) { s.TakenOver, s.Why = v.owner.Since, v.owner.Why })
	all, err := m.doneOf(ctx, v.inSync)
	if err != nil {
		return err
	}
	alive, err := m.alive(ctx, o)
	if err != nil {
		return err
	}
	stay, low := m.judge(v.inSync, all, alive, safe, o)
	m.protection(stay, alive)
	if err := m.raise(ctx, h, alive); err != nil {
		return err
	}
	if len(stay) < len(v.inSync.Seats) {
		_, err := n.engine.commit(ctx, Step{
			If:   []Condition{n.same(), h.condition(), {v.set.Key, v.set.Revision}},
			Then: []Write{Put(v.set.Key, syncSet{stay})},
		})
		return err // the log is trimmed in a later round, by the set that is then stored
	}
	if n.Held() == "" {
		low = h.keeps.low(low)
	}
	if err := m.trim(ctx, h, v, low); err != nil {
		return err
	}
	if now := n.clock.Now(); now-o.compacted > n.times.Compact {
		o.compacted = now
		return n.engine.engine.Compact(ctx)
	}
	return nil
}

// doneOf reads how far the copies of a set are safe. One that has not said so with its present store is at 0.
func (m *Member) doneOf(ctx context.Context, set syncSet) (map[Seat]done, error) {
	keys := make([]string, 0, len(set.Seats))
	for _, s := range set.Seats {
		keys = append(keys, doneKey(m.partition, s.Node))
	}
	v, err := m.node.engine.read(ctx, keys...)
	if err != nil {
		return nil, err
	}
	all := map[Seat]done{}
	for i, s := range set.Seats {
		var d done
		if v.Keys[i].Revision != 0 {
			if err := read(v.Keys[i], &d); err != nil {
				return nil, err
			}
		}
		if d.Store == s.Store {
			all[s] = d
		}
	}
	return all, nil
}

// alive are the nodes that have beaten since the last round, and this one.
func (m *Member) alive(ctx context.Context, o *owner) (map[string]bool, error) {
	from, to := Folder(BeatFolder)
	v, err := m.node.engine.all(ctx, from, to)
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{m.seat.Node: true}
	now := map[string]Revision{}
	for _, kv := range v.Keys {
		now[kv.Key] = kv.Revision
		if o.looked == 0 || o.beats[kv.Key] != kv.Revision {
			alive[nodeOfBeat(kv.Key)] = true
		}
	}
	o.beats, o.looked = now, m.node.clock.Now()
	return alive, nil
}

// judge says who stays in the set, and the SEQ up to which nobody of it needs the log any more. A seat leaves
// if it makes no progress for Times.Lag, or lags too far, while the owner's own copy is
// further. The owner stays: the last member never leaves.
func (m *Member) judge(set syncSet, all map[Seat]done, alive map[string]bool, safe entry.Position, o *owner) (stay []Seat, low uint64) {
	now, low, kept := m.node.clock.Now(), safe.Seq, uint64(0)
	for _, s := range set.Seats {
		d := all[s]
		p, known := o.progress[s]
		if !known || d.Seq != p.seq || d.Seq >= safe.Seq {
			p = progress{d.Seq, now}
			o.progress[s] = p
		}
		late := now-p.since > m.node.times.Lag || safe.Size > d.Size && safe.Size-d.Size > m.maxBehind
		if s != m.seat && d.Seq < safe.Seq && late {
			m.log.Warn("a node leaves the in-sync set: it follows too slowly", "seat", s.Node, "behind", safe.Size-min(safe.Size, d.Size), "alive", alive[s.Node])
			continue
		}
		stay = append(stay, s)
		low = min(low, d.Seq)
		kept = max(kept, safe.Size-min(safe.Size, d.Size))
	}
	m.stand(func(s *Standing) { s.Kept = kept })
	return stay, low
}

// protection says whether the loss of this node would stop the crawl.
func (m *Member) protection(stay []Seat, alive map[string]bool) {
	why := "no other node is in the in-sync set: if this one is lost, the crawl stops until it is back"
	for _, s := range stay {
		switch {
		case s == m.seat:
		case alive[s.Node]:
			why = ""
		case why != "":
			why = "no other node of the in-sync set is alive: if this one is lost, the crawl stops until one of them is back"
		}
		if why == "" {
			break
		}
	}
	was := m.Standing().Unprotected
	m.stand(func(s *Standing) { s.InSync, s.Owner, s.Unprotected = slices.Clone(stay), m.seat, why })
	if why != was {
		if why == "" {
			m.log.Info("the crawl is protected again: another node can take over")
		} else {
			m.log.Warn("the crawl is unprotected", "why", why)
		}
	}
}

// trim takes from the log what all of the set have safe. The new beginning is written in the same step, and
// compared by whoever joins the set.
func (m *Member) trim(ctx context.Context, h *hold, v view, low uint64) error {
	if low < v.low.Seq {
		return nil
	}
	_, err := m.node.engine.commit(ctx, Step{
		If: []Condition{m.node.same(), h.condition(), {v.set.Key, v.set.Revision}, {v.first.Key, v.first.Revision}},
		Then: []Write{
			{Key: logKey(m.partition, v.low.Seq), To: logKey(m.partition, low+1), Remove: true},
			Put(v.first.Key, first{low + 1}),
		},
	})
	return err
}

// leave takes the member out of the set, since its copy cannot be what the set promises. The
// last member stays: a person must decide.
func (m *Member) leave(ctx context.Context) {
	v, err := m.look(ctx)
	if err != nil || !v.inSync.has(m.seat) || len(v.inSync.Seats) == 1 {
		return
	}
	stay := slices.DeleteFunc(slices.Clone(v.inSync.Seats), func(s Seat) bool { return s == m.seat })
	out, err := m.node.engine.commit(ctx, Step{
		If:   []Condition{m.node.same(), {v.set.Key, v.set.Revision}},
		Then: []Write{Put(v.set.Key, syncSet{stay})},
	})
	m.log.Warn("this node leaves the in-sync set", "done", err == nil && out.Taken)
}
