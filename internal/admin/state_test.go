package admin

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler"
)

// TestState: a crawl at the polite pace is not called idle.
func TestState(t *testing.T) {
	for _, tt := range []struct {
		code   string
		flight int
		closed map[string]int
		want   string
		kind   string
	}{
		{"", 3, nil, "Crawling: 0.0 pages/s, 3 URLs in flight", "good"},
		{crawl.IdleSlotsFull, 1, nil, "Crawling: 0.0 pages/s, 1 URL in flight", "good"},
		{crawl.IdleHostsClosed, 0, map[string]int{scheduler.ByThrottle.String(): 1, scheduler.ByCrawlDelay.String(): 1, scheduler.ByBackoff.String(): 7}, "Crawling: limited by the pause of 2 hosts", "good"},
		{crawl.IdleHostsClosed, 0, map[string]int{scheduler.ByBackoff.String(): 1}, "Waiting: 1 host failed", "warn"},
		{crawl.IdleHostsClosed, 0, map[string]int{scheduler.ByHours.String(): 1}, "Waiting: outside the hours", ""},
		{crawl.IdleHostsBusy, 2, nil, "Crawling: all hosts", "good"},
		{crawl.IdleNoURL, 0, nil, "Idle: nothing waits", ""},
		{crawl.IdleNoURL, 1, nil, "Crawling: ", "good"},
		{crawl.IdlePaused, 1, nil, "Paused: ", "warn"},
		{crawl.IdleOutboxFull, 1, nil, "Stopped: the outbox is full", "bad"},
		{crawl.IdleRateLimit, 1, nil, "Crawling: limited by max", "good"},
		{crawl.IdleStarting, 0, nil, "Starting", ""},
		{crawl.IdleStopping, 0, nil, "Stopping", "warn"},
		{crawl.IdleStoreSlow, 0, nil, "Crawling slowly: nothing waits", "warn"},
		{crawl.IdleSourcesOff, 0, nil, "Idle: nothing waits", "warn"},
	} {
		s := Status{Status: crawl.Status{IdleCode: tt.code, Idle: "nothing waits", InFlight: tt.flight}, ClosedFor: tt.closed}
		if got := s.State(); !strings.HasPrefix(got.String(), tt.want) || got.Kind != tt.kind {
			t.Errorf("%s: %q (%s), want %q (%s)", tt.code, got, got.Kind, tt.want, tt.kind)
		}
	}
	for _, code := range idleReasons() {
		s := Status{Status: crawl.Status{IdleCode: code}}
		if s.State().Head == "" {
			t.Errorf("%s has no words", code)
		}
	}
}
