package push

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is where an order of the outbox stands, in the operator's words.
type State string

// The states.
const (
	Waiting    State = "waiting" // a target does not have it safely
	Pending    State = "pending" // a document or its text is to go: it does, or a good response cancels that
	DeadLetter State = "dead"    // refused for good, or not readable any more
)

// States are all of them, in the order in which orders are listed.
func States() []State { return []State{Waiting, Pending, DeadLetter} }

// ParseState reads a state; the empty one stands for all.
func ParseState(word string) (State, error) {
	if word == "" || slices.Contains(States(), State(word)) {
		return State(word), nil
	}
	return "", fmt.Errorf("no order is in state %q: write waiting, pending or dead", word)
}

// Listed is an order of the outbox as the operator sees it: without its body.
type Listed struct {
	Entry
	State State
	Bytes uint64 // of the body
	Lost  bool   // the body was damaged, and its URL was set to be fetched again
	Moves bool   // Pending: its document is to leave a target, and stays in the index

	// Of a dead letter.
	Target, Words string
	RefusedAt     time.Time
}

// Selection selects orders of the outbox. An empty field selects all.
type Selection struct {
	State State
	// Target chooses the dead letters of a target and what it does not have safely.
	Target string
	Source *string
	// URLs are those of the orders, in any spelling.
	URLs []string
}

// UnknownTarget is the error for a selection by a push target that the store does not know.
type UnknownTarget struct {
	Name  string
	Known []string // those that there are, in order
}

func (e *UnknownTarget) Error() string {
	there := "none has been opened yet: the first sextant run opens those of the configuration"
	if len(e.Known) > 0 {
		there = "write " + strings.Join(e.Known, " or ")
	}
	return fmt.Sprintf("no push target is named %.100q: %s", e.Name, there)
}
