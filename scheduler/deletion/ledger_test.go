package deletion

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

var start = time.Unix(1_800_000_000, 0).UTC()

// reasons is how many there are.
var reasons = func() (n scheduler.Reason) {
	for n.Known() {
		n++
	}
	return n
}()

// busyLedger is one with all that a ledger can hold.
func busyLedger() ledger {
	var l ledger
	l.left.Add(start.Add(-20*time.Hour), oneDay, 3)
	l.left.Add(start.Add(-time.Hour), oneDay, 1<<20)
	l.held.Add(start, oneDay, 7)
	for r := range reasons {
		l.letPass(r, start.Add(time.Hour), start)
	}
	return l
}

// TestLedgerIsStored: what a ledger counts and lets pass is the same for the next process,
// except for its age.
func TestLedgerIsStored(t *testing.T) {
	l, key := busyLedger(), weburl.HostKey{1, 2, 3}
	n := l.note(key, start)
	if n.Name != scheduler.HostValue(key, "scheduler.deletions") {
		t.Errorf("stored as %s", n.Name)
	}
	for _, later := range []time.Duration{0, 59 * time.Minute, -oneDay} {
		now := start.Add(later)
		got, err := readLedger(n.Value, now)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"hour": 1 << 20, "day": 1<<20 + 3, "held": 7}
		counts := map[string]int{"hour": got.left.Within(now, time.Hour, oneDay), "day": got.left.Within(now, oneDay, oneDay), "held": got.held.Within(now, oneDay, oneDay)}
		if later > 0 {
			delete(want, "hour")
			delete(counts, "hour")
		}
		if d := cmp.Diff(want, counts); d != "" {
			t.Errorf("after %v (-want +got):\n%s", later, d)
		}
		for r := range reasons {
			if !got.passed(r, now) || got.passed(r, start.Add(time.Hour)) {
				t.Errorf("after %v: %v passes %t, want it for an hour", later, r, got.passed(r, now))
			}
		}
	}
	if v := l.note(key, start.Add(3*oneDay)).Value; v != nil {
		t.Errorf("a ledger with nothing in it is stored in %d bytes", len(v))
	}
	if got, err := readLedger(nil, start); err != nil || !got.left.Empty() || !got.held.Empty() || len(got.passes) != 0 {
		t.Errorf("nothing is read as %+v, %v", got, err)
	}
}

// TestLetPass: a pass is renewed, not added, and ends by itself.
func TestLetPass(t *testing.T) {
	var l ledger
	for i := range 1000 {
		now := start.Add(time.Duration(i) * time.Hour)
		l.letPass(scheduler.Reason(i%int(reasons)), now.Add(oneDay), now)
		if len(l.passes) > 25 {
			t.Fatalf("%d passes", len(l.passes))
		}
	}
	l.letPass(scheduler.ReasonRobots, start.Add(oneDay), start)
	l.letPass(scheduler.ReasonRobots, start.Add(2*oneDay), start)
	if !l.passed(scheduler.ReasonRobots, start.Add(36*time.Hour)) || l.passed(scheduler.ReasonRobots, start.Add(2*oneDay)) || l.passed(scheduler.ReasonCopy, start.Add(9999*time.Hour)) {
		t.Errorf("passes %+v", l.passes)
	}
}

// TestDamagedLedger: a ledger that is cut or longer than it says is told of, not guessed at.
func TestDamagedLedger(t *testing.T) {
	l := busyLedger()
	v := l.note(weburl.HostKey{}, start).Value
	for n := 1; n < len(v); n++ {
		if got, err := readLedger(v[:n], start); err == nil || len(got.passes) > 0 {
			t.Errorf("the first %d of %d bytes are read as %+v, %v", n, len(v), got, err)
		}
	}
	for _, tail := range [][]byte{{0}, {1}, v} {
		if _, err := readLedger(append(v[:len(v):len(v)], tail...), start); err == nil {
			t.Errorf("%d bytes more are read", len(tail))
		}
	}
}

// FuzzReadLedger: whatever is stored, what is read of it is bounded, can be stored again,
// and then is the same.
func FuzzReadLedger(f *testing.F) {
	l := busyLedger()
	f.Add([]byte(nil))
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff})
	f.Add(l.note(weburl.HostKey{}, start).Value)
	f.Fuzz(func(t *testing.T, v []byte) {
		l, err := readLedger(v, start)
		if err != nil {
			return
		}
		if len(l.passes) > len(v) {
			t.Errorf("%d bytes are read as %d passes", len(v), len(l.passes))
		}
		again, err := readLedger(l.note(weburl.HostKey{}, start).Value, start)
		if err != nil {
			t.Fatalf("what was read cannot be stored: %v", err)
		}
		if got, want := fmt.Sprint(again.left.Within(start, oneDay, oneDay), again.held.Within(start, oneDay, oneDay)), fmt.Sprint(l.left.Within(start, oneDay, oneDay), l.held.Within(start, oneDay, oneDay)); got != want {
			t.Errorf("counts %s, want %s", got, want)
		}
	})
}
