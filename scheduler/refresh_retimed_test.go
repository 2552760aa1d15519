package scheduler

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// keyAt returns a key whose chance is so far along: 0 to 1.
func keyAt(part float64) (k weburl.Key) {
	binary.BigEndian.PutUint32(k[2:], uint32(part*(1<<32)))
	return k
}

// TestRetimed: which stored URLs get another time, and which.
func TestRetimed(t *testing.T) {
	const day = 24 * time.Hour
	since := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	long := since.Add(-50 * day)
	off, fixed, smart := DefaultSettings(), DefaultSettings(), DefaultSettings()
	fixed.MinimumAged = 10 * day
	smart.SmartRefresh, smart.MinAge, smart.MaxAge = true, 2*day, 10*day
	rests := Record{State: AtRest, Class: OK, FetchedAt: long, CheckedAt: long, Indexed: true}
	with := func(r Record, change func(*Record)) Record { change(&r); return r }
	due := func(at time.Duration) func(*Record) {
		return func(r *Record) { r.State, r.NextAt = Timed, since.Add(at) }
	}
	for name, tt := range map[string]struct {
		set  *Settings
		rec  Record
		part float64
		want time.Duration // from since; none where nothing changes
		ok   bool
	}{
		"rests, fixed":                 {&fixed, rests, 0.5, 5 * day, true},
		"rests, fixed, first":          {&fixed, rests, 0, 0, true},
		"rests, smart":                 {&smart, rests, 0.25, 10 * day / 4, true},
		"rests, off":                   {&off, rests, 0.5, 0, false},
		"a redirect rests":             {&fixed, with(rests, func(r *Record) { r.Class = Redirect }), 0.5, 5 * day, true},
		"fetched just now, smart":      {&smart, with(rests, func(r *Record) { r.CheckedAt = since }), 0.5, 6 * day, true},
		"unavailable before":           {&fixed, with(rests, func(r *Record) { r.UnavailableAt = since.Add(day) }), 0.5, day, true},
		"due in time":                  {&fixed, with(rests, due(9*day)), 0.5, 0, false},
		"due too late":                 {&fixed, with(rests, due(11*day)), 0.5, 5 * day, true},
		"due, off":                     {&off, with(rests, due(9*day)), 0.5, -1, true},
		"due when unavailable, off":    {&off, with(with(rests, due(9*day)), func(r *Record) { r.UnavailableAt = r.NextAt }), 0.5, 0, false},
		"waits":                        {&fixed, with(rests, func(r *Record) { r.State = Waiting }), 0.5, 0, false},
		"an item":                      {&fixed, with(rests, func(r *Record) { r.Kind = KindItem }), 0.5, 0, false},
		"excluded":                     {&fixed, with(rests, func(r *Record) { r.Class, r.Status = Ignored, 760 }), 0.5, 0, false},
		"tried again":                  {&fixed, with(with(rests, due(90*day)), func(r *Record) { r.Class, r.Errors = Temporary, 1 }), 0.5, 0, false},
		"a loss of it is pending":      {&fixed, with(with(rests, due(90*day)), func(r *Record) { r.LossPending = true }), 0.5, 0, false},
		"an error, due in time":        {&fixed, with(with(rests, due(6*day)), func(r *Record) { r.Class = Permanent }), 0.5, 0, false},
		"an error, due too late":       {&fixed, with(with(rests, due(90*day)), func(r *Record) { r.Class = Permanent }), 0.5, 7 * day / 2, true},
		"the third error, in time":     {&fixed, with(with(rests, due(27*day)), func(r *Record) { r.Class, r.Misses = Permanent, 3 }), 0.5, 0, false},
		"forbidden by robots, late":    {&fixed, with(with(rests, due(9*day)), func(r *Record) { r.Class = Ignored }), 0.5, 7 * day / 2, true},
		"forbidden by robots, resting": {&fixed, with(rests, func(r *Record) { r.Class = Ignored }), 0.5, 0, false},
	} {
		got, ok := Retimed(tt.rec, keyAt(tt.part), tt.set, since)
		want := tt.rec
		switch {
		case tt.ok && tt.want < 0:
			want.State, want.NextAt = AtRest, time.Time{}
		case tt.ok:
			want.State, want.NextAt = Timed, since.Add(tt.want)
		}
		if ok != tt.ok || got.State != want.State || !got.NextAt.Equal(want.NextAt) {
			t.Errorf("%s: %v, %s at %s; want %v, %s at %s", name, ok, got.State, got.NextAt, tt.ok, want.State, want.NextAt)
		}
		if second, again := Retimed(got, keyAt(tt.part), tt.set, since); again {
			t.Errorf("%s: again at %s", name, second.NextAt)
		}
		if got.State == Timed && ok && tt.rec.Class == OK && tt.set != &off && got.Interval != got.NextAt.Sub(tt.rec.CheckedAt) {
			t.Errorf("%s: interval %s, so it is late before it is due", name, got.Interval)
		}
	}
}

// TestTiming: only what matters is in force.
func TestTiming(t *testing.T) {
	off, fixed, smart := DefaultSettings(), DefaultSettings(), DefaultSettings()
	fixed.MinimumAged, smart.SmartRefresh = time.Hour, true
	other := off
	other.MinAge, other.MaxAge = time.Second, time.Minute // of a smart refresh that is off
	if off.Timing() != other.Timing() || off.Timing() == fixed.Timing() || off.Timing() == smart.Timing() || fixed.Timing() == smart.Timing() {
		t.Error(off.Timing(), other.Timing(), fixed.Timing(), smart.Timing())
	}
}

// TestRetimedHeld: a document that an edit holds gets the times of any other one. A loss that visits confirm keeps its
// own.
func TestRetimedHeld(t *testing.T) {
	off := DefaultSettings()
	since := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for reason, rests := range map[Reason]bool{ReasonTarget: true, ReasonNoTarget: true, ReasonNotIndexed: true, ReasonNotFound: false, ReasonNewText: false} {
		r := Record{State: Timed, NextAt: since.Add(time.Hour), Class: OK, Indexed: true, LossPending: true, Reason: reason}
		if got, ok := Retimed(r, weburl.Key{}, &off, since); ok != rests || (got.State == AtRest) != rests {
			t.Errorf("%s without refresh: %v, %v; want it to rest: %v", reason, got.State, ok, rests)
		}
	}
}
