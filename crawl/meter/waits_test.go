package meter

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestActivitiesAddUp: what workers spend their time with is all of their time,
// what they are at just now included.
func TestActivitiesAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ActivityLog
		var workers sync.WaitGroup
		for i := range 3 {
			workers.Go(func() {
				s := l.Begin()
				defer s.Close()
				time.Sleep(time.Second)
				s.Now(WaitsForFetch)
				time.Sleep(time.Duration(i+1) * time.Second)
				s.Now(Working)
				time.Sleep(time.Minute)
			})
		}
		time.Sleep(3*time.Second + time.Millisecond)
		s := l.Snapshot()
		if s.Workers != 3 || s.At[WaitsForFetch] != 1 || s.At[Working] != 2 || s.Longest[WaitsForFetch] != 2*time.Second+time.Millisecond {
			t.Errorf("%+v", s)
		}
		workers.Wait()
		if s = l.Snapshot(); s.Workers != 0 || s.Spent[WaitsForURL] != 3*time.Second || s.Spent[WaitsForFetch] != 6*time.Second || s.Spent[Working] != 3*time.Minute {
			t.Errorf("%+v", s)
		}
	})
}
