package fetcher

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// TestBrokenProxies: however a proxy fails, it is the proxy's fault and no page's.
func TestBrokenProxies(t *testing.T) {
	connected := func(then func(net.Conn)) func(net.Conn) {
		return func(c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
				then(c)
			}
		}
	}
	plain := func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1)) // after the answer to CONNECT was read
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad\r\n\r\n")
		stall(c)
	}
	for _, tt := range []struct {
		name, scheme, url string
		serve             func(net.Conn)
		want              fault.Fault
		waits             bool
	}{
		{"silent SOCKS", "socks5", "http://a.test/", stall, fault.Proxy, true},
		{"SOCKS that hangs up", "socks5", "http://a.test/", func(net.Conn) {}, fault.Proxy, false},
		{"SOCKS that speaks HTTP", "socks5", "http://a.test/", answer("HTTP/1.1 400 Bad\r\n\r\n"), fault.Proxy, true},
		{"silent before CONNECT is answered", "http", "https://a.test/", stall, fault.Proxy, true},
		{"hangs up before CONNECT is answered", "http", "https://a.test/", func(c net.Conn) { readRequest(c) }, fault.Proxy, false},
		{"garbage for CONNECT", "http", "https://a.test/", answer("what?\r\n\r\n"), fault.Proxy, false},
		{"tunnel that ends at once", "http", "https://a.test/", connected(func(net.Conn) {}), fault.Proxy, false},
		{"tunnel to nowhere", "http", "https://a.test/", connected(stall), fault.Proxy, true},
		{"tunnel to a plain server", "http", "https://a.test/", connected(plain), fault.TLS, false},
		{"silent for a page", "http", "http://a.test/", stall, fault.Proxy, true},
		{"hangs up for a page", "http", "http://a.test/", func(c net.Conn) { readRequest(c) }, fault.Proxy, false},
		{"garbage for a page", "http", "http://a.test/", answer("what?\r\n\r\n"), fault.Proxy, false},
		{"short page", "http", "http://a.test/", answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), fault.ShortBody, false},
		{"no TLS", "https", "http://a.test/", answer("HTTP/1.1 200 OK\r\n\r\n"), fault.Proxy, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := listen(t, tt.serve)
			f := newFetcher(t, func(s *Settings) {
				s.Proxy = &Proxy{URL: tt.scheme + "://" + addr}
				if tt.waits {
					s.ConnectTimeout, s.TLSTimeout, s.FirstByteTimeout = short, short, short
				}
			})
			resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, tt.url)})
			wantFault(t, resp, err, tt.want)
		})
	}
}

// TestProxyTimeEnds: the time that a proxy has to lead to the host is over when it did,
// also for the requests that come later on the same connection.
func TestProxyTimeEnds(t *testing.T) {
	const leads = time.Second // which a busy machine manages, too
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(3 * leads / 2)
		}
		_, _ = io.WriteString(w, r.RemoteAddr)
	})
	proxy := listen(t, func(c net.Conn) {
		b := make([]byte, 64)
		_, _ = io.ReadFull(c, b[:3])
		_, _ = c.Write([]byte{5, 0})
		_, _ = io.ReadFull(c, b[:4+1+len("a.test")+2])
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		join(c, plain)
	})
	f := newFetcher(t, func(s *Settings) {
		s.Proxy = &Proxy{URL: "socks5://" + proxy}
		s.ConnectTimeout, s.TLSTimeout = leads, leads/4
	})
	var first string
	for _, path := range []string{"/slow", "/slow", "/"} {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://a.test"+path)})
		if err != nil || first != "" && string(resp.Body) != first {
			t.Fatalf("%s: got %+v, %v, want an answer on the same connection", path, resp, err)
		}
		first = string(resp.Body)
	}
}

// TestProxyOfAnInternationalName is known as the proxy, under the name that is dialled.
func TestProxyOfAnInternationalName(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "proxied") })
	_, port, _ := net.SplitHostPort(proxy)
	f := newFetcher(t, func(s *Settings) {
		s.Resolver = zone{"xn--prxy-6qa.test": {"127.0.0.1"}}.resolver()
		s.Proxy = &Proxy{URL: "http://pröxy.test:" + port}
	})
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://a.test/")})
	if err != nil || string(resp.Body) != "proxied" {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestPasswordOfAProxyIsNotPrinted(t *testing.T) {
	p := Proxy{URL: "http://proxy.test", User: "me", Password: secret.New(proxyWord)}
	encoded, err := json.Marshal(p)
	if text := fmt.Sprintf("%s %+v %#v", encoded, p, p); err != nil || strings.Contains(text, proxyWord) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestRulesKnowAllForms: what address rules forbid is forbidden inside of IPv6 too.
func TestRulesKnowAllForms(t *testing.T) {
	forbidden, allowed := netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2002::/16")
	d := newDialer(Settings{Names: NewNames(), Judge: func(a netip.Addr) (bool, bool, string) {
		a = a.Unmap() // and no more
		return !forbidden.Contains(a), forbidden.Contains(a) || allowed.Contains(a), "a rule"
	}})
	for address, want := range map[string]bool{
		"203.0.113.7": true, "::ffff:203.0.113.7": true, "64:ff9b::203.0.113.7": true, "2002:cb00:7107::1": true,
		"64:ff9b:1::203.0.113.7": true, "::203.0.113.7": true,
		"203.0.114.7": false, "64:ff9b::203.0.114.7": false, "2002:cb00:7207::1": false, "2001:db8::1": false,
	} {
		try := attempt{dialer: d}
		refused := try.ask(net.JoinHostPort(address, "80"))
		if (refused != nil) != want || want && !refused.rule {
			t.Errorf("%s: %v, want forbidden %v", address, refused, want)
		}
	}
}

// TestCertificateWanted: a server that wants a certificate says so after the handshake
// in TLS 1.3, and in it in TLS 1.2. Both are matters of TLS.
func TestCertificateWanted(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s, _ := tlsServer(t, nil)
		config := &tls.Config{Certificates: s.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert, MaxVersion: version}
		addr := listen(t, func(c net.Conn) {
			secure := tls.Server(c, config)
			_ = secure.Handshake() // fails and says why
			stall(c)
		})
		f := newFetcher(t, func(set *Settings) { set.Roots, set.HTTP1 = pool(s.Certificate()), true }, addr)
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "https://"+addr+"/")})
		wantFault(t, resp, err, fault.TLS)
	}
}

// TestNamesKeepNoMore: what is kept of an answer over UDP is as long as the answer.
func TestNamesKeepNoMore(t *testing.T) {
	n := NewNames()
	name := dnsmessage.MustNewName("a.test.")
	message := packed(dnsmessage.Message{
		Header:    dnsmessage.Header{Response: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
		Answers: []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 60},
			Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}},
		}},
	})
	q := question{name: "a.test.", kind: dnsmessage.TypeA}
	if _, err := n.answer(context.Background(), q, func() ([]byte, error) {
		buf := make([]byte, maxAnswer)
		return buf[:copy(buf, message)], nil // as of a packet
	}); err != nil {
		t.Fatal(err)
	}
	for _, k := range n.answers {
		if cap(k.message) > 2*len(message) {
			t.Errorf("an answer of %d bytes holds %d", len(message), cap(k.message))
		}
	}
	if len(n.answers) != 1 {
		t.Errorf("%d answers kept", len(n.answers))
	}
}
