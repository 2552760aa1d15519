package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestDeletionsOfClient: what the service tells of deletions arrives as it is.
func TestDeletionsOfClient(t *testing.T) {
	data, _ := serve(t, fakeCrawler{name: "a", store: storeWith(t)})
	a := dial(t, data, "")
	var got []Deletion
	add := func(d Deletion) error { got = append(got, d); return nil }
	if err := a.Deletions(t.Context(), DeletionQuery{Host: "a.test"}, add); err != nil {
		t.Fatal(err)
	}
	want := []Deletion{
		{State: "held", Since: time.Unix(1, 0).UTC(), Reason: "not_found", Hold: "host", Host: "http://a.test", URL: "http://a.test/1", Text: "404 Not Found"},
		{State: "resting", Since: time.Unix(3, 0).UTC(), Reason: "not_found", Host: "http://a.test", URL: "http://a.test/3", Source: "s", Text: "404 Not Found", AskedAgain: utc(time.Unix(4, 0))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	counts, err := a.DeletionCounts(t.Context(), DeletionQuery{}, []string{"host", "reason"})
	wantCounts := &DeletionCounts{Resting: 1, Held: 2, Groups: 2, Items: []DeletionGroup{
		{Host: "http://a.test", Reason: "not_found", Resting: 1, Held: 1}, {Host: "https://b.test", Reason: "rules", Held: 1},
	}}
	if diff := cmp.Diff(wantCounts, counts); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := a.DeletionCounts(t.Context(), DeletionQuery{Reason: "404"}, nil); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `"404" is not a reason`) {
		t.Errorf("a reason that is none: %v", err)
	}
	if _, err := a.Release(t.Context(), DeletionQuery{Edit: 99}); !errors.Is(err, ErrDeclined) || !strings.Contains(err.Error(), "no edit 99 of the rules is remembered") {
		t.Errorf("an edit that is not remembered: %v", err)
	}
}

// TestDecidedByHostName: a name without a scheme stands for all origins of that name that
// have deletions, and for no other host.
func TestDecidedByHostName(t *testing.T) {
	list := func(_ context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
		for _, url := range []string{"http://a.test/1", "https://a.test/2", "http://a.test:8080/3", "http://b.a.test/4", "http://a.test/5"} {
			d := scheduler.StoredDeletion{URL: url, State: scheduler.DeletionHeld}
			if f.Selects(&d) {
				if err := fn(d); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for host, want := range map[string][]string{
		"a.test":                {"http://a.test", "https://a.test", "http://a.test:8080"},
		"a.test:8080":           {"http://a.test:8080"},
		"https://a.test/a/page": {"https://a.test"},
		"c.test":                nil,
		"":                      {""},
	} {
		var got []string
		q := DeletionQuery{Host: host, All: host == ""}
		n, err := q.Decide(t.Context(), list, func(_ context.Context, f scheduler.DeletionFilter) (int, error) {
			got = append(got, f.Host)
			return 10, nil
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil || n != 10*len(want) {
			t.Errorf("%q: %d, %v (-want +got):\n%s", host, n, err, diff)
		}
	}
}

// heldStore is a store whose deletions a test sets, and that counts the walks over them.
type heldStore struct {
	*storetest.Memory
	list  []scheduler.StoredDeletion
	walks int
}

func (s *heldStore) Counts(context.Context) (c scheduler.Counts, _ error) {
	for _, d := range s.list {
		if d.State == scheduler.DeletionHeld {
			c.Outbox.Held++
		}
	}
	return c, nil
}

func (s *heldStore) HeldDeletions(_ context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	s.walks++
	for _, d := range s.list {
		if f.Selects(&d) {
			if err := fn(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *heldStore) DeletionGroups(_ context.Context, fn func(scheduler.DeletionGroup, uint64) error) error {
	return fn(scheduler.DeletionGroup{Edit: 18}, 5)
}

// TestHeldTally: held deletions are counted once for each change of their number, and the
// edits are told of which deletions have not left.
func TestHeldTally(t *testing.T) {
	s := &heldStore{Memory: storetest.NewMemory(), list: fakeDeletions()}
	edits := []deletion.Edit{{Number: 16, State: deletion.EditSent}, {Number: 17, State: deletion.EditHeld}, {Number: 18, State: deletion.EditOpen}}
	var tally HeldTally
	var d Status
	for range 3 {
		d = Status{}
		if err := d.AddDeletions(t.Context(), s, &tally, edits); err != nil {
			t.Fatal(err)
		}
	}
	if !d.HeldSince.Equal(time.Unix(1, 0)) || !cmp.Equal(d.HeldByReason, map[string]uint64{"not_found": 1, "rules": 1}) || !cmp.Equal(d.HeldFor, map[string]uint64{"host": 1, "edit": 1}) {
		t.Errorf("%+v", d.HeldCounts)
	}
	if s.walks != 1 {
		t.Errorf("%d walks over the same deletions", s.walks)
	}
	var lines []string
	for _, e := range d.Edits {
		lines = append(lines, e.String())
	}
	want := []string{"edit 17: 1 deletion held; sextant deletions release --edit 17 has them leave", "edit 18: 5 deletions resting, stored URLs are being judged by it"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("edits (-want +got):\n%s", diff)
	}
	s.list = s.list[1:]
	if held, err := tally.Count(t.Context(), s); err != nil || held.HeldFor["host"] != 0 || s.walks != 2 {
		t.Errorf("one was released: %+v, %v, %d walks", held, err, s.walks)
	}
	s.list = nil
	if held, err := tally.Count(t.Context(), s); err != nil || held.HeldSince != nil || s.walks != 2 {
		t.Errorf("none is held: %+v, %v, %d walks", held, err, s.walks)
	}
}

// TestConfirmedRemoval: more than RemovedUnasked URLs are removed with the operator's word
// only, and the refusal names how many there are.
func TestConfirmedRemoval(t *testing.T) {
	many := make([]string, RemovedUnasked+1)
	for i := range many {
		many[i] = "http://a.test/" + strings.Repeat("x", i+1)
	}
	s := NewServer([]Crawler{fakeCrawler{name: "a", store: storeWith(t, many...)}}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
	for query, want := range map[string]struct {
		body, says string
		status     int
	}{
		"":           {`{"all":true}`, "this removes 101 URLs and deletes 0 documents", 409},
		"?yes=true":  {`{"all":true}`, `"deletions":1`, 200},
		"?yes=false": {`{"urls":["http://a.test/x"]}`, `"urls":1`, 200},
	} {
		w := httptest.NewRecorder()
		s.answer(w, ownerRequest(t, "remove"+query, want.body))
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.says) {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
}
