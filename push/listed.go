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
	DeadLetter State = "dead"    // permanently refused, or no longer readable
)

// States returns all states, in the order in which orders are listed.
func States() []State { return []State{Waiting, Pending, DeadLetter} }

// ParseState parses a state; the empty string means all.
func ParseState(word string) (State, error) {
	if word == "" || slices.Contains(States(), State(word)) {
		return State(word), nil
	}
	return "", fmt.Errorf("state %q does not exist: write waiting, pending or dead", word)
}

// Listed is an order of the outbox as the operator sees it: without its body.
type Listed struct {
	State State `json:"state"`
	Entry
	Bytes uint64 `json:"bytes"` // of the body
	// Moves means that the document is pending to leave a target, for the source Source. Op is Delete.
	Moves bool `json:"moves,omitempty"`
	Lost  bool `json:"lost,omitempty"` // the body was damaged, and its URL was set to be fetched again

	// Target, Words (the indexer's message) and RefusedAt, in UTC, are set for dead letters.
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
	// URLs are the URLs of the orders, in any spelling.
	URLs []string
}

// UnknownTarget is the error for a selection by an unknown push target.
type UnknownTarget struct {
	Name  string
	Known []string // existing targets, in order
}

func (e *UnknownTarget) Error() string {
	there := "none was opened yet: the first sextant run opens those of the configuration"
	if len(e.Known) > 0 {
		there = "write " + strings.Join(e.Known, " or ")
	}
	return fmt.Sprintf("no push target is named %.100q: %s", e.Name, there)
}
