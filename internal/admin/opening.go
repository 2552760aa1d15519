package admin

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"strings"
)

// Each of Opening and Closing has one goroutine, which serves until the returned function ends it and waits for it.

// Opening serves l while stores are being opened, which may take long, until done is called. It uses TLS if it has a
// configuration. The responses state that the process is alive, and its progress. Afterwards l can be served again. l
// may be nil.
func Opening(l net.Listener, secured *tls.Config, state func() ReadinessProblem) (done func()) {
	if l == nil {
		return func() {}
	}
	lent, err := lend(l)
	if err != nil {
		return func() {} // it responds later
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
	if lent.Addr().Network() == "tcp" {
		newConnections().limit(server)
	}
	if secured != nil {
		lent = tls.NewListener(lent, secured)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(lent) // always returns an error at its end
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
	}
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
	return Opening(owner, nil, func() ReadinessProblem {
		return ReadinessProblem{Code: notReadyStopping, Words: "stores are being closed"}
	})
}

// lend returns another listener of the same socket, so that the server that closes it leaves l open. A listener without
// a file is returned as it is.
func lend(l net.Listener) (net.Listener, error) {
	socket, ok := l.(interface{ File() (*os.File, error) })
	if !ok {
		return l, nil
	}
	f, err := socket.File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FileListener(f)
}
