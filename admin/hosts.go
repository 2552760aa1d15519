package admin

import (
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// HostStatus is a host with work, or one that rests, as it is printed.
type HostStatus struct {
	Host     string `json:"host"`    // scheme, host and port
	Waiting  uint64 `json:"waiting"` // URLs, in flight ones included
	InFlight int    `json:"in_flight"`
	// ClosedUntil is before when the host is not asked, nil if it may be asked now;
	// ClosedBy is the word for why, a scheduler.Closing.
	ClosedUntil *time.Time `json:"closed_until,omitempty"`
	ClosedBy    string     `json:"closed_by,omitempty"`
	Errors      int        `json:"errors,omitempty"`  // failures in a row
	Ill         bool       `json:"ill,omitempty"`     // its documents turn bad: none is deleted or replaced
	Address     string     `json:"address,omitempty"` // with perAddress
}

// NewHostStatus gives what the frontier tells its printed form.
func NewHostStatus(info scheduler.HostInfo) HostStatus {
	h := HostStatus{Host: info.Origin, InFlight: info.InFlight, Errors: info.Errors, Ill: info.Ill}
	for _, n := range info.Waiting {
		h.Waiting += n
	}
	if !info.Until.IsZero() {
		h.ClosedUntil, h.ClosedBy = utc(info.Until), info.Closing.String()
	}
	if info.Address.IsValid() {
		h.Address = info.Address.String()
	}
	return h
}

// String is a line for a person.
func (h HostStatus) String() string {
	line := fmt.Sprintf("%-40s %6d URLs", h.Host, h.Waiting)
	if h.ClosedUntil != nil {
		line += "; closed until " + h.ClosedUntil.Local().Round(time.Second).Format(time.DateTime) + ": " + closedWords(h.ClosedBy)
	}
	if h.Errors > 0 {
		line += fmt.Sprintf("; failed %d times in a row", h.Errors)
	}
	if h.Ill {
		line += "; ill: none of its documents is deleted or replaced"
	}
	return line
}

// closedWords are a scheduler.Closing for a person.
func closedWords(reason string) string {
	words := map[string]string{
		scheduler.ByThrottle.String():   "the pause between two requests",
		scheduler.ByCrawlDelay.String(): "its robots.txt asks for a pause",
		scheduler.ByBackoff.String():    "it failed",
		scheduler.ByRetryAfter.String(): "it asked for it by Retry-After",
		scheduler.ByHours.String():      "not at this time of day, by the hours of its Throttle",
		scheduler.ByAddress.String():    "another host of its address was visited",
		scheduler.ByStore.String():      "its outcome could not be stored",
	}[reason]
	if words == "" {
		return reason
	}
	return words
}
