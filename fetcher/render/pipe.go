package render

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A pipe has a goroutine that reads and one that writes, so that neither end waits for the other; close waits for both.
// mu guards the queued messages and the pending calls.

// maxMessage bounds a browser's message, whose length a page controls.
const maxMessage = 64 << 20

// message is a call, its response, or an event, in JSON; a zero byte ends it.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// pipe implements the DevTools protocol with one browser.
type pipe struct {
	in, out io.ReadWriteCloser
	on      func(*message) // handles events, in the goroutine that reads; must not block
	work    sync.WaitGroup
	ended   chan struct{} // closed when reading has ended

	mu      sync.Mutex
	room    sync.Cond // of mu: there is something to write, or the pipe is closed
	unsent  [][]byte
	last    int
	waiting map[int]chan *message
	closed  bool
}

// open starts reading from in and writing to out, which may be the same.
func open(in, out io.ReadWriteCloser, on func(*message)) *pipe {
	p := &pipe{in: in, out: out, on: on, ended: make(chan struct{}), waiting: map[int]chan *message{}}
	p.room.L = &p.mu
	p.work.Go(p.read)
	p.work.Go(p.write)
	return p
}

// close ends both directions. Pending calls fail.
func (p *pipe) close() {
	p.stop()
	_ = p.in.Close()
	_ = p.out.Close()
	p.work.Wait()
}

func (p *pipe) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.unsent = true, nil
	p.room.Broadcast()
}

// read handles messages until the browser ends.
func (p *pipe) read() {
	defer close(p.ended)
	defer p.stop()
	r := bufio.NewReaderSize(p.in, 64<<10)
	for {
		text, err := readMessage(r)
		if err != nil {
			return
		}
		m := new(message)
		if json.Unmarshal(text, m) != nil {
			return
		}
		if m.ID == 0 {
			p.on(m)
			continue
		}
		p.mu.Lock()
		reply := p.waiting[m.ID]
		delete(p.waiting, m.ID)
		p.mu.Unlock()
		if reply != nil {
			reply <- m
		}
	}
}

var errTooLong = errors.New("a message from the browser is too long")

// readMessage reads up to a zero byte, which it drops.
func readMessage(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice(0)
		if len(text)+len(part) > maxMessage {
			return nil, errTooLong
		}
		text = append(text, part...)
		if err == nil {
			return text[:len(text)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func (p *pipe) write() {
	for {
		p.mu.Lock()
		for len(p.unsent) == 0 && !p.closed {
			p.room.Wait()
		}
		texts := p.unsent
		p.unsent = nil
		closed := p.closed
		p.mu.Unlock()
		if closed {
			return
		}
		for _, text := range texts {
			if _, err := p.out.Write(text); err != nil {
				return // the reader detects the end
			}
		}
	}
}

// send makes a call without waiting for its response. Calls arrive in the order in which they are made.
func (p *pipe) send(session, method string, params any) { p.enqueue(session, method, params, nil) }

func (p *pipe) enqueue(session, method string, params any, reply chan *message) int {
	written, err := json.Marshal(params)
	if err != nil {
		panic(err) // our own values always marshal
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	text, err := json.Marshal(message{ID: p.last, Session: session, Method: method, Params: written})
	if err != nil {
		panic(err)
	}
	if reply != nil {
		p.waiting[p.last] = reply
	}
	if !p.closed {
		p.unsent = append(p.unsent, append(text, 0))
		p.room.Signal()
	}
	return p.last
}

// errGone is the error after the end of a browser.
var errGone = errors.New("the browser ended")

// call makes a call and waits for its response, which is stored in out unless that is nil.
func (p *pipe) call(ctx context.Context, session, method string, params, out any) error {
	reply := make(chan *message, 1)
	id := p.enqueue(session, method, params, reply)
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, id)
	}()
	select {
	case m := <-reply:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(m.Result, out)
	case <-p.ended:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// object is a value of the protocol.
type object = map[string]any
