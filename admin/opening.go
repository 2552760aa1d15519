package admin

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Opening answers /healthz and /readyz on l while stores are being opened, which can
// take long, until done is called. Then l is as it was.
func Opening(l net.Listener) (done func()) {
	bounded, ok := l.(interface{ SetDeadline(t time.Time) error })
	if !ok {
		return func() {}
	}
	starting := Readiness{Problems: []ReadinessProblem{{Code: notReadyStarting, Words: "stores are being opened"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { writeReadiness(w, r, starting) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout}
	server.SetKeepAlivesEnabled(false)
	lent := &lent{Listener: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(lent) // always an error: that it was ended
	}()
	return func() {
		lent.over.Store(true)
		_ = bounded.SetDeadline(time.Unix(1, 0)) // a closed listener says so to who uses it next
		<-ended
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		_ = bounded.SetDeadline(time.Time{})
	}
}

// lent is a listener that is given back open.
type lent struct {
	net.Listener
	over atomic.Bool
}

// Accept ends when the listener is to be given back.
func (l *lent) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && l.over.Load() {
		return nil, http.ErrServerClosed
	}
	return c, err
}

// Close leaves it open.
func (*lent) Close() error { return nil }
