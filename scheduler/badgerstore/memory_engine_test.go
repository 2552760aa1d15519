package badgerstore

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// memory is an engine in memory. What it holds outlives Close.
type memory struct {
	mu       sync.Mutex // guards what follows
	root     *node
	version  uint64
	segments map[uint64][]byte
	saved    []byte
}

// node is a node of a persistent treap: a change makes new nodes down to its key, so a snapshot is a root.
type node struct {
	key, value  []byte
	rank        uint32 // a hash of key; not below those of its children
	left, right *node
}

// split returns the nodes with keys below key, and the others.
func (n *node) split(key []byte) (below, rest *node) {
	if n == nil {
		return nil, nil
	}
	c := *n
	if bytes.Compare(n.key, key) < 0 {
		c.right, rest = n.right.split(key)
		return &c, rest
	}
	below, c.left = n.left.split(key)
	return below, &c
}

// join returns the nodes of n and of m, whose keys are all above those of n.
func (n *node) join(m *node) *node {
	if n == nil || m == nil {
		if n == nil {
			return m
		}
		return n
	}
	if n.rank >= m.rank {
		c := *n
		c.right = n.right.join(m)
		return &c
	}
	c := *m
	c.left = n.join(m.left)
	return &c
}

// with returns the nodes with another value of a key, without the key if value is nil.
func (n *node) with(key, value []byte) *node {
	below, rest := n.split(key)
	_, above := rest.split(append(bytes.Clone(key), 0))
	if value == nil {
		return below.join(above)
	}
	n = &node{key: bytes.Clone(key), value: append([]byte{}, value...), rank: segments.Sum(key)}
	return below.join(n).join(above)
}

// walk calls fn for the nodes from a key on, in order, until it returns an error.
func (n *node) walk(from []byte, fn func(*node) error) error {
	if n == nil {
		return nil
	}
	if bytes.Compare(n.key, from) >= 0 {
		if err := n.left.walk(from, fn); err != nil {
			return err
		}
		if err := fn(n); err != nil {
			return err
		}
	}
	return n.right.walk(from, fn)
}

// View implements kv.Engine.
func (e *memory) View() kv.View {
	e.mu.Lock()
	defer e.mu.Unlock()
	return memoryView{e.root}
}

// Commit implements kv.Engine.
func (e *memory) Commit(changes iter.Seq2[[]byte, []byte]) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, value := range changes {
		e.root = e.root.with(key, value)
	}
	e.version++
	return nil
}

// Append implements kv.Engine.
func (e *memory) Append(segment, offset uint64, value []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if uint64(len(e.segments[segment])) != offset {
		return errors.New("a body does not follow the one before it")
	}
	if e.segments == nil {
		e.segments = map[uint64][]byte{}
	}
	e.segments[segment] = append(e.segments[segment], value...)
	return nil
}

// Segment implements kv.Engine.
func (e *memory) Segment(n uint64) (kv.Segment, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, ok := e.segments[n]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return struct {
		io.ReaderAt
		io.Closer
	}{bytes.NewReader(b), io.NopCloser(nil)}, nil
}

// Drop implements kv.Engine.
func (e *memory) Drop(n uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.segments, n)
	return nil
}

// Keep implements kv.Engine.
func (e *memory) Keep(needed func(n uint64) bool, last, end uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for n, b := range e.segments {
		switch {
		case n == last:
			e.segments[n] = b[:min(end, uint64(len(b))):min(end, uint64(len(b)))]
		case !needed(n):
			delete(e.segments, n)
		}
	}
	return nil
}

// Save implements kv.Engine.
func (e *memory) Save(write func(io.Writer) error) (publish func() error, err error) {
	var b bytes.Buffer
	return func() error { e.saved = b.Bytes(); return nil }, write(&b)
}

// Load implements kv.Engine.
func (e *memory) Load() (io.ReadCloser, error) {
	if e.saved == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(e.saved)), nil
}

func (*memory) Room() error              { return nil }
func (*memory) Limits() kv.Limits        { return kv.Limits{Bytes: 1 << 20, Keys: 400, Long: 1 << 20} }
func (*memory) Check() error             { return nil }
func (*memory) Stats() (kv.Stats, error) { return kv.Stats{}, nil }
func (*memory) Close() error             { return nil }

// Version implements kv.Engine.
func (e *memory) Version() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}

type memoryView struct{ root *node }

// Get implements kv.View.
func (v memoryView) Get(key []byte) (value []byte, err error) {
	err = v.root.walk(key, func(n *node) error {
		if bytes.Equal(n.key, key) {
			value = bytes.Clone(n.value)
		}
		return errEnough
	})
	return value, enough(err)
}

// Walk implements kv.View.
func (v memoryView) Walk(prefix, from []byte, values bool, fn func(key, value []byte) error) error {
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	passed := errors.New("behind the prefix")
	err := v.root.walk(from, func(n *node) error {
		switch {
		case !bytes.HasPrefix(n.key, prefix):
			return passed
		case !values:
			return fn(n.key, nil)
		}
		return fn(n.key, n.value)
	})
	if errors.Is(err, passed) {
		return nil
	}
	return err
}

func (memoryView) Close() {}

// openInMemory opens stores on engines in memory as if they lay in directories.
func openInMemory() storetest.Opener {
	var dirs sync.Map // tests are parallel
	return func(t *testing.T, dir string) storetest.Store {
		engine, _ := dirs.LoadOrStore(dir, &memory{})
		s := newStore(engine.(*memory), dir, Options{Logger: discard(), saveAfter: 50, segmentBytes: 1000})
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		return verified{s, t}
	}
}

// TestVerifyBeforeFirstCommit: a store whose maker died before its first commit has no fault.
func TestVerifyBeforeFirstCommit(t *testing.T) {
	s := newStore(&memory{}, t.TempDir(), Options{Logger: discard(), ReadOnly: true})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	if faults := faultsOf(t, s); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestConformanceInMemory: the store needs no more of an engine than its contract.
func TestConformanceInMemory(t *testing.T) { storetest.Run(t, openInMemory()) }

func TestModelInMemory(t *testing.T) { storetest.Model(t, openInMemory()) }
