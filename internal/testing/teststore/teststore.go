// Package teststore opens stores in memory.
package teststore

import (
	"errors"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
)

// Store is a store in memory. The end of the test closes it.
type Store struct {
	*store.Store
	t      testing.TB
	engine *memkv.Engine
}

// New returns an empty store.
func New(t testing.TB) *Store { return Open(t, &memkv.Engine{}) }

// Open returns the store that a database holds. No other one may be open.
func Open(t testing.TB, e *memkv.Engine) *Store {
	t.Helper()
	s, err := store.On(e, "in memory", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, scheduler.ErrClosed) {
			t.Error(err)
		}
	})
	return &Store{s, t, e}
}

// Reopen returns the store that another process finds if this one dies now, or has closed s.
func (s *Store) Reopen() *Store { return Open(s.t, s.engine.Copy()) }
