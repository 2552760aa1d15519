package finish

// Keys, below the engine's prefix; their values are JSON. Only ever overwritten, so that a step that arrives late finds another revision:
//
//	finish/NAME/round      the round that is under way, and how the last run ended
//	finish/NAME/at/NODE    what a node has said last
//	finish/NAME/with/NODE  the run whose end a node awaits, or awaited last

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	Of     string // what comes to an end
	Engine cluster.Engine
	Clock  cluster.Clock
	Times  cluster.Times
	// Stages are how many a run has, the same at all nodes; 0: one. Each begins when nothing was left to do in the one before, anywhere: what is to be done
	// only then, such as a last judgement, belongs to a stage of its own. The run ends with the last one.
	Stages int
	// Idle gives the partitions that this process owns, and whether nothing is left to do in them at a stage, which are counted from 0: no URL waits, none is
	// in flight, no letter is on its way from them. It reads epochs and numbers BEFORE it looks whether there is work: what arrives in between then counts.
	Idle func(ctx context.Context, stage int) (parts []Part, idle bool, err error)
	// Say, if not nil, gives what this node has to tell all others when the run ends. It is asked when the node's partitions are idle.
	Say func(ctx context.Context) (json.RawMessage, error)
	// Late is how long after the end of a run a node that was not there at its end comes too late for it, instead of beginning another one.
	Late time.Duration
}

// End is how a run ended.
type End struct {
	Run  int64     `json:"run"`
	At   time.Time `json:"at"` // by the clock of the node that found it
	Said []Said    `json:"said,omitempty"`
	// Late says that it had ended before this node awaited it.
	Late bool `json:"-"`
}

// Said is what a node had to tell.
type Said struct {
	Node  string          `json:"node"`
	Words json.RawMessage `json:"words"`
}

// round is the one under way.
type round struct {
	Incarnation string `json:"incarnation"`
	Run         int64  `json:"run"` // rises with each run
	Stage       int    `json:"stage,omitempty"`
	Round       int64  `json:"round"` // of the run
	First       []Part `json:"first"` // what the round before found; nil for the first one of a stage
	Ended       bool   `json:"ended,omitempty"`
	Last        *End   `json:"last,omitempty"` // of the last run that has ended
}

// report is what a node says in a round.
type report struct {
	Incarnation string          `json:"incarnation"`
	Run         int64           `json:"run"`
	Round       int64           `json:"round"`
	Parts       []Part          `json:"parts"`
	Words       json.RawMessage `json:"words,omitempty"`
}

// presence is which run a node awaits.
type presence struct {
	Incarnation string `json:"incarnation"`
	Run         int64  `json:"run"`
	Left        bool   `json:"left,omitempty"` // it was there at the end
}

// state is what is decided by.
type state struct {
	cluster.Ownership
	round   round
	roundAt cluster.Revision
	reports []report
	words   []Said              // of the reports
	own     cluster.Revision    // of this node's report
	said    []cluster.Condition // of all reports
}

func (n *Node) roundKey() string { return "finish/" + n.Of + "/round" }
func (n *Node) folder() string   { return "finish/" + n.Of + "/at/" }
func (n *Node) withKey() string  { return "finish/" + n.Of + "/with/" + n.Name }

// Await returns when nothing is left to do anywhere, and ctx's error if that ends before. All nodes that take part wait by the same Of.
// Whoever calls it after the end begins another run, whose end it awaits, unless it is late for the last one.
func (n *Node) Await(ctx context.Context) (End, error) {
	var run int64 // the one that is awaited; 0: not known yet
	incarnation := ""
	for {
		s, err := n.look(ctx)
		if err == nil && run == 0 {
			incarnation = s.Incarnation
			var late bool
			if run, late, err = n.join(ctx, &s); late && err == nil {
				end := *s.round.Last
				end.Late = true
				return end, nil
			}
		}
		switch {
		case err != nil || run == 0:
		case s.Incarnation != incarnation:
			return End{}, fmt.Errorf("%w: it was recovered during a run that was to end", cluster.ErrStranger)
		case s.round.Last != nil && s.round.Last.Run >= run:
			_, _ = n.present(ctx, presence{incarnation, run, true}) // else it comes late for this run, if it is started again soon
			return *s.round.Last, nil
		case s.round.Run < run:
			_, err = n.commit(ctx, &s, nil, cluster.Put(n.roundKey(), round{Incarnation: incarnation, Run: run, Round: 1, Last: s.round.Last}))
		default:
			err = n.advance(ctx, &s)
		}
		if err != nil && !passes(err) {
			return End{}, err
		}
		if err := n.Clock.Sleep(ctx, n.Times.Beat); err != nil {
			return End{}, err
		}
	}
}

func passes(err error) bool { return cluster.Passes(err) || errors.Is(err, cluster.ErrRefused) }

// assistBeats is after how many beats a node that awaits nothing looks whether others do.
const assistBeats = 5

// Assist lets others come to the end for which they wait: it says when this node's partitions are idle, begins nothing, and goes on until ctx ends. It
// returns the error of what does not pass by itself.
func (n *Node) Assist(ctx context.Context) error {
	for {
		pause := assistBeats * n.Times.Beat
		var now round
		v, err := n.Engine.Read(ctx, n.roundKey())
		if err == nil {
			err = v.Keys[0].Decode(&now)
		}
		if err == nil && now.Run > 0 && !now.Ended {
			pause = n.Times.Beat
			var s state
			if s, err = n.look(ctx); err == nil && !s.round.Ended {
				err = n.advance(ctx, &s)
			}
		}
		if err != nil && !passes(err) {
			return err
		}
		if err := n.Clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// join says which run this node awaits, and notes it; 0 if that is not known yet. late says that the last one ended a short while ago without it.
func (n *Node) join(ctx context.Context, s *state) (run int64, late bool, err error) {
	if run = s.round.Run; s.round.Ended || run == 0 {
		var before presence
		v, err := n.Engine.Read(ctx, n.withKey())
		if err == nil {
			err = v.Keys[0].Decode(&before)
		}
		if err != nil {
			return 0, false, err
		}
		there := before == presence{s.Incarnation, run, true}
		if last := s.round.Last; last != nil && !there && n.Clock.Wall().Sub(last.At) < n.Late {
			late = true
		} else {
			run++
		}
	}
	taken, err := n.present(ctx, presence{s.Incarnation, run, late})
	if err != nil || !taken {
		run = 0
	}
	return run, late, err
}

// present notes which run this node awaits.
func (n *Node) present(ctx context.Context, p presence) (taken bool, err error) {
	v, err := n.Engine.Read(ctx, n.withKey())
	if err != nil {
		return false, err
	}
	out, err := n.Engine.Commit(ctx, cluster.Step{
		If: []cluster.Condition{{Key: n.withKey(), Revision: v.Keys[0].Revision}}, Then: []cluster.Write{cluster.Put(n.withKey(), p)},
	})
	return err == nil && out.Taken, err
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
	v, err = cluster.ListAll(ctx, n.Engine, folder, to)
	if err == nil && len(v.Keys) > cluster.MaxStepWrites {
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
		name := strings.TrimPrefix(kv.Key, folder)
		if name == n.Name {
			s.own = kv.Revision
		}
		if r.Incarnation == s.Incarnation && r.Run == s.round.Run && r.Round == s.round.Round {
			s.reports = append(s.reports, r)
			s.said = append(s.said, cluster.Condition{Key: kv.Key, Revision: kv.Revision})
			if len(r.Words) > 0 {
				s.words = append(s.words, Said{name, r.Words})
			}
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

// advance does what is to be done in a round.
func (n *Node) advance(ctx context.Context, s *state) error {
	all, whole := s.found()
	if !whole {
		return n.report(ctx, s)
	}
	next := s.round
	next.Round++
	next.First = all
	if slices.Equal(all, s.round.First) {
		next.First = nil
		if next.Stage++; next.Stage >= n.Stages {
			next.Ended, next.Last = true, &End{Run: next.Run, At: n.Clock.Wall().UTC(), Said: s.words}
		}
	}
	_, err := n.commit(ctx, s, s.said, cluster.Put(n.roundKey(), next))
	return err
}

// report says that this node's partitions are idle, if they are and it was not said.
func (n *Node) report(ctx context.Context, s *state) error {
	parts, idle, err := n.Idle(ctx, s.round.Stage)
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
	var words json.RawMessage
	if n.Say != nil {
		if words, err = n.Say(ctx); err != nil {
			return err
		}
	}
	_, err = n.commit(ctx, s, []cluster.Condition{{Key: n.folder() + n.Name, Revision: s.own}},
		cluster.Put(n.folder()+n.Name, report{s.Incarnation, s.round.Run, s.round.Round, parts, words}))
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
