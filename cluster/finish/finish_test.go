package finish_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/finish"
)

// founded is a cluster of one partition, which n0 owns.
func founded(t *testing.T) (*clustertest.Memory, int64) {
	e := clustertest.NewMemory()
	if _, err := cluster.Found(t.Context(), e, cluster.Founding{Seat: cluster.Seat{Node: "n0", Store: "s"}, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	out, err := e.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "own/p00", Value: []byte(`{"node":"n0","store":"s"}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	return e, int64(out.Revision)
}

func node(e cluster.Engine, idle func(context.Context) ([]finish.Part, bool, error)) *finish.Node {
	return &finish.Node{Name: "n0", Of: "crawling", Engine: e, Clock: clustertest.NewClock(1), Times: cluster.DefaultTimes(),
		Idle: func(ctx context.Context, _ int) ([]finish.Part, bool, error) { return idle(ctx) }}
}

// TestOneAfterTheOther: a run that begins after the end of another waits for its own; nothing is written while there is work.
func TestOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, epoch := founded(t)
		var works time.Time
		n := node(e, func(context.Context) ([]finish.Part, bool, error) {
			return []finish.Part{{Epoch: epoch}}, time.Now().After(works), nil
		})
		for range 3 {
			works = time.Now().Add(time.Hour)
			steps := -1
			look := time.AfterFunc(time.Minute, func() { steps = e.Steps() })
			still := time.AfterFunc(59*time.Minute, func() {
				if got := e.Steps(); got != steps {
					t.Errorf("%d steps while there was work", got-steps)
				}
			})
			if _, err := n.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if look.Stop() || still.Stop() || time.Now().Before(works) || steps < 0 {
				t.Error("it ended while there was work")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		works = time.Now().Add(time.Hour)
		if _, err := n.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want that ctx ended", err)
		}
	})
}

// TestOldOwner: what was said by a claim that is over does not count, nor what a released partition had.
func TestOldOwner(t *testing.T) {
	for name, own := range map[string]string{"another": `{"node":"n1","store":"s"}`, "nobody": `{"node":"n0","store":"s","released":true}`} {
		synctest.Test(t, func(t *testing.T) {
			e, epoch := founded(t)
			if _, err := e.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "own/p00", Value: []byte(own)}}}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			n := node(e, func(context.Context) ([]finish.Part, bool, error) { return []finish.Part{{Epoch: epoch}}, true, nil })
			if _, err := n.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want that it does not end", name, err)
			}
		})
	}
}

// TestErrors: what only a person can end ends the wait.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, epoch := founded(t)
		disk := errors.New("the disk is on fire")
		if _, err := node(e, func(context.Context) ([]finish.Part, bool, error) { return nil, false, disk }).Await(t.Context()); !errors.Is(err, disk) {
			t.Errorf("%v, want %v", err, disk)
		}
		owned, err := cluster.Owners(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() {
			if _, err := cluster.Recover(context.Background(), e, owned.Cluster, cluster.Founding{Seat: cluster.Seat{Node: "n0", Store: "s"}, Partitions: 1}); err != nil {
				t.Error(err)
			}
		})
		n := node(e, func(context.Context) ([]finish.Part, bool, error) { return []finish.Part{{Epoch: epoch}}, false, nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := n.Await(ctx); !errors.Is(err, cluster.ErrStranger) {
			t.Errorf("%v, want %v", err, cluster.ErrStranger)
		}
		if _, err := e.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "finish/crawling/round", Value: []byte("{")}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Await(t.Context()); err == nil || err.Error() != "key finish/crawling/round of the engine cannot be read: unexpected end of JSON input" {
			t.Errorf("%v", err)
		}
	})
}

// TestStages: the second begins when the first is over, and both are waited for; what nodes have to tell is heard at the end.
func TestStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, epoch := founded(t)
		works := []time.Time{time.Now().Add(time.Minute), time.Now().Add(time.Hour)}
		n := node(e, nil)
		n.Stages = 2
		n.Idle = func(_ context.Context, stage int) ([]finish.Part, bool, error) {
			if stage == 1 && time.Now().Before(works[0]) {
				t.Error("the second stage began before the end of the first")
			}
			return []finish.Part{{Epoch: epoch}}, time.Now().After(works[stage]), nil
		}
		n.Say = func(context.Context) (json.RawMessage, error) { return json.Marshal(time.Now().After(works[1])) }
		end, err := n.Await(t.Context())
		if err != nil || time.Now().Before(works[1]) || time.Since(works[1]) > time.Minute {
			t.Errorf("it ended %v after the second stage's work: %v", time.Since(works[1]), err)
		}
		if end.Late || end.Run != 1 || len(end.Said) != 1 || end.Said[0].Node != "n0" || string(end.Said[0].Words) != "true" {
			t.Errorf("the end is %+v", end)
		}
	})
}

// TestLate: who comes a short while after the end of a run without having been there does not begin another one; who was there does, and so does
// who comes much later.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, epoch := founded(t)
		idle := func(context.Context) ([]finish.Part, bool, error) { return []finish.Part{{Epoch: epoch}}, true, nil }
		awaits := func(name string, late bool, run int64) {
			t.Helper()
			n := node(e, idle)
			n.Name, n.Late = name, 10*time.Minute
			if end, err := n.Await(t.Context()); err != nil || end.Late != late || end.Run != run {
				t.Errorf("%s: %+v, %v, want late %t, run %d", name, end, err, late, run)
			}
		}
		awaits("n0", false, 1)
		awaits("n1", true, 1)
		awaits("n0", false, 2)
		awaits("n1", true, 2)
		awaits("n1", false, 3) // it knows of the end
		time.Sleep(time.Hour)
		awaits("n2", false, 4)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		broken := node(e, func(context.Context) ([]finish.Part, bool, error) { return nil, false, nil })
		broken.Name, broken.Late = "n2", 10*time.Minute
		if _, err := broken.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		awaits("n0", false, 5)
		awaits("n2", true, 5) // it took part, and was not there at the end
	})
}

// TestAssist: who awaits nothing begins nothing, and lets others come to their end.
func TestAssist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, epoch := founded(t)
		helper := node(e, func(context.Context) ([]finish.Part, bool, error) { return []finish.Part{{Epoch: epoch}}, true, nil })
		ctx, cancel := context.WithCancel(t.Context())
		helped := make(chan error)
		go func() { helped <- helper.Assist(ctx) }()
		time.Sleep(time.Hour)
		if n := e.Steps(); n != 2 {
			t.Errorf("%d steps, though nobody awaits anything", n-2)
		}
		began := time.Now()
		other := node(e, func(context.Context) ([]finish.Part, bool, error) { return nil, true, nil })
		other.Name = "n1"
		if end, err := other.Await(t.Context()); err != nil || time.Since(began) > time.Minute {
			t.Errorf("%+v, %v after %v", end, err, time.Since(began))
		}
		cancel()
		if err := <-helped; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
