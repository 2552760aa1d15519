package cluster_test

import (
	"encoding/json"
	"testing"
	"time"
)

// first is the lowest SEQ that is in the log.
func (w *world) first() uint64 {
	w.Helper()
	v, err := w.engine.Read(w.Context(), "first/p00")
	if err != nil {
		w.Fatal(err)
	}
	var low struct {
		Seq uint64 `json:"seq"`
	}
	if err := json.Unmarshal(v.Keys[0].Value, &low); err != nil {
		w.Fatal(err)
	}
	return low.Seq
}

// TestKeep: what is kept of the log stays, until it is released or the engine is nearly full.
func TestKeep(t *testing.T) {
	for _, full := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			w, a, b := pair(t)
			defer w.stopAll()
			a.send(w, 1)
			w.equal(a.disk, b.disk)
			time.Sleep(3 * w.times.Sync)
			at := a.disk.At().Seq
			a.mu.Lock()
			release := a.lead.Keep()
			a.mu.Unlock()
			a.send(w, 9)
			time.Sleep(3 * w.times.Sync)
			if low := w.first(); low > at+1 {
				t.Errorf("the log begins at %d, and was to be kept from %d on", low, at+1)
			}
			if full {
				u, err := w.engine.Usage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				w.engine.SetQuota(u.InUse + u.InUse/2)
			} else {
				release()
			}
			w.until("the log is trimmed", time.Minute, func() bool { return w.first() == a.disk.At().Seq+1 })
			release()
		})
	}
}
