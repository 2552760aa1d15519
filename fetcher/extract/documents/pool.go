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

// Pool.mu guards the settings, the idle workers and the reaper. A goroutine that reads a
// document has its worker to itself, without the lock.

// Settings of a pool. Those at zero have the documented defaults.
type Settings struct {
	// Command starts a worker: program and arguments. Empty: this program with
	// WorkerCommand and the arguments of these settings.
	Command []string
	// Supervisor starts what runs converters. Empty: this program with ConverterCommand.
	Supervisor []string
	// Workers is how many documents are read at once, and how many converters run: 1.
	Workers int
	// Timeout for one document, in CPU time of its worker: 30 s. By the clock it may take ten times that.
	Timeout time.Duration
	// MaxMemory of one worker, in bytes: 512 MiB.
	MaxMemory int64
}

// ForPages returns the settings of a pool that searches pages: those of one for documents, with less
// time.
func (s Settings) ForPages() Settings {
	s = s.withDefaults()
	s.Timeout = min(s.Timeout, pageTimeout)
	return s
}

// WorkerCommand is the command of the program that runs a worker.
const WorkerCommand = "read-document"

const (
	defaultTimeout   = 30 * time.Second
	defaultMaxMemory = 512 << 20
	// prepareTimeout bounds, in CPU time, what comes before a document's own time.
	prepareTimeout = time.Minute
	// documentsPerWorker are read by one process; the next begins with clean memory.
	documentsPerWorker = 500
	// pageTimeout bounds the time of one page, which should take milliseconds.
	pageTimeout = 5 * time.Second
	// idleTime is how long workers are kept while no document comes.
	idleTime = 5 * time.Minute
)

func (s Settings) withDefaults() Settings {
	s.Workers = max(s.Workers, 1)
	s.Timeout, s.MaxMemory = cmp.Or(max(s.Timeout, 0), defaultTimeout), cmp.Or(max(s.MaxMemory, 0), defaultMaxMemory)
	return s
}

// command is that of a worker.
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

// Pool reads documents in worker processes, which it starts when they are needed. Its
// methods may be called at once.
type Pool struct {
	log     *slog.Logger
	closing context.Context
	close   context.CancelFunc
	slots   chan struct{} // as many as workers may be at work
	// conversions is the same for converters, which are slower: no document waits for one.
	conversions chan struct{}

	mu       sync.Mutex
	settings Settings
	idle     []*worker // not at work, the last used at the end
	reaper   *time.Timer
}

// NewPool returns a pool; it starts nothing.
func NewPool(s Settings, log *slog.Logger) *Pool {
	p := &Pool{log: log, settings: s.withDefaults()}
	p.closing, p.close = context.WithCancel(context.Background())
	p.slots, p.conversions = make(chan struct{}, p.settings.Workers), make(chan struct{}, p.settings.Workers)
	return p
}

// Set changes the settings for workers that are started from now on; their number
// stays.
func (p *Pool) Set(s Settings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = s.withDefaults()
}

// Close ends what is being read, and all workers.
func (p *Pool) Close() {
	p.close()
	for range cap(p.slots) {
		p.slots <- struct{}{} // and never given back
		p.conversions <- struct{}{}
	}
	p.reap()
}

var errClosed = errors.New("the pool is closed")

// Read reads a document of a kind that KindOf knows. The error is an *Error, or that
// of ctx if ctx ended. The body must not change meanwhile.
func (p *Pool) Read(ctx context.Context, contentType string, body []byte) (read extract.Page, err error) {
	kind, ok := KindOf(contentType, body)
	if !ok {
		return extract.Page{}, &Error{Damaged, fmt.Sprintf("%q is no document that is read", contentType)}
	}
	err = p.ask(ctx, &request{kind: kind, body: body}, &read)
	return read, err
}

// Search looks for what is ordered in a page. Errors and body are as those of Read.
func (p *Pool) Search(ctx context.Context, o *tree.Order, body []byte) (found tree.Found, err error) {
	order, err := json.Marshal(o)
	if err != nil {
		return tree.Found{}, &Error{Damaged, err.Error()}
	}
	err = p.ask(ctx, &request{page, order, body}, &found)
	return found, err
}

// ask has a worker read what is asked for into to, which stays as it is with an error.
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
		// What ended the worker may be what it had read before.
		p.log.Debug("a worker ended: the document is read again in a new one", "error", err)
	}
}

// start starts a worker.
func (p *Pool) start() (*worker, error) {
	p.mu.Lock()
	s := p.settings
	p.mu.Unlock()
	return startWorker(s)
}

// warm takes the worker that was used last, nil if there is none.
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

// keep takes a worker back, if it is not nil. All end when none was given back for a while.
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

// reap ends the workers that are not at work.
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
