package deletion

import (
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// first is when the losses of the table were seen first.
var first = time.Unix(1_700_000_000, 0)

// row is a loss, its group, and what becomes of it.
type row struct {
	name  string
	loss  func(*scheduler.StoredDeletion)
	group func(*Group)
	now   time.Duration // since first
	want  Verdict
	class scheduler.LossClass
	until time.Duration // since first; not compared if the loss is carried out
}

// seen says when the last visit that saw a loss was, how many there were, and how many days count.
func seen(last time.Duration, visits, days uint8) func(*scheduler.StoredDeletion) {
	return func(d *scheduler.StoredDeletion) {
		d.Last, d.Visits, d.Days = first.Add(last), visits, days
		d.Counted = first.Add(last.Truncate(24 * time.Hour))
	}
}

func and[T any](all ...func(*T)) func(*T) {
	return func(t *T) {
		for _, f := range all {
			if f != nil {
				f(t)
			}
		}
	}
}

func class(c scheduler.LossClass) func(*Group) { return func(g *Group) { g.Class = c } }
func goodAt(at time.Duration) func(*Group)     { return func(g *Group) { g.Good = first.Add(at) } }
func alone(g *Group)                           { g.Documents = 1 }
func reason(r scheduler.Reason) func(*scheduler.StoredDeletion) {
	return func(d *scheduler.StoredDeletion) { d.Reason = r }
}
func vague(d *scheduler.StoredDeletion)    { d.Explicit = false }
func newText(d *scheduler.StoredDeletion)  { d.Replaces, d.Reason = true, scheduler.ReasonNewText }
func wellOnce(d *scheduler.StoredDeletion) { d.WellDay = 1 }

const (
	hour = time.Hour
	day  = 24 * time.Hour
	// never is for what no time ends.
	never = -1
)

// TestDecide has a row for each row and term of the rule.
func TestDecide(t *testing.T) {
	few, some, most := scheduler.LossFew, scheduler.LossSome, scheduler.LossMost
	for _, r := range []row{
		// Few: seen again after a minute, and one other document was good since.
		{name: "few, just seen", want: Wait, class: few, until: time.Minute},
		{name: "few, seen again too soon", loss: seen(30*time.Second, 2, 1), group: goodAt(40 * time.Second), now: 50 * time.Second, want: Wait, class: few, until: time.Minute},
		{name: "few, a good response before it was seen again", loss: seen(time.Minute, 2, 1), group: goodAt(30 * time.Second), now: 2 * time.Minute, want: Ask, class: few, until: 2 * time.Minute},
		{name: "few, seen again and a good response since", loss: seen(time.Minute, 2, 1), group: goodAt(61 * time.Second), now: 2 * time.Minute, want: CarryOut, class: few},
		{name: "few, no good response for a day", loss: seen(day, 4, 2), now: day, want: Ask, class: few, until: day},
		{name: "few, a good response long after the last visit", loss: seen(hour, 3, 1), group: goodAt(5 * hour), now: 5 * hour, want: Wait, class: few, until: never},

		// Some: two visits a day apart, and a good response after each of them.
		{name: "some, just seen", group: class(some), want: Ask, class: some, until: day},
		{name: "some, a good response after the first visit", group: and(class(some), goodAt(hour)), now: hour, want: Mark, class: some, until: day},
		{name: "some, marked", loss: wellOnce, group: and(class(some), goodAt(hour)), now: hour, want: Wait, class: some, until: day},
		{name: "some, seen again the same day", loss: and(seen(23*hour, 3, 1), wellOnce), group: and(class(some), goodAt(24*hour)), now: day, want: Wait, class: some, until: day},
		{name: "some, seen again a day later, no good response since", loss: and(seen(day, 4, 2), wellOnce), group: and(class(some), goodAt(hour)), now: day, want: Ask, class: some, until: day},
		{name: "some, seen again a day later and a good response since", loss: and(seen(day, 4, 2), wellOnce), group: and(class(some), goodAt(day+time.Minute)), now: day + time.Minute, want: CarryOut, class: some},
		{name: "some, no good response after the first visit", loss: seen(day, 4, 2), group: and(class(some), goodAt(day+time.Minute)), now: day + time.Minute, want: Mark, class: some, until: 2 * day},
		{name: "some, the good response came after the second visit", loss: and(seen(day, 4, 2), func(d *scheduler.StoredDeletion) { d.WellDay = 2 }), group: and(class(some), goodAt(day+time.Minute)), now: day + time.Minute, want: Wait, class: some, until: 2 * day},

		// Most: four days over a week, and a good response after the last visit.
		{name: "most, just seen", group: class(most), want: Wait, class: most, until: 7 * day},
		{name: "most, four days", loss: seen(3*day, 6, 4), group: and(class(most), goodAt(3*day+hour)), now: 3*day + hour, want: Wait, class: most, until: 7 * day},
		{name: "most, a week, three days", loss: seen(7*day, 5, 3), group: and(class(most), goodAt(7*day+hour)), now: 7*day + hour, want: Wait, class: most, until: 8 * day},
		{name: "most, a week, no good response since", loss: seen(7*day, 8, 8), group: and(class(most), goodAt(6*day)), now: 7*day + hour, want: Ask, class: most, until: 7*day + hour},
		{name: "most, a week", loss: seen(7*day, 8, 8), group: and(class(most), goodAt(7*day+time.Minute)), now: 7*day + hour, want: CarryOut, class: most},

		// What is not explicit is at least some, and takes 30 days if it is most.
		{name: "a 500, few", loss: and(vague, seen(time.Minute, 2, 1)), group: goodAt(2 * time.Minute), now: hour, want: Mark, class: some, until: day},
		{name: "500s, most, a week", loss: and(vague, seen(7*day, 8, 8)), group: and(class(most), goodAt(7*day+time.Minute)), now: 7*day + hour, want: Wait, class: most, until: 30 * day},
		{name: "500s, most, 30 days", loss: and(vague, seen(30*day, 30, 30)), group: and(class(most), goodAt(30*day+time.Minute)), now: 30*day + hour, want: CarryOut, class: most},

		// An ill host, and one that is gone.
		{name: "ill", loss: seen(time.Minute, 2, 1), group: and(goodAt(2*time.Minute), func(g *Group) { g.Ill = true }), now: hour, want: Hold, class: few},
		{name: "gone", loss: vague, group: func(g *Group) { g.HostGone, g.Ill = true, true }, now: hour, want: CarryOut, class: some},
		{name: "off", loss: vague, group: func(g *Group) { g.Off, g.Ill = true, true }, want: CarryOut, class: some},

		// A host with one document.
		{name: "alone, 404 just seen", group: alone, want: Wait, class: few, until: time.Minute},
		{name: "alone, 404 seen again", loss: seen(time.Minute, 2, 1), group: alone, now: time.Minute, want: CarryOut, class: few},
		{name: "alone, 404, most of the pool", loss: seen(time.Minute, 2, 1), group: and(alone, class(most)), now: time.Minute, want: Wait, class: most, until: 7 * day},
		{name: "alone, a new text", loss: and(newText, seen(time.Minute, 2, 1)), group: alone, now: time.Minute, want: Wait, class: some, until: day},
		{name: "alone, a new text for a day", loss: and(newText, seen(day, 4, 2)), group: alone, now: day, want: CarryOut, class: some},
		{name: "alone, a noindex", loss: and(reason(scheduler.ReasonNoIndex), seen(7*day, 8, 8)), group: alone, now: 7 * day, want: Hold, class: few},

		// Documents out of an XML list: its readings are the visits, and its class counts.
		{name: "item, listed once without", loss: reason(scheduler.ReasonItemGone), want: Wait, class: few, until: time.Minute},
		{name: "item, listed again without", loss: and(reason(scheduler.ReasonItemGone), seen(time.Minute, 2, 1)), now: time.Minute, want: CarryOut, class: few},
		{name: "item, some of the list", loss: and(reason(scheduler.ReasonItemGone), seen(day, 4, 2), func(d *scheduler.StoredDeletion) { d.Least = some }), now: day, want: CarryOut, class: some},
		{name: "item, most of its host", loss: and(reason(scheduler.ReasonItemGone), seen(time.Minute, 2, 1)), group: class(most), now: time.Minute, want: CarryOut, class: few},
		{name: "item, an empty list", loss: and(reason(scheduler.ReasonItemGone), vague, seen(7*day, 8, 8), func(d *scheduler.StoredDeletion) { d.Least = most }), now: 7 * day, want: Wait, class: most, until: 30 * day},

		// The operator's rules: nothing tells more of them than time.
		{name: "rules, few", loss: reason(scheduler.ReasonRules), now: 30 * time.Second, want: Wait, class: few, until: time.Minute},
		{name: "rules, few, a minute", loss: reason(scheduler.ReasonRules), now: time.Minute, want: CarryOut, class: few},
		{name: "rules, some, a day", loss: reason(scheduler.ReasonRules), group: class(some), now: day, want: CarryOut, class: some},
		{name: "rules, most, a day", loss: reason(scheduler.ReasonRules), group: class(most), now: day, want: Wait, class: most, until: 7 * day},
	} {
		d := &scheduler.StoredDeletion{Reason: scheduler.ReasonNotFound, Loss: scheduler.NewLoss(true, first)}
		g := &Group{Documents: 100, Deletions: scheduler.DefaultSettings().Deletions}
		and(r.loss)(d)
		and(r.group)(g)
		got := Decide(d, g, first.Add(r.now))
		want := Decision{Verdict: r.want, Class: r.class}
		switch {
		case r.want == CarryOut:
			got.Until = time.Time{}
		case r.want != Hold && r.until != never:
			want.Until = first.Add(r.until)
		}
		if got != want {
			t.Errorf("%s: verdict %d, class %v, after %v; want %d, %v, %v", r.name, got.Verdict, got.Class, got.Until.Sub(first), want.Verdict, want.Class, r.until)
		}
	}
}

// TestClass: the bounds of the classes, which two documents never exceed.
func TestClass(t *testing.T) {
	for _, tt := range []struct {
		n, documents int
		want         scheduler.LossClass
	}{
		{1, 1, scheduler.LossFew}, {2, 2, scheduler.LossFew}, {3, 5, scheduler.LossMost}, {3, 15, scheduler.LossSome}, {3, 14, scheduler.LossMost},
		{3, 300, scheduler.LossFew}, {4, 300, scheduler.LossSome}, {60, 300, scheduler.LossSome}, {61, 300, scheduler.LossMost},
		{50, 5000, scheduler.LossFew}, {51, 5000, scheduler.LossSome}, {1000, 5000, scheduler.LossSome}, {1001, 5000, scheduler.LossMost},
	} {
		if got := Class(tt.n, tt.documents); got != tt.want {
			t.Errorf("%d of %d are %v, want %v", tt.n, tt.documents, got, tt.want)
		}
	}
}

// TestSeen: a visit counts a day after the one that counted before, whatever came between.
func TestSeen(t *testing.T) {
	l := scheduler.NewLoss(true, first)
	for _, at := range []time.Duration{time.Minute, hour, day - time.Second, day, day + hour, 2*day + hour} {
		l = l.Seen(scheduler.NewLoss(false, first.Add(at)), day)
	}
	if back := l.Seen(scheduler.NewLoss(true, first.Add(hour)), day); back.Visits != 1 || !back.First.Equal(first.Add(hour)) {
		t.Errorf("after the clock was set back: %+v", back)
	}
	if l.Visits != 7 || l.Days != 3 || !l.First.Equal(first) || !l.Last.Equal(first.Add(2*day+hour)) || !l.Counted.Equal(l.Last) || l.Explicit {
		t.Errorf("%+v", l)
	}
}
