package badgerstore

import (
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
)

// Exists reports whether dir holds a store, without opening it.
func Exists(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, badger.ManifestFilename))
	return err == nil && info.Mode().IsRegular()
}
