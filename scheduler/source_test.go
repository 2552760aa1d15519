package scheduler

import (
	"slices"
	"testing"
	"time"
)

func TestSourceFor(t *testing.T) {
	for _, c := range []struct {
		index, follow, root bool
		want                [5]Source // by shift -2 to 2
	}{
		{true, true, true, [5]Source{User, User, User, Redir, Index}},
		{false, true, true, [5]Source{User, User, User, Redir, Index}},
		{true, false, false, [5]Source{Redir, Redir, Index, IndexFollow, Follow}},
		{true, true, false, [5]Source{Redir, Index, IndexFollow, Follow, Follow}},
		{false, true, false, [5]Source{Index, IndexFollow, Follow, Follow, Follow}},
	} {
		for i, want := range c.want {
			if got := SourceFor(c.index, c.follow, i-2, c.root); got != want {
				t.Errorf("SourceFor(%t, %t, %d, %t) = %v, want %v", c.index, c.follow, i-2, c.root, got, want)
			}
		}
	}
}

func TestWords(t *testing.T) {
	var names []string
	for s := User; s < Sources; s++ {
		names = append(names, s.Name())
		if got, err := ParseSource(s.Name()); err != nil || got != s {
			t.Errorf("ParseSource(%q) = %v, %v", s.Name(), got, err)
		}
	}
	if want := []string{"user", "redir", "index", "index_follow", "follow", "refresh"}; !slices.Equal(names, want) {
		t.Errorf("sources %v, want %v", names, want)
	}
	if _, err := ParseSource("User"); err == nil || err.Error() != `"User" is no URL source: write one of user, redir, index, index_follow, follow, refresh` {
		t.Errorf("ParseSource of no source: %v", err)
	}
	var classes []string
	for c := Pending; c <= Permanent; c++ {
		classes = append(classes, c.String())
	}
	if want := []string{"pending", "ok", "redirect", "ignored", "temporary", "permanent"}; !slices.Equal(classes, want) {
		t.Errorf("classes %v, want %v", classes, want)
	}
	for got, want := range map[string]string{
		Source(9).String(): "source 9", Class(9).String(): "class 9", State(9).String(): "state 9", Policy(9).String(): "policy 9",
		AtRest.String(): "at rest", Cautious.String(): "cautious",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBrake(t *testing.T) {
	set := Brake{On: true, Min: 100, Percent: 20, Window: time.Hour}
	// heldFrom is the number of the first of n deletions, a second apart, that is
	// held; each that is not takes a document out of the index.
	heldFrom := func(b *brake, set Brake, from time.Time, documents uint64, n int) int {
		for i := range n {
			if b.admit(set, from.Add(time.Duration(i)*time.Second), documents, false) {
				return i + 1
			}
			documents--
		}
		return 0
	}
	for _, c := range []struct {
		name      string
		set       Brake
		documents uint64
		want      int
	}{
		{"both passed, min decides", set, 300, 101},
		{"both passed, percent decides", set, 1000, 201},
		{"percent is not passed", set, 10000, 0},
		{"percent not asked", Brake{On: true, Min: 100, Percent: 0, Window: time.Hour}, 10000, 101},
		{"min not asked", Brake{On: true, Min: 0, Percent: 20, Window: time.Hour}, 100, 21},
		{"neither asked", Brake{On: true, Min: 0, Percent: 0, Window: time.Hour}, 1000, 0},
		{"off", Brake{On: false, Min: 100, Percent: 20, Window: time.Hour}, 1000, 0},
	} {
		if got := heldFrom(new(brake), c.set, start(), c.documents, 300); got != c.want {
			t.Errorf("%s: held from %d on, want %d", c.name, got, c.want)
		}
	}
	var b brake
	heldFrom(&b, set, start(), 300, 150)
	if !b.admit(set, start().Add(50*time.Minute), 200, false) {
		t.Error("not held within the window")
	}
	if b.admit(set, start().Add(2*time.Hour), 200, false) {
		t.Error("held though the window is empty again")
	}
	if sent, held := b.count(); sent != 1 || held != 0 {
		t.Errorf("the new window counts %d and %d, want 1 and 0", sent, held)
	}
}
