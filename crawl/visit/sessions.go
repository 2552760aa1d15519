package visit

import (
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/internal/clock"
)

// SessionStatus is an account as an operator sees it. There are no secrets in it.
type SessionStatus struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// State is "unproven", "good", "logged out" or "failed"; Words describe the failure, and Until is the time of the next
	// attempt.
	State  string     `json:"state"`
	Words  string     `json:"words,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	LogIns int        `json:"log_ins"`
	Since  *time.Time `json:"since,omitempty"` // the last of them
}

func newSessionStatus(s auth.Status) SessionStatus {
	out := SessionStatus{Name: s.Name, Kind: s.Kind, State: s.State, Words: s.Words, LogIns: s.LogIns}
	for _, t := range []struct {
		to   **time.Time
		from time.Time
	}{{&out.Until, s.Until}, {&out.Since, s.Since}} {
		if !t.from.IsZero() {
			at := t.from.UTC()
			*t.to = &at
		}
	}
	return out
}

// String is a line for a person.
func (s SessionStatus) String() string {
	line := fmt.Sprintf("%s (%s): %s", s.Name, s.Kind, s.State)
	if s.Until != nil {
		line += " until " + clock.Stamp(*s.Until)
	}
	if s.Words != "" {
		line += ": " + s.Words
	}
	if s.Since != nil {
		line += fmt.Sprintf("; %d log-ins, the last one at %s", s.LogIns, clock.Stamp(*s.Since))
	}
	return line
}
