package badgerstore

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
)

// What Save writes stands beside Badger's files.
const (
	knownFile    = "fingerprints"
	knownFileNew = knownFile + ".new" // not published yet
)

// Save implements kv.Engine.
func (e *engine) Save(write func(io.Writer) error) (publish func() error, err error) {
	f, err := os.Create(filepath.Join(e.dir, knownFileNew))
	if err != nil {
		return nil, err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return e.publishKnown, errors.Join(err, f.Close())
}

func (e *engine) publishKnown() error {
	if err := os.Rename(filepath.Join(e.dir, knownFileNew), filepath.Join(e.dir, knownFile)); err != nil {
		return err
	}
	return badgerfiles.SyncDir(e.dir)
}

// Load implements kv.Engine.
func (e *engine) Load() (io.ReadCloser, error) { return os.Open(filepath.Join(e.dir, knownFile)) }
