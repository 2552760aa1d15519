package push

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is the state of an order of the outbox, for the operator.
type State string

// The states.
const (
	Waiting    State = "waiting" // a target does not have it safely
	Pending    State = "pending" // a document or its text is to go: it does, or a good response cancels that
	DeadLetter State = "dead"    // refused for good, or not readable any more
)

// States are all of them, in the order in which orders are listed.
func States() []State { return []State{Waiting, Pending, DeadLetter} }

// ParseState parses a state; the empty one means all.
func ParseState(word string) (State, error) {
	if word == "" || slices.Contains(States(), State(word)) {
		return State(word), nil
	}
	return "", fmt.Errorf("no order is in state %q: write waiting, pending or dead", word)
}

// Listed is an order of the outbox as the operator sees it: without its body.
type Listed struct {
	State State `json:"state"`
	Entry
	Bytes uint64 `json:"bytes"` // of the body
	// Moves means that the document is pending to leave a target, for the source Source. Op is Delete.
	Moves bool `json:"moves,omitempty"`
	Lost  bool `json:"lost,omitempty"` // the body was damaged, and its URL was set to be fetched again

	// Target, Words (the indexer's) and RefusedAt, in UTC, are a dead letter's.
	Target    string    `json:"target,omitempty"`
	Words     string    `json:"words,omitempty"`
	RefusedAt time.Time `json:"refused_at,omitzero"`
}

// Selection selects orders of the outbox. An empty field selects all.
type Selection struct {
	State State
	// Target selects the dead letters of a target and its unconfirmed orders.
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
