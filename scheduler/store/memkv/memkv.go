// Package memkv is the engine of stores in memory, for tests. An Engine has one mutex; a view needs none.
package memkv

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// Engine implements kv.Engine; the zero value is empty. Its contents outlive Close.
type Engine struct {
	mu       sync.Mutex // guards the fields below
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
	n = &node{key: bytes.Clone(key), value: append([]byte{}, value...), rank: crc32.Checksum(key, castagnoli)}
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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Copy returns an engine with the current contents of e, as a process that is killed now would leave them.
func (e *Engine) Copy() *Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &Engine{root: e.root, version: e.version, segments: map[uint64][]byte{}, saved: e.saved}
	for n, b := range e.segments {
		c.segments[n] = slices.Clip(b)
	}
	return c
}

// View implements kv.Engine.
func (e *Engine) View() kv.View {
	e.mu.Lock()
	defer e.mu.Unlock()
	return view{e.root}
}

// Commit implements kv.Engine.
func (e *Engine) Commit(changes iter.Seq2[[]byte, []byte]) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, value := range changes {
		e.root = e.root.with(key, value)
	}
	e.version++
	return nil
}

// Append implements kv.Engine.
func (e *Engine) Append(segment, offset uint64, value []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if uint64(len(e.segments[segment])) != offset {
		return errors.New("a body does not directly follow the previous one")
	}
	if e.segments == nil {
		e.segments = map[uint64][]byte{}
	}
	e.segments[segment] = append(e.segments[segment], value...)
	return nil
}

// Segment implements kv.Engine.
func (e *Engine) Segment(n uint64) (kv.Segment, error) {
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
func (e *Engine) Drop(n uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.segments, n)
	return nil
}

// Keep implements kv.Engine.
func (e *Engine) Keep(needed func(n uint64) bool, last, end uint64) error {
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
func (e *Engine) Save(write func(io.Writer) error) (publish func() error, err error) {
	var b bytes.Buffer
	publish = func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.saved = b.Bytes()
		return nil
	}
	return publish, write(&b)
}

// Load implements kv.Engine.
func (e *Engine) Load() (io.ReadCloser, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.saved == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(e.saved)), nil
}

// Room implements kv.Engine.
func (*Engine) Room() error { return nil }

// Limits implements kv.Engine.
func (*Engine) Limits() kv.Limits { return kv.Limits{Bytes: 1 << 20, Keys: 400, Long: 1 << 20} }

// Check implements kv.Engine.
func (*Engine) Check() error { return nil }

// Stats implements kv.Engine.
func (*Engine) Stats() (kv.Stats, error) { return kv.Stats{}, nil }

// Close implements kv.Engine.
func (*Engine) Close() error { return nil }

// Version implements kv.Engine.
func (e *Engine) Version() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}

type view struct{ root *node }

// Get implements kv.View.
func (v view) Get(key []byte) ([]byte, error) {
	for n := v.root; n != nil; {
		switch c := bytes.Compare(key, n.key); {
		case c == 0:
			return bytes.Clone(n.value), nil
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return nil, nil
}

// Walk implements kv.View.
func (v view) Walk(prefix, from []byte, values bool, fn func(key, value []byte) error) error {
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

// Close implements kv.View.
func (view) Close() {}
