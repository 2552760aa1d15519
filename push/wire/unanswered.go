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
	// maxTries is how often an order is sent alone before it may be refused as unanswered.
	maxTries = 3
	// maxTrust is how many orders may be refused as unanswered after the target took one and
	// before it takes another. A server that has turned into something else costs no more.
	maxTrust = 10
	// maxUnanswered orders, with none that was taken, show that the server is no indexer.
	maxUnanswered = 100
)

// Unanswered is an error of a good response that does not say what became of the items of
// its request.
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
	taken int // items that the target took
	open  []unansweredItem
}

// unansweredItem was alone in a request whose response said nothing of it.
type unansweredItem struct {
	Item
	err error
}

// named returns the error with the order that it concerns.
func (u *unansweredItem) named() error {
	return fmt.Errorf("order %d (%s %s, %d bytes) was sent alone: %w", u.Seq, u.Op, u.URL, len(u.Body), u.err)
}

// request sends items. If the response says nothing of them, they are sent by halves; a
// single one is set aside for insist.
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

// insist sends alone, maxTries times in all, what was set aside. What remains unanswered is
// refused if the target takes other orders, so that one order never stops it.
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
		words := fmt.Sprintf("the indexer does not say what became of it (%d bytes, %d times alone in a request), though it takes other orders: %s",
			len(item.Body), maxTries, Plain(item.err.Error()))
		refused = append(refused, push.Refusal{Seq: item.Seq, Words: Clip(words, MaxWords)})
	}
	return refused, nil
}

// trustLeft is the trust after this Spread.
func (s *sending) trustLeft() int {
	if s.taken > 0 {
		return maxTrust
	}
	return s.trust
}
