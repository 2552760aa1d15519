package cluster_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/entry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStandbyFollowsAndTakesOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.send(w, 100)
		w.equal(a.disk, b.disk)
		killed := time.Now()
		a.kill(0)
		w.until("taken over", 10*time.Second, b.is(cluster.Active))
		took := time.Since(killed)
		if took < w.times.Silence || took > w.times.Silence+3*w.times.Beat {
			t.Errorf("taken over after %v", took)
		}
		if n := len(b.disk.Steps()); n != 100 {
			t.Errorf("the new owner has %d of 100 steps", n)
		}
		b.send(w, 10)
		back := w.start("n1", 3, a.disk)
		w.equal(b.disk, back.disk)
	})
}

// TestRestartDoesNotDelay: a node that was killed and runs again before the others have seen its silence keeps nobody from taking over.
func TestRestartDoesNotDelay(t *testing.T) {
	for _, back := range []time.Duration{100 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second} {
		t.Run(back.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, a, b := pair(t)
				defer w.stopAll()
				a.send(w, 5)
				killed := time.Now()
				a.line.Set(clustertest.Faults{Dead: true})
				a.cancel()
				time.Sleep(back)
				again := w.start("n1", 3, a.disk.Copied("s1")) // what was killed still tries to speak
				w.until("taken over", 20*time.Second, func() bool { return b.is(cluster.Active)() || again.is(cluster.Active)() })
				if took := time.Since(killed); took < w.times.Silence-w.times.Beat || took > w.times.Silence+w.times.Beat+w.times.Beat/2 {
					t.Errorf("taken over after %v", took)
				}
				w.equal(b.disk, again.disk)
				w.until("no sign of the run that was killed", 20*time.Second, func() bool {
					v, err := w.engine.List(t.Context(), "beat/n1/", "beat/n10", 10)
					return err == nil && len(v.Keys) == 1
				})
			})
		})
	}
}

// TestLongRequest: what began under the right goes on as long as beats are confirmed, however long that is, and ends with the right.
func TestLongRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.mu.Lock()
		lead := a.lead
		a.mu.Unlock()
		download, done, err := lead.Acting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		time.Sleep(10 * time.Minute)
		if download.Err() != nil || !a.may() || b.may() {
			t.Fatalf("after ten minutes of beats: %v, may %v, the other one %v", context.Cause(download), a.may(), b.may())
		}
		cut := time.Now()
		a.line.Set(clustertest.Faults{Cut: true})
		<-download.Done()
		if took := time.Since(cut); took > w.times.Right || !errors.Is(context.Cause(download), cluster.ErrPaused) {
			t.Errorf("it ends after %v: %v", took, context.Cause(download))
		}
	})
}

// TestReleaseIsAtOnce: a process that stops in order makes nobody wait for its silence.
func TestReleaseIsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.send(w, 5)
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		if took := w.until("taken over", 10*time.Second, b.is(cluster.Active)); took > w.times.Beat+w.times.Beat/2 {
			t.Errorf("taken over after %v", took)
		}
		w.equal(a.disk, b.disk)
	})
}

// TestOwnerStopsBeforeAnybodyClaims: cut off in every way that a network can, it no longer acts
// when the standby does, and what it still appends is refused.
func TestOwnerStopsBeforeAnybodyClaims(t *testing.T) {
	for name, faults := range map[string]clustertest.Faults{"cut": {Cut: true}, "one way": {OneWay: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, a, b := pair(t)
				defer w.stopAll()
				cut := time.Now()
				a.line.Set(faults)
				w.until("stopped acting", 10*time.Second, func() bool { return !a.may() })
				stopped := time.Since(cut)
				if b.may() || stopped > w.times.Right {
					t.Errorf("the owner stopped after %v, the other may act: %v", stopped, b.may())
				}
				w.until("taken over", 20*time.Second, b.is(cluster.Active)) // who is deaf beats for a while
				if time.Since(cut) < w.times.Right+w.times.Silence-w.times.Right {
					t.Errorf("taken over %v after the cut", time.Since(cut))
				}
				b.send(w, 3)
				a.line.Set(clustertest.Faults{})
				w.until("fenced", 10*time.Second, a.is(cluster.Standby))
				w.equal(a.disk, b.disk)
				if a.may() {
					t.Error("the old owner may act again")
				}
			})
		})
	}
}

// TestEngineAwayForAnHour: nobody may act, nobody takes over, and the old owner goes on.
func TestEngineAwayForAnHour(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.send(w, 3)
		epoch := a.standing().Epoch
		a.line.Set(clustertest.Faults{Cut: true})
		b.line.Set(clustertest.Faults{Cut: true})
		a.work <- []byte("under way")
		time.Sleep(time.Hour)
		if a.may() || b.may() {
			t.Error("somebody may act without an engine")
		}
		a.line.Set(clustertest.Faults{})
		b.line.Set(clustertest.Faults{})
		w.until("goes on", 10*time.Second, func() bool { return a.may() && a.acked() == 4 })
		if got := a.standing().Epoch; got != epoch {
			t.Errorf("epoch %d, was %d: it was claimed anew", got, epoch)
		}
		w.equal(a.disk, b.disk)
	})
}

// TestLostAnswersAppendOnce: every second answer is lost, steps come late and twice; the log has each entry once.
func TestLostAnswersAppendOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.line.Set(clustertest.Faults{Lost: .5, Repeat: .3, Busy: .1, Late: .1, Delay: 50 * time.Millisecond})
		sent := 0
		for sent < 60 {
			select {
			case a.work <- []byte{byte(sent)}:
				sent++
			case b.work <- []byte{byte(sent)}: // it may lose its right for want of answers
				sent++
			}
		}
		w.until("acknowledged", time.Hour, func() bool { return a.acked()+b.acked() == sent || !a.may() && !b.may() })
		a.line.Set(clustertest.Faults{})
		time.Sleep(2 * time.Minute) // until the last repetition has arrived
		w.equal(a.disk, b.disk)
		seen := map[byte]int{}
		for _, s := range a.disk.Steps() {
			seen[s.Bytes[0]]++
		}
		for i := range byte(sent) {
			if seen[i] > 1 {
				t.Errorf("step %d stands %d times in the log", i, seen[i])
			}
		}
		for _, p := range []*process{a, b} {
			for _, ack := range p.acknowledged() {
				if seen[ack[0]] != 1 {
					t.Errorf("step %d was acknowledged, and stands %d times in the log", ack[0], seen[ack[0]])
				}
			}
		}
		if a.acked() < 20 {
			t.Errorf("%d steps were acknowledged: the test tries nothing", a.acked())
		}
	})
}

// TestRepeatedAppendIsNoGhost: a request that arrives a second time, after its entry was trimmed, adds nothing.
func TestRepeatedAppendIsNoGhost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.line.Set(clustertest.Faults{Repeat: 1})
		a.send(w, 50)
		w.equal(a.disk, b.disk)
		time.Sleep(2 * time.Minute)
		v, err := w.engine.List(t.Context(), "log/", "log0", 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Keys) != 0 {
			t.Errorf("%d entries in a log that was trimmed to its end; the first is %s", len(v.Keys), v.Keys[0].Key)
		}
	})
}

// TestLargeStepsAreCut: entries keep below what an engine takes, and a step is applied whole.
func TestLargeStepsAreCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		large := noise(5 << 20)
		a.work <- large
		a.work <- []byte("small")
		w.until("acknowledged", time.Minute, func() bool { return a.acked() == 2 })
		w.equal(a.disk, b.disk)
		steps := b.disk.Steps()
		if len(steps) != 2 || len(steps[0].Bytes) != len(large) {
			t.Errorf("%d steps, the first of %d bytes", len(steps), len(steps[0].Bytes))
		}
		if steps[0].Behind.Seq < 3 {
			t.Errorf("a step of 5 MiB stands in %d entries: the test cuts nothing", steps[0].Behind.Seq-1)
		}
	})
}

// TestKilledBetweenParts: what of a large step is in the log stays void, twice in a row.
func TestKilledBetweenParts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, d := newWorld(t, 1)
		defer w.stopAll()
		a := w.start("n1", 1, d)
		w.until("active", 10*time.Second, a.is(cluster.Active))
		b := w.start("n2", 2, d.Copied("s2"))
		w.until("in the set", time.Minute, b.inSync(w))
		large := noise(8 << 20)
		for round, p := range []*process{a, b} {
			p.line.Set(clustertest.Faults{Delay: 900 * time.Millisecond})
			before := w.engine.Steps()
			p.work <- large
			w.until("begun", time.Minute, func() bool { return w.logLen(t) > 0 && w.engine.Steps() > before+2 })
			p.kill(1000)
			if n := w.logLen(t); n == 0 || n >= 9 {
				t.Fatalf("round %d: %d entries: it was not killed between two", round, n)
			}
			if p == a {
				w.until("taken over", time.Minute, b.is(cluster.Active))
			}
		}
		a = w.start("n1", 3, a.disk)
		b = w.start("n2", 4, b.disk)
		w.until("somebody leads", time.Minute, func() bool { return a.may() || b.may() })
		select {
		case a.work <- []byte("whole"):
		case b.work <- []byte("whole"):
		}
		w.until("acknowledged", time.Minute, func() bool { return a.acked()+b.acked() == 1 })
		w.equal(a.disk, b.disk)
		if steps := a.disk.Steps(); len(steps) != 1 || string(steps[0].Bytes) != "whole" {
			t.Errorf("%d steps, want the one that is whole", len(steps))
		}
	})
}

// noise is what does not pack.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{18}).Read(b) // never fails
	return b
}

func (w *world) logLen(t *testing.T) int {
	v, err := w.engine.List(t.Context(), "log/", "log0", 1000)
	if err != nil {
		t.Fatal(err)
	}
	n := len(v.Keys)
	for v.More {
		if v, err = w.engine.List(t.Context(), v.Keys[len(v.Keys)-1].Key+"\x00", "log0", 1000); err != nil {
			t.Fatal(err)
		}
		n += len(v.Keys)
	}
	return n
}

// TestOnlyTheSetMayClaim: an empty store, and one of another cluster, are never promoted.
func TestOnlyTheSetMayClaim(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, d := newWorld(t, 1)
		defer w.stopAll()
		a := w.start("n1", 1, d)
		w.until("active", 10*time.Second, a.is(cluster.Active))
		a.send(w, 3)
		empty := w.start("n2", 2, clustertest.NewDisk("s2", entry.Position{}))
		w.until("refused", time.Minute, func() bool { return ended(empty) })
		if !errors.Is(empty.err, cluster.ErrRebuild) {
			t.Errorf("an empty store: %v, want ErrRebuild", empty.err)
		}
		other := w.disk("s3", 0)
		foreign := other.At()
		foreign.Hash[0] ^= 1
		foreign.Seq = a.disk.At().Seq
		stranger := w.start("n3", 3, clustertest.NewDisk("s3", foreign))
		w.until("refused", time.Minute, func() bool { return ended(stranger) })
		if !errors.Is(stranger.err, cluster.ErrDiverged) {
			t.Errorf("a store of another log: %v, want ErrDiverged", stranger.err)
		}
		a.kill(0)
		time.Sleep(time.Hour)
		if empty.inSync(w)() || stranger.inSync(w)() {
			t.Error("a store that is no copy is in the set")
		}
	})
}

func ended(p *process) bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// TestDiskSwapped: a new disk under an old name is another seat; what it lacks it cannot claim.
func TestDiskSwapped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.send(w, 20)
		w.equal(a.disk, b.disk)
		b.kill(0)
		a.kill(0)
		swapped := w.start("n2", 5, clustertest.NewDisk("new", entry.Position{}))
		time.Sleep(time.Hour)
		if !ended(swapped) || swapped.may() || swapped.inSync(w)() || !errors.Is(swapped.err, cluster.ErrRebuild) {
			t.Errorf("an empty disk: %+v, err %v", swapped.standing(), swapped.err)
		}
		back := w.start("n1", 6, a.disk)
		w.until("taken over", time.Minute, back.is(cluster.Active))
	})
}

// TestDiskSetBack: a disk that lost what it had called safe says so, and leaves the set if the log no longer reaches back.
func TestDiskSetBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		old := b.disk.Copied("s2")
		a.send(w, 20)
		w.equal(a.disk, b.disk)
		w.until("trimmed", time.Minute, func() bool { return w.logLen(t) == 0 })
		b.kill(0)
		set := w.start("n2", 5, old)
		w.until("refused", time.Minute, func() bool { return ended(set) })
		if !errors.Is(set.err, cluster.ErrRebuild) {
			t.Errorf("err = %v, want ErrRebuild", set.err)
		}
		w.until("out of the set", time.Minute, func() bool { return !set.inSync(w)() })
	})
}

// TestEngineSetBack: restored from a backup of an hour ago, emptied, another cluster: stop with words.
func TestEngineSetBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, old *clustertest.Memory) error
		want   error
	}{
		"restored": {func(w *world, old *clustertest.Memory) error { w.engine.SetTo(old); return nil }, cluster.ErrSetBack},
		"emptied":  {func(w *world, _ *clustertest.Memory) error { w.engine.SetTo(clustertest.NewMemory()); return nil }, cluster.ErrSetBack},
		"recovered": {func(w *world, _ *clustertest.Memory) error {
			_, err := cluster.Recover(context.Background(), w.engine, w.meta.Cluster, cluster.Founding{Seat: cluster.Seat{Node: "n2", Store: "s2"}, Partitions: 1, Seqs: map[cluster.Partition]uint64{0: 11}})
			return err
		}, cluster.ErrStranger},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, a, b := pair(t)
				defer w.stopAll()
				old := w.engine.Snapshot()
				a.send(w, 10)
				w.equal(a.disk, b.disk)
				if err := c.change(w, old); err != nil {
					t.Fatal(err)
				}
				w.until("both stop", time.Minute, func() bool { return ended(a) && ended(b) })
				for _, p := range []*process{a, b} {
					if !errors.Is(p.err, c.want) {
						t.Errorf("%s: %v, want %v", p.name, p.err, c.want)
					}
				}
				// Started again it remembers nothing but its cluster and its store, and refuses too.
				again := w.start("n1", 7, a.disk)
				w.until("refused", time.Minute, func() bool { return ended(again) })
				if again.err == nil {
					t.Error("started again it runs")
				}
			})
		})
	}
}

// TestRecoveredClusterRuns: after a recovery the founder leads, and the others rebuild from it.
func TestRecoveredClusterRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, b := pair(t)
		defer w.stopAll()
		a.send(w, 10)
		w.equal(a.disk, b.disk)
		a.kill(0)
		b.kill(0)
		at := b.disk.At().Seq
		f := cluster.Founding{Seat: cluster.Seat{Node: "n2", Store: "s2"}, Seqs: map[cluster.Partition]uint64{0: at}, Partitions: 1}
		if _, err := cluster.Recover(t.Context(), w.engine, "another", f); !errors.Is(err, cluster.ErrStranger) {
			t.Errorf("the store of another cluster: %v", err)
		}
		var err error
		if w.meta, err = cluster.Recover(t.Context(), w.engine, w.meta.Cluster, f); err != nil {
			t.Fatal(err)
		}
		from, err := w.meta.Genesis(0, at)
		if err != nil {
			t.Fatal(err)
		}
		b = w.start("n2", 3, clustertest.NewDisk("s2", from))
		w.until("active", time.Minute, b.is(cluster.Active))
		b.send(w, 3)
		a = w.start("n1", 4, a.disk)
		w.until("refused", time.Minute, func() bool { return ended(a) })
		if !errors.Is(a.err, cluster.ErrRebuild) && !errors.Is(a.err, cluster.ErrDiverged) {
			t.Errorf("a copy of before: %v", a.err)
		}
	})
}

func TestFounding(t *testing.T) {
	e := clustertest.NewMemory()
	seat := cluster.Seat{Node: "n1", Store: "s1"}
	for _, c := range []struct {
		f    cluster.Founding
		want string
	}{
		{cluster.Founding{Seat: cluster.Seat{Node: "a/b", Store: "s"}, Partitions: 1}, "a name has"},
		{cluster.Founding{Seat: cluster.Seat{Node: "a"}, Partitions: 1}, "id of its store"},
		{cluster.Founding{Seat: seat}, "write 1 to 24"},
		{cluster.Founding{Seat: seat, Partitions: 25}, "write 1 to 24"},
		{cluster.Founding{Seat: seat, Partitions: 24}, ""},
		{cluster.Founding{Seat: seat, Partitions: 1}, "exists"},
	} {
		_, err := cluster.Found(t.Context(), e, c.f)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.f, err, c.want)
		}
	}
	if _, err := cluster.Join(t.Context(), clustertest.NewMemory(), cluster.NodeSettings{Name: "n1", Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, cluster.ErrNoCluster) {
		t.Errorf("an engine without a cluster: %v", err)
	}
	refused := clustertest.NewMemory()
	refused.Refuse(cluster.ErrUntrusted)
	if _, err := cluster.Join(t.Context(), refused, cluster.NodeSettings{Name: "n1", Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, cluster.ErrUntrusted) {
		t.Errorf("a refused engine: %v", err)
	}
}
