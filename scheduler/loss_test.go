package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

func TestLossClasses(t *testing.T) {
	for got, want := range map[string]string{LossFew.String(): "few", LossSome.String(): "some", LossMost.String(): "most", LossClass(9).String(): "unknown"} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if LossFew != 0 || LossSome != 1 || LossMost != 2 {
		t.Error("numbers that are stored have changed")
	}
}

// TestSeen: which visits to a document of which a loss is pending count, and what each replaces.
func TestSeen(t *testing.T) {
	l := NewLoss(true, start().Add(300*time.Millisecond))
	if want := (Loss{Explicit: true, First: start(), Last: start(), Counted: start(), Visits: 1, Days: 1}); l != want {
		t.Fatalf("%+v, want %+v", l, want)
	}
	l.WellDay = 1
	type counts struct{ visits, days uint8 }
	for i, c := range []struct {
		after time.Duration // since the first visit
		want  counts
	}{
		{time.Minute, counts{2, 1}}, {day - time.Second, counts{3, 1}}, {day, counts{4, 2}},
		{2*day - time.Second, counts{5, 2}}, {2*day + time.Hour, counts{6, 3}}, {3 * day, counts{7, 3}}, {3*day + time.Hour, counts{8, 4}},
	} {
		next := NewLoss(i%2 == 0, start().Add(c.after))
		next.Least, next.Hash, next.Sketch = LossSome, [16]byte{byte(i)}, sketch.Sketch{Title: uint32(i)}
		l = l.Seen(next, day)
		if got := (counts{l.Visits, l.Days}); got != c.want {
			t.Errorf("after %v: %+v, want %+v", c.after, got, c.want)
		}
		if !l.First.Equal(start()) || !l.Last.Equal(next.Last) || l.WellDay != 1 || l.Explicit != next.Explicit ||
			l.Least != next.Least || l.Hash != next.Hash || l.Sketch != next.Sketch {
			t.Errorf("after %v: %+v, of %+v", c.after, l, next)
		}
	}
	l.Visits, l.Days = 255, 255
	if l = l.Seen(NewLoss(true, start().Add(90*day)), day); l.Visits != 255 || l.Days != 255 {
		t.Errorf("%d visits of %d days", l.Visits, l.Days)
	}
}

// TestExplicit: of which reasons the page or its site itself says that the document is to go.
func TestExplicit(t *testing.T) {
	explicitly := map[Reason]bool{ReasonMoved: true}
	for r := range reasonsEnd {
		if r.RequestsRemoval() || r.Operators() {
			explicitly[r] = true
		}
	}
	explicitly[ReasonRedirect], explicitly[ReasonRenamed] = false, false // by its status; our own settings
	for r := range reasonsEnd {
		if got := explicit(&Record{Reason: r, Status: 200}); got != explicitly[r] {
			t.Errorf("%v is explicit: %t", r, got)
		}
	}
	for status := range 1000 {
		if got := explicit(&Record{Reason: ReasonRedirect, Status: status}); got != (status == 301 || status == 308) {
			t.Errorf("a redirect by %d is explicit: %t", status, got)
		}
	}
	for f, want := range map[fault.Fault]bool{fault.DNSNotFound: true, fault.DNSNoAnswer: false} {
		if got := explicit(&Record{Reason: ReasonDNS, Fault: f}); got != want {
			t.Errorf("fault %v is explicit: %t", f, got)
		}
	}
}

// TestLose: what the order to delete a document says.
func TestLose(t *testing.T) {
	old := indexed()
	next := old
	next.Reason = ReasonRules
	o, forget := lose(&next, &old, 7, "rule", settings(), start())
	if forget || o.Edit != 7 || o.Op != OrderDelete || o.Day != day || *o.Loss != NewLoss(true, start()) || !next.LossPending {
		t.Errorf("by a rule: %+v, %+v", o, o.Loss)
	}
	next.Reason = ReasonRenamed
	if o, _ = lose(&next, &old, 7, "renamed", settings(), start()); o.Edit != 0 || o.Loss.Explicit {
		t.Errorf("by a rename: %+v, %+v; want none of the edit's, and not explicit", o, o.Loss)
	}
	for _, c := range []struct {
		was, found Reason
		stays      bool
	}{
		{ReasonRules, ReasonKilled, true}, {ReasonRules, ReasonNotFound, true}, {ReasonTarget, ReasonNotFound, true},
		{ReasonTarget, ReasonKilled, false}, {ReasonRenamed, ReasonNotFound, false}, {ReasonNotFound, ReasonRules, false},
	} {
		old.LossPending, old.Reason, next.Reason = true, c.was, c.found
		if o, _ = lose(&next, &old, 8, "", settings(), start()); (o == nil) != c.stays || !next.Indexed {
			t.Errorf("%s is pending, and %s found: %+v", c.was, c.found, o)
		}
	}
	next.Reason = ReasonKilled
	if o, _ = lose(&next, &old, 8, "kill list", settings(atOnce), start()); o == nil || o.Loss != nil || next.Indexed || next.LossPending {
		t.Errorf("at once: %+v, %+v", o, next)
	}
}

// TestPendingKeepsItsAge: a pending loss has its page asked for sooner than its age does, never later.
func TestPendingKeepsItsAge(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{0: day, 15 * time.Minute: 15 * time.Minute, 7 * day: day} {
		old := indexed()
		old.LossPending, old.Reason, old.Misses = true, ReasonNoIndex, 3
		set := settings(func(s *Settings) { s.MinimumAged = age })
		c := outcome(&old, &Result{Status: 200, Reason: ReasonNoIndex}, set, 0, start(), 0)
		if got := c.Next.NextAt.Sub(start()); !c.Next.LossPending || got != want {
			t.Errorf("age %v: asked for again after %v, want %v; %+v", age, got, want, c.Next)
		}
	}
}

// TestCarryOut: what a record says once a loss is carried out.
func TestCarryOut(t *testing.T) {
	pending := indexed()
	pending.LossPending, pending.Misses, pending.Class, pending.Reason, pending.State = true, 3, Permanent, ReasonNotFound, Timed
	pending.Sketch, pending.Reading, pending.Lively = sketch.Sketch{Title: 1}, 5, 2
	now := start().Add(time.Millisecond)
	carry := func(d StoredDeletion, old Record, counted bool, change ...func(*Settings)) Revision {
		v := Revision{Next: old}
		v.CarryOut(&d, &old, settings(change...), counted, now)
		if v.Move != SendDeletion || v.Next.LossPending {
			t.Errorf("%+v", v)
		}
		return v
	}
	v := carry(StoredDeletion{}, pending, true)
	if n := v.Next; n.Indexed || n.Hash != [16]byte{} || !n.Sketch.IsZero() || n.Lively != 0 || n.Reading != 0 || n.ETag != "" ||
		!n.LostAt.Equal(start()) || !n.NextAt.Equal(start().Add(time.Hour)) || n.State != Timed || !n.Gone || v.Forget {
		t.Errorf("a 404: %+v", v)
	}
	if v = carry(StoredDeletion{}, pending, false); !v.Next.LostAt.IsZero() || !v.Next.NextAt.Equal(now.Add(7*day)) {
		t.Errorf("one that is not counted: %+v", v.Next)
	}
	if v = carry(StoredDeletion{}, pending, true, forgetting); !v.Forget || v.Gone == nil {
		t.Errorf("forgotten with its document: %+v", v)
	}
	waits := pending
	waits.State = Waiting
	if v = carry(StoredDeletion{}, waits, true, forgetting); v.Forget || v.Next.State != Waiting || v.Next.LostAt.IsZero() {
		t.Errorf("one that waits: %+v", v)
	}
	killed, item := pending, pending
	killed.Reason, item.Kind = ReasonKilled, KindItem
	for name, old := range map[string]Record{"operator's": killed, "item": item} {
		if v = carry(StoredDeletion{}, old, true); !v.Next.LostAt.IsZero() {
			t.Errorf("%s: %+v, want it not asked for again", name, v.Next)
		}
	}
	text := StoredDeletion{Replaces: true, Source: "other", Loss: Loss{Hash: [16]byte{9}, Sketch: sketch.Sketch{Title: 9}}}
	for _, lively := range []uint8{2, livelyAfter} {
		old := pending
		old.Lively = lively
		want := old
		want.LossPending, want.Misses, want.Hash, want.Sketch, want.PushedSource, want.Lively = false, 0, text.Hash, text.Sketch, "other", livelyAfter
		want.ETag, want.LastModified, want.Date = "", "", ""
		want.LostAt, want.Before, want.NextAt = start(), old.Sketch, start().Add(time.Hour)
		got := carry(text, old, true).Next
		got.ChangedAt, got.ClassAt, want.ChangedAt, want.ClassAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("a new text (-want +got):\n%s", d)
		}
	}
	often := pending
	often.Interval = 5 * time.Minute
	if v = carry(text, often, true); !v.Next.NextAt.Equal(start().Add(often.Interval)) {
		t.Errorf("a new text of a page with a short age: next at %v", v.Next.NextAt)
	}
}

// TestLostPause: a document that was lost is asked for after an hour, four more, and a day more; then so
// that about nine of the host's are each day, for thirty days.
func TestLostPause(t *testing.T) {
	for _, c := range []struct {
		since time.Duration
		lost  uint64
		want  time.Duration
	}{
		{time.Hour, 1, 4 * time.Hour},
		{5 * time.Hour, 1, day},
		{18 * time.Hour, 27, 11 * time.Hour}, // by a refresh in between
		{time.Hour - time.Second, 1, 4*time.Hour + time.Second},
		{29 * time.Hour, 1, day},
		{29 * time.Hour, 9, day},
		{29 * time.Hour, 27, 3 * day},
		{29 * day, 27, 3 * day},
		{2 * day, 1 << 40, 7 * day},
		{30*day + time.Second, 27, 0},
	} {
		if got := lostPause(start(), start().Add(c.since), c.lost, settings()); got != c.want {
			t.Errorf("%v after it was lost as one of %d: again after %v, want %v", c.since, c.lost, got, c.want)
		}
	}
}
