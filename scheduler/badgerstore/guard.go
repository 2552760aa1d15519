package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
)

const (
	adviceDamaged = "restore the directory from a backup, or move it away and crawl anew"
	adviceLocked  = "send the command to the running service (its socket is in the data directory), or stop that process first"
)

// damaged is what reading something gives that cannot be.
func damaged(dir, what string, err error) error {
	if errors.Is(err, scheduler.ErrDamaged) {
		return err // it names what it is
	}
	return fmt.Errorf("store %s: %w: %s: %w; %s", dir, scheduler.ErrDamaged, what, err, adviceDamaged)
}

// guard makes an error of a panic in Badger's reading of tables: it trusts the lengths at
// the end of a block, which may have decayed since it was looked at.
func guard(dir string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	if !bytes.Contains(debug.Stack(), []byte("dgraph-io/badger/v4/table.")) {
		panic(p)
	}
	*err = damaged(dir, "a table", fmt.Errorf("%v", p))
}

// leftOut notes in Badger's log that it goes on without a table.
type leftOut struct{ table atomic.Pointer[string] }

func (l *leftOut) note(words string) {
	if name, ok := strings.CutPrefix(words, "Ignoring table "); ok {
		l.table.CompareAndSwap(nil, &name)
	}
}

func (l *leftOut) err(dir string) error {
	name := l.table.Load()
	if name == nil {
		return nil
	}
	return fmt.Errorf("store %s: %w: the index of table %s does not fit its checksum; %s", dir, scheduler.ErrDamaged, filepath.Base(*name), adviceDamaged)
}

// errUnread is a value that Badger gives as empty because its file cannot be read.
var errUnread = errors.New("the file that holds the value cannot be read")

// valueOf is item.Value, with an error for a value that cannot be read.
func valueOf(item *badger.Item, fn func([]byte) error) error {
	return item.Value(func(v []byte) error {
		if len(v) == 0 && item.ValueSize() > 0 {
			return errUnread
		}
		return fn(v)
	})
}
