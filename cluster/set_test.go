package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
)

// TestLaggardLeavesTheSet: the log is trimmed over a node that does not follow, and it is never promoted.
func TestLaggardLeavesTheSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		b.line.Set(clustertest.Faults{Cut: true})
		a.work <- noise(100 << 10) // more than MaxBehind
		w.until("out of the set", time.Minute, func() bool { return !b.inSync(w)() })
		w.until("trimmed", time.Minute, func() bool { return w.logLen(t) == 0 })
		if why := a.standing().Unprotected; !strings.Contains(why, "no other node") {
			t.Errorf("the last of the set says %q", why)
		}
		a.kill(1000)
		b.line.Set(clustertest.Faults{})
		w.until("refused", time.Minute, func() bool { return ended(b) })
		if !errors.Is(b.err, cluster.ErrRebuild) {
			t.Errorf("err = %v, want ErrRebuild", b.err)
		}
	})
}

// TestDeadNodeLeavesTheSetInTime: a node that is gone keeps the log for Times.Lag, no longer; the owner stays whatever happens.
func TestDeadNodeLeavesTheSetInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		w.until("protected", time.Minute, func() bool { return a.standing().Unprotected == "" })
		b.kill(1000)
		w.until("unprotected", time.Minute, func() bool { return strings.Contains(a.standing().Unprotected, "alive") })
		time.Sleep(w.times.Lag - time.Minute)
		a.send(w, 5)
		time.Sleep(w.times.Lag - time.Minute)
		if !b.inSync(w)() || w.logLen(t) != 5 {
			t.Errorf("before its time: in the set %v, %d entries", b.inSync(w)(), w.logLen(t))
		}
		if a.standing().Kept == 0 {
			t.Error("what is kept of the log for the dead node is not told")
		}
		w.until("out of the set", 2*time.Minute, func() bool { return !b.inSync(w)() })
		w.until("trimmed", time.Minute, func() bool { return w.logLen(t) == 0 })
		if !a.inSync(w)() || !a.may() || a.standing().Kept != 0 {
			t.Errorf("the last of the set left it: %+v", a.standing())
		}
	})
}

// TestClocksApart: a standby whose wall clock is a minute off never claims, and says why.
func TestClocksApart(t *testing.T) {
	for _, c := range []struct {
		ahead time.Duration
		want  bool
	}{{0, true}, {30 * time.Second, true}, {2 * time.Minute, false}, {-2 * time.Minute, false}} {
		t.Run(c.ahead.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, a, b := pair(t, ahead(c.ahead))
				defer w.stopAll()
				time.Sleep(3 * w.times.Beat) // it has seen new beats
				a.kill(1000)
				time.Sleep(time.Minute)
				if b.may() != c.want {
					t.Errorf("took over: %v; %+v", b.may(), b.standing())
				}
				if why := b.standing().Unprotected; !c.want && !strings.Contains(why, "NTP") {
					t.Errorf("it says %q", why)
				}
			})
		})
	}
}

// TestGuardHoldsBeforeTheEngineIsFull: appends wait, beats and trimming go on, and nothing is lost.
func TestGuardHoldsBeforeTheEngineIsFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.send(w, 3)
		if _, err := w.engine.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "else", Value: noise(1 << 20)}}}); err != nil {
			t.Fatal(err)
		}
		w.engine.SetQuota(2 << 20)
		time.Sleep(2 * w.times.Sync)
		a.work <- []byte("waits")
		time.Sleep(20 * time.Second)
		if a.acked() != 3 || !strings.Contains(a.standing().Held, "half of its quota") {
			t.Errorf("%d acknowledged; held: %q", a.acked(), a.node.Held())
		}
		if !a.may() {
			t.Error("an owner whose appends wait lost its right")
		}
		w.engine.SetQuota(1 << 30)
		w.until("goes on", time.Minute, func() bool { return a.acked() == 4 })
		if a.node.Held() != "" {
			t.Errorf("held: %q", a.node.Held())
		}
		w.equal(a.disk, b.disk)
	})
}

// TestCopyThatFailsGivesUp: a disk that is full at the owner moves the partition; at a standby, it ends the standby alone.
func TestCopyThatFailsGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, d := newWorld(t, 1)
		defer w.stopAll()
		full := false
		a := w.start("n1", 1, d, func(p *process) {
			write := p.copy.Write
			p.copy.Write = func(ctx context.Context, l *cluster.Lead, add func([]byte) error) error {
				return write(ctx, l, func(step []byte) error {
					if full {
						if _, err := l.Append(ctx, step); err != nil {
							return err
						}
						return clustertest.ErrDisk
					}
					return add(step)
				})
			}
		})
		w.until("active", 10*time.Second, a.is(cluster.Active))
		b := w.start("n2", 2, d.Copied("s2"))
		w.until("in the set", time.Minute, b.inSync(w))
		a.send(w, 3)
		full = true
		a.work <- []byte("appended, and not applied")
		w.until("moved", 10*time.Second, b.is(cluster.Active))
		if !ended(a) || !errors.Is(a.err, clustertest.ErrDisk) {
			t.Errorf("the old owner: %v", a.err)
		}
		if n := len(b.disk.Steps()); n != 4 {
			t.Errorf("the new owner has %d of 4 steps", n)
		}
	})
}

// TestTwoProcessesOfOneName: one that was started a second time takes over from the first as
// another node would, and the first stops acting before.
func TestTwoProcessesOfOneName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		twin := w.start("n1", 9, a.disk.Copied("s1"))
		for range 2000 {
			time.Sleep(10 * time.Millisecond)
			n := 0
			for _, p := range []*process{a, b, twin} {
				if p.may() {
					n++
				}
			}
			if n > 1 {
				t.Fatal("two act at once")
			}
		}
		if !a.may() {
			t.Error("a second process of the same name took the partition from one that lives")
		}
	})
}

// TestRolesInOrder: what a node goes through when it takes over, and when it is fenced.
func TestRolesInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.line.Set(clustertest.Faults{Cut: true})
		var seen []string
		for b.acked() == 0 {
			if r := fmt.Sprint(a.standing().Role, ", ", b.standing().Role); len(seen) == 0 || seen[len(seen)-1] != r {
				seen = append(seen, r)
			}
			select {
			case b.work <- []byte("one"):
			default:
			}
			time.Sleep(time.Millisecond)
		}
		a.line.Set(clustertest.Faults{})
		w.until("follows", time.Minute, a.is(cluster.Standby))
		if got := strings.Join(seen, "; "); got != "active, standby; active, active" && got != "active, standby; active, taking over; active, active" {
			t.Errorf("roles: %s", got)
		}
		if a.standing().Owner.Node != "n2" || b.standing().Epoch == 0 {
			t.Errorf("%+v, %+v", a.standing(), b.standing())
		}
	})
}
