package illness

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Serving is one goroutine, which Close waits for. Server.mu guards the server, which an
// illness replaces.

// Server serves a site on loopback. It cannot have the illnesses of DNS.
type Server struct {
	site         *Site
	certificates *certificates
	address      string
	secure       bool
	running      sync.WaitGroup

	mu     sync.Mutex
	server *http.Server // nil while connections are refused
}

// NewServer serves a healthy site, at https where secure is set, on a port of 127.0.0.1
// that it finds. The other host is at 127.0.0.2, where nobody listens. The caller closes it.
func NewServer(o Options, secure bool) (*Server, error) {
	c, err := newCertificates()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a port for the site: %w", err)
	}
	s := &Server{certificates: c, address: listener.Addr().String(), secure: secure}
	o.Origin, o.Elsewhere = "http://"+s.address, strings.Replace("http://"+s.address, "127.0.0.1", "127.0.0.2", 1)
	if secure {
		o.Origin = "https://" + s.address
	}
	s.site = New(o)
	s.serve(listener)
	s.site.onChange(s.turn)
	return s, nil
}

// Site returns the site that is served.
func (s *Server) Site() *Site { return s.site }

// Roots returns the certificates, in PEM, of those who sign the site's.
func (s *Server) Roots() []byte { return s.certificates.pem }

func (s *Server) serve(listener net.Listener) {
	if s.secure {
		listener = tls.NewListener(listener, s.certificates.config(func(string) *Site { return s.site }))
	}
	server := quietServer(s.site)
	s.server = server
	s.running.Go(func() { _ = server.Serve(listener) })
}

// turn obeys a change of the site's health. A port that is taken meanwhile makes the
// site stay as if connections were refused, which the test then sees.
func (s *Server) turn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuses := s.site.Illness() == Refused
	switch {
	case refuses && s.server != nil:
		_ = s.server.Close() // whatever is in flight is to fail
		s.server = nil
	case !refuses && s.server == nil:
		if listener, err := net.Listen("tcp", s.address); err == nil {
			s.serve(listener)
		}
	case s.server != nil:
		dropIdle(s.server)
	}
}

// Close ends the server.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.server != nil {
		err = s.server.Close()
	}
	s.running.Wait()
	return err
}
