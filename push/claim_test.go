package push_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testpermit"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

// startUnder is start for a relay under a claim.
func startUnder(t *testing.T, c push.Claim, o push.Outbox, targets ...push.TargetSettings) *push.Relay {
	t.Helper()
	r, err := push.NewRelay(o, targets, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r.Under(c)
	runs(t, r)
	return r
}

// TestRelayAsksItsPermit: without it nothing is pushed; what it cuts is pushed again, at once when it is
// back, and is no failure of the target's.
func TestRelayAsksItsPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a, p := pushtest.NewOutbox(), newFake("a"), testpermit.New()
		a.took = time.Second
		fill(o, 10)
		p.Take()
		r := startUnder(t, push.Claim{Permit: p}, o, push.TargetSettings{Target: a, BatchCount: 2, CheckpointAge: time.Hour})
		time.Sleep(time.Hour)
		if n := len(a.calls()); n != 0 {
			t.Fatalf("%d pushes without a permit", n)
		}
		p.Give()
		time.Sleep(1500 * time.Millisecond) // in the second push
		p.Take()
		ended := time.Now()
		time.Sleep(time.Hour)
		for _, at := range a.calls() {
			if at.After(ended.Add(time.Second)) { // the one under way says so at its end
				t.Errorf("a push was made %v after the permit ended", at.Sub(ended))
			}
		}
		p.Give()
		drained(t, r)
		if s := r.Status()[0]; len(a.safe) != 10 || s.LastError != "" || !s.DownSince.IsZero() || s.Refused > 0 {
			t.Errorf("%d documents are safe, want 10; %+v", len(a.safe), s)
		}
	})
}

// TestRelayRepeats: while requests of the process before may still arrive, cursors stay; then what follows
// them is pushed once more, so that a late add of a page that was deleted meanwhile is undone.
func TestRelayRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		fill(o, 5)
		o.PutDeletion("http://h/3")
		repeat := time.Now().Add(2 * time.Minute)
		r := startUnder(t, push.Claim{Repeat: repeat}, o, push.TargetSettings{Target: a})
		time.Sleep(time.Minute)
		if s := r.Status()[0]; len(a.now) != 4 || o.Len() != 5 {
			t.Fatalf("before: %d documents at the target, %d orders in the outbox, want 4 and 5; %+v", len(a.now), o.Len(), s)
		}
		a.set(func(f *fakeTarget) { f.now["http://h/3"] = "late"; f.now["http://h/1"] = "late" })
		o.PutDocument("", "http://h/9", "new")
		drained(t, r)
		if time.Now().Before(repeat) {
			t.Error("drained before the time of late requests was over")
		}
		if text, is := a.safe["http://h/3"]; is {
			t.Errorf("the deleted page is in the index: %q", text)
		}
		if a.safe["http://h/1"] != "text" || a.safe["http://h/9"] != "new" || len(a.safe) != 5 || o.Len() != 0 {
			t.Errorf("the index has %v, %d orders are left", a.safe, o.Len())
		}
		before := len(a.calls())
		time.Sleep(time.Hour)
		if n := len(a.calls()); n != before {
			t.Errorf("%d pushes more, want none", n-before)
		}
	})
}

// TestRelayRepeatsAfterAStop: who stops before the time of late requests is over leaves the cursor, so that
// the next one repeats all of it.
func TestRelayRepeatsAfterAStop(t *testing.T) {
	var o *pushtest.Outbox
	synctest.Test(t, func(t *testing.T) {
		o = pushtest.NewOutbox()
		fill(o, 5)
		startUnder(t, push.Claim{Repeat: time.Now().Add(2 * time.Minute)}, o, push.TargetSettings{Target: newFake("a")})
		time.Sleep(time.Minute)
	})
	if n := o.Len(); n != 5 {
		t.Errorf("%d orders are left, want all 5", n)
	}
}
