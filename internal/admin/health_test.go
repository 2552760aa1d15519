package admin

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/internal/notices"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// testTime is a moment.
var testTime = time.Unix(1_700_000_000, 0)

// TestProblems: what makes a Crawler unable to work, and what does not.
func TestProblems(t *testing.T) {
	const miB = 1 << 20
	disk := func(free int64) *StoreStatus {
		return &StoreStatus{Stats: store.Stats{Stats: kv.Stats{DiskFree: free, DiskSize: 100 << 30, DiskNeeded: 512 * miB}}}
	}
	for name, tt := range map[string]struct {
		status Status
		want   string
	}{
		"idle":             {Status{Status: crawl.Status{IdleCode: crawl.IdleNoURL}, Store: disk(10 << 30)}, ""},
		"paused":           {Status{Status: crawl.Status{IdleCode: crawl.IdlePaused, Paused: true}}, ""},
		"outbox full":      {Status{Status: crawl.Status{IdleCode: crawl.IdleOutboxFull}}, ""},
		"refused":          {Status{Status: crawl.Status{ConfigError: "broken"}}, ""},
		"starting":         {Status{Status: crawl.Status{IdleCode: crawl.IdleStarting}}, notReadyStarting},
		"stopping":         {Status{Status: crawl.Status{IdleCode: crawl.IdleStopping}}, notReadyStopping},
		"disk":             {Status{Store: disk(511 * miB)}, notReadyDisk},
		"disk just enough": {Status{Store: disk(512 * miB)}, ""},
		"disk not known":   {Status{Store: &StoreStatus{Stats: store.Stats{Stats: kv.Stats{DiskNeeded: 1}}}}, ""},
	} {
		got := ""
		for _, p := range tt.status.problems() {
			got += p.Code
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestReadyz(t *testing.T) {
	for name, tt := range map[string]struct {
		broken       error
		accept, want string
		code         int
	}{
		"ready":             {nil, "", "ready\n", http.StatusOK},
		"ready in JSON":     {nil, "application/json", `{"ready":true}` + "\n", http.StatusOK},
		"not ready":         {errors.New("damaged"), "*/*", "not ready\na: store_failing: its figures cannot be read: damaged\n", http.StatusServiceUnavailable},
		"not ready in JSON": {errors.New("x"), "application/json", `{"ready":false,"problems":[{"crawler":"a","code":"store_failing","words":"its figures cannot be read: x"}]}` + "\n", http.StatusServiceUnavailable},
	} {
		s := &Server{crawlers: []Crawler{fakeCrawler{name: "a", store: storeWith(t), broken: tt.broken}}}
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil)
		r.Header.Set("Accept", tt.accept)
		s.readyz(w, r)
		if w.Code != tt.code || w.Body.String() != tt.want {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestDiskLow: the smaller bound counts, but never below what the store needs.
func TestDiskLow(t *testing.T) {
	const giB, need = 1 << 30, 512 << 20
	for _, tt := range []struct {
		size, free int64
		low        bool
	}{
		{1000 * giB, 3 * giB, false}, {1000 * giB, 2*giB - 1, true},
		{30 * giB, 2 * giB, false}, {30 * giB, giB + giB/4, true}, // 5 % is 1.5 GiB
		{8 * giB, giB, false}, {8 * giB, giB - 1, true}, // 5 % is less than the store needs
		{0, 0, false},
	} {
		s := StoreStatus{Stats: store.Stats{Stats: kv.Stats{DiskSize: tt.size, DiskFree: tt.free, DiskNeeded: need}}}
		if low := s.DiskLow(); low != tt.low {
			t.Errorf("%d of %d free: %v", tt.free, tt.size, low)
		}
	}
}

// TestObserve: a Crawler whose figures cannot be read hides what is over.
func TestObserve(t *testing.T) {
	good := fakeCrawler{name: "good", store: storeWith(t), whole: true}
	o := Observe(t.Context(), []Crawler{good, fakeCrawler{name: "bad", store: storeWith(t), broken: errors.New("x")}})
	if len(o.Conditions) != 0 || len(o.Unsure) != 2 {
		t.Errorf("%+v", o)
	}
	s := Status{Status: crawl.Status{
		Crawler: "docs", Outbox: crawl.OutboxStatus{Pending: 3},
		Targets:  []crawl.TargetStatus{{Name: "up"}, {Name: "papi", DownSince: utc(testTime), LastError: "refused"}},
		Sessions: []visit.SessionStatus{{Name: "in", State: "good"}, {Name: "out", State: "failed", Words: "401"}},
	}, IllHosts: 2, Ill: []scheduler.IllHost{{Origin: "http://a", Since: testTime}}, LosingHosts: 5, Losing: []LosingHost{
		{Host: "http://b", Class: "most", Pending: 3, NewTexts: 1, Documents: 9, SilentSince: utc(testTime), GoneAt: utc(testTime)},
		{Host: "http://c", Class: "most", pooled: true}, {Host: "http://d", Class: "most", pooled: true}, {Host: "http://e", Class: "some"},
	}, Edits: []EditStatus{{Edit: deletion.Edit{Number: 7, State: deletion.EditHeld}, LossCounts: LossCounts{Pending: 4}}, {Edit: deletion.Edit{Number: 8, State: deletion.EditOpen}, LossCounts: LossCounts{Pending: 4}}}}
	var got notices.Observation
	s.observe(&got)
	var words []string
	for _, c := range got.Conditions {
		if c.Words == "" {
			t.Errorf("%+v", c)
		}
		words = append(words, string(c.Event)+" "+c.Crawler+" "+c.Subject)
	}
	want := []string{
		"brake docs http://b", "host docs http://b silent", "host docs http://b gone", "brake docs small hosts", "brake docs edit 7",
		"indexer docs papi", "host docs http://a", "login docs out",
	}
	if len(words) != len(want) {
		t.Fatal(words)
	}
	for i := range want {
		if words[i] != want[i] {
			t.Errorf("%q, want %q", words[i], want[i])
		}
	}
	texts := "the index keeps these documents until that is confirmed, see sextant deletions; release them if the pages are really gone and the new texts are right"
	if first := got.Conditions[0]; first.Words != "2 deletions and 1 new text pending of the 9 documents of http://b" || first.Help != texts {
		t.Errorf("%+v", first)
	}
	unsure := []notices.Scope{{Event: notices.Host, Crawler: "docs"}, {Event: notices.Brake, Crawler: "docs"}}
	if !slices.Equal(got.Unsure, unsure) {
		t.Errorf("%+v", got.Unsure)
	}
	if !got.Conditions[1].Since.Equal(testTime) || !got.Conditions[5].Since.Equal(testTime) || !got.Conditions[6].Since.Equal(testTime) {
		t.Errorf("%+v", got.Conditions)
	}
}
