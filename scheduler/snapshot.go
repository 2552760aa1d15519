package scheduler

import (
	"fmt"
	"time"
)

// Snapshot is what the Frontier is doing at a moment.
type Snapshot struct {
	InFlight    int       // leases that have no stored outcome yet
	Hosts       int       // hosts with work
	HostsClosed int       // hosts that may not be visited yet
	NextOpening time.Time // when the first of those may be, zero if there is none
	NextDue     time.Time // when the first retry or refresh is due, zero if none is known
	// Idle says why no URL can be given out; empty if one can.
	Idle  string
	Brake BrakeSnapshot
}

// BrakeSnapshot is the deletion brake's state.
type BrakeSnapshot struct {
	On bool // asked for
	// Sent and Held are the deletions of the window.
	Sent, Held int
}

// Snapshot gives the present state, in constant time.
func (f *Frontier) Snapshot() Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Snapshot{InFlight: f.inFlight, Hosts: f.working, HostsClosed: len(f.closed), NextDue: f.dueAt}
	if len(f.closed) > 0 {
		s.NextOpening = f.closed[0].nextAt
	}
	s.Brake.On = f.set.Brake.On
	s.Brake.Sent, s.Brake.Held = f.brake.count(f.set.Brake, time.Now())
	s.Idle = f.idleReason()
	return s
}

func (f *Frontier) idleReason() string {
	switch {
	case f.stopped:
		return "stopped"
	case f.stride.sum(f.pickable()) > 0:
		return ""
	case !f.started:
		return "starting"
	case f.ready != 0:
		return "the sources with work are switched off"
	case f.working == 0 && f.inFlight > 0:
		return "all that waits is being fetched"
	case f.working == 0:
		return "nothing waits"
	case len(f.closed) > 0:
		return fmt.Sprintf("all hosts with work rest, the first until %s", f.closed[0].nextAt.Format(time.RFC3339))
	default:
		return "all hosts with work are being visited"
	}
}
