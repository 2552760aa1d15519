package store

import (
	"os"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// killed is a Store that ends like a killed process: closing it leaves what is on the disk at that moment.
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

// TestModelKilled is the model test with killed processes.
func TestModelKilled(t *testing.T) {
	o := Options{Durability: OS, MemtableBytes: MinMemtableBytes, MinFree: -1}
	storetest.Model(t, func(t *testing.T, dir string) storetest.Store {
		return killed{openVerified(o)(t, dir).(verified), dir}
	})
}
