package crawl

import (
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
)

// TestPreparedChangeHoldsNothing: while a change is prepared, other settings may come into
// force; the change is made anew then, and one that is discarded leaves nothing behind.
func TestPreparedChangeHoldsNothing(t *testing.T) {
	c := newPassCrawl(t, everything(), teststore.New(t))
	if err := c.start(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	first, second := everything(), everything()
	first.Space.Exclude, second.Space.Exclude = text("first"), text("second")
	change, err := c.Prepare(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	discarded, err := c.Prepare(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	discarded.Discard()
	if got := c.policy().Settings.Space.Exclude; got != second.Space.Exclude {
		t.Errorf("%v is in force, want what was reloaded", got)
	}
	if err := change.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.policy().Settings.Space.Exclude; got != first.Space.Exclude {
		t.Errorf("%v is in force, want what was prepared", got)
	}
	if state := c.reviewer.Progress(); state.Rules != c.policy().Fingerprint {
		t.Errorf("stored URLs are judged by %s, in force is %s", state.Rules, c.policy().Fingerprint)
	}
}
