package shared

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
)

// Node takes part in changes of the configuration for a node of the cluster.
type Node struct {
	Name   string // that it beats under
	Engine cluster.Engine
	Clock  cluster.Clock // cluster.SystemClock, except in tests
	Times  cluster.Times // cluster.DefaultTimes, except in tests
	// Prepare compiles a configuration and returns what puts it in force. Its error says why this
	// node cannot use it, for whoever wrote it; swap fails only for what could not be seen before. It is called again for
	// the same one after other errors.
	Prepare func(ctx context.Context, v Version, content []byte) (swap func() error, err error)
	// Forged, if not nil, reports whether what stands as in force was written by somebody who may not: it is passed over, and nodes go on as they were. It may
	// put another one in its place.
	Forged func(ctx context.Context, v Version) (bool, error)
	// Unfit, if not nil, is called with why this node cannot use the configuration that is in force, and with nil
	// when it can: meanwhile it must own nothing.
	Unfit func(Version, error)

	running  Version
	unfit    string        // the ID of the configuration in force, if this node cannot use it
	again    time.Duration // when to try that again: what is missing on the machine may be there then
	prepared prepared
	decider  decider
}

// unfitPause is how many beats a node waits before it tries again to use the configuration in force.
const unfitPause = 10

// prepared is what Prepare said of one configuration.
type prepared struct {
	of   string // its ID
	swap func() error
	err  error
}

// Run looks each Times.Beat at what is proposed and what is in force, until ctx ends, which is no error. It returns
// an error for what only a person can end.
func (n *Node) Run(ctx context.Context) error {
	n.decider = decider{engine: n.Engine, clock: n.Clock, times: n.Times}
	for {
		err := n.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !cluster.Passes(err) && !errors.Is(err, cluster.ErrRefused):
			return err
		}
		if err := n.Clock.Sleep(ctx, n.Times.Beat); err != nil {
			return nil //nolint:nilerr // the end of ctx
		}
	}
}

func (n *Node) round(ctx context.Context) error {
	s, err := look(ctx, n.Engine)
	if err != nil {
		return err
	}
	if n.Forged != nil && s.active.Number != 0 {
		if forged, err := n.Forged(ctx, s.active); forged || err != nil {
			return err
		}
	}
	if s.active.ID != n.running.ID {
		if err := n.adopt(ctx, &s.active); err != nil {
			return err
		}
	}
	if s.pending() {
		if err := n.answer(ctx, &s); err != nil {
			return err
		}
	}
	return n.decider.decide(ctx, &s)
}

// adopt puts the configuration in force here that is in force in the cluster.
func (n *Node) adopt(ctx context.Context, v *Version) error {
	if v.Number < n.running.Number {
		return fmt.Errorf("%w: configuration %d is in force, and %d was", cluster.ErrSetBack, v.Number, n.running.Number)
	}
	if n.unfit == v.ID && n.Clock.Now() < n.again {
		return nil
	}
	if err := n.prepare(ctx, v); err != nil {
		return err
	}
	p := n.prepared
	n.prepared = prepared{}
	why := p.err
	if why == nil {
		why = p.swap()
	}
	if n.Unfit != nil {
		n.Unfit(*v, why)
	}
	if why != nil {
		n.unfit, n.again = v.ID, n.Clock.Now()+unfitPause*n.Times.Beat
		return nil
	}
	n.running, n.unfit = *v, ""
	return nil
}

// prepare compiles a configuration, once.
func (n *Node) prepare(ctx context.Context, v *Version) error {
	if n.prepared.of == v.ID {
		return nil
	}
	content, err := download(ctx, n.Engine, v)
	switch {
	case errors.Is(err, errParts):
		n.prepared = prepared{v.ID, nil, err}
		return nil
	case err != nil:
		return err
	}
	swap, err := n.Prepare(ctx, *v, content)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n.prepared = prepared{v.ID, swap, err}
	return nil
}

// refusedMost bounds the words of a refusal: they are stored in the engine, and a text may have any number of errors.
const refusedMost = 4096

// clip cuts a text to that, between characters.
func clip(words string) string {
	if len(words) <= refusedMost {
		return words
	}
	return strings.ToValidUTF8(words[:refusedMost], "") + " …"
}

// answer says whether this node can use what is proposed. While it cannot use what is in force it says so of
// what is proposed all the same: that may be the remedy.
func (n *Node) answer(ctx context.Context, s *state) error {
	said, at, err := n.decider.said(ctx, n.Name)
	if err != nil || said.ID == s.proposed.ID {
		return err
	}
	if err := n.prepare(ctx, &s.proposed); err != nil {
		return err
	}
	a := answer{ID: s.proposed.ID}
	if n.prepared.err != nil {
		a.Refused = clip(n.prepared.err.Error())
	}
	_, err = n.Engine.Commit(ctx, cluster.Step{
		If:   append(s.conditions(), cluster.Condition{Key: readyKey(n.Name), Revision: at}),
		Then: []cluster.Write{cluster.Put(readyKey(n.Name), a)},
	})
	return err
}
