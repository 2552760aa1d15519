package cluster

import (
	"context"
	"errors"
	"testing"
	"time"
)

// jumping is a clock that the test moves; nothing that sleeps by it wakes up.
type jumping struct {
	SystemClock
	now time.Duration
}

func (j *jumping) Now() time.Duration { return j.now }

// TestMayEndsWhatActs: a process that was stopped wakes up before its timers do. Whoever asks May then ends what
// acts, so that nobody goes on, or waits for a timer.
func TestMayEndsWhatActs(t *testing.T) {
	clock := &jumping{now: time.Minute}
	l := &Lead{hold: &hold{right: newRight(clock, clock.now+time.Second)}}
	acting, cancel, err := l.Acting(t.Context())
	if err != nil || !l.May() {
		t.Fatalf("it may act: %v, %v", l.May(), err)
	}
	defer cancel()
	clock.now += time.Hour
	if acting.Err() != nil {
		t.Fatal("something else ended it: this test shows nothing")
	}
	if l.May() {
		t.Error("it may act an hour after its right ended")
	}
	<-acting.Done()
	if why := context.Cause(acting); !errors.Is(why, ErrPaused) {
		t.Errorf("it ended because of %v, want ErrPaused", why)
	}
	l.hold.right.extend(clock.now + time.Second) // a beat says that nobody has claimed
	if again, cancel, err := l.Acting(t.Context()); err != nil || again.Err() != nil || !l.May() {
		t.Errorf("after a beat it may act: %v, %v", l.May(), err)
	} else {
		cancel()
	}
}
