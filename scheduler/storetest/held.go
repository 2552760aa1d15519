package storetest

import (
	"context"
	"sync"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Held holds back completions: it accepts them like any store, and applies them on request. Its mutex guards the held
// ones.
type Held struct {
	scheduler.Completer

	mu      sync.Mutex
	free    int // so many more pass at once
	letting bool
	held    []heldBack
}

type heldBack struct {
	ctx     context.Context
	c       scheduler.Completion
	settled func(scheduler.Completed)
}

// Hold holds back the completions in s after the first ones.
func Hold(s scheduler.Completer, after int) *Held { return &Held{Completer: s, free: after} }

// Complete implements scheduler.Completer.
func (h *Held) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	h.mu.Lock()
	if passes := h.letting || h.free > 0; passes {
		h.free = max(h.free-1, 0)
		h.mu.Unlock()
		return h.Completer.Complete(ctx, c, settled)
	}
	defer h.mu.Unlock()
	h.held = append(h.held, heldBack{ctx, c, settled})
	return nil
}

// Len returns the number of held completions.
func (h *Held) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.held)
}

// Release stores the held completions, in order, and passes on all later ones.
func (h *Held) Release() {
	for _, w := range h.take() {
		if err := h.Completer.Complete(w.ctx, w.c, w.settled); err != nil {
			w.settled(scheduler.Completed{Err: err})
		}
	}
}

// Fail settles the held completions with an error; they have no effect.
func (h *Held) Fail(err error) {
	for _, w := range h.take() {
		w.settled(scheduler.Completed{Err: err})
	}
}

func (h *Held) take() []heldBack {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.held
	h.held, h.letting = nil, true
	return all
}
