package cluster

import (
	"fmt"
	"slices"
)

// Part is all that is known of one node's part in a partition.
type Part struct {
	NodeState
	Crawls, InSync bool
	Copied         *CopyState // nil: no copy of it is known
	// Unfit says why the node must not take over, for a reason that is not the log's; "" if there is none. Who asks for Parts fills it.
	Unfit string
}

// Parts are those of the nodes that live, or have a copy that counts.
func (s *State) Parts(p *PartitionState) (all []Part) {
	known := map[string]int{}
	of := func(name string) *Part {
		i, ok := known[name]
		if !ok {
			i = len(all)
			known[name], all = i, append(all, Part{NodeState: NodeState{Node: name}})
		}
		return &all[i]
	}
	for _, n := range s.Nodes {
		of(n.Node).NodeState = n
	}
	for _, seat := range p.InSync {
		of(seat.Node).InSync = true
	}
	for _, one := range p.Copies {
		of(one.Node).Copied = &one
	}
	of(p.Owner.Node).Crawls = !p.Released && s.Alive(p.Owner.Node)
	return all
}

// AllParts are the nodes' parts in the whole crawl: a node crawls, or could take over, if it does in some partition, and what it lags behind is added.
func (s *State) AllParts() (all []Part) {
	for i := range s.States {
		for _, one := range s.Parts(&s.States[i]) {
			at := slices.IndexFunc(all, func(p Part) bool { return p.Node == one.Node })
			if at < 0 {
				all = append(all, one)
				continue
			}
			p := &all[at]
			p.Crawls, p.InSync = p.Crawls || one.Crawls, p.InSync || one.InSync
			switch {
			case p.Copied == nil:
				p.Copied = one.Copied
			case one.Copied != nil:
				sum := *p.Copied
				sum.Behind += one.Copied.Behind
				p.Copied = &sum
			}
		}
	}
	return all
}

// Does says for people what the node is doing.
func (p *Part) Does() string {
	switch {
	case p.Crawls:
		return "crawls"
	case p.Alive && p.Unfit != "":
		return "follows, takes nothing over"
	case p.Alive && p.InSync:
		return "follows, could take over"
	case p.Alive:
		return "catches up, could not take over"
	case !p.Wall.IsZero():
		return "gives no sign of life"
	}
	return "does not run"
}

// Does says for people what a node is doing, over all partitions.
func (s *State) Does(n *Part) string {
	if s.Partitions < 2 {
		return n.Does()
	}
	owns, follows := 0, 0
	for i := range s.States {
		p := &s.States[i]
		for _, seat := range p.InSync {
			switch {
			case seat.Node != n.Node:
			case seat.Node == p.Owner.Node && !p.Released:
				owns++
			default:
				follows++
			}
		}
	}
	does := fmt.Sprintf("crawls %d partitions, could take over %d more", owns, follows)
	switch {
	case n.Alive && n.Unfit != "":
		does = "takes nothing over"
	case !n.Alive && n.Wall.IsZero():
		does = "does not run"
	case !n.Alive:
		does = fmt.Sprintf("gives no sign of life; had %d partitions", owns)
	}
	if s.Aim != nil && slices.Contains(s.Aim.Leaving, n.Node) {
		does += ", is to leave"
	} else if s.Aim != nil && slices.Contains(s.Aim.Drained, n.Node) {
		does += ", is drained"
	}
	return does
}
