package fetcher

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

func tlsServer(t *testing.T, h http.HandlerFunc) (*httptest.Server, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, s.Listener.Addr().String()
}

func TestHTTP2(t *testing.T) {
	s, addr := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/reset":
			panic(http.ErrAbortHandler)
		case "/cut":
			_, _ = io.WriteString(w, "some")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, r.Proto+" "+r.RequestURI)
	})
	f := newFetcher(t, func(set *Settings) { set.Roots = pool(s.Certificate()) }, addr)
	for _, target := range []string{"/", "/a|b?c=[d]", "//a/b"} {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "https://"+addr+target)})
		if err != nil || string(resp.Body) != "HTTP/2.0 "+target || resp.Address != netip.MustParseAddr("127.0.0.1") {
			t.Fatalf("%s: got %+v, %v", target, resp, err)
		}
	}
	for _, path := range []string{"/reset", "/cut"} {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "https://"+addr+path)})
		wantFault(t, resp, err, fault.Reset)
	}
}

// goingAway accepts an HTTP/2 connection, and ends it with GOAWAY while the first
// request is under way: before its header, or inside its body.
func goingAway(withHeader bool) func(*http2.Framer) error {
	return func(f *http2.Framer) error {
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return err
			}
			if frame.Header().Type == http2.FrameHeaders {
				break
			}
		}
		if withHeader {
			const status200 = "\x88" // HPACK
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(status200), EndHeaders: true}); err != nil {
				return err
			}
		}
		return f.WriteGoAway(1, http2.ErrCodeNo, nil)
	}
}

func TestHTTP2GoAway(t *testing.T) {
	s, _ := tlsServer(t, nil)
	config := &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"h2"}}
	for _, withHeader := range []bool{false, true} {
		speak := goingAway(withHeader)
		addr := listen(t, func(raw net.Conn) {
			c := tls.Server(raw, config)
			if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
				return
			}
			f := http2.NewFramer(c, c)
			if f.WriteSettings() == nil && speak(f) == nil {
				_ = c.CloseWrite()
				stall(c)
			}
		})
		f := newFetcher(t, func(set *Settings) { set.Roots = pool(s.Certificate()) }, addr)
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "https://"+addr)})
		var fe *Error
		if !errors.As(err, &fe) || fe.Fault != fault.Reset && fe.Fault != fault.ShortBody {
			t.Errorf("header %v: got %+v, %v, want a fault that passes", withHeader, resp, err)
		}
	}
}

func pool(c *x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(c)
	return p
}

func TestTLSFaults(t *testing.T) {
	s, addr := tlsServer(t, func(http.ResponseWriter, *http.Request) {})
	_, port, _ := net.SplitHostPort(addr)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	silent := listen(t, stall)
	closing := listen(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); reset(c) })
	trusting := func(set *Settings) { set.Roots = pool(s.Certificate()); set.TLSTimeout = time.Minute }
	tests := []struct {
		name, addr string
		change     func(*Settings)
		want       fault.Fault
	}{
		{"unknown authority", addr, nil, fault.TLS},
		{"wrong name", "localhost:" + port, trusting, fault.TLS},
		{"no TLS there", plain, trusting, fault.TLS},
		{"silence", silent, func(set *Settings) { set.TLSTimeout = short }, fault.Timeout},
		{"cut off", closing, trusting, fault.Reset},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFetcher(t, tt.change, tt.addr)
			resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "https://"+tt.addr)})
			wantFault(t, resp, err, tt.want)
		})
	}
}

func TestTLSSettings(t *testing.T) {
	s, addr := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s, %d certificates", r.Proto, len(r.TLS.PeerCertificates))
	})
	s.TLS.ClientAuth = tls.RequestClientCert
	for _, tt := range []struct {
		change func(*Settings)
		want   string
	}{
		{func(set *Settings) { set.InsecureTLS = true }, "HTTP/2.0, 0 certificates"},
		{func(set *Settings) { set.InsecureTLS, set.HTTP1 = true, true }, "HTTP/1.1, 0 certificates"},
		{func(set *Settings) { set.Roots, set.Certificates = pool(s.Certificate()), s.TLS.Certificates }, "HTTP/2.0, 1 certificates"},
	} {
		resp, err := newFetcher(t, tt.change, addr).Fetch(t.Context(), Request{URL: mustURL(t, "https://"+addr+"/")})
		if err != nil || string(resp.Body) != tt.want {
			t.Errorf("got %+v, %v; want %q", resp, err, tt.want)
		}
	}
}
