package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// HostStatus is what a store tells of a host with work.
type HostStatus struct {
	Host    string `json:"host"`    // scheme, host and port
	Waiting uint64 `json:"waiting"` // URLs, in flight ones included
	// ClosedUntil is before when the host is not asked, nil if it may be asked now;
	// Why says the reason.
	ClosedUntil *time.Time `json:"closed_until,omitempty"`
	Why         string     `json:"why,omitempty"`
	Errors      int        `json:"errors,omitempty"` // failures of the host as a whole, in a row
	// BadAnswers are its last answers in a row that were errors, redirects to one place
	// or log-in pages: with 20 of them its deletions are held (hostBrake).
	BadAnswers int `json:"bad_answers,omitempty"`
}

// String is a line for a person.
func (h HostStatus) String() string {
	line := fmt.Sprintf("%-40s %6d URLs", h.Host, h.Waiting)
	if h.ClosedUntil != nil {
		line += "; closed until " + h.ClosedUntil.Local().Format(time.DateTime)
	}
	if h.Why != "" {
		line += "; " + h.Why
	}
	return line
}

// LongestQueues are the n hosts with the most work, most first. It looks at every
// host with work.
func LongestQueues(ctx context.Context, store scheduler.Store, n int) ([]HostStatus, error) {
	type queue struct {
		host   weburl.HostKey
		place  scheduler.Place // one of those where it waits
		length uint64
	}
	byHost := map[weburl.HostKey]*queue{}
	err := store.Places(ctx, func(p scheduler.Place, waiting uint64) error {
		q := byHost[p.Host]
		if q == nil {
			q = &queue{host: p.Host, place: p}
			byHost[p.Host] = q
		}
		q.length += waiting
		return nil
	})
	if err != nil {
		return nil, err
	}
	queues := make([]*queue, 0, len(byHost))
	for _, q := range byHost {
		queues = append(queues, q)
	}
	slices.SortFunc(queues, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(b.length, a.length), slices.Compare(a.host[:], b.host[:]))
	})
	out := []HostStatus{}
	for _, q := range queues[:min(n, len(queues))] {
		state, err := store.Host(ctx, q.host)
		if err != nil {
			return nil, err
		}
		if state.Origin == "" { // it was not asked yet
			first, err := store.Queue(ctx, q.place, 0, 1)
			if err != nil {
				return nil, err
			}
			if len(first) == 0 {
				continue // its work is done meanwhile
			}
			state.Origin = first[0].Record.Origin
		}
		out = append(out, newHostStatus(&state, q.length, time.Now()))
	}
	return out, nil
}

func newHostStatus(state *scheduler.HostState, waiting uint64, now time.Time) HostStatus {
	h := HostStatus{Host: state.Origin, Waiting: waiting, Errors: state.Errors, BadAnswers: state.Bad}
	switch {
	case state.BadPlace != "" && state.Bad > 1:
		h.Why = fmt.Sprintf("its last %d answers were redirects to %s", state.Bad, state.BadPlace)
	case state.Bad > 1:
		h.Why = fmt.Sprintf("its last %d answers were errors or log-in pages", state.Bad)
	case state.Errors > 0:
		h.Why = fmt.Sprintf("it failed %d times in a row", state.Errors)
	}
	if state.NextAt.After(now) {
		until := state.NextAt.UTC()
		h.ClosedUntil = &until
		switch {
		case h.Why != "":
		case state.Delay > 0:
			h.Why = fmt.Sprintf("its robots.txt asks for %s between requests", state.Delay)
		default:
			h.Why = "the pause between two requests"
		}
	}
	return h
}
