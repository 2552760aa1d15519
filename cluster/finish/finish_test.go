package finish_test

import (
	"context"
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
	return &finish.Node{Name: "n0", Of: "crawling", Engine: e, Clock: clustertest.NewClock(1), Times: cluster.DefaultTimes(), Idle: idle}
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
			if err := n.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if look.Stop() || still.Stop() || time.Now().Before(works) || steps < 0 {
				t.Error("it ended while there was work")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		works = time.Now().Add(time.Hour)
		if err := n.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
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
			if err := n.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
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
		if err := node(e, func(context.Context) ([]finish.Part, bool, error) { return nil, false, disk }).Await(t.Context()); !errors.Is(err, disk) {
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
		if err := n.Await(ctx); !errors.Is(err, cluster.ErrStranger) {
			t.Errorf("%v, want %v", err, cluster.ErrStranger)
		}
		if _, err := e.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "finish/crawling/round", Value: []byte("{")}}}); err != nil {
			t.Fatal(err)
		}
		if err := n.Await(t.Context()); err == nil || err.Error() != "key finish/crawling/round of the engine cannot be read: unexpected end of JSON input" {
			t.Errorf("%v", err)
		}
	})
}
