package admin

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
)

// RoundTrip has a goroutine that runs the handler. It ends at the latest when the body of the response is closed,
// which waits for it.

// InProcess returns a client of a Crawler without a running service. The routes of the API run in this process.
func InProcess(c Crawler, service Service, configuration Configuration) *Client {
	s := NewServer([]Crawler{c}, service, configuration, nil, slog.New(slog.DiscardHandler))
	return ClientOf(s.As(Caller{Role: Operator, Socket: true, Remote: "command"}), "")
}

// ClientOf returns a client of a handler in this process, as Server.As returns one. Crawler is as for Dial.
func ClientOf(h http.Handler, crawler string) *Client {
	return &Client{http: http.Client{Transport: handlerTransport{h}}, crawler: crawler}
}

// handlerTransport passes requests to a handler.
type handlerTransport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	read, write := io.Pipe()
	a := &pipedAnswer{header: http.Header{}, response: &http.Response{Request: r}, body: write, begun: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = write.CloseWithError(a.serve(t.handler, r)) // it never fails
	}()
	<-a.begun
	a.response.Body = &pipedBody{read, ended}
	return a.response, nil
}

// pipedBody is the body of a response that a handler is still writing.
type pipedBody struct {
	*io.PipeReader
	ended <-chan struct{}
}

// Close ends the handler, unless it has ended, and waits for it, since its resources may be closed afterwards.
func (b *pipedBody) Close() error {
	err := b.PipeReader.Close()
	<-b.ended
	return err
}

// pipedAnswer is the http.ResponseWriter of a handler whose response is read while it is written.
type pipedAnswer struct {
	header   http.Header
	response *http.Response
	body     io.Writer
	begun    chan struct{} // closed when status and header are known
	broken   error         // why the response was interrupted
}

// Header implements http.ResponseWriter.
func (a *pipedAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *pipedAnswer) WriteHeader(status int) {
	if a.response.StatusCode == 0 {
		a.response.StatusCode, a.response.Header = status, a.header.Clone()
		close(a.begun)
	}
}

// Write implements http.ResponseWriter.
func (a *pipedAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// serve runs h. A response that h interrupts by a panic ends in an error.
func (a *pipedAnswer) serve(h http.Handler, r *http.Request) (err error) {
	defer a.WriteHeader(http.StatusOK)
	defer func() {
		if broken := recover(); broken != nil {
			if aborted, ok := broken.(error); !ok || !errors.Is(aborted, http.ErrAbortHandler) {
				panic(broken)
			}
			err = cmp.Or(a.broken, io.ErrUnexpectedEOF)
		}
	}()
	h.ServeHTTP(a, r)
	return nil
}

// As returns a handler that handles requests with the rights of a caller. Other parts of this process, such as the
// console, use the API through it for their own callers. Requests over TCP must have been checked before. A caller over
// TCP may not name files of this machine.
func (s *Server) As(c Caller) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r.WithContext(context.WithValue(r.Context(), ownerKey{}, c)))
	})
}
