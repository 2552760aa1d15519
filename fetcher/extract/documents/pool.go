package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
)

// Pool.mu guards the settings, the idle workers and the reaper. A goroutine that reads a document owns its worker,
// without the lock.

// Settings configures a pool. Zero fields have the documented defaults.
type Settings struct {
	// Command starts a worker: program and arguments. Empty: this program with WorkerCommand and the arguments of these
	// settings.
	Command []string
	// Supervisor starts the supervisor of converters. Empty: this program with ConverterCommand.
	Supervisor []string
	// Workers is the number of documents that are read at once, and of converters that run: 1.
	Workers int
	// Timeout is the limit for one document, in CPU time of its worker: 30 s. Its wall time is limited to ten times
	// that.
	Timeout time.Duration
	// MaxMemory bounds the memory of one worker, in bytes: 512 MiB.
	MaxMemory int64
}

// ForPages returns the settings of a pool that searches pages: those for documents, with less time.
func (s Settings) ForPages() Settings {
	s = s.withDefaults()
	s.Timeout = min(s.Timeout, pageTimeout)
	return s
}

// WorkerCommand is the command of this program that runs a worker.
const WorkerCommand = "read-document"

const (
	defaultTimeout   = 30 * time.Second
	defaultMaxMemory = 512 << 20
	// prepareTimeout bounds, in CPU time, the preparation before a document's own time.
	prepareTimeout = time.Minute
	// documentsPerWorker is the number of documents that one process reads; a new process starts with clean memory.
	documentsPerWorker = 500
	// pageTimeout bounds the time for one page, which should take milliseconds.
	pageTimeout = 5 * time.Second
	// idleTime is the time for which idle workers are kept.
	idleTime = 5 * time.Minute
)

func (s Settings) withDefaults() Settings {
	s.Workers = max(s.Workers, 1)
	s.Timeout, s.MaxMemory = cmp.Or(max(s.Timeout, 0), defaultTimeout), cmp.Or(max(s.MaxMemory, 0), defaultMaxMemory)
	return s
}

// command returns a worker's command.
func (s Settings) command() ([]string, error) {
	if len(s.Command) > 0 {
		return s.Command, nil
	}
	program, err := executable()
	if err != nil {
		return nil, err
	}
	return []string{program, WorkerCommand, "--timeout", s.Timeout.String(), "--memory", fmt.Sprint(s.MaxMemory)}, nil
}

// Pool reads documents in worker processes, which it starts on demand. Its methods may be called concurrently.
type Pool struct {
	log     *slog.Logger
	closing context.Context
	close   context.CancelFunc
	slots   chan struct{} // capacity: running workers
	// conversions is the same for converters, which are slower, so that other documents do not wait for them.
	conversions chan struct{}

	mu       sync.Mutex
	settings Settings
	idle     []*worker // least recently used first
	reaper   *time.Timer
}

// NewPool returns a pool, without starting anything.
func NewPool(s Settings, log *slog.Logger) *Pool {
	p := &Pool{log: log, settings: s.withDefaults()}
	p.closing, p.close = context.WithCancel(context.Background())
	p.slots, p.conversions = make(chan struct{}, p.settings.Workers), make(chan struct{}, p.settings.Workers)
	return p
}

// Set changes the settings for workers that are started from now on; their number does not change.
func (p *Pool) Set(s Settings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = s.withDefaults()
}

// Close ends running readings, and all workers.
func (p *Pool) Close() {
	p.close()
	for range cap(p.slots) {
		p.slots <- struct{}{} // never returned
		p.conversions <- struct{}{}
	}
	p.reap()
}

var errClosed = errors.New("the pool is closed")

// Read reads a document of a kind that KindOf recognizes. The error is an *Error, or that of ctx if ctx ended. The body
// must not change during the call.
func (p *Pool) Read(ctx context.Context, contentType string, body []byte) (read extract.Page, err error) {
	kind, ok := KindOf(contentType, body)
	if !ok {
		return extract.Page{}, &Error{Damaged, fmt.Sprintf("%q is not a supported document type", contentType)}
	}
	err = p.ask(ctx, &request{kind: kind, body: body}, &read)
	return read, err
}

// Search executes an order on a page. Errors and body are as for Read.
func (p *Pool) Search(ctx context.Context, o *tree.Order, body []byte) (found tree.Found, err error) {
	order, err := json.Marshal(o)
	if err != nil {
		return tree.Found{}, &Error{Damaged, err.Error()}
	}
	err = p.ask(ctx, &request{page, order, body}, &found)
	return found, err
}

// ask makes a worker execute a request and decodes the result into to, which is unchanged after an error.
func (p *Pool) ask(ctx context.Context, asked *request, to any) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.closing, func() { cancel(errClosed) })()
	if err := p.enter(ctx, p.slots); err != nil {
		return err
	}
	defer func() { <-p.slots }()
	w := p.warm()
	defer func() { p.keep(w) }()
	for {
		fresh := w == nil
		if fresh {
			if w, err = p.start(); err != nil {
				return &Error{Unavailable, err.Error()}
			}
		}
		err = w.read(ctx, asked, to)
		if !w.lost && w.done < documentsPerWorker {
			return err
		}
		lost := w.lost
		w.end()
		w = nil
		failed, _ := errors.AsType[*Error](err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !lost, fresh, failed != nil && failed.Reason == TooSlow:
			return err
		}
		// The cause may be a document that the worker read before.
		p.log.Debug("a worker ended; reading the document again in a new one", "error", err)
	}
}

// start starts a worker.
func (p *Pool) start() (*worker, error) {
	p.mu.Lock()
	s := p.settings
	p.mu.Unlock()
	return startWorker(s)
}

// warm returns the most recently used worker, nil if there is none.
func (p *Pool) warm() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	w := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return w
}

// keep returns a worker, if it is not nil. All end when none was returned for a while.
func (p *Pool) keep(w *worker) {
	if w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
	if p.reaper == nil {
		p.reaper = time.AfterFunc(idleTime, p.reap)
	} else {
		p.reaper.Reset(idleTime)
	}
}

// reap ends the idle workers.
func (p *Pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.idle {
		w.end()
	}
	p.idle = nil
	if p.reaper != nil {
		p.reaper.Stop()
	}
}
