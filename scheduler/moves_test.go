package scheduler

import (
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// toOther has documents of the source web leave a target that get the source other or third.
func toOther(s *Settings) {
	s.LeavesTarget = func(from, to string) bool { return from == "web" && from != to }
}

// leaving returns a record of a document that is to leave a target by a source; allowed: it may.
func leaving(source string, allowed bool) Record {
	r := stored(text(1))
	r.Reason, r.LastError, r.LossPending = ReasonTarget, movingTo(source), !allowed
	return r
}

// TestLeaves: which documents stay under their source for now.
func TestLeaves(t *testing.T) {
	none := crawled()
	none.PushedSource = "web"
	for name, c := range map[string]struct {
		old  Record
		to   string
		set  *Settings
		want bool
	}{
		"other source":           {indexed(), "other", settings(toOther), true},
		"same source":            {indexed(), "web", settings(toOther), false},
		"every target takes all": {indexed(), "other", settings(), false},
		"no confirmation":        {indexed(), "other", settings(toOther, atOnce), false},
		"no document":            {none, "other", settings(toOther), false},
		"pending":                {leaving("other", false), "other", settings(toOther), true},
		"pending, elsewhere":     {leaving("other", false), "third", settings(toOther), true},
		"allowed":                {leaving("other", true), "other", settings(toOther), false},
		"allowed, elsewhere":     {leaving("other", true), "third", settings(toOther), true},
		"allowed, to no source":  {leaving("", true), "", settings(toOther), false},
	} {
		now, to := c.set.SourceOf(&c.old, c.to)
		want := c.to
		if c.want {
			want = "web"
		}
		if now != want || (to != nil) != c.want || to != nil && *to != c.to {
			t.Errorf("%s: pushed under %q, moves to %v; want %t", name, now, to, c.want)
		}
	}
}

// TestVisitsOfMoves: a document that is to leave a target is kept current while that is pending, what a visit finds is
// pending from then on, and nothing ends it except the operator and rules that give the old source.
func TestVisitsOfMoves(t *testing.T) {
	other := "other"
	move := func(r Result) Result {
		d := *r.Document
		d.MovesTo = &other
		r.Document = &d
		return r
	}
	newText := leaving("other", false)
	newText.Reason = ReasonNewText
	allowed := page(text(1))
	allowed.Document.Source = "other"
	for name, c := range map[string]struct {
		old    Record
		r      Result
		ill    bool
		pushed bool
		loss   Reason // of the order
		left   Reason // of the record
		cancel bool
	}{
		"found":                      {stored(text(1)), move(document(1, "web")), false, false, ReasonTarget, ReasonTarget, false},
		"found, changed":             {stored(text(1)), move(page(mixed(text(1), text(2), 20))), false, false, ReasonTarget, ReasonTarget, false},
		"found, ill":                 {stored(text(1)), move(document(1, "web")), true, false, ReasonTarget, ReasonTarget, false},
		"pending":                    {leaving("other", false), move(document(1, "web")), false, false, NoReason, ReasonTarget, false},
		"pending, changed":           {leaving("other", false), move(page(mixed(text(1), text(2), 20))), false, true, NoReason, ReasonTarget, false},
		"pending, changed, ill":      {leaving("other", false), move(page(mixed(text(1), text(2), 20))), true, false, NoReason, ReasonTarget, false},
		"pending, another text":      {leaving("other", false), move(page(text(2))), false, false, NoReason, ReasonTarget, false},
		"another text is pending":    {newText, move(page(text(2))), false, false, ReasonNewText, ReasonNewText, false},
		"pending, elsewhere":         {leaving("third", false), move(document(1, "web")), false, false, ReasonTarget, ReasonTarget, false},
		"pending, taken back":        {leaving("other", false), document(1, "web"), false, false, NoReason, NoReason, true},
		"pending, 404":               {leaving("other", false), status(404), false, false, NoReason, ReasonTarget, false},
		"pending, fails":             {leaving("other", false), status(429), false, false, NoReason, ReasonTarget, false},
		"allowed":                    {leaving("other", true), allowed, false, true, NoReason, NoReason, false},
		"allowed, fails":             {leaving("other", true), status(429), false, false, NoReason, ReasonClientError, false},
		"allowed, the old one again": {leaving("other", true), document(1, "web"), false, false, NoReason, NoReason, true},
	} {
		w := newWeigher(t)
		w.host.live.health.ill = c.ill
		_, out := w.visit(1, c.old, c.r, toOther)
		o, n := out.Order, out.Next
		pushed, loss := o != nil && o.Loss == nil, NoReason
		if o != nil && o.Loss != nil {
			loss = o.Reason
		}
		if pushed != c.pushed || loss != c.loss || n.Reason != c.left || out.CancelDeletion != c.cancel || !n.Indexed {
			t.Errorf("%s: order %+v, reason %s, cancelled %t; %+v", name, o, n.Reason, out.CancelDeletion, c)
		}
		if loss == ReasonTarget && (o.Edit != 5 || o.Op != OrderDelete || o.Body != nil || o.Source != other || n.Hash != c.old.Hash || n.PushedSource != "web") {
			t.Errorf("%s: %+v, %+v", name, o, n)
		}
		if n.Reason == ReasonTarget && n.LossPending && n.LastError != movingTo("other") {
			t.Errorf("%s: %q", name, n.LastError)
		}
	}
	_, out := newWeigher(t).visit(1, stored(text(1)), move(page(mixed(text(1), text(2), 20))), toOther)
	if out.Next.State != Timed || !out.Next.NextAt.Equal(start().Add(time.Minute)) {
		t.Errorf("%+v, want what is new pushed soon", out.Next)
	}
}

// TestRedirectWhileMoving: a document stays under its source if its page moves for good to another one with the same
// text, also if that was not visited yet, until the move off its target is allowed.
func TestRedirectWhileMoving(t *testing.T) {
	const target = "http://a.test/new"
	for name, c := range map[string]struct {
		allowed, visited, ill, leaves bool
	}{
		"pending":              {false, true, false, false},
		"pending, ill":         {false, true, true, false},
		"pending, not visited": {false, false, false, false},
		"allowed":              {true, true, false, true},
	} {
		w := newWeigher(t)
		w.host.live.health.ill = c.ill
		if c.visited {
			u, _ := weburl.FromCanonical(target)
			w.store.known[u.Key()] = stored(text(1))
		}
		old := leaving("other", c.allowed)
		_, out := w.visit(1, old, Result{Status: 301, RedirectIgnored: true, Location: target, Decided: IndexFollow}, toOther)
		o, n := out.Order, out.Next
		if c.leaves {
			if o == nil || o.Loss != nil || n.Indexed {
				t.Errorf("%s: order %+v, record %+v, want it deleted", name, o, n)
			}
			continue
		}
		if o != nil || out.CancelDeletion || !n.MovesTo("other") || !n.Indexed || n.PushedSource != "web" || n.Hash != old.Hash || n.RedirectTo != target {
			t.Errorf("%s: order %+v, record %+v, want it where it is", name, o, n)
		}
	}
}

// TestItemsOfMoves: the same of the documents of a list.
func TestItemsOfMoves(t *testing.T) {
	other := "other"
	item := func(r Record) Record { r.Kind, r.State = KindItem, AtRest; return r }
	gone := item(leaving("other", false))
	gone.Reason = ReasonItemGone
	for name, c := range map[string]struct {
		old          Record
		hash         byte
		source       string
		moves        bool
		nothing      bool
		add, loss    bool
		left         Reason
		cancelsAlone bool
	}{
		"found":                    {item(stored(text(1))), 1, "web", true, false, false, true, ReasonTarget, false},
		"found, changed":           {item(stored(text(1))), 2, "web", true, false, true, false, NoReason, false},
		"pending":                  {item(leaving("other", false)), 1, "web", true, true, false, false, NoReason, false},
		"pending, changed":         {item(leaving("other", false)), 2, "web", true, false, true, false, ReasonTarget, false},
		"pending, elsewhere":       {item(leaving("third", false)), 1, "web", true, false, false, true, ReasonTarget, false},
		"pending, taken back":      {item(leaving("other", false)), 1, "web", false, false, false, false, NoReason, true},
		"listed again, and moves":  {gone, 1, "web", true, false, false, true, ReasonTarget, false},
		"allowed":                  {item(leaving("other", true)), 3, "other", false, false, true, false, NoReason, false},
		"allowed while it is read": {item(leaving("other", true)), 2, "web", true, true, false, false, NoReason, false},
	} {
		l := &Link{Item: &Item{Document: Document{Body: []byte("doc"), Hash: [16]byte{c.hash}, Source: c.source}, At: start(), set: settings(toOther), edit: 5}}
		if c.moves {
			l.Item.MovesTo = &other
		}
		v := ReviseItem(&c.old, l)
		if v == nil != c.nothing {
			t.Errorf("%s: %+v", name, v)
		}
		if v == nil {
			continue
		}
		o := v.Order
		add, loss := o != nil && o.Op == OrderAdd, o != nil && o.Loss != nil
		if add != c.add || loss != c.loss || v.Next.Reason != c.left || (o == nil && v.CancelDeletion) != c.cancelsAlone || !v.Next.Indexed {
			t.Errorf("%s: order %+v, record %+v", name, o, v.Next)
		}
		if loss && (o.Edit != 5 || o.Source != other || v.Next.PushedSource != "web") || add && c.left == ReasonTarget && v.CancelDeletion {
			t.Errorf("%s: %+v, cancelled %t", name, o, v.CancelDeletion)
		}
	}
}

// TestMoveCarriedOut: nothing is sent; the page is fetched again, in full, and may be pushed under its new source.
func TestMoveCarriedOut(t *testing.T) {
	for _, kind := range []Kind{KindPage, KindItem} {
		old := leaving("other", false)
		old.Kind, old.State = kind, AtRest
		v := Revision{Next: old}
		v.CarryOut(&StoredDeletion{Reason: ReasonTarget, Source: "other", Text: movingTo("other")}, &old, settings(toOther), true, start())
		n := &v.Next
		if v.Move != KeepDeletion || !v.CancelDeletion || v.Order != nil || n.LossPending || !n.Indexed || n.PushedSource != "web" || n.ETag+n.LastModified+n.Date != "" {
			t.Errorf("%+v", v)
		}
		if waits := n.State == Waiting && n.Source == n.Fifo; waits != (kind == KindPage) || settings(toOther).Leaves(n, "other") {
			t.Errorf("kind %s: %+v", kind, n)
		}
	}
}

// TestMoveIsChange: a document that gets another source has changed, also if its hash was dropped for that.
func TestMoveIsChange(t *testing.T) {
	old := Record{Indexed: true, PushedSource: "old"}
	next := old
	next.PushedSource, next.Hash = "new", [16]byte{1}
	now := time.Unix(1e9, 0)
	if next.stamp(&old, now); !next.ChangedAt.Equal(now) || next.Entered {
		t.Errorf("changed at %v, entered %v; want it changed now", next.ChangedAt, next.Entered)
	}
}
