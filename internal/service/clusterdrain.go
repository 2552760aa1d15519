package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/placement"
)

// Draining is what a node of a cluster of several partitions is to do.
type Draining struct {
	Node string
	// Leave has its copies made elsewhere, too, as far as there are nodes; Back takes back what was said before.
	Leave, Back bool
}

// Drained is how far that is.
type Drained struct {
	Node   string        `json:"node"`
	Owns   int           `json:"owns"`   // partitions
	Copies int           `json:"copies"` // that may take over or are owned
	Aim    placement.Aim `json:"aim"`
}

// errKeeps says that a node still has what it is to give away.
var errKeeps = errors.New("it goes on: sextant cluster status")

// DrainCluster says that a node is to own nothing any more, for an upgrade or for good, and waits until that is so, unless it is taken back.
func DrainCluster(ctx context.Context, e cluster.Engine, d Draining) (out Drained, err error) {
	if err := e.Check(ctx); err != nil {
		return out, err
	}
	if out, err = drained(ctx, e, d.Node); err != nil {
		return out, err
	}
	out.Aim, err = cluster.ChangeAim(ctx, e, d.change)
	if err != nil || d.Back {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, handOverFor)
	defer cancel()
	for aim := out.Aim; ; {
		now, err := drained(ctx, e, d.Node)
		if err == nil {
			out, out.Aim = now, aim
		}
		if out.Owns == 0 && (out.Copies == 0 || !d.Leave) {
			return out, nil
		}
		if (cluster.SystemClock{}).Sleep(ctx, nodeRetry) != nil {
			return out, fmt.Errorf("%s owns %d partitions and has %d copies that count: %w", d.Node, out.Owns, out.Copies, errKeeps)
		}
	}
}

// change puts the node into the list that it belongs to.
func (d *Draining) change(a *placement.Aim) {
	is := func(name string) bool { return name == d.Node }
	a.Drained, a.Leaving = slices.DeleteFunc(a.Drained, is), slices.DeleteFunc(a.Leaving, is)
	switch {
	case d.Leave:
		a.Leaving = append(a.Leaving, d.Node)
	case !d.Back:
		a.Drained = append(a.Drained, d.Node)
	}
}

// drained is what a node has. One that nobody has seen is an error.
func drained(ctx context.Context, e cluster.Engine, name string) (d Drained, err error) {
	s, err := cluster.Glance(ctx, e, nil)
	if err != nil {
		return d, err
	}
	d.Node = name
	known := slices.ContainsFunc(s.Nodes, func(n cluster.NodeState) bool { return n.Node == name })
	for i := range s.States {
		p := &s.States[i]
		if p.Owner.Node == name && !p.Released {
			d.Owns++
		}
		if slices.ContainsFunc(p.InSync, func(seat cluster.Seat) bool { return seat.Node == name }) {
			d.Copies++
		}
		known = known || slices.Contains(p.Members, name)
	}
	if !known && d.Owns+d.Copies == 0 {
		return d, fmt.Errorf("no node %q is in the cluster: sextant cluster status names them", name)
	}
	return d, nil
}
