package badgerstore

import (
	"os"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// killed is a Store that ends as a killed process leaves it: when it is closed, what
// lies on the disk at that moment takes the place of what Close would leave.
type killed struct {
	verified
	dir string
}

// Close implements io.Closer.
func (k killed) Close() error {
	image := copied(k.t, k.dir)
	if err := k.verified.Close(); err != nil {
		return err
	}
	if err := os.RemoveAll(k.dir); err != nil {
		return err
	}
	return os.Rename(image, k.dir)
}

// TestModelKilled is the model test where each end of the store is that of a killed
// process.
func TestModelKilled(t *testing.T) {
	o := Options{Durability: OS, MemtableBytes: MinMemtableBytes, MinFree: -1}
	storetest.Model(t, func(t *testing.T, dir string) storetest.Store {
		return killed{openVerified(o)(t, dir).(verified), dir}
	})
}
