// Package crawllog writes a file with one line for each requested URL. Workers add lines to a buffer; one goroutine,
// which the crawl starts with Run, writes them. A failing file (a full disk) does not block workers: lines are buffered
// up to a limit, further ones are lost and counted, and the log reports the beginning and the end of the failure. A Log
// has two locks: writing is held while the file is used, and mu briefly while lines are added or removed.
package crawllog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	crawlLogBytes = 4 << 20  // most bytes of lines that wait
	crawlLogChunk = 64 << 10 // this many are written at once without waiting for crawlLogEvery
	crawlLogEvery = time.Second
)

// Log is a file of lines. Its methods may be called concurrently.
type Log struct {
	log      *slog.Logger
	Failures atomic.Int64 // writes that failed
	// some is signalled when a first line waits, full when a chunk does (capacity 1).
	some, full chan struct{}

	mu      sync.Mutex
	waiting []byte // whole lines
	lost    int    // lost lines that have not been reported yet

	writing sync.Mutex // held while file is used; taken before mu
	path    string
	file    File   // nil: lines are dropped
	rest    []byte // taken from waiting, not yet written
	begun   []byte // the begin of the first line of rest that is in the file already
	failed  bool   // the last write failed
}

// File has the methods of os.File that the log calls.
type File interface {
	Write(p []byte) (int, error)
	Close() error
}

// New returns a Log without a file; Reopen opens one.
func New(log *slog.Logger) *Log {
	return &Log{log: log, some: make(chan struct{}, 1), full: make(chan struct{}, 1)}
}

// openCrawlLogFile opens a file in a way that lets others rename or truncate it during writing. It does not wait for a
// reader of a named pipe, because a reload would then hang.
func openCrawlLogFile(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("crawlLog %s: its folder does not exist: create it, writable for the service", path)
		}
		return nil, fmt.Errorf("crawlLog: %w", err)
	}
	return f, nil
}

// Reopen writes the remaining lines, closes the file, and opens path, or no file if path is "". The same path is opened
// again, since its file may have been renamed. On an error the old file stays open.
func (l *Log) Reopen(path string) error {
	file, err := l.Open(path)
	if err == nil {
		l.SwitchTo(path, file)
	}
	return err
}

// Open opens the file of path for SwitchTo; it returns nil for an empty path.
func (l *Log) Open(path string) (File, error) {
	if path == "" {
		return nil, nil
	}
	return openCrawlLogFile(path)
}

// SwitchTo writes the remaining lines, closes the file, and continues in another, which Open returned for path.
func (l *Log) SwitchTo(path string, file File) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.write()
	if len(l.begun) > 0 { // its begin stays in the old file
		l.rest = append(l.begun, l.rest...)
		l.begun = nil
	}
	old := l.file
	l.path, l.file = path, file
	if old != nil {
		if err := old.Close(); err != nil {
			l.log.Warn("closing the crawl log", "error", err)
		}
	}
}

// Add adds a line, with its line end, to the buffer.
func (l *Log) Add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting)+len(line) > crawlLogBytes {
		l.lost++
		return
	}
	if len(l.waiting) == 0 {
		signal(l.some)
	}
	l.waiting = append(l.waiting, line...)
	if len(l.waiting) >= crawlLogChunk {
		signal(l.full)
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run writes lines until ctx ends; Close writes the rest. It sleeps while no line is pending.
func (l *Log) Run(ctx context.Context) error {
	for left := false; ; {
		if !left {
			select {
			case <-ctx.Done():
				return nil
			case <-l.some:
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(crawlLogEvery):
		case <-l.full:
		}
		l.writing.Lock()
		l.write()
		left = len(l.rest) > 0
		l.writing.Unlock()
	}
}

// Close writes the remaining lines and closes the file.
func (l *Log) Close() error {
	return l.Reopen("")
}

// write writes the pending lines. writing is held.
func (l *Log) write() {
	for l.take() {
		if l.file == nil {
			l.rest, l.begun = nil, nil
			continue
		}
		n, err := l.file.Write(l.rest)
		l.written(n)
		if err != nil {
			l.fails(err)
			return
		}
		l.works()
	}
}

// take reports whether there is something to write.
func (l *Log) take() bool {
	if len(l.rest) > 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest, l.waiting = l.waiting, nil
	return len(l.rest) > 0
}

// fails reports, once, that the file cannot be written.
func (l *Log) fails(err error) {
	if !l.failed {
		l.log.Error("cannot write the crawl log; the crawl continues, and lines are buffered in memory until it is full, then lost",
			"path", l.path, "bytes", crawlLogBytes, "error", err)
	}
	l.failed = true
	l.Failures.Add(1)
}

// works reports that the file can be written again, or that lines were lost.
func (l *Log) works() {
	l.mu.Lock()
	lost := l.lost
	l.lost = 0
	l.mu.Unlock()
	if l.failed || lost > 0 {
		l.log.Warn("writing the crawl log works again", "path", l.path, "lost_lines", lost)
	}
	l.failed = false
}

// written removes n bytes from rest and keeps the beginning of a partly written line.
func (l *Log) written(n int) {
	done := l.rest[:n]
	for i := n - 1; i >= 0; i-- {
		if done[i] == '\n' {
			l.begun = nil
			done = done[i+1:]
			break
		}
	}
	l.begun = append(l.begun, done...)
	l.rest = l.rest[n:]
}
