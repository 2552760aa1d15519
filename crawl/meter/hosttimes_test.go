package meter

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// TestHostTimes: each host has its mean, and there is room for so many hosts only.
func TestHostTimes(t *testing.T) {
	key := func(i int) (k weburl.HostKey) {
		binary.BigEndian.PutUint64(k[:], uint64(i))
		return k
	}
	var times HostTimes
	if m := times.Mean(key(1)); m != 0 {
		t.Errorf("nothing took %s", m)
	}
	times.Add(key(1), time.Second)
	times.Add(key(1), 3*time.Second)
	times.Add(key(2), time.Millisecond)
	if a, b := times.Mean(key(1)), times.Mean(key(2)); a != 2*time.Second || b != time.Millisecond {
		t.Errorf("means %s and %s", a, b)
	}
	for i := range maxTimedHosts + 100 {
		times.Add(key(i), time.Minute)
	}
	if n := len(times.hosts); n != maxTimedHosts {
		t.Errorf("%d hosts are remembered, want %d", n, maxTimedHosts)
	}
	if m := times.Mean(key(maxTimedHosts + 99)); m != time.Minute {
		t.Errorf("the last one took %s", m)
	}
}
