package deletion_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestEditMost(t *testing.T) {
	for documents, want := range map[uint64]uint64{0: 2, 1: 2, 40: 2, 60: 3, 100: 5, 1999: 99, 2000: 100, 1 << 50: 100} {
		if got := deletion.EditMost(documents); got != want {
			t.Errorf("of %d documents an edit may delete %d, want %d", documents, got, want)
		}
	}
}

// kill lists pages in the kill list, as the pass over all stored URLs finds them; the pages
// themselves say so from now on.
func (s *crawl) kill(pages ...scheduler.Link) {
	s.t.Helper()
	s.says(noDocument(scheduler.ReasonKilled), pages...)
	_, err := s.Revise(s.t.Context(), storetest.Keys(pages), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
		if r.LossPending && r.Reason == scheduler.ReasonKilled {
			return nil // as before
		}
		r.Reason, r.LastError = scheduler.ReasonKilled, "kill gate, kill.txt:1"
		return &scheduler.Change{Next: r, Delete: r.LastError}
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// spare takes pages out of the kill list.
func (s *crawl) spare(pages ...scheduler.Link) {
	s.t.Helper()
	s.says(nil, pages...)
	_, err := s.Revise(s.t.Context(), storetest.Keys(pages), func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
		r.Reason, r.LastError = scheduler.NoReason, ""
		return &scheduler.Change{Next: r, CancelDeletion: true}
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// edit begins an edit; the pass has come through with EndEdit.
func (s *crawl) edit(word bool) (number uint64) {
	s.t.Helper()
	number, err := s.owner.BeginEdit(s.t.Context(), word)
	if err != nil {
		s.t.Fatal(err)
	}
	return number
}

func (s *crawl) editsAre(when string, want ...deletion.Edit) {
	s.t.Helper()
	got := s.owner.Edits()
	for i := range got {
		if got[i].At.IsZero() || got[i].Judged.IsZero() != (got[i].State == deletion.EditOpen) {
			s.t.Errorf("%s: %+v", when, got[i])
		}
		if e := got[i]; e.State == deletion.EditSent && e.Sent != e.Deletions {
			s.t.Errorf("%s: %+v, want all sent", when, e)
		}
		got[i].At, got[i].Judged, got[i].Sent = time.Time{}, time.Time{}, 0
	}
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("%s: edits (-want +got):\n%s", when, d)
	}
}

// TestEdit: what an edit deletes rests until all URLs are judged by it. Then it leaves, if it
// is little or the operator has allowed it; else it is held.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		killed int // of 100
		word   bool
		held   bool
	}{{1, false, false}, {5, false, false}, {6, false, true}, {100, false, true}, {100, true, false}} {
		for _, restart := range []bool{false, true} {
			crawling(t, nil, func(s *crawl) {
				all := pages("a.test", 100)
				s.index(all...)
				if n := s.edit(c.word); n != 1 {
					t.Errorf("edit %d, want the first", n)
				}
				s.kill(all[:c.killed]...)
				s.pass(2 * time.Hour)
				s.is("while all URLs are judged", c.killed, 0)
				if restart {
					s.restart()
					s.pass(2 * time.Hour)
					s.is("while all URLs are judged, after a restart", c.killed, 0)
				}
				s.editsAre("while all URLs are judged", deletion.Edit{Number: 1, State: deletion.EditOpen, Word: c.word})
				s.owner.EndEdit()
				s.pass(time.Second)
				want := deletion.Edit{Number: 1, State: deletion.EditSent, Word: c.word, Deletions: uint64(c.killed)}
				if c.held {
					want.State = deletion.EditHeld
					s.is("judged", c.killed, 0)
				} else {
					s.is("judged", 0, c.killed)
				}
				s.editsAre("judged", want)
				s.restart()
				s.pass(3 * 24 * time.Hour)
				s.editsAre("judged, after a restart", want)
				if !c.held {
					return
				}
				s.is("later", c.killed, 0)
				if n, err := s.owner.AllowEdit(s.t.Context(), scheduler.DeletionFilter{Edit: 1}); n != c.killed || err != nil {
					t.Errorf("AllowEdit = %d, %v; want %d", n, err, c.killed)
				}
				s.is("allowed", 0, c.killed)
				want.State, want.Word = deletion.EditSent, true
				s.editsAre("allowed", want)
			})
		}
	}
}

// TestUnrelatedEdit: what one edit has held no other one lets leave, however often lists are
// edited and pages are visited.
func TestUnrelatedEdit(t *testing.T) {
	for _, word := range []bool{false, true} {
		crawling(t, nil, func(s *crawl) {
			all := pages("a.test", 20)
			s.index(all...)
			s.edit(false)
			s.kill(all[:8]...)
			s.owner.EndEdit()
			s.pass(time.Minute)
			s.is("the first edit", 8, 0)
			for i := range 5 {
				s.edit(word) // a line above, for example
				s.kill(all[:8]...)
				s.owner.EndEdit()
				s.visit(all[i], all[i+1], all[15])
				s.pass(time.Hour)
				s.is(fmt.Sprintf("edit %d", i+2), 8, 0)
			}
			s.pass(3 * 24 * time.Hour)
			s.is("later", 8, 0)
			s.visit(all...)
			s.pass(3 * 24 * time.Hour)
			s.is("all were visited", 8, 0)
			if n, err := s.owner.AllowEdit(s.t.Context(), scheduler.DeletionFilter{Edit: 1}); n != 8 || err != nil {
				t.Errorf("AllowEdit = %d, %v", n, err)
			}
			s.is("allowed", 0, 8)
		})
	}
}

// TestRevertedEdit: what a list does not name any more stays.
func TestRevertedEdit(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 50)
		s.index(all...)
		s.edit(false)
		s.kill(all[:20]...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("held", 20, 0)
		s.edit(false)
		s.spare(all[:20]...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("reverted", 0, 0)
		s.edit(false) // and while it is judged
		s.kill(all[:20]...)
		s.edit(false)
		s.spare(all[1:20]...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("all but one reverted", 0, 1)
		s.editsAre("in the end", deletion.Edit{Number: 1, State: deletion.EditHeld, Deletions: 20}, deletion.Edit{Number: 2, State: deletion.EditSent},
			deletion.Edit{Number: 3, State: deletion.EditSent}, deletion.Edit{Number: 4, State: deletion.EditSent, Deletions: 1})
	})
}

// TestLateOfEdit: pages that only a visit can judge count for the edit for a day, with what
// it deleted before.
func TestLateOfEdit(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.edit(false)
		s.kill(all[:3]...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("little", 0, 3)
		late := func(p scheduler.Link) {
			s.says(noDocument(scheduler.ReasonNotIndexed), p)
			s.visit(p)
			s.pass(time.Minute)
		}
		late(all[10])
		late(all[11])
		s.is("as much as may be", 0, 5)
		late(all[12])
		s.is("too much", 1, 5)
		s.editsAre("too much", deletion.Edit{Number: 1, State: deletion.EditHeld, Deletions: 6})
		if n, err := s.owner.Release(s.t.Context(), scheduler.DeletionFilter{Edit: 1}); n != 1 || err != nil {
			t.Errorf("Release = %d, %v", n, err)
		}
		late(all[13])
		s.is("allowed", 0, 7)
		s.pass(24 * time.Hour)
		late(all[14])
		s.pass(time.Minute)
		s.is("a day later", 0, 8) // as one of its host
		if n := s.owner.Edits()[0].Deletions; n != 7 {
			t.Errorf("the edit counts %d", n)
		}
	})
}

// TestEditsApart: an edit's fate is not that of another one.
func TestEditsApart(t *testing.T) {
	crash := false
	crawling(t, func(s *crawl) {
		s.store = func(store scheduler.Store) scheduler.Store {
			return &storetest.Faulty{Store: store, Before: func(_ context.Context, method string) error {
				if crash && method == "ReviseDeletions" {
					return errDisk
				}
				return nil
			}}
		}
	}, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.edit(false)
		s.kill(all[:50]...)
		crash = true // once it is decided, and before anything is moved
		s.owner.EndEdit()
		s.pass(time.Second)
		s.is("too much, and not moved", 50, 0)
		s.restart()
		s.edit(false) // at the start
		crash = false
		s.kill(all[60:62]...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("one held, one sent", 50, 2)
		s.edit(true) // the operator's word is for this one alone
		s.kill(all[70:90]...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("one held, two sent", 50, 22)
	})
}

// TestLateWhileJudged: that an edit deletes more is not missed while edits are being judged.
func TestLateWhileJudged(t *testing.T) {
	var hook func(method string)
	crawling(t, func(s *crawl) {
		s.store = func(store scheduler.Store) scheduler.Store {
			return &storetest.Faulty{Store: store, Before: func(_ context.Context, method string) error {
				if h := hook; h != nil {
					h(method)
				}
				return nil
			}}
		}
	}, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.edit(false)
		s.kill(all[0])
		hook = func(method string) { // all that is stored may come between
			if method == "ReviseDeletions" {
				hook = nil
				s.kill(all[1])
			}
		}
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("late while the others are moved", 0, 2)
	})
}

// TestEndIsOfItsEdit: an edit that begins before the last one was decided is not
// judged before its own pass has come through.
func TestEndIsOfItsEdit(t *testing.T) {
	crawling(t, func(s *crawl) { s.late = make(chan struct{}) }, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.edit(false)
		s.kill(all[:3]...)
		s.owner.EndEdit()
		s.edit(false)
		close(s.late) // before, Run might decide about the first edit
		s.kill(all[3:5]...)
		s.pass(time.Hour)
		s.is("the second is being judged", 5, 0)
		s.kill(all[5:9]...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("both together are too much", 9, 0)
	})
}

// TestManyEdits: also what an edit holds that is long forgotten can be allowed.
func TestManyEdits(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 50)
		s.index(all...)
		s.edit(false)
		s.kill(all[:20]...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		for range 30 {
			s.edit(false)
			s.owner.EndEdit()
			s.pass(time.Minute)
		}
		if all := s.owner.Edits(); len(all) != 20 || all[19].Number != 31 || all[0].Number != 12 {
			t.Errorf("%d edits from %+v", len(all), all[0])
		}
		s.is("held", 20, 0)
		if n, err := s.owner.AllowEdit(s.t.Context(), scheduler.DeletionFilter{Edit: 1}); n != 20 || err != nil {
			t.Errorf("AllowEdit = %d, %v", n, err)
		}
		s.is("allowed", 0, 20)
		if _, err := s.owner.AllowEdit(s.t.Context(), scheduler.DeletionFilter{Edit: 1}); !errors.Is(err, scheduler.ErrNotFound) {
			t.Errorf("AllowEdit = %v, want that there is nothing of it", err)
		}
		if _, err := s.owner.AllowEdit(s.t.Context(), scheduler.DeletionFilter{Edit: 99}); !errors.Is(err, scheduler.ErrNotFound) {
			t.Errorf("AllowEdit = %v, want that there is none", err)
		}
	})
}

// TestEditIgnoresIllness: the operator's deletions leave though the site is ill; it may be
// why they are wanted.
func TestEditIgnoresIllness(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.says(status(500), all...)
		s.visit(all[:20]...)
		s.edit(true)
		s.kill(all...)
		s.owner.EndEdit()
		s.pass(time.Minute)
		s.is("a dead site", 0, 100)
	})
}

// TestEditAfterRestart: what is judged before the deletions run belongs to the edit that is
// being judged, too.
func TestEditAfterRestart(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := pages("a.test", 100)
		s.index(all...)
		s.edit(false)
		s.end()
		s.memory = s.memory.Reopen()
		s.Frontier = scheduler.New(s.memory, s.set, slog.New(slog.DiscardHandler))
		s.owner = deletion.New(s.Frontier, s.memory, slog.New(slog.DiscardHandler))
		s.kill(all[:10]...)
		if n := len(s.deletions(scheduler.DeletionFilter{Edit: 1})); n != 10 {
			t.Errorf("%d are the edit's, want 10", n)
		}
		s.begin()
	})
}

// TestDamagedEdits are told of.
func TestDamagedEdits(t *testing.T) {
	store := storetest.NewMemory()
	if err := store.SetValue(t.Context(), scheduler.CrawlValue("scheduler.edits"), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := deletion.StoredEdits(t.Context(), store); !errors.Is(err, scheduler.ErrDamaged) {
		t.Errorf("StoredEdits = %v, want damage", err)
	}
}
