package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Summary is the result of crawls that ended by themselves.
type Summary struct {
	// Crawls has one entry for each Crawler; none if the service was stopped.
	Crawls []CrawlSummary
	// RootsFailed lists the roots that could not be fetched; nil if all could.
	RootsFailed error
}

// CrawlSummary is the result of one Crawler, with its remaining work. Its JSON is what run --once --json prints:
// members are added, never renamed.
type CrawlSummary struct {
	Crawler string `json:"crawler"`
	// Error is the reason why the figures could not be read.
	Error string `json:"error,omitempty"`
	// Pages were fetched by this run; the following fields count the whole store.
	Pages     int64  `json:"pages"`
	Known     uint64 `json:"known"`
	Indexed   uint64 `json:"indexed"`
	Permanent uint64 `json:"permanent_errors"`
	Temporary uint64 `json:"temporary_errors"`
	// BotWalls counts the responses of this run that were a bot wall's.
	BotWalls uint64 `json:"bot_walls"`
	// Made counts the changes of documents by the run.
	Made events.Made `json:"made"`
	// NotDone is the work left by a run that was stopped early, Later the work that --once does not wait for.
	NotDone NotDone `json:"not_done"`
	Later   Later   `json:"later"`
	// RootsFailed lists the roots that could not be fetched.
	RootsFailed string `json:"roots_failed,omitempty"`
}

// NotDone is work that could continue at once.
type NotDone struct {
	Waiting uint64 `json:"waiting"` // URLs
	Copies  uint64 `json:"copies"`  // of these, copies that are to take the place of a document that left
	Unsent  uint64 `json:"unsent"`  // orders
}

// Later counts URLs and orders that wait for a time, or for a person.
type Later struct {
	Timed       uint64 `json:"timed"` // retries and refreshes
	FifosOff    uint64 `json:"fifos_off"`
	Pending     uint64 `json:"deletions_pending"`
	DeadLetters uint64 `json:"dead_letters"`
}

// summary returns the results of the crawls and their remaining work.
func (s *Service) summary(ctx context.Context, once crawl.Once, began time.Time) Summary {
	var out Summary
	if !once.Drain && once.MaxPages == 0 {
		return out
	}
	for _, r := range s.crawls {
		status, err := r.Status(ctx)
		if err != nil {
			out.Crawls = append(out.Crawls, CrawlSummary{Crawler: r.Name(), Error: err.Error()})
			continue
		}
		c := summaryOf(r.Name(), status.Status, r.inForce.Load().Frontier.Weights)
		c.Made = status.Made()
		c.Made.Of, c.Made.TookS = "this run", int64(time.Since(began).Seconds())
		if err := r.RootsFailed(ctx); err != nil {
			c.RootsFailed = err.Error()
			out.RootsFailed = errors.Join(out.RootsFailed, fmt.Errorf("%s: %w", r.Name(), err))
		}
		out.Crawls = append(out.Crawls, c)
	}
	return out
}

func summaryOf(name string, s crawl.Status, weights [6]int) CrawlSummary {
	c := CrawlSummary{
		Crawler: name, Pages: s.Totals.Pages, Known: s.Known, Indexed: s.Indexed,
		Permanent: s.ByClass["permanent"], Temporary: s.ByClass["temporary"], BotWalls: s.Errors[report.ErrorBotWall],
		NotDone: NotDone{Unsent: s.Outbox.Waiting},
		Later:   Later{Timed: s.Timed, Pending: s.Outbox.Pending, DeadLetters: s.Outbox.Dead},
	}
	if d := s.Duplicates; d != nil {
		c.NotDone.Copies = uint64(d.Freed) //nolint:gosec // not negative
	}
	for number, w := range weights {
		if waiting := s.Pending[scheduler.Source(number).String()]; w > 0 {
			c.NotDone.Waiting += waiting
		} else {
			c.Later.FifosOff += waiting
		}
	}
	return c
}
