package scheduler

import (
	"slices"
	"testing"
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
	if _, err := ParseSource("User"); err == nil || err.Error() != `"User" is not a URL source: write one of user, redir, index, index_follow, follow, refresh` {
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
