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

// Each of Opening, Closing and StandingBy has one goroutine, which serves until the returned function ends
// it and waits for it.

// Opening answers on l, by TLS where a configuration of it is given, while stores are
// being opened, which can take long, until done is called: that the process lives, is not
// ready, and why. Then l is as it was. L may be nil.
func Opening(l net.Listener, secured *tls.Config) (done func()) {
	return meanwhile(l, secured, ReadinessProblem{Code: notReadyStarting, Words: "stores are being opened"})
}

// Closing answers on owner as Opening does while stores are being closed, after Run.
func Closing(owner net.Listener) (done func()) {
	return meanwhile(owner, nil, ReadinessProblem{Code: notReadyStopping, Words: "stores are being closed"})
}

// meanwhile answers for a service that is not at work, until done is called.
func meanwhile(l net.Listener, secured *tls.Config, why ReadinessProblem) (done func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		writeReadiness(w, r, Readiness{Problems: []ReadinessProblem{why}})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		p := newProblem(http.StatusServiceUnavailable, codeNotReady, "the service is %s: %s", why.Code, why.Words)
		p.retryAfter = 5
		p.write(w)
	})
	return answerOn(l, secured, mux)
}

// answerOn serves h on l until done is called.
func answerOn(l net.Listener, secured *tls.Config, h http.Handler) (done func()) {
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
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout}
	server.SetKeepAlivesEnabled(false)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // always an error: that it was ended
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

// Standby is what a node of a cluster that does not crawl tells of itself.
type Standby struct {
	// Words say what it does, and who crawls.
	Words string
	// Ready says that it follows the one that crawls, or could take over.
	Ready bool
	// Console is the URL of the console of the node that crawls; "" if it is not known, or cannot be reached.
	Console string
	// Crawler is the one that is followed, and Cluster how the node stands, for its metrics; nil: it is not known yet.
	Crawler string
	Cluster *ClusterStatus
}

// StandingBy answers on l as Opening does, for a node of a cluster while another one crawls: that it lives,
// whether it is ready to take over, and to all else where the crawl is. Over TCP, requests are sent on to the console
// of the other node.
func StandingBy(l net.Listener, access *Access, now func() Standby) (done func()) {
	if l == nil {
		return func() {}
	}
	overTCP := l.Addr().Network() == "tcp"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		s := now()
		ready := Readiness{Ready: s.Ready}
		if !s.Ready {
			why := ReadinessProblem{Code: notReadyStarting, Words: s.Words}
			switch {
			case s.Cluster == nil: // it is not a member yet
			case s.Cluster.EngineSilentSince != nil:
				why.Code = notReadyEngine
			default:
				why.Code = notReadyFollower
			}
			ready.Problems = []ReadinessProblem{why}
		}
		writeReadiness(w, r, ready)
	})
	guard, metrics := newGuard(access), standbyMetrics(now)
	// For those who may read the metrics of a node that crawls: over the socket, from the machine itself, or with a token.
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if overTCP {
			p, caller := guard.judge(r), Caller{}
			if p == nil {
				caller, p = guard.who(r)
			}
			if p == nil && caller.Role < Local {
				p = refusal(&route{role: Local}, caller)
			}
			if p != nil {
				p.write(w)
				return
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		metrics.ServeHTTP(w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s := now()
		p := newProblem(http.StatusServiceUnavailable, codeStandby, "%s", s.Words)
		p.retryAfter = 5
		if overTCP && s.Console != "" {
			p.Status, p.Title = http.StatusTemporaryRedirect, http.StatusText(http.StatusTemporaryRedirect)
			w.Header().Set("Location", strings.TrimSuffix(s.Console, "/")+r.URL.RequestURI())
		}
		w.Header().Set("Cache-Control", "no-store")
		p.write(w)
	})
	if !overTCP {
		return answerOn(l, nil, mux)
	}
	return answerOn(l, access.TLS(), mux)
}

// Lend gives a listener that a Server may close: l stays open, for the next one, once back was
// called. It is nil if l is.
func Lend(l net.Listener) (it net.Listener, back func()) {
	if l == nil {
		return nil, func() {}
	}
	lent, ok := lend(l)
	if !ok {
		return l, func() {}
	}
	return lent, lent.giveBack
}

// lent is a listener that is served by one after another: closing it ends its Accept
// only.
type lent struct {
	net.Listener
	bounded interface{ SetDeadline(t time.Time) error }
	over    atomic.Bool
}

// lend lends a listener, if it is of a kind that can be given back.
func lend(l net.Listener) (*lent, bool) {
	bounded, ok := l.(interface{ SetDeadline(t time.Time) error })
	return &lent{Listener: l, bounded: bounded}, ok
}

// SetDeadline lets it be lent on.
func (l *lent) SetDeadline(t time.Time) error { return l.bounded.SetDeadline(t) }

// Accept ends when the listener is to be given back.
func (l *lent) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && l.over.Load() {
		return nil, http.ErrServerClosed
	}
	return c, err
}

// Close leaves it open.
func (l *lent) Close() error {
	l.over.Store(true)
	return l.bounded.SetDeadline(time.Unix(1, 0)) // a closed listener says so to who uses it next
}

// giveBack makes the listener fit for the next, once nobody serves it any more.
func (l *lent) giveBack() { _ = l.bounded.SetDeadline(time.Time{}) } // closed, it needs none
