package permit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// jumping is a clock that the test moves; nothing that sleeps by it wakes up.
type jumping struct {
	permit.SystemClock
	now time.Duration
}

func (j *jumping) Now() time.Duration { return j.now }

// TestMayEndsWhatActs: a process that was stopped wakes up before its timers do. May then ends what acts, so that
// nothing goes on until a timer fires.
func TestMayEndsWhatActs(t *testing.T) {
	clock := &jumping{now: time.Minute}
	r := permit.NewRight(clock, clock.now)
	acting, cancel, err := r.Acting(t.Context())
	if err != nil || !r.May() {
		t.Fatalf("it may act: %v, %v", r.May(), err)
	}
	defer cancel()
	clock.now += time.Hour
	if acting.Err() != nil {
		t.Fatal("something else ended it: this test shows nothing")
	}
	if r.May() {
		t.Error("it may act an hour after its right ended")
	}
	<-acting.Done()
	if why := context.Cause(acting); !errors.Is(why, permit.ErrPaused) {
		t.Errorf("it ended because of %v, want ErrPaused", why)
	}
	r.Confirmed(clock.now) // the beat says that nobody took over
	if again, cancel, err := r.Acting(t.Context()); err != nil || again.Err() != nil || !r.May() {
		t.Errorf("after a beat it may act: %v, %v", r.May(), err)
	} else {
		cancel()
	}
}

// bubble is a clock of a test's bubble.
type bubble struct {
	permit.SystemClock
	start time.Time
}

func (b bubble) Now() time.Duration { return time.Hour + time.Since(b.start) }

// watched runs a test with a right whose Watch runs, and expects that to end because of want, or with the test.
func watched(t *testing.T, want error, fn func(t *testing.T, clock permit.Clock, r *permit.Right)) {
	synctest.Test(t, func(t *testing.T) {
		clock := bubble{start: time.Now()}
		r := permit.NewRight(clock, clock.Now())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Watch(ctx) }()
		fn(t, clock, r)
		stop()
		if err := <-ended; !errors.Is(err, want) {
			t.Errorf("Watch ended because of %v, want %v", err, want)
		}
	})
}

// TestLongRequest: a request under the right goes on as long as beats are confirmed, and ends with the right by itself.
func TestLongRequest(t *testing.T) {
	watched(t, context.Canceled, func(t *testing.T, clock permit.Clock, r *permit.Right) {
		download, done, err := r.Acting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		for range 600 {
			sent := clock.Now()
			time.Sleep(time.Second)
			r.Confirmed(sent)
		}
		if download.Err() != nil || !r.May() {
			t.Fatalf("after ten minutes of beats: %v, may %v", context.Cause(download), r.May())
		}
		last := time.Now().Add(-time.Second) // when the last beat was sent
		<-download.Done()
		if took := time.Since(last); took != permit.Lasts || !errors.Is(context.Cause(download), permit.ErrPaused) {
			t.Errorf("it ends %v after the last beat: %v", took, context.Cause(download))
		}
	})
}

// TestActingWaits: without a beat nothing begins, and with the next one it does; a beat whose answer came too late
// gives nothing.
func TestActingWaits(t *testing.T) {
	watched(t, context.Canceled, func(t *testing.T, clock permit.Clock, r *permit.Right) {
		sent := clock.Now()
		time.Sleep(time.Minute)
		begun := make(chan error, 1)
		go func() {
			_, done, err := r.Acting(t.Context())
			if err == nil {
				done()
			}
			begun <- err
		}()
		r.Confirmed(sent)
		synctest.Wait()
		if len(begun) > 0 || r.May() {
			t.Fatalf("it began without a right: %d, may %v", len(begun), r.May())
		}
		r.Confirmed(clock.Now())
		if err := <-begun; err != nil || !r.May() {
			t.Errorf("after a beat: %v, may %v", err, r.May())
		}
		time.Sleep(time.Minute)
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := r.Acting(brief); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that waits no longer gets %v", err)
		}
	})
}

// TestLose: a right that was lost comes back with no beat, and everybody learns the first reason.
func TestLose(t *testing.T) {
	fenced := errors.New("another process has taken over")
	watched(t, fenced, func(t *testing.T, clock permit.Clock, r *permit.Right) {
		acting, done, err := r.Acting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		r.Revoke(fenced)
		r.Revoke(errors.New("later"))
		<-acting.Done()
		r.Confirmed(clock.Now())
		_, _, err = r.Acting(t.Context())
		if !errors.Is(context.Cause(acting), fenced) || !errors.Is(err, fenced) || !errors.Is(r.Lost(), fenced) || r.May() {
			t.Errorf("ended because of %v, then %v, lost because of %v, may %v", context.Cause(acting), err, r.Lost(), r.May())
		}
		synctest.Wait()
	})
}
