package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// TestUnavailable: a document is due when its page becomes unavailable by its own
// word, and is deleted from then on unless the page says another time.
func TestUnavailable(t *testing.T) {
	at := func(d time.Duration) time.Time {
		if d == 0 {
			return time.Time{}
		}
		return start().Add(d)
	}
	document := &Document{Body: []byte("{}"), Hash: [16]byte{1}, Source: "web"}
	page := func(says time.Duration) Result {
		return Result{Status: 200, Document: document, UnavailableAt: at(says)}
	}
	tests := []struct {
		name   string
		said   time.Duration // by the record, from now; 0 for nothing
		result Result
		set    []func(*Settings)
		order  string // reason of the deletion
		state  State
		next   time.Duration // from now
		atOnce State         // where the deletion leaves at once
	}{
		{name: "nothing said", result: page(0), state: AtRest},
		{name: "later than the refresh", result: page(400 * day), set: []func(*Settings){minimumAged}, state: Timed, next: 30 * day},
		{name: "before the refresh", result: page(day), set: []func(*Settings){minimumAged}, state: Timed, next: day},
		{name: "no refresh", result: page(day), state: Timed, next: day},
		{name: "unchanged before the time", said: day, result: Result{Status: 304, Conditional: true}, state: Timed, next: day},
		{name: "unchanged after the time", said: -1, result: Result{Status: 304, Conditional: true}, order: unavailable, state: Timed, next: time.Minute, atOnce: AtRest},
		{name: "another time", said: -1, result: page(2 * day), state: Timed, next: 2 * day},
		{name: "taken back", said: -1, result: page(0), state: AtRest},
		{name: "read again", said: -1, result: Result{Status: 200, NoDocument: "it was until then", UnavailableAt: at(-1)}, order: "it was until then", state: Timed, next: time.Minute, atOnce: AtRest},
		{name: "over while it was read", result: page(-1), order: unavailable, state: Timed, next: time.Minute, atOnce: AtRest},
		{name: "over while it was read, new", result: Result{Status: 200, Document: &Document{Hash: [16]byte{2}}, UnavailableAt: at(-1)}, state: Timed, next: -1},
		{name: "no answer after the time", said: -1, result: Result{Fault: fault.Timeout, Words: "late"}, order: unavailable, state: Timed, next: retryFirst, atOnce: Timed},
		{name: "no answer before the time", said: day, result: Result{Fault: fault.Timeout, Words: "late"}, state: Timed, next: retryFirst},
		{name: "another crawler's", said: -1, result: Result{Excluded: &Exclusion{Status: 761, Keep: true}}, state: AtRest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := indexed()
			old.UnavailableAt = at(tt.said)
			for _, off := range []bool{false, true} {
				set := settings(append(tt.set, func(s *Settings) { s.Deletions.Off = off })...)
				c := outcome(&old, &tt.result, set, 0, start(), 0)
				if deleted := tt.order != "" && off; c.Next.Indexed == deleted || !deleted && c.Next.State != tt.state || deleted && c.Next.State != tt.atOnce {
					t.Errorf("off %t: indexed %v, state %v; want %v, or %v at once", off, c.Next.Indexed, c.Next.State, tt.state, tt.atOnce)
				}
				if !off && c.Next.State == Timed && !c.Next.NextAt.Equal(start().Add(tt.next)) {
					t.Errorf("due %v from now, want %v", c.Next.NextAt.Sub(start()), tt.next)
				}
				if c.CancelDeletion && c.Order != nil {
					t.Error("a deletion is cancelled and ordered")
				}
				compareDeletion(t, &old, &c, tt.order)
			}
		})
	}
}

// compareDeletion compares the order to delete, if any, with the reason that is wanted.
func compareDeletion(t *testing.T, old *Record, c *Completion, reason string) {
	t.Helper()
	var got, want string
	if c.Order != nil && c.Order.Op == OrderDelete {
		got = string(c.Order.Body)
	}
	if reason != "" {
		want = string(settings().DeletionBody(old.URL, reason, start()))
	}
	if got != want {
		t.Errorf("deletion %q, want %q", got, want)
	}
}

func minimumAged(s *Settings) { s.MinimumAged = 30 * day }

func TestDirectivesWords(t *testing.T) {
	for d, want := range map[Directives][]string{
		0:                     nil,
		NoFollow:              {"nofollow"},
		NoIndex | NoArchive:   {"noindex", "noarchive"},
		NoSnippet | NoArchive: {"nosnippet", "noarchive"},
	} {
		if diff := cmp.Diff(want, d.Words()); diff != "" {
			t.Errorf("%d (-want +got):\n%s", d, diff)
		}
	}
}
