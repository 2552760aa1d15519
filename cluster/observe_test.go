package cluster_test

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
)

// TestObserve: whoever asks sees who owns, who lives, who could take over and why there was a take-over; and no
// second process gets a name under which one lives.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, disk := newWorld(t, 1)
		look := func() *cluster.State {
			t.Helper()
			s, err := cluster.Observe(t.Context(), w.engine, clustertest.NewClock(1), w.times)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		alone := func(name string) error {
			return cluster.Alone(t.Context(), w.engine, name, clustertest.NewClock(1), w.times)
		}
		if s := look(); !s.States[0].Released || s.Alive("n1") || s.Unprotected(&s.States[0]) == "" || len(s.Peers()) != 0 {
			t.Errorf("founded: %+v", s)
		}
		one := w.start("n1", 1, disk)
		time.Sleep(5 * time.Second)
		s := look()
		if p := &s.States[0]; p.Owner.Node != "n1" || p.Released || !s.Alive("n1") || p.Why != "the cluster was founded" || p.Since.IsZero() || p.Epoch == 0 {
			t.Errorf("one leads: %+v", s)
		}
		if err := alone("n1"); !errors.Is(err, cluster.ErrTwice) {
			t.Errorf("n1 again: %v", err)
		}
		if err := alone("n2"); err != nil {
			t.Errorf("n2: %v", err)
		}
		if err := one.stop(); err != nil {
			t.Fatal(err)
		}
		if s := look(); !s.States[0].Released || len(s.Nodes) != 0 {
			t.Errorf("stopped, it left a sign of life: %+v", s)
		}
		two := w.start("n1", 2, disk)
		time.Sleep(5 * time.Second)
		two.kill(0)
		if s := look(); s.Alive("n1") || len(s.Nodes) != 1 {
			t.Errorf("killed: %+v", s)
		}
		began := time.Now()
		if err := alone("n1"); err != nil || time.Since(began) < w.times.Right {
			t.Errorf("after a kill: %v after %v, want at least %v", err, time.Since(began), w.times.Right)
		}
	})
}

// TestGlance: who has beaten since the last glance lives; the first one does not know; and what each node does is said.
func TestGlance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, disk := newWorld(t, 1)
		var last *cluster.State
		look := func() map[string]string {
			t.Helper()
			time.Sleep(3 * w.times.Beat)
			s, err := cluster.Glance(t.Context(), w.engine, last)
			if err != nil {
				t.Fatal(err)
			}
			last = s
			does := map[string]string{}
			for _, p := range s.Parts(&s.States[0]) {
				does[p.Node] = p.Does()
			}
			return does
		}
		want := func(what string, got, want map[string]string) {
			t.Helper()
			if !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		one := w.start("n1", 1, disk)
		time.Sleep(5 * time.Second)
		want("at first", look(), map[string]string{"n1": "gives no sign of life"})
		want("then", look(), map[string]string{"n1": "crawls"})
		one.kill(0)
		look()
		want("killed", look(), map[string]string{"n1": "gives no sign of life"})
		two := w.start("n1", 1, disk)
		time.Sleep(5 * time.Second)
		want("back", look(), map[string]string{"n1": "crawls"})
		if err := two.stop(); err != nil {
			t.Fatal(err)
		}
		want("stopped", look(), map[string]string{"n1": "does not run"})
	})
}
