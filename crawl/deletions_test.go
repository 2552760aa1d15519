package crawl

import (
	"net/http"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// deletions are the pending losses that f selects.
func (b *bench) deletions(f scheduler.DeletionFilter) (list []scheduler.StoredDeletion) {
	b.t.Helper()
	b.read(func(store *store.Store) {
		err := store.PendingDeletions(b.t.Context(), f, func(d scheduler.StoredDeletion) error {
			list = append(list, d)
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
	})
	return list
}

// confirmed is a bench whose losses are confirmed before they are carried out.
func confirmed(t *testing.T, roots ...string) *bench {
	b := newBench(t, roots...)
	b.settings.Frontier.Deletions = scheduler.DefaultSettings().Deletions
	return b
}

// TestUnrelatedEdit: what an edit of the kill list deletes, and is too much to leave by itself, stays pending
// whatever else is edited, though its entries move to other lines.
func TestUnrelatedEdit(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 12})
	b := confirmed(t, site.URL())
	b.once()
	b.newOrders()
	var killed []string
	for i := 2; i < 10; i++ {
		killed = append(killed, testsite.Path(i))
	}
	for edit := range 4 {
		b.settings.Space.KillPatterns = file("kill", killed...)
		b.once()
		if sent := b.newOrders(); len(sent) > 0 {
			t.Fatalf("edit %d: %v left, want all pending", edit, sent)
		}
		pending := b.deletions(scheduler.DeletionFilter{})
		if len(pending) != 8 {
			t.Fatalf("edit %d: %d are pending, want 8", edit, len(pending))
		}
		for _, d := range pending {
			if d.Edit != 1 || d.Reason != scheduler.ReasonKilled {
				t.Errorf("edit %d: %+v, want one of the first edit", edit, d)
			}
		}
		b.read(func(store *store.Store) {
			edits, err := deletion.StoredEdits(t.Context(), store)
			if err != nil || len(edits) != edit+1 || edits[0].State != deletion.EditHeld || edits[0].Deletions != 8 {
				t.Errorf("edit %d: %+v, %v, want the 8 deletions of the first edit to wait for the operator", edit, edits, err)
			}
		})
		killed = append([]string{"/unrelated"}, killed...)
	}
	b.with(func(c *Crawl, _ *store.Store) {
		if n, err := c.Release(t.Context(), scheduler.DeletionFilter{Edit: 1}); n != 8 || err != nil {
			t.Errorf("%d released, %v", n, err)
		}
	})
	b.once()
	if sent := b.newOrders(); len(sent) != 8 {
		t.Errorf("%v left after the operator's word, want 8", sent)
	}
}

// TestSmallEdit: what an edit deletes leaves by itself only where it is little, or with the
// operator's word beforehand.
func TestSmallEdit(t *testing.T) {
	for _, c := range []struct {
		killed int
		word   bool
		sent   int
	}{{2, false, 2}, {3, false, 0}, {9, true, 9}} {
		site := testsite.New(t, testsite.Options{Pages: 12})
		b := confirmed(t, site.URL())
		b.once()
		b.newOrders()
		var killed []string
		for i := range c.killed {
			killed = append(killed, "regexp:"+testsite.Path(i+1)+"$")
		}
		b.settings.Space.KillPatterns = file("kill", killed...)
		b.with(func(crawl *Crawl, _ *store.Store) {
			if c.word {
				crawl.AllowNextEdit()
			}
			if err := crawl.Run(t.Context(), Once{Drain: true}); err != nil {
				t.Fatal(err)
			}
		})
		if sent := b.newOrders(); len(sent) != c.sent {
			t.Errorf("%d killed, word %v: %d left, want %d", c.killed, c.word, len(sent), c.sent)
		}
		b.settings.Space.KillPatterns = nil // the edit is taken back
		b.once()
		if pending := b.deletions(scheduler.DeletionFilter{}); len(pending) > 0 {
			t.Errorf("%d killed, word %v: %v after the edit was taken back", c.killed, c.word, pending)
		}
		if len(b.indexed()) != 12 {
			t.Errorf("%d killed, word %v: %d documents after the edit was taken back, want 12", c.killed, c.word, len(b.indexed()))
		}
	}
}

// TestSmallSiteFails: a site of a few pages that fails as a whole for a while loses none.
func TestSmallSiteFails(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 10})
	b := confirmed(t, site.URL())
	b.once()
	all := len(b.indexed())
	b.newOrders()
	for i := range 10 {
		site.Set(testsite.Path(i), testsite.Page{Status: http.StatusInternalServerError})
	}
	for range 3 {
		b.refreshed(Selection{All: true})
		if sent := b.newOrders(); len(sent) > 0 {
			t.Fatalf("%v left, want none", sent)
		}
	}
	if len(b.indexed()) != all {
		t.Errorf("%d documents, want %d", len(b.indexed()), all)
	}
	well := testsite.New(t, testsite.Options{Pages: 10})
	for i := range 10 {
		p, _ := well.Get(testsite.Path(i))
		site.Set(testsite.Path(i), p)
	}
	b.refreshed(Selection{All: true})
	if left := b.deletions(scheduler.DeletionFilter{}); len(left) > 0 || len(b.indexed()) != all {
		t.Errorf("%v and %d documents when the site is well, want no deletion and %d", left, len(b.indexed()), all)
	}
}
