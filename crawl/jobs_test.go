package crawl

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
)

// valueStore counts what is stored, and fails as often as it is told.
type valueStore struct {
	*teststore.Store
	sets, fails atomic.Int32
}

func (s *valueStore) SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error {
	if s.fails.Add(-1) >= 0 {
		return errors.New("no store")
	}
	s.sets.Add(1)
	return s.Store.SetValue(ctx, name, value)
}

// TestKeepValue: a value is stored when it has changed, again after an error, and at the
// end though the context is over.
func TestKeepValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &valueStore{Store: teststore.New(t)}
		c := &Crawl{store: store, log: slog.New(slog.DiscardHandler)}
		var value atomic.Pointer[[]int]
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- c.kept(scheduler.CrawlValue("name"), "the numbers", func() any { return value.Load() })(ctx)
		}()
		for i, step := range []struct {
			value *[]int
			fails int32
			sets  int32 // so far
		}{{nil, 0, 0}, {&[]int{1}, 0, 1}, {&[]int{1}, 0, 1}, {&[]int{2}, 1, 1}, {&[]int{2}, 0, 2}} {
			value.Store(step.value)
			store.fails.Store(step.fails)
			time.Sleep(keepEvery)
			synctest.Wait()
			if got := store.sets.Load(); got != step.sets {
				t.Errorf("step %d: it was stored %d times, want %d", i, got, step.sets)
			}
		}
		value.Store(&[]int{3})
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		var got []int
		if err := scheduler.LoadValue(t.Context(), store, scheduler.CrawlValue("name"), "the numbers", &got); err != nil || !cmp.Equal(got, []int{3}) {
			t.Errorf("%v is stored, %v; want what it was at the end", got, err)
		}
	})
}

func TestDamagedValue(t *testing.T) {
	store := teststore.New(t)
	got := []int{7}
	if err := scheduler.LoadValue(t.Context(), store, scheduler.CrawlValue("name"), "the numbers", &got); err != nil || len(got) != 1 {
		t.Errorf("%v, %v of what was never stored", got, err)
	}
	if err := store.SetValue(t.Context(), scheduler.CrawlValue("name"), []byte("[1")); err != nil {
		t.Fatal(err)
	}
	if err := scheduler.LoadValue(t.Context(), store, scheduler.CrawlValue("name"), "the numbers", &got); !errors.Is(err, scheduler.ErrDamaged) {
		t.Errorf("%v, want an error that says that the store is damaged", err)
	}
}
