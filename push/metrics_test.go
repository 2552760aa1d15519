package push

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := delivery{set: TargetSettings{Kind: "file"}}
		r := Relay{deliveries: []*delivery{&d}}
		began := time.Now()
		time.Sleep(time.Second)
		d.times.pushed(t.Context(), began)
		time.Sleep(time.Second)
		d.times.madeSafe(t.Context(), began)
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		d.times.pushed(stopped, began)
		got := r.Times()[0]
		if got.Kind != "file" || got.Push.Count != 1 || got.Push.Sum != time.Second || got.Checkpoint.Count != 1 || got.Checkpoint.Sum != 2*time.Second || got.Failures != 0 {
			t.Errorf("%+v", got)
		}
	})
}
