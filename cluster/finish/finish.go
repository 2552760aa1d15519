package finish

// Keys, below the engine's prefix; their values are JSON. Only ever overwritten, so that a step that arrives late finds another revision:
//
//	finish/NAME/round    the round that is under way
//	finish/NAME/at/NODE  what a node has said last

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/cluster"
)

// Part is a partition that is idle at its owner.
type Part struct {
	Partition cluster.Partition `json:"partition"`
	Epoch     int64             `json:"epoch"` // of the owner's claim
	// Seq rises with each letter that arrives, and with whatever else gives the partition work. It need not go on from where the last owner was.
	Seq uint64 `json:"seq"`
}

// Node waits for the end in one process of the cluster.
type Node struct {
	Name   string // of the node
	Of     string // what comes to an end: a run has several ends, such as that of crawling and that of pushing
	Engine cluster.Engine
	Clock  cluster.Clock
	Times  cluster.Times
	// Idle gives the partitions that this process owns, and whether nothing is left to do in them: no URL waits, none is in flight, no letter
	// is on its way from them. It reads epochs and numbers BEFORE it looks whether there is work: what arrives in between then counts.
	Idle func(ctx context.Context) (parts []Part, idle bool, err error)
}

// round is the one under way.
type round struct {
	Incarnation string `json:"incarnation"`
	Run         int64  `json:"run"` // rises with each run
	Round       int64  `json:"round"`
	First       []Part `json:"first"` // what the round before found; nil for the first one
	Ended       bool   `json:"ended,omitempty"`
}

// report is what a node says in a round.
type report struct {
	Incarnation string `json:"incarnation"`
	Run         int64  `json:"run"`
	Round       int64  `json:"round"`
	Parts       []Part `json:"parts"`
}

// state is what is decided by.
type state struct {
	cluster.Ownership
	round   round
	roundAt cluster.Revision
	reports []report
	own     cluster.Revision    // of this node's report
	said    []cluster.Condition // of all reports
}

func (n *Node) roundKey() string { return "finish/" + n.Of + "/round" }
func (n *Node) folder() string   { return "finish/" + n.Of + "/at/" }

// Await returns nil when nothing is left to do anywhere, and ctx's error if that ends before. All nodes that take part wait by the same Of.
// Whoever calls it after the end begins another run, whose end it awaits.
func (n *Node) Await(ctx context.Context) error {
	var run int64 // the one that is awaited; 0: not known yet
	incarnation := ""
	for {
		s, err := n.look(ctx)
		if err == nil && run == 0 {
			run, incarnation = s.round.Run, s.Incarnation
			if s.round.Ended || run == 0 {
				run++
			}
		}
		over := false
		switch {
		case err != nil:
		case s.Incarnation != incarnation:
			return fmt.Errorf("%w: it was recovered during a run that was to end", cluster.ErrStranger)
		case s.round.Run > run || s.round.Run == run && s.round.Ended:
			return nil
		case s.round.Run < run:
			_, err = n.commit(ctx, &s, nil, cluster.Put(n.roundKey(), round{Incarnation: incarnation, Run: run, Round: 1}))
		default:
			over, err = n.advance(ctx, &s)
		}
		if over || err != nil && !cluster.Passes(err) && !errors.Is(err, cluster.ErrRefused) {
			return err
		}
		if err := n.Clock.Sleep(ctx, n.Times.Beat); err != nil {
			return err
		}
	}
}

// look reads all that is decided by. It is not of one moment: what is decided compares it.
func (n *Node) look(ctx context.Context) (s state, err error) {
	if s.Ownership, err = cluster.Owners(ctx, n.Engine); err != nil {
		return s, err
	}
	v, err := n.Engine.Read(ctx, n.roundKey())
	if err != nil {
		return s, err
	}
	s.roundAt = v.Keys[0].Revision
	if err := v.Keys[0].Decode(&s.round); err != nil {
		return s, err
	}
	if s.round.Incarnation != s.Incarnation {
		s.round = round{Run: s.round.Run, Ended: true} // of a cluster that was recovered since
	}
	folder, to := cluster.Folder(n.folder())
	v, err = n.Engine.List(ctx, folder, to, cluster.MaxStepWrites)
	if err == nil && v.More {
		err = fmt.Errorf("%s has more than %d nodes: remove what is left of old ones", folder, cluster.MaxStepWrites)
	}
	if err != nil {
		return s, err
	}
	for _, kv := range v.Keys {
		var r report
		if err := kv.Decode(&r); err != nil {
			return s, err
		}
		if strings.TrimPrefix(kv.Key, folder) == n.Name {
			s.own = kv.Revision
		}
		if r.Incarnation == s.Incarnation && r.Run == s.round.Run && r.Round == s.round.Round {
			s.reports = append(s.reports, r)
			s.said = append(s.said, cluster.Condition{Key: kv.Key, Revision: kv.Revision})
		}
	}
	return s, nil
}

// found are the partitions as the reports of this round have them, and whether they are all there.
func (s *state) found() (all []Part, whole bool) {
	whole = true
	for i := range s.Owners {
		o := &s.Owners[i]
		p, ok := s.of(o)
		if !ok {
			whole = false
			continue
		}
		all = append(all, p)
	}
	return all, whole
}

// of is what was said of a partition by who owns it now.
func (s *state) of(o *cluster.Owner) (Part, bool) {
	for _, r := range s.reports {
		i := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Partition == o.Partition && p.Epoch == o.Epoch })
		if i >= 0 && !o.Released {
			return r.Parts[i], true
		}
	}
	return Part{}, false
}

// advance does what is to be done in a round, and reports whether it was the last.
func (n *Node) advance(ctx context.Context, s *state) (over bool, err error) {
	all, whole := s.found()
	if !whole {
		return false, n.report(ctx, s)
	}
	next := round{Incarnation: s.Incarnation, Run: s.round.Run, Round: s.round.Round + 1, First: all}
	if next.Ended = slices.Equal(all, s.round.First); next.Ended {
		next.First = nil
	}
	taken, err := n.commit(ctx, s, s.said, cluster.Put(n.roundKey(), next))
	return taken && next.Ended, err
}

// report says that this node's partitions are idle, if they are and it was not said.
func (n *Node) report(ctx context.Context, s *state) error {
	parts, idle, err := n.Idle(ctx)
	if err != nil || !idle {
		return err
	}
	unsaid := func(p Part) bool {
		i := slices.IndexFunc(s.Owners, func(o cluster.Owner) bool { return o.Partition == p.Partition && o.Epoch == p.Epoch })
		if i < 0 {
			return false // it was lost meanwhile
		}
		_, said := s.of(&s.Owners[i])
		return !said
	}
	if !slices.ContainsFunc(parts, unsaid) {
		return nil
	}
	_, err = n.commit(ctx, s, []cluster.Condition{{Key: n.folder() + n.Name, Revision: s.own}},
		cluster.Put(n.folder()+n.Name, report{s.Incarnation, s.round.Run, s.round.Round, parts}))
	return err
}

// commit takes a step of the round that is under way, while everything has the same owner.
func (n *Node) commit(ctx context.Context, s *state, more []cluster.Condition, w cluster.Write) (taken bool, err error) {
	out, err := n.Engine.Commit(ctx, cluster.Step{
		If:   slices.Concat([]cluster.Condition{{Key: n.roundKey(), Revision: s.roundAt}}, s.Same(), more),
		Then: []cluster.Write{w},
	})
	return err == nil && out.Taken, err
}
