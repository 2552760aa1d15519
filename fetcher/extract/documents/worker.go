package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A worker has no lock: one goroutine at a time uses it. Only crashOutput has a mutex, since
// the process's standard error is copied by a goroutine of os/exec.

// worker is the pool's side of a process that reads documents. One goroutine at a
// time uses it.
type worker struct {
	command *exec.Cmd
	in      io.WriteCloser // the process's standard input
	out     io.ReadCloser
	stderr  *crashOutput // on standard error
	timeout time.Duration
	done    int  // documents read
	lost    bool // it must not receive further requests
}

// startWorker starts a worker with an empty environment and no open files except its pipes.
func startWorker(s Settings) (w *worker, err error) {
	words, err := s.command()
	if err != nil {
		return nil, err
	}
	w = &worker{timeout: s.Timeout, stderr: &crashOutput{}}
	w.command = exec.Command(words[0], words[1:]...) //nolint:gosec,noctx // our own program; end ends it
	w.command.Env = []string{}
	w.command.Dir = "/"
	w.command.Stderr = w.stderr
	w.command.SysProcAttr = attributes()
	w.command.WaitDelay = time.Second
	if w.in, err = w.command.StdinPipe(); err != nil {
		return nil, err
	}
	if w.out, err = w.command.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := w.command.Start(); err != nil {
		return nil, fmt.Errorf("starting a worker that reads documents: %w", err)
	}
	return w, nil
}

// kill ends the process at once; reads and writes of its pipes return then.
func (w *worker) kill() {
	_ = w.command.Process.Kill() // it fails for a process that has ended only
}

// end ends the process and waits for it.
func (w *worker) end() {
	w.kill()
	_ = w.command.Wait() // it was killed: that is its state
}

// read makes the process read a document into to. The error is an *Error. If the process ends or ctx ends, the worker
// is lost.
func (w *worker) read(ctx context.Context, r *request, to any) error {
	var slow atomic.Bool
	stop := context.AfterFunc(ctx, w.kill)
	spent := &budget{
		cpu:  func() (time.Duration, bool) { return cpuTimeOf(w.command.Process.Pid) },
		over: func() { slow.Store(true); w.kill() },
	}
	spent.start(prepareTimeout)
	err := w.exchange(r, to, spent)
	onTime := spent.stop()
	if !stop() || !onTime {
		w.lost = true
	}
	w.done++
	if _, answered := errors.AsType[*Error](err); err == nil || answered {
		return err
	}
	w.lost = true
	w.end() // so that all of its output is there
	switch words := w.stderr.String(); {
	case slow.Load():
		return &Error{TooSlow, tooSlow(w.timeout)}
	case outOfMemory(words):
		return &Error{OutOfMemory, "its worker ran out of memory"}
	default:
		return &Error{Crashed, fmt.Sprintf("its worker ended: %v: %s", err, firstLine(words))}
	}
}

// outOfMemory reports whether a process's last output shows that it got no more memory for its heap or a thread's
// stack.
func outOfMemory(words string) bool {
	for _, sign := range [...]string{
		"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread",
	} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// exchange sends the request and waits for the response.
func (w *worker) exchange(r *request, to any, spent *budget) error {
	if err := writeRequest(w.in, r); err != nil {
		return err
	}
	t, payload, err := readFrame(w.out, maxAnswer)
	if err != nil {
		return err
	}
	if t == frameBegun {
		spent.start(w.timeout)
		if t, payload, err = readFrame(w.out, maxAnswer); err != nil {
			return err
		}
	}
	return parseAnswer(t, payload, to)
}

// crashOutput keeps the beginning of a process's last output, where a Go program prints the reason of a crash.
type crashOutput struct {
	mu sync.Mutex
	b  strings.Builder
}

const maxWords = 8 << 10

// Write implements io.Writer.
func (l *crashOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p[:min(len(p), max(maxWords-l.b.Len(), 0))])
	return len(p), nil
}

func (l *crashOutput) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
