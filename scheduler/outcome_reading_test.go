package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		name    string
		said    time.Duration // by the record, from now; 0 for nothing
		result  Result
		set     []func(*Settings)
		indexed bool
		order   string // reason of the deletion
		state   State
		next    time.Duration // from now
	}{
		{name: "nothing said", result: page(0), indexed: true, state: AtRest},
		{name: "later than the refresh", result: page(400 * day), set: []func(*Settings){minimumAged}, indexed: true, state: Timed, next: 30 * day},
		{name: "before the refresh", result: page(day), set: []func(*Settings){minimumAged}, indexed: true, state: Timed, next: day},
		{name: "no refresh", result: page(day), indexed: true, state: Timed, next: day},
		{name: "unchanged before the time", said: day, result: Result{Status: 304, Conditional: true}, indexed: true, state: Timed, next: day},
		{name: "unchanged after the time", said: -1, result: Result{Status: 304, Conditional: true}, order: unavailable, state: AtRest},
		{name: "another time", said: -1, result: page(2 * day), indexed: true, state: Timed, next: 2 * day},
		{name: "taken back", said: -1, result: page(0), indexed: true, state: AtRest},
		{name: "read again", said: -1, result: Result{Status: 200, NoDocument: "it was until then", UnavailableAt: at(-1)}, order: "it was until then", state: AtRest},
		{name: "over while it was read", result: page(-1), order: unavailable, state: AtRest},
		{name: "over while it was read, new", result: Result{Status: 200, Document: &Document{Hash: [16]byte{2}}, UnavailableAt: at(-1)}, indexed: true, state: Timed, next: -1},
		{name: "no answer after the time", said: -1, result: Result{Fault: Timeout, Words: "late"}, order: unavailable, state: Timed, next: retryFirst},
		{name: "no answer before the time", said: day, result: Result{Fault: Timeout, Words: "late"}, indexed: true, state: Timed, next: retryFirst},
		{name: "another crawler's", said: -1, result: Result{Excluded: &Exclusion{Status: 761, Keep: true}}, indexed: true, state: AtRest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := indexed()
			old.UnavailableAt = at(tt.said)
			c := outcome(&old, &tt.result, settings(tt.set...), start(), 0)
			if c.Next.Indexed != tt.indexed || c.Next.State != tt.state {
				t.Errorf("indexed %v, state %v; want %v, %v", c.Next.Indexed, c.Next.State, tt.indexed, tt.state)
			}
			if c.Next.State == Timed && !c.Next.NextAt.Equal(start().Add(tt.next)) {
				t.Errorf("due %v from now, want %v", c.Next.NextAt.Sub(start()), tt.next)
			}
			var order string
			if c.Order != nil && c.Order.Op == OrderDelete {
				order = string(c.Order.Body)
			}
			want := ""
			if tt.order != "" {
				want = string(settings().DeletionBody(old.URL, tt.order, start()))
			}
			if order != want {
				t.Errorf("deletion %q, want %q", order, want)
			}
		})
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
