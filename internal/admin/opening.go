package admin

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Each of Opening and Closing has one goroutine, which serves until the returned function ends it and waits for it.

// Opening serves l while stores are being opened, which may take long, until done is called. It uses TLS if it has a
// configuration. The responses state that the process is alive, and its progress. Afterwards l can be served again. l
// may be nil.
func Opening(l net.Listener, secured *tls.Config, progress func() ReadinessProblem) (done func()) {
	return meanwhile(l, secured, progress)
}

// Starting is the state of a service that opens its stores.
func Starting(words string) ReadinessProblem {
	return ReadinessProblem{Code: notReadyStarting, Words: words}
}

// StandingBy is the state of a service that waits for another node's place.
func StandingBy(words string) ReadinessProblem {
	return ReadinessProblem{Code: notReadyStandby, Words: words}
}

// Closing serves owner like Opening while stores are being closed, after Run.
func Closing(owner net.Listener) (done func()) {
	return meanwhile(owner, nil, func() ReadinessProblem {
		return ReadinessProblem{Code: notReadyStopping, Words: "stores are being closed"}
	})
}

// meanwhile serves a service that is opening or closing its stores, until done is called.
func meanwhile(l net.Listener, secured *tls.Config, state func() ReadinessProblem) (done func()) {
	back, ok := lend(l)
	if !ok {
		return func() {}
	}
	l = back
	if l.Addr().Network() == "tcp" {
		l = newConnections().listen(l)
	}
	if secured != nil {
		l = tls.NewListener(l, secured)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		writeReadiness(w, r, Readiness{Problems: []ReadinessProblem{state()}})
	})
	mux.Handle("GET /metrics", waitingMetrics(state))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		now := state()
		p := newProblem(http.StatusServiceUnavailable, codeNotReady, "the service is %s: %s",
			strings.ReplaceAll(now.Code, "_", " "), now.Words)
		p.retryAfter = 5
		p.write(w, r)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout}
	server.SetKeepAlivesEnabled(false)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // always returns an error at its end
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
		back.giveBack()
	}
}

// lent is a listener that several servers use one after another: closing it only ends Accept.
type lent struct {
	net.Listener
	bounded interface{ SetDeadline(t time.Time) error }
	over    atomic.Bool
}

// lend returns a lent listener, if its kind can be given back.
func lend(l net.Listener) (*lent, bool) {
	bounded, ok := l.(interface{ SetDeadline(t time.Time) error })
	return &lent{Listener: l, bounded: bounded}, ok
}

// Accept ends when the listener must be returned.
func (l *lent) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && l.over.Load() {
		return nil, http.ErrServerClosed
	}
	return c, err
}

// Close leaves the listener open.
func (l *lent) Close() error {
	l.over.Store(true)
	return l.bounded.SetDeadline(time.Unix(1, 0)) // a closed listener reports that at its next use
}

// giveBack makes the listener usable again once it is no longer served.
func (l *lent) giveBack() { _ = l.bounded.SetDeadline(time.Time{}) } // closed, it needs none
