package deletion_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
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

// list has an edit kill pages; byWord says that an operator asked for it.
func (s *crawl) list(byWord bool, pages ...scheduler.Link) {
	s.t.Helper()
	s.edit(byWord)
	s.kill(pages...)
	s.owner.EndEdit(0)
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
				all := s.indexed(100)
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
				s.owner.EndEdit(0)
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
				s.releases(scheduler.DeletionFilter{Edit: 1}, c.killed)
				s.is("allowed", 0, c.killed)
				want.State = deletion.EditSent
				s.editsAre("allowed", want)
			})
		}
	}
}

// TestUnrelatedEdit: what one edit has held no other one lets leave, however often lists are
// edited and pages are visited. The word for a later edit, which would take the same out, lets it leave.
func TestUnrelatedEdit(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(20)
		again := func(word bool) {
			s.edit(word) // a line above, for example
			s.kill(all[:8]...)
			s.owner.EndEdit(0)
			s.pass(time.Hour)
		}
		again(false)
		s.is("the first edit", 8, 0)
		for i := range 5 {
			s.visit(all[i], all[i+1], all[15])
			again(false)
			s.is(fmt.Sprintf("edit %d", i+2), 8, 0)
		}
		s.pass(3 * 24 * time.Hour)
		s.is("later", 8, 0)
		s.visit(all...)
		s.pass(3 * 24 * time.Hour)
		s.is("all were visited", 8, 0)
		again(true)
		s.is("by word", 0, 8)
	})
}

// TestOneBudget: what edits take out within a day without the operator's word counts together, whatever edit it is of
// and however it is found. What was allowed does not count, and what an edit is expected to lose counts from the first.
func TestOneBudget(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(100)
		edit := func(word bool, expected uint64, pages ...scheduler.Link) {
			s.edit(word)
			s.kill(pages...)
			s.owner.EndEdit(expected)
			s.pass(time.Minute)
		}
		edit(false, 0, all[:3]...)
		s.is("three", 0, 3)
		edit(false, 3, all[3:4]...)
		s.is("one, and three are expected", 1, 3)
		s.meets(noDocument(scheduler.ReasonNotIndexed), all[10:13]...)
		s.pass(time.Minute)
		s.is("the expected ones are found", 4, 3)
		edit(false, 0, all[20:22]...)
		s.is("two more", 4, 5)
		s.restart()
		edit(false, 0, all[22])
		s.is("one too many, after a restart", 5, 5)
		s.pass(26 * time.Hour)
		s.is("a day later", 5, 5)
		edit(false, 0, all[30:32]...)
		s.is("two on the next day", 5, 7)
		edit(true, 0, all[40:60]...)
		s.is("by word", 0, 32)
		edit(false, 0, all[60:61]...)
		s.is("the third of seventy on that day", 0, 33)
		edit(false, 0, all[61:62]...)
		s.is("the fourth", 1, 33)
	})
}

// TestRevertedEdit: what a list does not name any more stays.
func TestRevertedEdit(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(50)
		s.list(false, all[:20]...)
		s.pass(time.Minute)
		s.is("held", 20, 0)
		s.edit(false)
		s.spare(all[:20]...)
		s.owner.EndEdit(0)
		s.pass(time.Minute)
		s.is("reverted", 0, 0)
		s.edit(false) // and while it is judged
		s.kill(all[:20]...)
		s.edit(false)
		s.spare(all[1:20]...)
		s.owner.EndEdit(0)
		s.pass(time.Minute)
		s.is("all but one reverted", 0, 1)
		s.editsAre("in the end", deletion.Edit{Number: 1, State: deletion.EditSent}, deletion.Edit{Number: 2, State: deletion.EditSent},
			deletion.Edit{Number: 3, State: deletion.EditSent, Deletions: 1}, deletion.Edit{Number: 4, State: deletion.EditSent})
	})
}

// TestReleaseIsNoWord: the release of an edit carries out what is pending, and allows nothing that is found later; that
// belongs to the edit which is held.
func TestReleaseIsNoWord(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(50)
		edit := func(pages ...scheduler.Link) {
			s.list(false, pages...)
			s.pass(time.Minute)
		}
		edit(all[:20]...)
		edit(all[20])
		s.is("a large edit is held, a small one is not", 20, 1)
		s.releases(scheduler.DeletionFilter{Edit: 2}, 0)
		s.meets(noDocument(scheduler.ReasonNotIndexed), all[30:45]...)
		s.pass(time.Minute)
		s.is("more was found", 35, 1)
		edits := s.owner.Edits()
		if edits[0].Deletions != 35 || edits[1].Deletions != 1 {
			t.Errorf("edits %v, want what was found to be the first one's", edits)
		}
	})
}

// TestLateOfEdit: pages that only a visit can judge count for the edit for a day, with what
// it deleted before.
func TestLateOfEdit(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(100)
		s.list(false, all[:3]...)
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
		s.releases(scheduler.DeletionFilter{Edit: 1}, 1)
		late(all[13])
		s.is("found after the release", 1, 6)
		s.pass(24 * time.Hour)
		late(all[14])
		s.is("a day later, the edit is held", 2, 6)
		s.releases(scheduler.DeletionFilter{Edit: 1}, 2)
		late(all[15])
		s.pass(time.Minute)
		s.is("nothing is held", 0, 9) // as one of its host
		if n := s.owner.Edits()[0].Deletions; n != 8 {
			t.Errorf("the edit counts %d", n)
		}
	})
}

// TestEditsApart: an edit's fate is not that of another one without the operator's word.
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
		all := s.indexed(100)
		s.edit(false)
		s.kill(all[:50]...)
		crash = true // once it is decided, and before anything is moved
		s.owner.EndEdit(0)
		s.pass(time.Second)
		s.is("too much, and not moved", 50, 0)
		s.restart()
		s.edit(false) // at the start
		crash = false
		s.kill(all[60:62]...)
		s.owner.EndEdit(0)
		s.pass(time.Minute)
		s.is("one held, one sent", 50, 2)
		s.edit(true) // the rules still take the fifty out
		s.kill(all[70:90]...)
		s.owner.EndEdit(0)
		s.pass(time.Minute)
		s.is("all sent by word", 0, 72)
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
		all := s.indexed(100)
		s.edit(false)
		s.kill(all[0])
		hook = func(method string) { // all that is stored may come between
			if method == "ReviseDeletions" {
				hook = nil
				s.kill(all[1])
			}
		}
		s.owner.EndEdit(0)
		s.pass(time.Minute)
		s.is("late while the others are moved", 0, 2)
	})
}

// TestEndIsOfItsEdit: an edit that begins before the last one was decided is not
// judged before its own pass has come through.
func TestEndIsOfItsEdit(t *testing.T) {
	crawling(t, func(s *crawl) { s.late = make(chan struct{}) }, func(s *crawl) {
		all := s.indexed(100)
		s.list(false, all[:3]...)
		s.edit(false)
		close(s.late) // before, Run might decide about the first edit
		s.kill(all[3:5]...)
		s.pass(time.Hour)
		s.is("the second is being judged", 5, 0)
		s.kill(all[5:9]...)
		s.owner.EndEdit(0)
		s.pass(time.Minute)
		s.is("both together are too much", 9, 0)
	})
}

// TestManyEdits: an edit is remembered as long as it holds something, of the others only the last ones.
func TestManyEdits(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(50)
		s.list(false, all[:20]...)
		s.pass(time.Minute)
		for range 30 {
			s.edit(false)
			s.owner.EndEdit(0)
			s.pass(time.Minute)
		}
		if all := s.owner.Edits(); len(all) != 21 || all[20].Number != 31 || all[1].Number != 12 || all[0].Number != 1 || all[0].State != deletion.EditHeld {
			t.Errorf("%d edits from %+v", len(all), all[0])
		}
		s.is("held", 20, 0)
		s.releases(scheduler.DeletionFilter{Edit: 1}, 20)
		s.is("allowed", 0, 20)
		s.edit(false)
		if all := s.owner.Edits(); len(all) != 20 || all[0].Number != 13 {
			t.Errorf("%d edits from %+v, want the first one forgotten", len(all), all[0])
		}
		if _, err := s.owner.Release(s.t.Context(), scheduler.DeletionFilter{Edit: 1}); !errors.Is(err, scheduler.ErrNotFound) {
			t.Errorf("Release = %v, want ErrNotFound for a forgotten edit", err)
		}
		if _, err := s.owner.Release(s.t.Context(), scheduler.DeletionFilter{Edit: 99}); !errors.Is(err, scheduler.ErrNotFound) {
			t.Errorf("Release = %v, want ErrNotFound for an unknown edit", err)
		}
	})
}

// TestEditIgnoresIllness: the operator's deletions leave though the site is ill; it may be
// why they are wanted.
func TestEditIgnoresIllness(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(100)
		s.says(status(500), all...)
		s.visit(all[:20]...)
		s.list(true, all...)
		s.pass(time.Minute)
		s.is("a dead site", 0, 100)
	})
}

// TestEditAfterRestart: what is judged before the deletions run belongs to the edit that is
// being judged, too.
func TestEditAfterRestart(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		all := s.indexed(100)
		s.edit(false)
		s.end()
		s.memory = s.memory.Reopen()
		s.Frontier = scheduler.New(s.memory, s.set, slog.New(slog.DiscardHandler))
		s.owner = opened(t, s.Frontier, s.memory, slog.New(slog.DiscardHandler))
		s.kill(all[:10]...)
		if n := len(s.deletions(scheduler.DeletionFilter{Edit: 1})); n != 10 {
			t.Errorf("%d are the edit's, want 10", n)
		}
		s.begin()
	})
}

// TestDamagedEdits are told of.
func TestDamagedEdits(t *testing.T) {
	store := teststore.New(t)
	if err := store.SetValue(t.Context(), scheduler.CrawlValue("scheduler.edits"), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := deletion.StoredEdits(t.Context(), store); !errors.Is(err, scheduler.ErrDamaged) {
		t.Errorf("StoredEdits = %v, want damage", err)
	}
}
