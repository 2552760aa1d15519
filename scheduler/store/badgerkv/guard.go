package badgerkv

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
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

const adviceLocked = "send the command to the running service (its socket is in the data directory), or stop that process first"

// guard turns a panic of Badger while it reads tables into an error: Badger trusts the lengths at the end of a block,
// which may have decayed since they were checked.
func guard(dir string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	if !bytes.Contains(debug.Stack(), []byte("dgraph-io/badger/v4/table.")) {
		panic(p)
	}
	*err = kv.Damaged(dir, "a table", fmt.Errorf("%v", p))
}

// leftOut detects in Badger's log that it has left out a table.
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
	return fmt.Errorf("store %s: %w: the index of table %s does not match its checksum; %s", dir, scheduler.ErrDamaged, filepath.Base(*name), kv.AdviceDamaged)
}

// errUnread is the error for a value that Badger returns as empty because its file cannot be read.
var errUnread = errors.New("the file that contains the value cannot be read")

// valueOf is item.Value, but returns an error for a value that cannot be read.
func valueOf(item *badger.Item, fn func([]byte) error) error {
	return item.Value(func(v []byte) error {
		if len(v) == 0 && item.ValueSize() > 0 {
			return errUnread
		}
		return fn(v)
	})
}
