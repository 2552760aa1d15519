package service

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/placement"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestOwnersMove: who waits for the owner of a partition is told when that is another one, or this node.
func TestOwnersMove(t *testing.T) {
	o := &owners{}
	o.saw(map[int]string{1: "a", 2: "a", 3: "a"})
	at := map[int]<-chan struct{}{}
	for p := range 4 {
		_, at[p] = o.address(p)
	}
	o.saw(map[int]string{1: "a", 2: "b"})
	for p, want := range []string{"", "a", "b", ""} {
		moved := false
		select {
		case <-at[p]:
			moved = true
		default:
		}
		if address, _ := o.address(p); address != want || moved != (p > 1) {
			t.Errorf("partition %d is at %q, want %q; who waits is told: %t", p, address, want, moved)
		}
	}
}

// TestValues: what is one for all nodes is seen by all, the rest is each node's own and outlives its process; of the sites that moved each node tells
// those that it has.
func TestValues(t *testing.T) {
	e, dirs := clustertest.NewMemory(), []string{t.TempDir(), t.TempDir()}
	at := func(n int) *values {
		return &values{engine: e, times: cluster.DefaultTimes(), dir: dirs[n], owns: func(u weburl.URL) bool {
			return u.Host() == []string{"a.test", "b.test"}[n]
		}}
	}
	set := func(n int, name, value string) {
		t.Helper()
		if err := at(n).SetValue(t.Context(), name, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(n int, name, want string) {
		t.Helper()
		if got, err := at(n).Value(t.Context(), name); err != nil || string(got) != want {
			t.Errorf("%s at node %d is %q, %v, want %q", name, n, got, err, want)
		}
	}
	want(0, "crawl.paused", "")
	set(0, "crawl.paused", "paused")
	want(1, "crawl.paused", "paused")
	set(1, "crawl.paused", "")
	want(0, "crawl.paused", "")

	want(0, "event.001", "")
	set(0, "event.001", "x")
	want(0, "event.001", "x")
	want(1, "event.001", "")
	set(0, "a/../b", "y")
	want(0, "a/../b", "y")
	set(0, "event.001", "")
	want(0, "event.001", "")

	set(0, policy.MovesName, `{"http://a.test/":1,"http://b.test/":1}`)
	want(1, policy.MovesName, `{"http://a.test/":1}`)
	set(1, policy.MovesName, `{"http://a.test/":2,"http://b.test/":2}`)
	var moved map[string]int
	if v, err := at(0).Value(t.Context(), policy.MovesName); err != nil || json.Unmarshal(v, &moved) != nil || !maps.Equal(moved, map[string]int{"http://a.test/": 1, "http://b.test/": 2}) {
		t.Errorf("%s, %v", v, err)
	}
	set(0, policy.MovesName, `{}`)
	want(1, policy.MovesName, `{"http://b.test/":2}`)
}

// TestDraining: a node is in one list at most.
func TestDraining(t *testing.T) {
	a := placement.Aim{Drained: []string{"n1"}}
	for _, tt := range []struct {
		d                Draining
		drained, leaving []string
	}{
		{Draining{Node: "n2"}, []string{"n1", "n2"}, nil},
		{Draining{Node: "n2", Leave: true}, []string{"n1"}, []string{"n2"}},
		{Draining{Node: "n2"}, []string{"n1", "n2"}, nil},
		{Draining{Node: "n2", Back: true}, []string{"n1"}, nil},
	} {
		if tt.d.change(&a); !slices.Equal(a.Drained, tt.drained) || !slices.Equal(a.Leaving, tt.leaving) {
			t.Errorf("%+v: %+v", tt.d, a)
		}
	}
}

// TestJoined: a node that crawls one partition crawls, and one that follows all follows; what is wrong with any is told.
func TestJoined(t *testing.T) {
	standing := func(r cluster.Role, unprotected string) *cluster.Standing {
		return &cluster.Standing{Role: r, Behind: 1, Kept: 2, Unprotected: unprotected, InSync: []cluster.Seat{{Node: "n1"}}}
	}
	for _, tt := range []struct{ a, b, want cluster.Role }{
		{cluster.Standby, cluster.Standby, cluster.Standby}, {cluster.Active, cluster.Standby, cluster.Active}, {cluster.Standby, cluster.Active, cluster.Active},
		{cluster.CatchingUp, cluster.Standby, cluster.CatchingUp}, {cluster.Standby, cluster.CatchingUp, cluster.CatchingUp},
		{cluster.CatchingUp, cluster.Active, cluster.Active},
	} {
		if s := joined(standing(tt.a, ""), standing(tt.b, "why")); s.Role != tt.want || s.Behind != 2 || s.Kept != 4 || s.Unprotected != "why" || len(s.InSync) != 1 {
			t.Errorf("%s and %s: %+v, want %s", tt.a, tt.b, s, tt.want)
		}
	}
}
