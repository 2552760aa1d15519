package shared_test

import (
	"slices"
	"testing"

	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/shared"
)

// TestCounts: of each partition the latest owner's counts are there, also after that has died; nothing is written that is the same.
func TestCounts(t *testing.T) {
	e := clustertest.NewMemory()
	say := func(node string, counts ...shared.Count) {
		t.Helper()
		if err := shared.SayCounts(t.Context(), e, node, counts); err != nil {
			t.Fatal(err)
		}
	}
	has := func(want ...shared.Count) {
		t.Helper()
		if got, err := shared.Counts(t.Context(), e); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	has()
	one, two := shared.Count{Partition: 1, Epoch: 5, Documents: 30, Deleted: 2}, shared.Count{Partition: 0, Epoch: 6, Documents: 7}
	say("n1", one, two)
	steps := e.Steps()
	if say("n1", one, two); e.Steps() != steps {
		t.Error("what has not changed is written")
	}
	has(two, one)
	moved := shared.Count{Partition: 1, Epoch: 9, Documents: 31}
	say("n2", moved)
	has(two, moved)
	say("n1", two)
	has(two, moved)
}
