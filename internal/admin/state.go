package admin

import (
	"fmt"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler"
)

// State is the state of a crawl for people: in two or three words, and in a sentence without a full stop for the
// reason, which may be empty. Kind is good, warn, bad, or empty for neither.
type State struct{ Kind, Head, Why string }

// String returns the state in one line.
func (s State) String() string {
	if s.Why == "" {
		return s.Head
	}
	return s.Head + ": " + s.Why
}

// State returns the state of the crawl. A crawl that fetches at the polite pace is not idle.
func (s *Status) State() State {
	if s.Idle == NotRunning {
		return State{"warn", "Not running", map[bool]string{true: "paused until it is resumed"}[s.Paused]}
	}
	paused := State{"warn", "Paused", "no page is fetched until it is resumed"}
	state, found := map[string]State{
		crawl.IdlePaused:     paused,
		crawl.IdleStopping:   {"warn", "Stopping", "pages in flight are finished"},
		crawl.IdleStarting:   {"", "Starting", ""},
		crawl.IdleOutboxFull: {"bad", "Stopped", "the outbox is full, because an indexer does not accept the waiting documents"},
		crawl.IdleStoreSlow:  {"warn", "Crawling slowly", s.Idle},
		crawl.IdleSourcesOff: {"warn", "Idle", s.Idle},
		crawl.IdleRateLimit:  {"good", "Crawling", "limited by maxRequestsPerS or maxBytesPerS"},
	}[s.IdleCode]
	switch {
	case found:
		return state
	case s.IdleCode == crawl.IdleHostsClosed || s.IdleCode == crawl.IdleHostsBusy:
		return s.limited()
	case s.IdleCode == crawl.IdleNoURL && s.InFlight == 0:
		return State{"", "Idle", s.Idle}
	case s.Paused:
		return paused
	}
	return State{"good", "Crawling", fmt.Sprintf("%.1f pages/s, %s in flight", s.Rates.PagesPerS, Count(s.InFlight, "URL"))}
}

// limited returns the state while every host with work is being visited or must not be visited yet.
func (s *Status) limited() State {
	polite, sick := 0, 0
	for why, n := range s.ClosedFor {
		switch why {
		case scheduler.ByBackoff.String(), scheduler.ByRetryAfter.String(), scheduler.ByStore.String():
			sick += n
		case scheduler.ByHours.String():
		default:
			polite += n
		}
	}
	hours := s.ClosedFor[scheduler.ByHours.String()]
	switch {
	case polite > 0:
		return State{"good", "Crawling", "limited by the pause of " + Count(polite, "host")}
	case s.InFlight > 0:
		return State{"good", "Crawling", "all hosts with work are being visited"}
	case sick > 0:
		return State{"warn", "Waiting", Count(sick, "host") + " failed or requested a pause"}
	case hours > 0:
		return State{"", "Waiting", "outside the hours of the Throttle elements"}
	}
	return State{"good", "Crawling", "limited by the pause of its hosts"}
}
