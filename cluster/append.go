package cluster

// append.go: the log's only writer. Node.appends runs on a goroutine of Node.Run; Node.mu
// guards the queue that it takes from.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/cluster/entry"
)

// ErrDiverged says that a log and what a node knows of it are not the same log.
var ErrDiverged = errors.New("the log is another one than this node's store was made from")

// ErrDeaf says that appends get no answer while beats do: something on the way lets only small steps
// through. Another node may have a better way.
var ErrDeaf = errors.New("appends to the log get no answer, though signs of life do")

// entryLimit is how large one entry may be: a step has a little more than entries.
const entryLimit = MaxStepBytes - 16<<10

// pending is one step that waits to be appended.
type pending struct {
	hold   *hold
	step   []byte
	behind entry.Position
	err    error
	done   chan struct{} // closed when behind and err are set
}

// piece is one entry of a pending step.
type piece struct {
	of     *pending
	key    string
	bytes  []byte
	behind entry.Position
	last   bool // of its step
}

// append puts a step behind the log's end and returns the position behind it. An error ends the claim: whether the
// step is in the log is not known then, and it is learnt by reading the log.
func (n *Node) append(ctx context.Context, h *hold, step []byte) (entry.Position, error) {
	if err := h.right.over(); err != nil {
		return entry.Position{}, err
	}
	if len(step) > entry.MaxStep {
		return entry.Position{}, fmt.Errorf("a step of %d bytes: at most %d can be replicated", len(step), entry.MaxStep)
	}
	p := &pending{hold: h, step: step, done: make(chan struct{})}
	n.mu.Lock()
	n.queue = append(n.queue, p)
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
	select {
	case <-p.done:
		return p.behind, p.err
	case <-ctx.Done():
		// It may be on its way. Nothing newer may follow it under this claim unseen.
		n.drop(h, ErrFenced)
		return entry.Position{}, fmt.Errorf("%w: %w", ErrInDoubt, context.Cause(ctx))
	}
}

// appends takes all that waits, of all partitions, and appends it in as few steps of the engine as it fits.
func (n *Node) appends(ctx context.Context) (err error) {
	var pieces []piece
	var last time.Duration // when the last step began
	defer func() {
		n.mu.Lock()
		left := n.queue
		n.queue = nil
		n.mu.Unlock()
		for _, p := range pieces {
			left = append(left, p.of)
		}
		for _, p := range left {
			n.answer(p, ErrFenced)
		}
	}()
	for {
		for len(pieces) > 0 {
			if err := n.room(ctx); err != nil {
				return err
			}
			if pieces, err = n.appendSome(ctx, pieces); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.wake:
			if err := n.company(ctx, last); err != nil {
				return err
			}
			last = n.clock.Now()
			pieces = n.pieces()
		}
	}
}

// company waits until other partitions had time to have something for the same step: each of them would else have a step of its own, of a page or
// two, and the engine has as much work with a small one as with a large one. After a rest there is nothing to wait for.
func (n *Node) company(ctx context.Context, last time.Duration) error {
	if n.meta.Partitions == 1 || last == 0 {
		return nil
	}
	return n.clock.Sleep(ctx, last+n.times.Step-n.clock.Now())
}

// room waits while the engine is nearly full.
func (n *Node) room(ctx context.Context) error {
	for n.Held() != "" {
		if err := n.clock.Sleep(ctx, n.times.Retry); err != nil {
			return err
		}
	}
	return nil
}

// pieces cuts all that waits into entries, each partition's behind its log's end.
func (n *Node) pieces() (all []piece) {
	n.mu.Lock()
	queue := n.queue
	n.queue = nil
	n.mu.Unlock()
	ends, level := map[*hold]entry.Position{}, n.level()
	for _, p := range queue {
		at, ok := ends[p.hold]
		if !ok {
			at = p.hold.end
		}
		encoded, behind, err := n.packer.Cut(p.hold.author, level, at, p.step, entryLimit)
		if err != nil {
			n.answer(p, err)
			continue
		}
		for i, b := range encoded {
			all = append(all, piece{p, logKey(p.hold.partition, behind[i].Seq), b, behind[i], i == len(encoded)-1})
		}
		ends[p.hold] = behind[len(behind)-1]
	}
	return all
}

// appendSome appends the first pieces, as many as one step takes, and returns the rest.
func (n *Node) appendSome(ctx context.Context, pieces []piece) (rest []piece, err error) {
	pieces = slices.DeleteFunc(pieces, func(p piece) bool {
		over := p.of.hold.right.over()
		if over != nil {
			n.answer(p.of, over)
		}
		return over != nil
	})
	if len(pieces) == 0 {
		return nil, nil
	}
	step, holds, taken := n.stepOf(pieces)
	fenced, err := n.decide(ctx, step, holds)
	if err != nil {
		if deaf := errors.Is(err, ErrDeaf); deaf || errors.Is(err, ErrRefused) {
			if deaf { // the others would wait as long, one step after the other, on the same way
				n.unheard.Store(&step)
				holds = n.held()
			}
			for _, h := range holds {
				n.fail(pieces, h, err)
			}
			err = nil
		}
		return pieces, err
	}
	if len(fenced) > 0 {
		for h, why := range fenced {
			n.fail(pieces, h, why)
		}
		return pieces, nil // the others are tried again without them
	}
	for _, p := range pieces[:taken] {
		p.of.hold.end = p.behind
		if p.last {
			p.of.behind = p.behind
			n.answer(p.of, nil)
		}
	}
	return pieces[taken:], nil
}

// stepOf is the step that appends the first pieces. Each partition's epoch and end are compared: an
// owner that was replaced is refused, and so is a request that arrives late, after its retry, even if
// its entry was trimmed meanwhile.
func (n *Node) stepOf(pieces []piece) (step Step, holds []*hold, taken int) {
	step.If = []Condition{n.same()}
	ends := map[*hold]entry.Position{}
	size := 0
	for _, p := range pieces {
		h := p.of.hold
		_, known := ends[h]
		if taken > 0 && (size+len(p.bytes) > entryLimit || len(step.Then)+len(ends)+2 > MaxStepWrites) {
			break
		}
		if !known {
			holds = append(holds, h)
			step.If = append(step.If, h.condition(), Condition{headKey(h.partition), h.endAt})
		}
		step.Then = append(step.Then, Write{Key: p.key, Value: p.bytes})
		ends[h] = p.behind
		size += len(p.bytes)
		taken++
	}
	for _, h := range holds {
		step.Then = append(step.Then, Put(headKey(h.partition), placeOf(ends[h])))
	}
	return step, holds, taken
}

// decide sends a step of appends until it is known whether it was taken. It never sends anything else before.
// Taken, it has moved the ends' revisions; fenced are the holds for whose sake it was not, and never will be.
func (n *Node) decide(ctx context.Context, step Step, holds []*hold) (fenced map[*hold]error, err error) {
	pause, doubt, since := n.times.Retry, false, n.clock.Now()
	for {
		out, err := n.engine.commit(ctx, step)
		switch {
		case err == nil && out.Taken:
			for _, h := range holds {
				h.endAt = out.Revision
			}
			return nil, nil
		case err == nil:
			return n.refusedFor(step, holds, out)
		case errors.Is(err, ErrSetBack):
			return nil, err
		case errors.Is(err, ErrRefused) && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrFull) && !doubt:
			return nil, err
		case !errors.Is(err, ErrRefused):
			doubt = true // for good: the first may be taken while the second is refused
			if n.clock.Now()-since > deafAppendAfter*n.times.Right && holds[0].right.holds() {
				return nil, ErrDeaf
			}
		}
		n.log.Debug("an append was not answered: it is sent again", "error", err)
		if err := n.clock.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(2*pause, n.times.Beat)
	}
}

// prove sends a step that got no answer again, until there is one. The claims that it was made for are given up, so it changes nothing, unless it was
// there before that; a step that is small would prove nothing.
func (n *Node) prove(ctx context.Context) error {
	for {
		if err := n.clock.Sleep(ctx, 2*n.times.Beat); err != nil {
			return err
		}
		step := n.unheard.Load()
		if step == nil {
			continue
		}
		if _, err := n.engine.commit(ctx, *step); err == nil || errors.Is(err, ErrRefused) {
			n.unheard.Store(nil)
			n.log.Info("appends to the log are answered again")
		}
	}
}

// mayNotOwn says why this node must not own partitions at present, "" if it may. One whose appends get no answer would be given back what it has given
// up, again and again.
func (n *Node) mayNotOwn() string {
	if n.unheard.Load() != nil {
		return ErrDeaf.Error()
	}
	return n.unfit()
}

// refusedFor reads why a step was not taken. If a log ends as the step would have it, an
// earlier try was taken, and its answer lost.
func (n *Node) refusedFor(step Step, holds []*hold, out Outcome) (map[*hold]error, error) {
	if out.Found[0].Revision != n.metaAt {
		return nil, n.recovered()
	}
	heads := step.Then[len(step.Then)-len(holds):]
	fenced, mine := map[*hold]error{}, false
	for i, h := range holds {
		own, head := out.Found[1+2*i], out.Found[2+2*i]
		ours := string(head.Value) == string(heads[i].Value) // the hash of our bytes is in it
		mine = mine || ours
		switch {
		case own.Revision != h.epoch:
			fenced[h] = ErrFenced
		case ours:
			h.endAt = head.Revision
		case head.Revision != h.endAt:
			fenced[h] = fmt.Errorf("%w: %s grew under epoch %d, and not by this node", ErrDiverged, h.partition, h.epoch)
		}
	}
	if mine && len(fenced) > 0 {
		// Taken, then some of it claimed by another: what is ours still is known to be in.
		for h, why := range fenced {
			n.drop(h, why)
		}
		return nil, nil
	}
	return fenced, nil
}

// fail ends a claim: nothing may be appended behind a step that was not.
func (n *Node) fail(pieces []piece, h *hold, why error) {
	n.drop(h, why)
	for _, p := range pieces {
		if p.of.hold == h {
			n.answer(p.of, why)
		}
	}
}

// answer tells the caller of append. A step that was answered already keeps its answer.
func (n *Node) answer(p *pending, err error) {
	select {
	case <-p.done:
	default:
		p.err = err
		close(p.done)
	}
}
