package scheduler

import (
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/internal/clock"
)

// Idle is the reason why no URL can be given out, a word that stays the same between versions.
type Idle string

// The reasons, in the order in which they are checked.
const (
	NotIdle      Idle = ""
	IdleStopped  Idle = "stopped"
	IdlePaused   Idle = "paused"
	IdleStarting Idle = "starting"
	IdleOff      Idle = "sources-off"   // URLs wait in sources of weight 0 only
	IdleDone     Idle = "no-urls"       // none waits, none is in flight
	IdleFetching Idle = "last-urls"     // none waits, some are in flight
	IdleClosed   Idle = "hosts-closed"  // some host opens again by itself
	IdleVisited  Idle = "hosts-visited" // all are at their limit of requests
)

// Snapshot is the state of the Frontier at one moment.
type Snapshot struct {
	InFlight int // leases without a stored outcome
	Hosts    int // hosts with work
	// HostsClosed counts the hosts that may not be visited yet, ClosedFor counts them by reason.
	HostsClosed int
	ClosedFor   map[Closing]int
	NextOpening time.Time // when the first closed host opens, zero if none is closed
	NextDue     time.Time // when the first retry or refresh is due, zero if unknown
	// Idle is the text for why no URL can be given out, IdleCode the code. Both are empty if a URL can be.
	Idle     string
	IdleCode Idle
	// IllHosts counts the ill hosts that this process visited; Ill names the first few.
	IllHosts int
	Ill      []IllHost
}

// illShown is the most ill hosts that a Snapshot names.
const illShown = 10

// Snapshot returns the present state, in constant time.
func (f *Frontier) Snapshot() Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Snapshot{
		InFlight: f.inFlight, Hosts: f.working,
		HostsClosed: len(f.closed), NextOpening: f.nextOpening(), NextDue: f.dueAt,
		IllHosts: len(f.ill),
		Ill:      f.ill.latest(illShown),
	}
	s.ClosedFor = map[Closing]int{}
	for r, n := range f.restingFor {
		if n > 0 {
			s.ClosedFor[Closing(r)] = n
		}
	}
	s.IdleCode, s.Idle = f.idle()
	return s
}

// nextOpening returns when the next closed host opens.
func (f *Frontier) nextOpening() time.Time {
	switch {
	case f.own.notBefore > f.now():
		return f.time(f.own.notBefore)
	case len(f.closed) > 0:
		return f.time(f.closed[0].gate)
	default:
		return time.Time{}
	}
}

func (f *Frontier) idle() (Idle, string) {
	switch {
	case f.stopped:
		return IdleStopped, "stopped"
	case f.paused:
		return IdlePaused, "paused by the operator"
	case f.stride.sum(f.pickable()) > 0:
		return NotIdle, ""
	case !f.started:
		return IdleStarting, "starting"
	case f.own.notBefore > f.now():
		return IdleClosed, fmt.Sprintf("all hosts rest until %s: the last run may have just visited them", clock.Stamp(f.time(f.own.notBefore)))
	case f.ready != 0:
		return IdleOff, "the fifos with work have weight 0"
	case f.working == 0 && f.inFlight > 0:
		return IdleFetching, "all pending URLs are being fetched"
	case f.working == 0:
		return IdleDone, "no URL is pending"
	case len(f.closed) > 0:
		return IdleClosed, fmt.Sprintf("all hosts with work rest, the first until %s", clock.Stamp(f.nextOpening()))
	default:
		return IdleVisited, "all hosts with work are being visited"
	}
}
