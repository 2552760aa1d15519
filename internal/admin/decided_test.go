package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// losingCrawler is a fakeCrawler with deletions of its own, and notes which are decided about.
type losingCrawler struct {
	fakeCrawler
	list    []scheduler.StoredDeletion
	decided *[]string
}

type losingReports struct {
	fakeReports
	list []scheduler.StoredDeletion
}

func (h losingCrawler) Reports() report.Store {
	return losingReports{fakeReports{h.store, nil}, h.list}
}

func (h losingReports) PendingDeletions(_ context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	for _, d := range h.list {
		if f.Selects(&d) {
			if err := fn(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h losingCrawler) decide(ctx context.Context, f scheduler.DeletionFilter, takes func(scheduler.StoredDeletion) bool) (n int, err error) {
	err = h.Reports().PendingDeletions(ctx, f, func(d scheduler.StoredDeletion) error {
		if !takes(d) {
			return nil
		}
		n++
		*h.decided = append(*h.decided, d.URL)
		return nil
	})
	return n, err
}

func (h losingCrawler) Release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	return h.decide(ctx, f, func(scheduler.StoredDeletion) bool { return true })
}

func (h losingCrawler) DropDeletions(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	return h.decide(ctx, f, func(d scheduler.StoredDeletion) bool { return d.Edit == 0 })
}

// TestDecisions: a large release wants the operator's word, a decision about nothing is no change, and
// deletions of edits are not dropped.
func TestDecisions(t *testing.T) {
	var list []scheduler.StoredDeletion
	add := func(n int, host string, edit uint64) {
		for i := range n {
			u, err := weburl.Parse(fmt.Sprintf("http://%s/%d/%d", host, edit, i))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, scheduler.StoredDeletion{
				Seq: uint64(len(list) + 1), URL: u.String(), Key: u.Key(),
				Reason: scheduler.ReasonNotFound, Edit: edit,
			})
		}
	}
	add(ReleasedUnasked+1, "many.test", 0)
	add(ReleasedUnasked, "few.test", 0)
	add(10, "edit.test", 17)
	add(600, "both.test", 0)
	add(5, "both.test", 18)
	for name, tt := range map[string]struct {
		path, body string
		status     int
		says       string
		decided    int
		event      bool
	}{
		"many":             {"release", `{"host":"many.test"}`, 409, "this releases 101 deletions: if that is intended, send it with yes=true", 0, false},
		"many, by word":    {"release?yes=true", `{"host":"many.test"}`, 200, `"deletions":101`, 101, true},
		"few":              {"release", `{"host":"few.test"}`, 200, `"deletions":100`, 100, true},
		"all":              {"release", `{"all":true}`, 409, "this releases 816 deletions", 0, false},
		"none":             {"release", `{"host":"none.test"}`, 200, `"deletions":0`, 0, false},
		"drop none":        {"drop", `{"host":"none.test"}`, 200, `"deletions":0`, 0, false},
		"drop of an edit":  {"drop", `{"edit":17}`, 200, `"deletions":0,"of_edits":10`, 0, false},
		"drop of a host":   {"drop", `{"host":"edit.test"}`, 200, `"deletions":0,"of_edits":10`, 0, false},
		"drop of some":     {"drop", `{"host":"both.test"}`, 200, `"deletions":600,"of_edits":5`, 600, true},
		"drop without any": {"drop", `{"host":"many.test"}`, 200, `"deletions":101}`, 101, true},
	} {
		t.Run(name, func(t *testing.T) {
			var decided []string
			crawler := losingCrawler{fakeCrawler{name: "a", store: storeWith(t)}, list, &decided}
			s := NewServer([]Crawler{crawler}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
			w := httptest.NewRecorder()
			s.answer(w, ownerRequest(t, "deletions/"+tt.path, tt.body))
			said := strings.NewReplacer(" ", "", "\n", "").Replace(w.Body.String())
			if w.Code != tt.status || !strings.Contains(said, strings.ReplaceAll(tt.says, " ", "")) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tt.status, tt.says)
			}
			if len(decided) != tt.decided {
				t.Errorf("%d were decided about, want %d", len(decided), tt.decided)
			}
			noted, err := events.List(t.Context(), crawler.store)
			if err != nil || len(noted) == 1 != tt.event {
				t.Errorf("events %v, %v", noted, err)
			}
		})
	}
}
