package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// flood reads in a goroutine what the other end sends, and waits for it.

// secure speaks TLS with the good certificate, and then HTTP/1.1.
func (s *Servers) secure(change func(*tls.Config), b behaviour) behaviour {
	config := &tls.Config{Certificates: []tls.Certificate{s.certificate}, NextProtos: []string{"http/1.1"}}
	if change != nil {
		change(config)
	}
	return func(raw net.Conn) {
		c := tls.Server(raw, config)
		if c.Handshake() != nil {
			stall(raw)
			return
		}
		afterRobots(func(b2 net.Conn) { b(b2) })(c)
		_ = c.CloseWrite()
	}
}

// tls returns those that speak TLS, or should.
func (s *Servers) tls() map[string]behaviour {
	expired := s.signed(time.Now().Add(-time.Hour))
	own := s.signed(time.Now().Add(time.Hour))
	return map[string]behaviour{
		"no TLS handshake":        stall,
		"half a TLS handshake":    func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); then("\x16\x03\x03\x00\x7a\x02\x00", stall)(c) },
		"closes in the handshake": func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) },
		"resets in the handshake": func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); reset(c) },
		"garbage for TLS":         func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); then("what do you want?\r\n", stall)(c) },
		"plain HTTP for TLS":      func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); then("HTTP/1.1 400 Bad Request\r\n\r\n", stall)(c) },
		"endless TLS handshake":   func(c net.Conn) { endless("", "\x16\x03\x03\x00\x04\x00\x00\x00\x00")(c) },
		"expired certificate":     s.secure(func(c *tls.Config) { c.Certificates = []tls.Certificate{expired} }, ok),
		"self-signed certificate": s.secure(func(c *tls.Config) { c.Certificates = []tls.Certificate{own} }, ok),
		"TLS 1.1":                 s.secure(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }, ok),
		"wants a certificate":     s.secure(func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }, ok),
		"wants a certificate, TLS 1.2": s.secure(func(c *tls.Config) {
			c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
		}, ok),
		"TLS end in the header": s.secure(nil, text("HTTP/1.1 200 OK\r\nContent-Ty")),
		"TLS end in the body":   s.secure(nil, text(okHead+"Content-Length: 100\r\n\r\nsome")),
		"garbage inside of TLS": s.secure(nil, text("what do you want?\r\n\r\n")),
	}
}

// signed returns a certificate for 127.0.0.1 that only itself vouches for.
func (s *Servers) signed(until time.Time) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // no randomness, which the program ends for anyway
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	if until.Before(time.Now()) { // that it is over is all that is wrong with it
		if parsed, err := x509.ParseCertificate(der); err == nil {
			s.Roots.AddCert(parsed)
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// frames answers each request with frames; robots.txt gets the same.
func (s *Servers) frames(speak func(f *http2.Framer, c net.Conn, stream uint32) error) behaviour {
	config := &tls.Config{Certificates: []tls.Certificate{s.certificate}, NextProtos: []string{"h2"}}
	return func(raw net.Conn) {
		c := tls.Server(raw, config)
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(c, c)
		if f.WriteSettings() != nil {
			return
		}
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if frame.Header().Type != http2.FrameHeaders {
				continue
			}
			if speak(f, c, frame.Header().StreamID) != nil {
				return
			}
		}
	}
}

// status200 is ":status: 200" by HPACK.
const status200 = "\x88"

func (s *Servers) http2() map[string]behaviour {
	head := func(f *http2.Framer, stream uint32, block string) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte(block), EndHeaders: true})
	}
	all := map[string]func(*http2.Framer, net.Conn, uint32) error{
		"h2 no answer": func(*http2.Framer, net.Conn, uint32) error { return nil },
		"h2 GOAWAY": func(f *http2.Framer, _ net.Conn, n uint32) error {
			_ = f.WriteGoAway(n, http2.ErrCodeNo, nil)
			return io.EOF
		},
		"h2 RST_STREAM": func(f *http2.Framer, _ net.Conn, n uint32) error { return f.WriteRSTStream(n, http2.ErrCodeInternal) },
		"h2 RST_STREAM in the body": func(f *http2.Framer, _ net.Conn, n uint32) error {
			_ = head(f, n, status200)
			_ = f.WriteData(n, false, []byte("some"))
			return f.WriteRSTStream(n, http2.ErrCodeInternal)
		},
		"h2 body that waits": func(f *http2.Framer, _ net.Conn, n uint32) error { return head(f, n, status200) },
		"h2 endless body": func(f *http2.Framer, _ net.Conn, n uint32) error {
			err := head(f, n, status200)
			for range 1 << 16 { // more than any window
				if err != nil {
					return err
				}
				err = f.WriteData(n, false, make([]byte, 1<<12))
			}
			return err
		},
		"h2 SETTINGS flood": flood(func(f *http2.Framer, _ uint32) error { return f.WriteSettings() }),
		"h2 PING flood":     flood(func(f *http2.Framer, _ uint32) error { return f.WritePing(false, [8]byte{}) }),
		"h2 empty DATA flood": func(f *http2.Framer, c net.Conn, n uint32) error {
			_ = head(f, n, status200)
			return flood(func(f *http2.Framer, n uint32) error { return f.WriteData(n, false, nil) })(f, c, n)
		},
		"h2 CONTINUATION flood": func(f *http2.Framer, c net.Conn, n uint32) error {
			// A literal header without indexing, again and again.
			block := []byte(strings.Repeat("\x00\x01a\x01b", 2000))
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: n, BlockFragment: []byte(status200)}); err != nil {
				return err
			}
			return flood(func(f *http2.Framer, n uint32) error { return f.WriteContinuation(n, false, block) })(f, c, n)
		},
		"h2 header of 1 MiB": func(f *http2.Framer, _ net.Conn, n uint32) error {
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: n, BlockFragment: []byte(status200)}); err != nil {
				return err
			}
			block := []byte(strings.Repeat("\x00\x01a\x01b", 3000))
			for i := range 70 {
				if err := f.WriteContinuation(n, i == 69, block); err != nil {
					return err
				}
			}
			return f.WriteData(n, true, []byte("ok"))
		},
		"h2 frame of no stream":  func(f *http2.Framer, _ net.Conn, n uint32) error { return f.WriteData(n+98, true, []byte("x")) },
		"h2 data before headers": func(f *http2.Framer, _ net.Conn, n uint32) error { return f.WriteData(n, true, []byte("x")) },
		"h2 bad HPACK": func(f *http2.Framer, _ net.Conn, n uint32) error {
			return head(f, n, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
		},
		"h2 no status": func(f *http2.Framer, _ net.Conn, n uint32) error { return head(f, n, "\x00\x01a\x01b") },
		"h2 garbage": func(_ *http2.Framer, c net.Conn, _ uint32) error {
			_, err := io.WriteString(c, strings.Repeat("junk", 1000))
			return err
		},
		"h2 push though disabled": func(f *http2.Framer, _ net.Conn, n uint32) error {
			return f.WritePushPromise(http2.PushPromiseParam{StreamID: n, PromiseID: 2, BlockFragment: []byte(status200), EndHeaders: true})
		},
		"h2 endless 1xx": flood(func(f *http2.Framer, n uint32) error {
			return head(f, n, "\x08\x03102")
		}),
		"h2 short body": func(f *http2.Framer, _ net.Conn, n uint32) error {
			_ = head(f, n, status200+"\x0f\x0d\x03100") // content-length: 100
			return f.WriteData(n, true, []byte("some"))
		},
	}
	out := map[string]behaviour{}
	for name, speak := range all {
		out[name] = s.frames(speak)
	}
	return out
}

// flood writes frames until the other end hangs up, 20,000 a second, so that several floods leave the machine time for
// the test. What it is sent is read.
func flood(frame func(*http2.Framer, uint32) error) func(*http2.Framer, net.Conn, uint32) error {
	return func(f *http2.Framer, c net.Conn, n uint32) error {
		read := make(chan struct{})
		go func() { stall(c); close(read) }()
		var err error
		for i := 1; err == nil; i++ {
			if err = frame(f, n); i%100 == 0 {
				pause()
			}
		}
		_ = c.Close()
		<-read
		return err
	}
}
