package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sextant-crawler/sextant/push"
)

// sending.mu guards what the requests of a Spread that run at once note.

const (
	// maxTries is the number of times that an order is sent alone before it can be refused as unanswered.
	maxTries = 3
	// maxTrust is the number of orders that can be refused as unanswered between two accepted ones. It limits the loss if
	// another program takes the indexer's place.
	maxTrust = 10
	// maxUnanswered unanswered orders without an accepted one show that the server is not an indexer.
	maxUnanswered = 100
)

// Unanswered is the error for a successful response without results for the items of its request.
type Unanswered struct{ Err error }

func (u *Unanswered) Error() string { return u.Err.Error() }

// Unwrap returns Err.
func (u *Unanswered) Unwrap() error { return u.Err }

type sendFunc func(context.Context, []Item) ([]push.Refusal, error)

// sending is the state of one Spread.
type sending struct {
	send  sendFunc
	trust int

	mu    sync.Mutex
	taken int // items that the target accepted
	open  []unansweredItem
}

// unansweredItem was alone in a request whose response had no result for it.
type unansweredItem struct {
	Item
	err error
}

// named returns the error with the order that it concerns.
func (u *unansweredItem) named() error {
	return fmt.Errorf("order %d (%s %s, %d bytes) was sent alone: %w", u.Seq, u.Op, u.URL, len(u.Body), u.err)
}

// request sends items. If the response has no results for them, they are split into halves; a single one is set aside
// for insist.
func (s *sending) request(ctx context.Context, items []Item) ([]push.Refusal, error) {
	refused, err := s.send(ctx, items)
	_, unanswered := errors.AsType[*Unanswered](err)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.taken += len(items) - len(refused)
		return refused, nil
	case !unanswered:
		return nil, err
	case len(items) > 1:
		return nil, &Unfit{Err: err}
	}
	s.open = append(s.open, unansweredItem{items[0], err})
	if s.taken == 0 && len(s.open) > maxUnanswered {
		return nil, s.open[0].named()
	}
	return nil, nil
}

// insist sends the items that were set aside alone, up to maxTries times in total. Items that remain unanswered are
// refused if the target accepts others, so that a single order never blocks it.
func (s *sending) insist(ctx context.Context, pause func(context.Context, int) error) ([]push.Refusal, error) {
	open := s.open
	s.open = nil
	var refused []push.Refusal
	for try := 1; try < maxTries && len(open) > 0; try++ {
		if s.taken == 0 && len(open) > s.trust {
			return nil, open[0].named()
		}
		if err := pause(ctx, try-1); err != nil {
			return nil, err
		}
		for _, item := range open {
			r, err := s.request(ctx, []Item{item.Item})
			if err != nil {
				return nil, err
			}
			refused = append(refused, r...)
		}
		open, s.open = s.open, nil
	}
	if s.taken == 0 {
		if len(open) > s.trust {
			return nil, open[0].named()
		}
		s.trust -= len(open)
	}
	for _, item := range open {
		words := fmt.Sprintf("the indexer reports no result for it (%d bytes, sent alone %d times), but accepts other orders: %s",
			len(item.Body), maxTries, Plain(item.err.Error()))
		refused = append(refused, push.Refusal{Seq: item.Seq, Words: Clip(words, MaxWords)})
	}
	return refused, nil
}

// trustLeft returns the trust after this Spread.
func (s *sending) trustLeft() int {
	if s.taken > 0 {
		return maxTrust
	}
	return s.trust
}
