package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
)

// headline returns the status in one line: "intranet: crawling, 0.8 pages/s, 1,188 waiting, 2 hosts resting".
func headline(s *admin.Status, p paint) string {
	var waiting uint64
	for _, n := range s.Pending {
		waiting += n
	}
	state, meaning := stateOf(s, waiting)
	parts := []string{p(meaning, state)}
	if state == "crawling" && s.Rates.PagesPerS >= 0.05 {
		parts = append(parts, fmt.Sprintf("%.1f pages/s", s.Rates.PagesPerS))
	}
	if waiting > 0 {
		parts = append(parts, comma(waiting)+" waiting")
	}
	if s.Hosts.Closed > 0 {
		parts = append(parts, count(s.Hosts.Closed, "host")+" resting")
	}
	if waiting == 0 && s.NextDue != nil && s.Timed > 0 {
		parts = append(parts, "the next page is due at "+clock.Local(*s.NextDue))
	}
	if n := s.IllHosts; n > 0 {
		parts = append(parts, p(bad, count(n, "host")+" ill"))
	}
	if n := s.Outbox.Pending; n > 0 {
		words := s.PendingWords() + " pending"
		if s.DeletionsByClass[scheduler.LossMost.String()] > 0 {
			words = p(doubtful, words)
		}
		parts = append(parts, words)
	}
	if n := s.Outbox.Dead; n > 0 {
		parts = append(parts, p(doubtful, count(n, "dead letter")))
	}
	return cmp.Or(s.Crawler, "crawl") + ": " + strings.Join(parts, ", ")
}

// stateOf describes the activity of a Crawler.
func stateOf(s *admin.Status, waiting uint64) (state string, meaning colour) {
	if s.Idle == admin.NotRunning {
		if s.Paused {
			return "not running, and paused", doubtful
		}
		return admin.NotRunning, doubtful
	}
	switch s.IdleCode {
	case crawl.IdleStopping, crawl.IdleStarting, crawl.IdlePaused:
		return s.IdleCode, doubtful
	case crawl.IdleOutboxFull:
		return "waiting for the indexer, the outbox is full", bad
	case crawl.IdleStoreSlow:
		return "waiting for the disk", bad
	case crawl.IdleSourcesOff:
		return "idle, all waiting URLs are in fifos of weight 0", doubtful
	case crawl.IdleNoURL:
		if waiting == 0 && s.InFlight == 0 {
			return "idle, no URLs waiting", good
		}
	}
	return "crawling", good
}
