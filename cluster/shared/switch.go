package shared

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
)

// answerFor is how long a proposal waits for a node that lives and does not say whether it is ready.
const answerFor = 60 * time.Second

// decider sees who lives, by its own clock, and takes the step that ends a proposal.
type decider struct {
	engine cluster.Engine
	clock  cluster.Clock
	times  cluster.Times

	signs cluster.Signs
	since time.Duration // that the proposal is known
	of    string        // the ID of it
}

// living are the nodes that may live: their beat has changed within Times.Silence, or is not known for longer.
func (d *decider) living(ctx context.Context) ([]string, error) {
	now := d.clock.Now()
	from, to := cluster.Folder(cluster.BeatFolder)
	v, err := cluster.ListAll(ctx, d.engine, from, to)
	if err != nil {
		return nil, err
	}
	d.signs.Take(v.Keys, now)
	return d.signs.Living(now, d.times.Silence), nil
}

// decide ends the proposal if it can be ended: all that live are ready, or one is not and will not be. living
// is called in each round, since it takes time to see who lives no more.
func (d *decider) decide(ctx context.Context, s *state) error {
	nodes, err := d.living(ctx)
	if err != nil || !s.pending() {
		return err
	}
	if d.of != s.proposed.ID {
		d.of, d.since = s.proposed.ID, d.clock.Now()
	}
	if len(nodes) > cluster.MaxStepWrites-len(s.conditions()) {
		return fmt.Errorf("%d nodes: at most %d can share a configuration", len(nodes), cluster.MaxStepWrites-len(s.conditions()))
	}
	step := cluster.Step{If: s.conditions()}
	waits := ""
	for _, node := range nodes {
		said, at, err := d.said(ctx, node)
		switch {
		case err != nil:
			return err
		case said.ID != s.proposed.ID:
			waits = node
			continue
		case said.Refused != "":
			return d.refuse(ctx, s, fmt.Sprintf("node %s: %s", node, said.Refused))
		}
		step.If = append(step.If, cluster.Condition{Key: readyKey(node), Revision: at})
	}
	switch {
	case waits == "" && s.proposed.Trial:
		return d.refuse(ctx, s, trialPassed)
	case waits == "":
		step.Then = append([]cluster.Write{cluster.Put(activeKey, s.proposed)}, sweep(s.active.ID, s.proposed.ID)...)
		_, err = d.engine.Commit(ctx, step)
		return err // if it was not taken the next round sees why
	case d.clock.Now()-d.since > answerFor:
		return d.refuse(ctx, s, fmt.Sprintf("node %s did not say within %v whether it can use it", waits, answerFor))
	}
	return nil
}

func (d *decider) said(ctx context.Context, node string) (a answer, at cluster.Revision, err error) {
	v, err := d.engine.Read(ctx, readyKey(node))
	if err != nil {
		return a, 0, err
	}
	return a, v.Keys[0].Revision, v.Keys[0].Decode(&a)
}

func (d *decider) refuse(ctx context.Context, s *state, why string) error {
	refused := s.proposed
	refused.Refused = why
	_, err := d.engine.Commit(ctx, cluster.Step{If: s.conditions(), Then: append([]cluster.Write{cluster.Put(proposedKey, refused)}, sweep(s.active.ID, "")...)})
	return err
}

// Proposal is what Apply puts in force.
type Proposal struct {
	Base    int64 // the number of the configuration that it was made from; 0: there was none
	Content []byte
	By      string // who wants it, for people
	Word    bool   // of the operator, for what changed rules delete
	Trial   bool   // it is not to come into force: Apply returns nil if all nodes can use it
	// Seal, if not nil, makes the version's seal out of Version.Sealed, for nodes that ask for one in Prepare: who can write to the engine has
	// not for that reason a say in what they run.
	Seal func(of string) string
}

// Apply proposes a configuration and waits until it is in force, which is nil, or until it is not and will not be:
// ErrRefused with the words of the node that cannot use it, ErrChanged if there is another one by now, or is about to be. After
// any other error it may come into force yet: Active tells.
func Apply(ctx context.Context, e cluster.Engine, c cluster.Clock, t cluster.Times, p Proposal) error {
	id, err := propose(ctx, e, c, p)
	if err != nil {
		return err
	}
	d := &decider{engine: e, clock: c, times: t}
	for {
		s, err := look(ctx, e)
		switch {
		case err != nil && !cluster.Passes(err):
			return err
		case err != nil:
		case s.active.ID == id || slices.Contains(s.active.Former, id):
			return nil
		case s.active.Number > p.Base:
			return changed(&s.active)
		case s.proposed.ID != id:
			return changed(&s.proposed)
		case s.proposed.Refused == trialPassed && p.Trial:
			return nil
		case s.proposed.Refused != "":
			return fmt.Errorf("%w: %s", ErrRefused, s.proposed.Refused)
		default:
			if err := d.decide(ctx, &s); err != nil && !cluster.Passes(err) {
				return err
			}
		}
		if err := c.Sleep(ctx, t.Beat/4); err != nil {
			return err
		}
	}
}

func changed(v *Version) error {
	return fmt.Errorf("configuration %d by %s: %w: look at it, and apply yours again", v.Number, v.By, ErrChanged)
}

// lastNumber is more versions than anybody makes.
const lastNumber = 1 << 40

// ErrForged says that a configuration's number is none that Apply gave.
var ErrForged = errors.New("no version has such a number: somebody wrote it who should not write to the engine; close it to all but the nodes. The node that crawls puts back the version that it went by: start one if none runs, and apply yours again. If that does not help stop all nodes, and sextant cluster recover")

// propose writes a proposal. A step whose answer is lost is not sent again: whoever waits for the ID sees whether it was taken.
func propose(ctx context.Context, e cluster.Engine, c cluster.Clock, p Proposal) (id string, err error) {
	s, err := look(ctx, e)
	switch {
	case err != nil:
		return "", err
	case s.active.Number >= lastNumber || s.active.Number < 0:
		return "", fmt.Errorf("configuration %d: %w", s.active.Number, ErrForged)
	case s.active.Number != p.Base:
		return "", changed(&s.active)
	case s.pending():
		return "", changed(&s.proposed)
	}
	id = cluster.NewID().String()
	parts, err := upload(ctx, e, id, p.Content)
	if err != nil {
		return "", err
	}
	former := append([]string{s.active.ID}, s.active.Former...)
	former = former[:min(len(former), formerMost)]
	v := p.version(id, len(parts), c)
	v.Former = former
	out, err := e.Commit(ctx, cluster.Step{If: append(s.conditions(), parts...), Then: []cluster.Write{cluster.Put(proposedKey, v)}})
	switch {
	case err == nil && !out.Taken:
		return "", fmt.Errorf("a proposal at the same time: %w: apply yours again", ErrChanged)
	case err != nil && !errors.Is(err, cluster.ErrInDoubt):
		return "", err
	case err != nil:
		return id, settle(ctx, e, c, id)
	}
	return id, nil
}

func (p *Proposal) version(id string, parts int, c cluster.Clock) Version {
	v := Version{Number: p.Base + 1, ID: id, Parts: parts, Sum: sumOf(p.Content), By: p.By, At: c.Wall().UTC(), Word: p.Word, Trial: p.Trial}
	if p.Seal != nil {
		v.Seal = p.Seal(v.Sealed())
	}
	return v
}

// Begin puts a configuration in force in the place of over, the zero Version for none, without asking any node: a new cluster's first
// one, and after a recovery the one that the node had which the cluster goes on from. A node that cannot use it must own nothing.
// Its number is the one after the proposal's base. ErrChanged if there is another one than over.
func Begin(ctx context.Context, e cluster.Engine, c cluster.Clock, over Version, p Proposal) error {
	s, err := look(ctx, e)
	if err == nil && s.active.ID != over.ID {
		err = changed(&s.active)
	}
	if err != nil {
		return err
	}
	id := cluster.NewID().String()
	parts, err := upload(ctx, e, id, p.Content)
	if err != nil {
		return err
	}
	v := p.version(id, len(parts), c)
	none := Version{Number: v.Number, ID: id, Refused: "another one came into force"} // ends whatever is proposed
	step := cluster.Step{If: append(s.conditions(), parts...), Then: append([]cluster.Write{cluster.Put(activeKey, v), cluster.Put(proposedKey, none)}, sweep(id, "")...)}
	out, err := e.Commit(ctx, step)
	switch {
	case err == nil && !out.Taken:
		return fmt.Errorf("another one at the same time: %w", ErrChanged)
	case errors.Is(err, cluster.ErrInDoubt):
		return settle(ctx, e, c, id)
	}
	return err
}

// settle returns nil once a proposal that was in doubt is seen; one that is not seen for a while may still
// arrive, and is told as in doubt.
func settle(ctx context.Context, e cluster.Engine, c cluster.Clock, id string) error {
	for range 20 {
		s, err := look(ctx, e)
		if err == nil && (s.proposed.ID == id || s.active.ID == id) {
			return nil
		}
		if err := c.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the proposal: %w", cluster.ErrInDoubt)
}
