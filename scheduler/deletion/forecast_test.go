package deletion_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// TestStoredStates: a store without its crawl tells of its hosts what the owner of their losses does.
func TestStoredStates(t *testing.T) {
	crawling(t, nil, func(s *crawl) {
		large, ill, small := pages("large.test", 300), pages("ill.test", 60), pages("small.test", 20)
		for _, all := range [][]scheduler.Link{large, ill, small} {
			s.index(all...)
		}
		s.pass(time.Hour)
		s.says(status(404), large[:40]...)
		s.says(status(500), ill...)
		s.says(status(410), small[:3]...)
		s.visit(large[:40]...)
		s.visit(ill...)
		s.visit(small[:3]...)
		s.pass(2 * time.Hour)
		if _, err := s.owner.Release(s.t.Context(), scheduler.DeletionFilter{URLs: []string{large[0].URL.String()}}); err != nil {
			t.Fatal(err)
		}
		s.pass(2 * time.Hour)
		byHost := func(a, b deletion.HostState) int { return bytes.Compare(a.Host[:], b.Host[:]) }
		owned := s.owner.States()
		stored, err := deletion.StoredStates(s.t.Context(), s.memory, &s.set.Deletions, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for i := range stored { // a store knows only the origins of hosts that have trouble
			stored[i].Origin = ""
		}
		for i := range owned {
			owned[i].Origin = ""
		}
		slices.SortFunc(owned, byHost)
		slices.SortFunc(stored, byHost)
		if diff := cmp.Diff(owned, stored); diff != "" || len(owned) != 3 {
			t.Errorf("(-owner +store):\n%s", diff)
		}
		classes := map[scheduler.LossClass]int{}
		for _, h := range stored {
			classes[h.Class]++
			if h.Ill != (h.Pending == 60) || h.Ill && h.GoneAt.IsZero() || h.Pooled != (h.Documents < scheduler.PoolBelow) {
				t.Errorf("%+v", h)
			}
		}
		if classes[scheduler.LossSome] != 2 || classes[scheduler.LossMost] != 1 {
			t.Errorf("classes %v", classes)
		}
	})
}

// TestForecast: no loss leaves before the time that is forecast, and each that is confirmed leaves soon after it.
func TestForecast(t *testing.T) {
	for _, gone := range []int{1, 5, 100} {
		crawling(t, nil, func(s *crawl) {
			all := s.indexed(100)
			s.pass(time.Hour)
			s.meets(status(404), all[:gone]...)
			s.pass(5 * time.Second)
			losses := s.deletions(scheduler.DeletionFilter{})
			states := s.owner.States()
			if len(losses) != gone || len(states) != 1 {
				t.Fatalf("%d losses, %d hosts", len(losses), len(states))
			}
			f := deletion.ForecastOf(&losses[0], &states[0], nil, &s.set.Deletions, time.Now())
			want := map[int]deletion.Need{1: deletion.NeedsVisit, 5: deletion.NeedsVisit, 100: deletion.NeedsHealth}[gone]
			if f.Needs != want || f.Class != states[0].Class {
				t.Errorf("%d gone: %+v, want %q", gone, f, want)
			}
			if gone == 100 {
				return
			}
			s.pass(time.Until(f.Earliest) - time.Second)
			s.is("before the forecast", gone, 0)
			s.pass(25 * time.Hour)
			s.is("a day after the forecast", 0, gone)
		})
	}
}

// TestForecastOfEdits: what an edit deletes waits for its judgement, or for the operator's word.
func TestForecastOfEdits(t *testing.T) {
	d := &scheduler.StoredDeletion{Reason: scheduler.ReasonRules, Edit: 2, Loss: scheduler.NewLoss(true, time.Unix(1e9, 0))}
	edits := []deletion.Edit{{Number: 1, State: deletion.EditHeld}, {Number: 2, State: deletion.EditOpen}}
	set := scheduler.DefaultSettings().Deletions
	for _, want := range []deletion.Need{deletion.NeedsPass, deletion.NeedsWord} {
		f := deletion.ForecastOf(d, &deletion.HostState{}, edits, &set, time.Unix(1e9, 0))
		if f.Needs != want || !f.Earliest.IsZero() {
			t.Errorf("%+v, want %q", f, want)
		}
		edits[1].State = deletion.EditHeld
	}
}

// TestForecastOfAlone: the loss of a host's only document waits for the host to be gone, unless the page is missing.
func TestForecastOfAlone(t *testing.T) {
	set, seen := scheduler.DefaultSettings().Deletions, time.Unix(1e9, 0)
	h := &deletion.HostState{Pending: 1, Documents: 1, GoneAt: seen.Add(set.Gone)}
	for reason, want := range map[scheduler.Reason]deletion.Forecast{
		scheduler.ReasonNoIndex:  {Class: scheduler.LossFew, Needs: deletion.NeedsGone, Earliest: h.GoneAt},
		scheduler.ReasonNotFound: {Class: scheduler.LossFew, Needs: deletion.NeedsVisit, Earliest: seen.Add(set.Rest)},
	} {
		d := &scheduler.StoredDeletion{Reason: reason, Loss: scheduler.NewLoss(true, seen)}
		if diff := cmp.Diff(want, deletion.ForecastOf(d, h, nil, &set, seen)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", reason, diff)
		}
	}
	out := deletion.ForecastOf(&scheduler.StoredDeletion{Reason: scheduler.ReasonNoIndex, Loss: scheduler.NewLoss(true, seen)}, h, nil, &set, h.GoneAt)
	if out.Needs != deletion.NeedsNothing || !out.Earliest.Equal(h.GoneAt) {
		t.Errorf("of a host that is gone: %+v", out)
	}
}
