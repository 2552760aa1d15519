package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster/entry"
)

// Wall clocks of nodes that are apart: by noticedSkew it is told, by refusedSkew nobody claims, since
// what is stored as times of day would be wrong under the new owner.
const (
	noticedSkew = time.Second
	refusedSkew = time.Minute
)

// watch is what a standby has seen of the owner, and since when by its own clock.
type watch struct {
	own, beat Revision
	since     time.Duration
	looked    time.Duration
	skew      time.Duration
	told      bool
}

// view is one look at everything that a standby decides by, as of one moment.
type view struct {
	meta, head, first, own, set, beat KeyValue
	owner                             ownership
	inSync                            syncSet
	low                               first
}

func (m *Member) look(ctx context.Context) (v view, err error) {
	p := m.partition
	for {
		asked := beatKey(m.owner.Node, m.owner.Session)
		all, err := m.node.engine.read(ctx, metaKey, headKey(p), firstKey(p), ownKey(p), setKey(p), asked)
		if err != nil {
			return v, err
		}
		k := all.Keys
		v = view{meta: k[0], head: k[1], first: k[2], own: k[3], set: k[4], beat: k[5]}
		if v.meta.Revision != m.node.metaAt {
			return v, m.node.recovered()
		}
		if err := errors.Join(read(v.own, &v.owner), read(v.set, &v.inSync), read(v.first, &v.low)); err != nil {
			return v, err
		}
		if m.owner = v.owner; beatKey(v.owner.Node, v.owner.Session) == asked {
			return v, nil // the beat is that of the owner
		}
	}
}

// standBy follows until it has claimed the partition.
func (m *Member) standBy(ctx context.Context) (*hold, error) {
	caughtUp, told := false, false
	for {
		v, err := m.look(ctx)
		if err == nil && !told {
			// A disk that was set back says so before more is trimmed by what it said.
			if _, err = m.sync(ctx); err == nil {
				told = true
			}
		}
		if err == nil {
			m.observe(v)
			err = m.follow(ctx, v.meta, v.head, v.first)
		}
		if err == nil {
			if !caughtUp {
				caughtUp = true
				m.become(Standby, 0)
			}
			if err = m.keep(ctx, v); err == nil {
				if why := m.mayNotClaim(v); why != "" {
					m.stand(func(s *Standing) { s.Unprotected = why })
				} else if h, err2 := m.claim(ctx, v); h != nil || err2 != nil {
					if err = err2; err == nil {
						return h, nil
					}
				}
			}
		}
		if err != nil {
			// Whatever kept this node from looking may keep the owner from beating.
			m.watch = watch{skew: m.watch.skew, told: m.watch.told}
			if err := m.patience(ctx, err); err != nil {
				return nil, err
			}
			continue
		}
		if err := m.wait(ctx, v); err != nil {
			return nil, err
		}
	}
}

// wait returns when the log has grown, or at the latest when it is time to look at the owner again. Where the log grows all the time, that is not at
// each of its steps: what is in it is safe, and the engine would be asked several times for each.
func (m *Member) wait(ctx context.Context, v view) error {
	began, pause := m.node.clock.Now(), m.node.times.Follow
	if err := m.waitEngine(ctx, headKey(m.partition), v.head.Revision); err != nil {
		pause = m.node.times.Beat
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return m.node.clock.Sleep(ctx, began+pause-m.node.clock.Now())
}

// waitEngine ends after a beat by the node's own clock. The wait is a goroutine less if the engine's own
// end of ctx is used; the clock of a test runs at another speed, which changes nothing here.
func (m *Member) waitEngine(ctx context.Context, key string, after Revision) error {
	ctx, cancel := context.WithTimeout(ctx, m.node.times.Beat)
	defer cancel()
	err := m.node.engine.engine.Wait(ctx, key, after)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the time is over: look again
	}
	return err
}

// observe remembers since when the owner's last beat is the last.
func (m *Member) observe(v view) {
	now, w := m.node.clock.Now(), &m.watch
	var last beat
	if v.beat.Revision != 0 {
		_ = read(v.beat, &last) // what it says of addresses is for people
	}
	m.stand(func(s *Standing) {
		s.InSync, s.Owner, s.OwnerAddresses = v.inSync.Seats, v.owner.Seat, last.Addresses
		s.TakenOver, s.Why = v.owner.Since, v.owner.Why
	})
	gaveUp := v.owner.Released || v.owner.Session == m.node.run // its beats say nothing: it lives, and does not own it
	if v.own.Revision == w.own && (v.beat.Revision == w.beat || v.beat.Revision == 0 || gaveUp) {
		// A beat that was taken away is no sign of life: its process took leave, or a node that had waited a silence claimed another partition of it.
		w.beat, w.looked = v.beat.Revision, now
		return
	}
	var b beat
	if w.own == v.own.Revision && now-w.looked <= 2*m.node.times.Beat && read(v.beat, &b) == nil {
		w.skew = m.node.clock.Wall().Sub(b.Wall)
		if late := noticedSkew + now - w.looked; !w.told && (w.skew > late || w.skew < -noticedSkew) {
			w.told = true
			m.log.Warn("the clocks of two nodes are apart: set both by NTP", "owner", v.owner.Node, "apart", w.skew)
		}
	}
	w.own, w.beat, w.since, w.looked = v.own.Revision, v.beat.Revision, now, now
}

// keep syncs the copy when it is time, says how far it is safe, and joins the in-sync set if it is not in it.
func (m *Member) keep(ctx context.Context, v view) error {
	now := m.node.clock.Now()
	if m.synced != 0 && now-m.synced < m.node.times.Sync {
		return nil
	}
	at, err := m.sync(ctx)
	if err != nil {
		return err
	}
	m.synced = now
	if named, known := m.node.chart.names(m.partition, m.seat.Node); known && !named {
		return m.step(ctx, v)
	}
	if v.inSync.has(m.seat) || at.Seq+1 < v.low.Seq {
		return nil
	}
	// A store that took another's place under the same node's name takes its seat.
	seats := slices.DeleteFunc(slices.Clone(v.inSync.Seats), func(s Seat) bool { return s.Node == m.seat.Node })
	out, err := m.node.engine.commit(ctx, Step{
		If:   []Condition{m.node.same(), {v.set.Key, v.set.Revision}, {v.first.Key, v.first.Revision}},
		Then: []Write{Put(v.set.Key, syncSet{append(seats, m.seat)})},
	})
	if err == nil && out.Taken {
		m.log.Info("this node is in the in-sync set now", "seq", at.Seq)
	}
	return err
}

// sync makes the copy safe and tells the others how far.
func (m *Member) sync(ctx context.Context) (entry.Position, error) {
	at, err := m.copy.Sync(ctx)
	if err != nil {
		return at, err
	}
	_, err = m.node.engine.commit(ctx, Step{
		If:   []Condition{m.node.same()},
		Then: []Write{Put(doneKey(m.partition, m.seat.Node), done{m.seat.Store, placeOf(at), m.node.addresses.Peer})},
	})
	return at, err
}

// mayNotClaim says why the member may not claim now, "" if it may.
func (m *Member) mayNotClaim(v view) string {
	now, unfit := m.node.clock.Now(), m.node.mayNotOwn()
	// Who comes before this node is given time to claim, so that the map holds for take-overs, too.
	turn := time.Duration(m.node.chart.ahead(m.partition, m.seat.Node, v)) * 2 * m.node.times.Beat
	switch {
	case unfit != "":
		return unfit
	case !v.inSync.has(m.seat):
		return "this node's store is not in the in-sync set: it would lack part of the log"
	case m.watch.skew.Abs() > refusedSkew:
		return fmt.Sprintf("this node's clock and the owner's were %v apart: set both by NTP", m.watch.skew.Round(time.Second))
	case now < m.rest:
		return "this node has just given the partition up"
	case v.owner.Released || v.owner.Session == m.node.run:
		if now-m.watch.since < turn {
			return "another node takes over first"
		}
		return "" // nobody acts for it: a claim of this process that was lost or in doubt acts for nobody
	case now-m.watch.since < m.node.times.Silence+turn:
		return "the owner beats"
	}
	return ""
}

// claim takes the partition if nothing has changed since v. It returns nil if it did not
// get it, or does not know: then the next look tells.
func (m *Member) claim(ctx context.Context, v view) (*hold, error) {
	n, id := m.node, NewID()
	sent := n.clock.Now()
	step := Step{
		If: []Condition{n.same(), {v.own.Key, v.own.Revision}, {v.set.Key, v.set.Revision}},
		Then: []Write{
			Put(v.own.Key, ownership{Seat: m.seat, Session: n.run, Claim: id.String(), Since: n.clock.Wall(), Why: v.owner.gone()}),
			Put(beatKey(n.name, n.run), n.sign(0)),
		},
	}
	if !v.owner.Released && v.owner.Session != n.run {
		step.If = append(step.If, Condition{v.beat.Key, v.beat.Revision})
		step.Then = append(step.Then, Write{Key: v.beat.Key, Remove: true})
	}
	out, err := n.engine.commit(ctx, step)
	if err != nil || !out.Taken {
		return nil, err
	}
	h := &hold{
		partition: m.partition, epoch: out.Revision, right: newRight(n.clock, sent+n.times.Right),
		author:  entry.Author{Incarnation: n.incarnation, Epoch: uint64(out.Revision), Claim: id},
		leaving: make(chan struct{}),
	}
	h.leave = sync.OnceFunc(func() { close(h.leaving) })
	n.take(h)
	m.log.Warn("this node takes over", "from", v.owner.Node, "released", v.owner.Released, "why", v.owner.gone())
	return h, nil
}
