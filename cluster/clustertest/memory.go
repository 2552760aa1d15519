package clustertest

// memory.go: Memory.mu guards all that it holds; every call takes it for a moment.

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/cluster"
)

// Memory is an Engine in memory, for tests: always right, always there. Line makes it fail.
type Memory struct {
	mu        sync.Mutex
	revision  cluster.Revision
	keys      map[string]cluster.KeyValue
	changed   chan struct{} // closed at each step
	quota     int64
	inUse     int64
	garbage   int64 // bytes that Compact gives back
	steps     int
	reads     int
	closed    bool
	untrusted error
}

// NewMemory is an empty engine with a quota of 2 GiB.
func NewMemory() *Memory {
	return &Memory{keys: map[string]cluster.KeyValue{}, changed: make(chan struct{}), quota: 2 << 30}
}

// Check says what Refuse was given.
func (m *Memory) Check(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return firstError(ctx.Err(), m.untrusted)
}

// Refuse makes Check give err.
func (m *Memory) Refuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.untrusted = err
}

// SetQuota sets where the engine is full.
func (m *Memory) SetQuota(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quota = bytes
}

// Steps is how many steps were taken.
func (m *Memory) Steps() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steps
}

// Reads is how often something was read or listed.
func (m *Memory) Reads() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads
}

// Snapshot is a copy as of now, as a backup of etcd is. SetTo puts it in the place of what there is.
func (m *Memory) Snapshot() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{keys: maps.Clone(m.keys), revision: m.revision, inUse: m.inUse, changed: make(chan struct{}), quota: m.quota}
}

// SetTo puts a snapshot in the place of what there is.
func (m *Memory) SetTo(s *Memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys, m.revision, m.inUse = maps.Clone(s.keys), s.revision, s.inUse
	close(m.changed)
	m.changed = make(chan struct{})
}

// Commit takes a step.
func (m *Memory) Commit(ctx context.Context, s cluster.Step) (cluster.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refuses(ctx, s); err != nil {
		return cluster.Outcome{}, err
	}
	out := cluster.Outcome{Taken: true}
	for _, c := range s.If {
		out.Found = append(out.Found, m.key(c.Key))
		out.Taken = out.Taken && m.keys[c.Key].Revision == c.Revision
	}
	if !out.Taken {
		out.Revision = m.revision
		return out, nil
	}
	m.steps++
	m.revision++
	for _, w := range s.Then {
		m.write(w)
	}
	close(m.changed)
	m.changed = make(chan struct{})
	return cluster.Outcome{Taken: true, Revision: m.revision}, nil
}

func (m *Memory) refuses(ctx context.Context, s cluster.Step) error {
	size, puts := 0, false
	for _, w := range s.Then {
		size += len(w.Key) + len(w.To) + len(w.Value)
		puts = puts || !w.Remove
	}
	switch {
	case m.closed:
		return fmt.Errorf("%w: it is closed", cluster.ErrInDoubt)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", cluster.ErrInDoubt, ctx.Err())
	case size > cluster.MaxStepBytes+64<<10:
		return fmt.Errorf("%w: %d bytes", cluster.ErrTooLarge, size)
	case len(s.If) > cluster.MaxStepWrites || len(s.Then) > cluster.MaxStepWrites:
		return fmt.Errorf("%w: %d writes and %d conditions", cluster.ErrTooLarge, len(s.Then), len(s.If))
	case puts && m.inUse+m.garbage+int64(size) > m.quota:
		return cluster.ErrFull
	}
	return nil
}

func (m *Memory) key(k string) cluster.KeyValue {
	kv := m.keys[k]
	kv.Key, kv.Value = k, bytes.Clone(kv.Value)
	return kv
}

func (m *Memory) write(w cluster.Write) {
	switch {
	case !w.Remove || w.To == "":
		m.drop(w.Key)
	default:
		for k := range m.keys {
			if k >= w.Key && k < w.To {
				m.drop(k)
			}
		}
	}
	if w.Remove {
		return
	}
	m.inUse += int64(len(w.Key) + len(w.Value))
	m.keys[w.Key] = cluster.KeyValue{Key: w.Key, Value: bytes.Clone(w.Value), Revision: m.revision}
}

func (m *Memory) drop(k string) {
	if kv, ok := m.keys[k]; ok {
		size := int64(len(k) + len(kv.Value))
		m.inUse, m.garbage = m.inUse-size, m.garbage+size
		delete(m.keys, k)
	}
}

// Read gives keys.
func (m *Memory) Read(ctx context.Context, keys ...string) (cluster.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.unreadable(ctx); err != nil {
		return cluster.View{}, err
	}
	m.reads++
	v := cluster.View{Revision: m.revision}
	for _, k := range keys {
		v.Keys = append(v.Keys, m.key(k))
	}
	return v, nil
}

func (m *Memory) unreadable(ctx context.Context) error {
	switch {
	case m.closed:
		return fmt.Errorf("%w: it is closed", cluster.ErrUnavailable)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", cluster.ErrUnavailable, ctx.Err())
	}
	return nil
}

// List gives a range of keys, at most 1 MiB of them.
func (m *Memory) List(ctx context.Context, from, to string, limit int) (cluster.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.unreadable(ctx); err != nil {
		return cluster.View{}, err
	}
	m.reads++
	v, size := cluster.View{Revision: m.revision}, 0
	var in []string
	for k := range m.keys {
		if k >= from && k < to {
			in = append(in, k)
		}
	}
	slices.Sort(in)
	for _, k := range in {
		if len(v.Keys) == limit || len(v.Keys) > 0 && size > 1<<20 {
			v.More = true
			break
		}
		v.Keys = append(v.Keys, m.key(k))
		size += len(k) + len(m.keys[k].Value)
	}
	return v, nil
}

// Wait waits for a change of the key.
func (m *Memory) Wait(ctx context.Context, key string, after cluster.Revision) error {
	for {
		m.mu.Lock()
		err, now, changed := m.unreadable(ctx), m.keys[key].Revision, m.changed
		m.mu.Unlock()
		if err != nil || now > after {
			return err
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// Usage says how full the engine is.
func (m *Memory) Usage(ctx context.Context) (cluster.Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.unreadable(ctx); err != nil {
		return cluster.Usage{}, err
	}
	used := m.inUse + m.garbage
	return cluster.Usage{InUse: used, File: used, Quota: m.quota}, nil
}

// Compact gives back the space of what was removed.
func (m *Memory) Compact(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.unreadable(ctx); err != nil {
		return err
	}
	m.garbage = 0
	return nil
}

// Close makes every later call fail.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
