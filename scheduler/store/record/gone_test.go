package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
)

func FuzzDecodeGone(f *testing.F) {
	f.Add(AppendGone(nil, &scheduler.Gone{URL: "http://h.test/", At: time.Unix(1e9, 0), Words: "x"}))
	f.Add([]byte{valueVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		left, err := DecodeGone(b)
		if err != nil {
			return
		}
		again, err := DecodeGone(AppendGone(nil, &left))
		if err != nil || !cmp.Equal(left, again) {
			t.Errorf("%+v is read again as %+v, %v", left, again, err)
		}
	})
}
