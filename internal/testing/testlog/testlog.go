// Package testlog keeps what is logged while a test reads it. For tests only.
//
// A Buffer is guarded by its mutex.
package testlog

import (
	"bytes"
	"sync"
)

// Buffer.mu guards the text: a logger's goroutine writes, the test's reads.

// Buffer may be written and read at once. The zero value is empty.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer; it never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns all that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
