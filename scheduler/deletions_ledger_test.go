package scheduler

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/weburl"
)

// TestAdmit: how many deletions of an index leave within the window, counted with the
// documents that left before.
func TestAdmit(t *testing.T) {
	set := Brake{On: true, Min: 100, Percent: 20, Window: time.Hour}
	for _, c := range []struct {
		name      string
		set       Brake
		documents uint64
		want      int // of 300
	}{
		{"both passed, min decides", set, 300, 100},
		{"both passed, percent decides", set, 1000, 200},
		{"percent is not passed", set, 10000, 300},
		{"percent not asked", Brake{On: true, Min: 100, Window: time.Hour}, 10000, 100},
		{"min not asked", Brake{On: true, Percent: 20, Window: time.Hour}, 100, 20},
		{"neither asked", Brake{On: true, Window: time.Hour}, 1000, 300},
		{"a small index", Brake{On: true, Min: 3, Percent: 20, Window: time.Hour}, 10, 3},
		{"an index of absurd size", set, 1<<64 - 1, 300},
	} {
		for _, batch := range []int{1, 7, 300} {
			d, documents, sent := new(Deletions), c.documents, 0
			for i := 0; i < 300; i += batch {
				_, n := d.admit(c.set, documents, min(batch, 300-i), start().Add(time.Duration(i)*time.Second))
				sent += n
				documents -= uint64(n)
			}
			if sent != c.want {
				t.Errorf("%s, in batches of %d: %d leave, want %d", c.name, batch, sent, c.want)
			}
		}
	}
	d := new(Deletions)
	d.admit(set, 300, 150, start())
	if _, n := d.admit(set, 200, 1, start().Add(50*time.Minute)); n != 0 {
		t.Error("one leaves within the window")
	}
	if _, n := d.admit(set, 200, 1, start().Add(2*time.Hour)); n != 1 || d.sentWithin(set, start().Add(2*time.Hour)) != 1 {
		t.Errorf("%d leave though the window is empty again", n)
	}
	if n := new(Deletions).sentWithin(Brake{}, start()); n != 0 {
		t.Errorf("%d within no time", n)
	}
}

// busyLedger is one with all that a ledger can hold.
func busyLedger() ledger {
	var l ledger
	l.left.add(start().Add(-20*time.Hour), oneDay, 3)
	l.left.add(start().Add(-time.Hour), oneDay, 1<<20)
	l.held.add(start(), oneDay, 7)
	for r := range reasonsEnd {
		l.letPass(r, start().Add(time.Hour), start())
	}
	return l
}

// TestLedgerIsStored: what a ledger counts and lets pass is the same for the next process,
// except for its age.
func TestLedgerIsStored(t *testing.T) {
	l, key := busyLedger(), weburl.HostKey{1, 2, 3}
	n := l.note(key, start())
	if n.Name != "scheduler.deletions.0102030000000000" {
		t.Errorf("stored as %s", n.Name)
	}
	for _, later := range []time.Duration{0, 59 * time.Minute, -day} {
		now := start().Add(later)
		got, err := readLedger(n.Value, now)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"hour": 1 << 20, "day": 1<<20 + 3, "held": 7}
		counts := map[string]int{"hour": got.left.within(now, time.Hour, oneDay), "day": got.left.within(now, oneDay, oneDay), "held": got.held.within(now, oneDay, oneDay)}
		if later > 0 {
			delete(want, "hour")
			delete(counts, "hour")
		}
		if d := cmp.Diff(want, counts); d != "" {
			t.Errorf("after %v (-want +got):\n%s", later, d)
		}
		for r := range reasonsEnd {
			if !got.passed(r, now) || got.passed(r, start().Add(time.Hour)) {
				t.Errorf("after %v: %v passes %t, want it for an hour", later, r, got.passed(r, now))
			}
		}
	}
	if v := l.note(key, start().Add(3*oneDay)).Value; v != nil {
		t.Errorf("a ledger with nothing in it is stored in %d bytes", len(v))
	}
	if got, err := readLedger(nil, start()); err != nil || len(got.left.slots)+len(got.held.slots)+len(got.passes) != 0 {
		t.Errorf("nothing is read as %+v, %v", got, err)
	}
}

// TestLetPass: a pass is renewed, not added, and ends by itself.
func TestLetPass(t *testing.T) {
	var l ledger
	for i := range 1000 {
		now := start().Add(time.Duration(i) * time.Hour)
		l.letPass(Reason(i%int(reasonsEnd)), now.Add(oneDay), now)
		if len(l.passes) > 25 {
			t.Fatalf("%d passes", len(l.passes))
		}
	}
	l.letPass(ReasonRobots, start().Add(day), start())
	l.letPass(ReasonRobots, start().Add(2*day), start())
	if !l.passed(ReasonRobots, start().Add(36*time.Hour)) || l.passed(ReasonRobots, start().Add(2*day)) || l.passed(ReasonCopy, start().Add(9999*time.Hour)) {
		t.Errorf("passes %+v", l.passes)
	}
}

// TestDamagedLedger: a ledger that is cut or longer than it says is told of, not guessed at.
func TestDamagedLedger(t *testing.T) {
	l := busyLedger()
	v := l.note(weburl.HostKey{}, start()).Value
	for n := 1; n < len(v); n++ {
		if got, err := readLedger(v[:n], start()); err == nil || len(got.passes) > 0 {
			t.Errorf("the first %d of %d bytes are read as %+v, %v", n, len(v), got, err)
		}
	}
	for _, tail := range [][]byte{{0}, {1}, v} {
		if _, err := readLedger(append(v[:len(v):len(v)], tail...), start()); err == nil {
			t.Errorf("%d bytes more are read", len(tail))
		}
	}
	future := tally{last: start(), slots: []slot{{start().Add(time.Hour), 5}}} // would count for ever
	if r := (varints{rest: future.append(nil)}); len(readTally(&r, start()).slots) > 0 || !r.bad {
		t.Error("deletions of the future are read")
	}
	if r := (varints{rest: binary.AppendUvarint(binary.AppendVarint(nil, 0), 1<<40)}); len(readTally(&r, start()).slots) > 0 || !r.bad {
		t.Error("more parts than there are are read")
	}
}

// TestOldCount: what an older version stored of the deletions of the index is not believed,
// and no damage.
func TestOldCount(t *testing.T) {
	for _, since := range []time.Time{{}, start()} {
		old := binary.AppendVarint(binary.AppendVarint(nil, start().UnixNano()), since.UnixNano())
		for range 5 {
			old = binary.AppendUvarint(binary.AppendUvarint(binary.AppendVarint(old, int64(time.Minute)), 20), 0)
		}
		if r := (varints{rest: old}); len(readTally(&r, start()).slots) > 0 && !r.bad && len(r.rest) == 0 {
			t.Errorf("since %v: an old count is believed", since)
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
	f.Add(l.note(weburl.HostKey{}, start()).Value)
	f.Fuzz(func(t *testing.T, v []byte) {
		l, err := readLedger(v, start())
		if err != nil {
			return
		}
		if len(l.left.slots) > tallySlots+1 || len(l.held.slots) > tallySlots+1 || len(l.passes) > len(v) {
			t.Errorf("%d bytes are read as %d and %d slots with %d passes", len(v), len(l.left.slots), len(l.held.slots), len(l.passes))
		}
		again, err := readLedger(l.note(weburl.HostKey{}, start()).Value, start())
		if err != nil {
			t.Fatalf("what was read cannot be stored: %v", err)
		}
		if got, want := fmt.Sprint(again.left.within(start(), oneDay, oneDay), again.held.within(start(), oneDay, oneDay)), fmt.Sprint(l.left.within(start(), oneDay, oneDay), l.held.within(start(), oneDay, oneDay)); got != want {
			t.Errorf("counts %s, want %s", got, want)
		}
	})
}
