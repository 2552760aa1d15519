package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
)

// TestDeletionsOfClient: what the service tells of deletions arrives as it is.
func TestDeletionsOfClient(t *testing.T) {
	data, _ := serve(t, fakeCrawler{name: "a", store: storeWith(t)})
	a := dial(t, data, "")
	var got []Deletion
	add := func(d Deletion) error { got = append(got, d); return nil }
	if err := Each(t.Context(), a, "/deletions", Query("up_to", "2"), add); err != nil {
		t.Fatal(err)
	}
	if err := Each(t.Context(), a, "/deletions", Query("host", "a.test"), add); err != nil {
		t.Fatal(err)
	}
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	want := []Deletion{
		{Number: 1, Since: at(1), LastSeen: at(1), Visits: 1, Reason: "not_found", Class: "most", NotBefore: utc(at(9e9)), WaitsFor: "well_host", Host: "https://b.test", URL: "https://b.test/1", Text: "404 Not Found"},
		{Number: 2, Since: at(2), LastSeen: at(2), Visits: 1, Reason: "rules", Class: "edit", WaitsFor: "word", Edit: 17, Host: "https://b.test", URL: "https://b.test/2", Text: "rule 3 at CrawlConfig.xml:9:1"},
		{Number: 3, Since: at(3), LastSeen: at(3), Visits: 1, Reason: "new_text", Class: "few", NotBefore: utc(at(63)), WaitsFor: "visit", Replaces: true, Host: "http://a.test", URL: "http://a.test/3", Source: "s", Text: "its text has changed"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for cursor, want := range map[string][]uint64{"": {3, 2}, "1": {1}} { // a page has the newest first
		page, err := asked[struct {
			Items []Deletion
			Next  string
		}](t, a, "/deletions", "limit", "2", "cursor", cursor)
		var numbers []uint64
		for _, d := range page.Items {
			numbers = append(numbers, d.Number)
		}
		if err != nil || !slices.Equal(numbers, want) || (page.Next == "1") != (cursor == "") {
			t.Errorf("the page at %q has %d, then %q (%v)", cursor, numbers, page.Next, err)
		}
	}
	counts, err := asked[DeletionCounts](t, a, "/deletions/counts", "by", "host,class")
	wantCounts := DeletionCounts{LossCounts: LossCounts{Pending: 3, NewTexts: 1}, OfIllHosts: 2, UpTo: 3, Groups: 3, Items: []DeletionGroup{
		{DeletionKey{Host: "http://a.test", Class: "few"}, LossCounts{Pending: 1, NewTexts: 1}}, {DeletionKey{Host: "https://b.test", Class: "edit"}, LossCounts{Pending: 1}}, {DeletionKey{Host: "https://b.test", Class: "most"}, LossCounts{Pending: 1}},
	}}
	if diff := cmp.Diff(wantCounts, counts); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := asked[DeletionCounts](t, a, "/deletions/counts", "reason", "404"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `"404": write one of`) {
		t.Errorf("a reason that is none: %v", err)
	}
	if _, err := a.DecideDeletions(t.Context(), "release", DeletionQuery{Edit: 99}); !errors.Is(err, ErrDeclined) || !strings.Contains(err.Error(), "edit 99 of the rules is unknown") {
		t.Errorf("an edit that is not remembered: %v", err)
	}
}

// TestDecidedByHostName: a name without a scheme stands for all origins of that name that
// have deletions, and for no other host.
func TestDecidedByHostName(t *testing.T) {
	list := func(_ context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
		for _, url := range []string{"http://a.test/1", "https://a.test/2", "http://a.test:8080/3", "http://b.a.test/4", "http://a.test/5"} {
			d := scheduler.StoredDeletion{URL: url}
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

// losingStore is a store whose deletions a test sets, and that counts the walks over them.
type losingStore struct {
	*teststore.Store
	list  []scheduler.StoredDeletion
	walks int
}

func (s *losingStore) Counts(context.Context) (c scheduler.Counts, _ error) {
	c.Outbox.Pending = uint64(len(s.list))
	return c, nil
}

func (s *losingStore) PendingDeletions(_ context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
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

// TestPendingTally: pending deletions are counted once for each change of their number, and the
// edits are told of whose deletions have not left.
func TestPendingTally(t *testing.T) {
	s := &losingStore{Store: teststore.New(t), list: fakeDeletions()}
	var tally PendingTally
	var d Status
	for range 3 {
		d = Status{}
		if err := d.AddDeletions(t.Context(), s, &tally, fakeLosses()); err != nil {
			t.Fatal(err)
		}
	}
	if !d.DeletionsSince.Equal(time.Unix(1, 0)) || !cmp.Equal(d.DeletionsByReason, map[string]uint64{"not_found": 1, "rules": 1, "new_text": 1}) ||
		!cmp.Equal(d.DeletionsByClass, map[string]uint64{"most": 1, "few": 1, "edit": 1}) {
		t.Errorf("%+v", d.PendingCounts)
	}
	if s.walks != 1 {
		t.Errorf("%d walks over the same deletions", s.walks)
	}
	var lines []string
	for _, h := range d.Losing {
		lines = append(lines, fmt.Sprint(h.Host, ": ", h.Words(), " of ", h.Documents, " ", h.Class, " ", h.Ill, h.Silent()))
	}
	for _, e := range d.Edits {
		lines = append(lines, fmt.Sprint(e.Number, " ", e.State, " ", e.Pending))
	}
	want := []string{
		"https://b.test: 30 deletions of 60 most true true", "http://a.test: 1 deletion and 1 new text of 100 few false false",
		"17 held 1", "18 judging 0",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.list = s.list[1:]
	if n, err := tally.count(t.Context(), s, fakeLosses()); err != nil || n.DeletionsByClass["most"] != 0 || s.walks != 2 {
		t.Errorf("one was released: %+v, %v, %d walks", n, err, s.walks)
	}
	s.list = nil
	if n, err := tally.count(t.Context(), s, fakeLosses()); err != nil || n.DeletionsSince != nil || s.walks != 2 {
		t.Errorf("none is pending: %+v, %v, %d walks", n, err, s.walks)
	}
}

// TestSilentHosts: a host is told of as silent when it seems to be gone, not when others of its documents were
// not asked for.
func TestSilentHosts(t *testing.T) {
	at := func(d time.Duration) *time.Time { return utc(time.Now().Add(d)) }
	for name, tt := range map[string]struct {
		h    LosingHost
		want bool
	}{
		"ill":                  {LosingHost{Documents: 9, Pending: 5, Ill: true, SilentSince: at(-2 * time.Hour), GoneAt: at(700 * time.Hour)}, true},
		"ill for a minute":     {LosingHost{Documents: 9, Pending: 5, Ill: true, SilentSince: at(-time.Minute), GoneAt: at(700 * time.Hour)}, false},
		"all of two":           {LosingHost{Documents: 3, Left: 1, Pending: 2, SilentSince: at(-2 * time.Hour), GoneAt: at(700 * time.Hour)}, true},
		"a section":            {LosingHost{Documents: 9, Pending: 5, SilentSince: at(-2 * time.Hour), GoneAt: at(700 * time.Hour)}, false},
		"a section, for weeks": {LosingHost{Documents: 9, Pending: 5, SilentSince: at(-600 * time.Hour), GoneAt: at(100 * time.Hour)}, true},
		"not silent":           {LosingHost{Documents: 9, Pending: 9, Ill: true}, false},
	} {
		if got := tt.h.Silent(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWaits: each need has words of its own.
func TestWaits(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	for want, d := range map[string]Deletion{
		"now":                             {},
		"not before 2026-03-04T05:06:00Z": {WaitsFor: "visit", NotBefore: &at},
		"when its host is well":           {WaitsFor: "well_host"},
		"when its host is well, or gone: 2026-03-04T05:06:00Z":  {WaitsFor: "well_host", NotBefore: &at},
		"when its host is gone":                                 {WaitsFor: "gone_host"},
		"when its host is gone: 2026-03-04T05:06:00Z":           {WaitsFor: "gone_host", NotBefore: &at},
		"when another document of its host has a good response": {WaitsFor: "response", NotBefore: &at},
		"when all stored URLs have been judged by edit 3":       {WaitsFor: "judging", Edit: 3},
		"not until the operator confirms it":                    {WaitsFor: "word", Edit: 3},
	} {
		if got := d.Waits(); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
}

// TestLossWords: deletions, new texts and moves are told apart.
func TestLossWords(t *testing.T) {
	for want, n := range map[string][3]uint64{
		"0 deletions": {}, "1 deletion": {1}, "1 new text": {1, 1}, "1,060 new texts": {1060, 1060}, "3 deletions and 60 new texts": {63, 60},
		"1 move off a target": {1, 0, 1}, "3 moves off a target": {3, 0, 3}, "1 deletion, 2 new texts and 3 moves off a target": {6, 2, 3},
		"2 new texts": {2, 3}, // counted a moment apart
	} {
		if got := LossWords(n[0], n[1], n[2]); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
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

// TestDroppedBesideEdits: what an edit made stays, and is not worded as dropped.
func TestDroppedBesideEdits(t *testing.T) {
	n := Decided{Deletions: 2, Moves: 15, OfEdits: 15}
	if got, want := n.Words(), "2 deletions"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := n.Stay(), "15 moves off a target by an edit of the rules stay: reverting the edit cancels them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	one := Decided{OfEdits: 1}
	if got, want := one.Stay(), "1 deletion by an edit of the rules stays: reverting the edit cancels it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if released := (&Decided{Deletions: 2, Moves: 2}); released.Words() != "2 moves off a target" || released.Stay() != "" {
		t.Errorf("%q, %q", released.Words(), released.Stay())
	}
}
