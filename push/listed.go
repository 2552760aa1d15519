package push

import "time"

// State is where an order of the outbox stands, in the operator's words.
type State string

// The states.
const (
	Waiting    State = "waiting" // a target does not have it safely
	HeldBack   State = "held"    // a deletion that the brake holds
	DeadLetter State = "dead"    // refused for good, or not readable any more
)

// Listed is an order of the outbox as the operator sees it: without its body.
type Listed struct {
	Entry
	State State
	Bytes uint64 // of the body
	Lost  bool   // the body was damaged, and its URL was set to be fetched again

	// Of a dead letter.
	Target, Words string
	RefusedAt     time.Time
}

// Selection chooses orders of the outbox; what is left empty chooses all.
type Selection struct {
	State State
	// Target chooses the dead letters of a target and what it does not have safely.
	Target string
	Source *string
	// URLs are those of the orders, in any spelling.
	URLs []string
}
