package scheduler

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// Below lossBelow, two texts of a page are so different that the new one is a loss; above sameAbove they are the
	// same.
	lossBelow, sameAbove = 0.2, 0.5
	// replacesAbove is the least similarity of a document and the one that takes its place. At one half, a site that by
	// mistake names the first of ten similar products as the canonical URL of all loses nine of ten documents.
	replacesAbove = 0.8
	// updatePause is the time after which a changed document of an ill host is fetched again.
	updatePause = 10 * time.Minute
)

// weighing decides whether the outcome of a visit to a document is a loss, and what its response shows of the host's
// health.
type weighing struct {
	f   *Frontier
	ctx context.Context
	l   *Lease
	r   *Result
	c   *Completion
	set *Settings

	template  *sketch.Template // of the host's documents, read when needed
	text      sketch.Sketch    // the new one
	isText    bool             // whether there is a text
	alike     float64          // similarity to the text in the index
	lookAlike bool             // other documents now have a similar text, or it is a log-in form
	target    string           // the page that it redirects to, or names as its canonical
	replaced  bool             // the document there takes the place of this one
	unvisited bool             // target was not visited yet
	lost      bool             // the document would leave, or get another text
}

// weigh decides which orders of a completion are pending, and returns the effect of the response on the host's health.
// edit is as in Order.
func (f *Frontier) weigh(
	ctx context.Context, l *Lease, r *Result, c *Completion, set *Settings, edit uint64,
) (Response, error) {
	switch {
	case set.Deletions.Off:
		return NotCounted, nil
	case !l.Record.Indexed:
		return NotCounted, f.revisitLost(ctx, c, set)
	}
	w := weighing{f: f, ctx: ctx, l: l, r: r, c: c, set: set}
	if err := w.compare(); err != nil {
		return NotCounted, err
	}
	if err := w.follow(); err != nil {
		return NotCounted, err
	}
	w.lost = w.loses()
	response, err := w.response()
	if err != nil {
		return response, err
	}
	ill, err := f.observed(ctx, l, response)
	if err != nil {
		return response, err
	}
	w.settle(ill, edit)
	return response, f.revisitLost(ctx, c, set)
}

// revisitLost schedules an early visit to a document that left, or whose text was replaced, by a loss.
func (f *Frontier) revisitLost(ctx context.Context, c *Completion, set *Settings) error {
	n, now := &c.Next, time.Now()
	if n.LostAt.IsZero() || n.LossPending {
		return nil
	}
	d, err := f.store.Documents(ctx, n.Host)
	if err != nil {
		return err
	}
	pause := lostPause(n.LostAt, now, d.Lost, set)
	switch at := now.Add(pause); {
	case pause == 0:
		n.LostAt, n.Before = time.Time{}, noSketch
	case c.Forget || n.State == Waiting || n.Errors > 0 || n.Reason.Operators():
	case n.State == AtRest || n.NextAt.After(at):
		n.State, n.NextAt = Timed, at
	}
	return nil
}

// compare compares the page's text with the one in the index, if they differ.
func (w *weighing) compare() error {
	old := &w.l.Record
	switch d := w.r.Document; {
	case d != nil && d.Hash != old.Hash:
		w.text, w.isText = d.Sketch, true
	case d == nil && !w.r.Sketch.IsZero():
		w.text, w.isText = w.r.Sketch, true
	}
	if w.isText {
		if err := w.readTemplate(); err != nil {
			return err
		}
	}
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	w.alike, w.lookAlike = f.texts.responded(old, w.l.Key, w.text, w.isText, w.template)
	w.lookAlike = w.lookAlike || w.isText && w.r.LoginForm
	return nil
}

// readTemplate reads what the texts of the host have in common.
func (w *weighing) readTemplate() (err error) {
	if w.template == nil {
		w.template, err = w.f.TemplateOf(w.ctx, w.l.Record.Host)
	}
	return err
}

// follow checks whether another document takes the place of this one: the page moved there permanently, names it as its
// canonical, or is its copy, and has the same text.
func (w *weighing) follow() error {
	n, old := &w.c.Next, &w.l.Record
	target := n.RedirectTo
	if n.Class != Redirect && n.Reason != ReasonMoved {
		target = n.DuplicateOf
	}
	if target == "" || target == old.URL {
		return nil
	}
	if err := w.readTemplate(); err != nil {
		return err
	}
	w.target = target
	is, visited, err := Replaces(w.ctx, w.f.store, old, n, target, w.template)
	w.replaced, w.unvisited = is, visited == nil
	return err
}

// Replaces reports whether the document at target takes the place of old's, as next states, and returns target's
// record, nil if it was not visited yet. Only a permanent redirect counts.
func Replaces(
	ctx context.Context, store Lookuper, old, next *Record, target string, template *sketch.Template,
) (is bool, visited *Record, err error) {
	u, ok := weburl.FromCanonical(target)
	if !ok {
		return false, nil, nil
	}
	t, err := Find(ctx, store, u.Key())
	if err != nil || t == nil || t.Class == Pending {
		return false, nil, err
	}
	forGood := next.Class != Redirect || next.Reason == ReasonMoved || isPermanent(next.Status)
	return forGood && t.Indexed && !t.LossPending && sketch.Same(old.Sketch, t.Sketch, replacesAbove, template), t, nil
}

// response classifies the response for the host's health.
func (w *weighing) response() (Response, error) {
	n, old := &w.c.Next, &w.l.Record
	switch {
	case old.Kind != KindPage, !showsHostState(w.r.Fault), w.replaced,
		n.Reason.Operators() && n.Reason != ReasonTarget, n.Reason == ReasonUnavailable, n.Reason == ReasonMoved:
		return NotCounted, nil
	case w.lost && w.isText && !w.lookAlike:
		// A new text does not count, unless the page had nearly the same at its last visit.
		d, err := w.pending()
		if d.Replaces && sketch.Alike(d.Sketch, w.text, w.template) >= sameAbove {
			return GoodResponse, err
		}
		return NotCounted, err
	case !w.lost && n.Class != Temporary && n.Class != Permanent && n.Class != Redirect:
		return GoodResponse, nil
	case old.LossPending, old.Class == Temporary, old.Class == Permanent,
		w.unvisited && (n.Class == Redirect || n.Reason == ReasonCanonical) && !w.shared():
		return NotCounted, nil
	}
	return BadResponse, nil
}

// loses reports whether the document would leave, or get another text.
func (w *weighing) loses() bool {
	o, old, d := w.c.Order, &w.l.Record, w.r.Document
	switch {
	case o == nil || o.Op == OrderDelete:
		return o != nil && o.Reason != ReasonTarget
	case !w.isText || d == nil || w.resembles() || !old.Sketch.HasText() || w.returns():
		return false
	case old.Lively >= livelyAfter && !w.lookAlike:
		return false
	}
	if old.Reading == d.Reading || w.lookAlike { // an error page is one however it is read
		return true
	}
	pending, _ := w.f.owner.Standing(old.Host)
	return pending > 0 // a fault may be the cause
}

// returns reports whether the new text is the one that a loss replaced, so that the loss was a fault.
func (w *weighing) returns() bool {
	before := w.l.Record.Before
	return w.isText && before.HasText() && sketch.Same(before, w.text, sameAbove, w.template)
}

// resembles reports whether the new text is similar enough to the one in the index. A host with few documents has no
// template yet, so the frame of its pages, which an error page shares, counts as text there.
func (w *weighing) resembles() bool {
	if *w.template == (sketch.Template{}) {
		return w.alike >= sameAbove
	}
	return w.alike >= lossBelow
}

// shared reports whether several documents of the host lead to one place.
func (w *weighing) shared() bool {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return w.f.texts.redirected(w.l.Record.Host, w.l.Key, w.target)
}

// pending returns the pending loss of the document, zero if there is none.
func (w *weighing) pending() (loss StoredDeletion, err error) {
	if old := &w.l.Record; old.LossPending {
		err = w.f.store.PendingDeletions(w.ctx, DeletionFilter{URLs: []string{old.URL}}, func(d StoredDeletion) error {
			loss = d
			return nil
		})
	}
	return loss, err
}

// settle makes orders pending, or leaves them if nothing is lost.
func (w *weighing) settle(ill bool, edit uint64) {
	c, old := w.c, &w.l.Record
	o := c.Order
	if old.Indexed && c.Next.Indexed && !w.returns() {
		c.Next.LostAt, c.Next.Before = old.LostAt, old.Before
	}
	switch {
	case o == nil:
	case o.Op == OrderDelete && o.Edit == 0 && w.replaced && !ill:
		off := *w.set // it leaves as if losses were not confirmed
		off.Deletions.Off = true
		*c = outcome(old, w.r, &off, edit, time.Now(), w.f.jitter())
	case o.Op == OrderDelete && o.Loss != nil:
		if w.isText { // a copy of another document
			o.Loss.Explicit = !w.lookAlike
		}
	case w.lost && old.MovePending(): // a fault does not take the move from its edit
		c.Order, c.CancelDeletion = nil, false
		c.Next.keepMove(old, old.LastError)
	case w.lost:
		w.keepText()
	case ill:
		w.f.holdUpdate(w.l, c)
	case w.isText && w.resembles():
		c.Next.Lively = 0
	default:
		c.Next.Lively = old.Lively
	}
}

// keepText makes the order of a new text pending.
func (w *weighing) keepText() {
	n, o, now := &w.c.Next, w.c.Order, time.Now()
	loss := NewLoss(!w.lookAlike, now)
	loss.Hash, loss.Sketch = n.Hash, n.Sketch
	o.Loss, o.Day, o.Reason, o.Text = &loss, w.set.Deletions.Confirm, ReasonNewText, "its text has changed"
	n.Reason, n.LastError = o.Reason, o.Text
	w.c.CancelDeletion = false
	keepPending(n, &w.l.Record, w.set, now)
}

// holdUpdate keeps the document of an ill host as it is; the page is visited again after a pause.
func (f *Frontier) holdUpdate(l *Lease, c *Completion) {
	n := &c.Next
	c.Order, c.CancelDeletion = nil, n.Reason != ReasonTarget
	keep(n, &l.Record)
	n.State, n.NextAt = Timed, time.Now().Add(updatePause)
	f.log.Info("not pushing a changed document yet; its host is ill", "url", l.Record.URL)
}
