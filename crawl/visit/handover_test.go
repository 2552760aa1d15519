package visit

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRoomForPages: no more begin than there is room for, by count or by bytes, but a page a worker.
func TestRoomForPages(t *testing.T) {
	for _, c := range []struct {
		name       string
		size, want int
	}{
		{"by count", 1, 4},
		{"by bytes", 30, 4}, // the fourth one fills it
		{"one page that is larger than all", 1000, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandedOver()
				h.most, h.load = 4, 100
				var ends []func()
				var mu sync.Mutex
				begun := func() int { mu.Lock(); defer mu.Unlock(); return len(ends) }
				for range 2 { // workers
					go func() {
						for range 5 {
							h.awaitRoom()
							mu.Lock()
							ends = append(ends, h.begin(c.size))
							mu.Unlock()
						}
					}()
				}
				synctest.Wait()
				if n := begun(); n < c.want || n > c.want+1 {
					t.Errorf("%d are on their way, want %d or one more", n, c.want)
				}
				time.Sleep(time.Minute)
				if d := h.oldest(); d != time.Minute {
					t.Errorf("the oldest is on its way for %v, want a minute", d)
				}
				done := make(chan struct{})
				for i := 0; i < 10; i++ {
					synctest.Wait()
					if i >= begun() {
						t.Fatalf("%d have ended, and no other begins", i)
					}
					if i == 9 {
						go func() { h.wait(); close(done) }()
						synctest.Wait()
						select {
						case <-done:
							t.Error("nothing is waited for")
						default:
						}
					}
					mu.Lock()
					end := ends[i]
					mu.Unlock()
					end()
				}
				<-done
				if d := h.oldest(); d != 0 {
					t.Errorf("in the end something is on its way for %v", d)
				}
			})
		})
	}
}
