package fetcher

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"net/netip"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/fault"
)

const proxyWord = "s3cr3t-word"

// httpProxy passes everything to target, whatever name is asked for, for those who know
// the password.
func httpProxy(t *testing.T, target string, asked *atomic.Value) string {
	return listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		asked.Store(req.Method + " " + req.RequestURI)
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+proxyWord))
		if req.Header.Get("Proxy-Authorization") != want {
			_, _ = io.WriteString(c, "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if strings.Contains(req.Host, "gone.test") {
			_, _ = io.WriteString(c, "HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if req.Method != http.MethodConnect {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nproxied")
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		join(c, target)
	})
}

func join(c net.Conn, target string) {
	out, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(out, c); _ = out.Close(); close(ended) }()
	_, _ = io.Copy(c, out)
	_ = c.Close()
	<-ended
}

// socks returns a SOCKS5 server (RFC 1928, 1929).
func socks(t *testing.T, target string, asked *atomic.Value) string {
	return listen(t, func(c net.Conn) {
		read := func(n int) []byte { b := make([]byte, n); _, _ = io.ReadFull(c, b); return b }
		_ = read(int(read(2)[1]))
		_, _ = c.Write([]byte{5, 2})
		user := string(read(int(read(2)[1])))
		password := string(read(int(read(1)[0])))
		if user != "me" || password != proxyWord {
			_, _ = c.Write([]byte{1, 1})
			return
		}
		_, _ = c.Write([]byte{1, 0})
		if read(4)[3] != 3 { // a name
			return
		}
		host := string(read(int(read(1)[0])))
		asked.Store(host)
		_ = read(2)
		if host == "gone.test" {
			_, _ = c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
			return
		}
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		join(c, target)
	})
}

func TestProxies(t *testing.T) {
	s, secure := tlsServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "proxied") })
	var asked atomic.Value
	web, over, overPlain := httpProxy(t, secure, &asked), socks(t, secure, &asked), socks(t, plain, &asked)
	trusting := func(p *Proxy) *Fetcher {
		return newFetcher(t, func(set *Settings) {
			set.Roots, set.Proxy, set.Resolver = pool(s.Certificate()), p, zone{}.resolver()
		})
	}
	for _, tt := range []struct {
		proxy, url, asked, body string
		password                string
		want                    fault.Fault
	}{
		{"http://" + web, "http://a.example.com/x", "GET http://a.example.com/x", "proxied", proxyWord, 0},
		{"http://" + web, "https://example.com/x", "CONNECT example.com:443", "HTTP/2.0", proxyWord, 0},
		{"http://" + web, "http://example.com/x", "GET http://example.com/x", "", "bad" + proxyWord, fault.Proxy},
		{"http://" + web, "https://example.com/x", "CONNECT example.com:443", "", "bad" + proxyWord, fault.Proxy},
		{"http://" + web, "https://gone.test/x", "CONNECT gone.test:443", "", proxyWord, fault.Proxy},
		{"http://" + web, "https://other.test/x", "CONNECT other.test:443", "", proxyWord, fault.TLS},
		{"socks5://" + over, "https://example.com/x", "example.com", "HTTP/2.0", proxyWord, 0},
		{"socks5://" + overPlain, "http://a.example.com/x", "a.example.com", "proxied", proxyWord, 0},
		{"socks5://" + over, "https://gone.test/x", "gone.test", "", proxyWord, fault.Proxy},
		{"socks5://" + over, "https://example.com/x", "", "", "bad" + proxyWord, fault.Proxy},
		{"http://no.test:1", "http://example.com/x", "", "", proxyWord, fault.Proxy},
		{"http://127.0.0.1:1", "https://example.com/x", "", "", proxyWord, fault.Proxy},
		{"ftp://" + web, "http://example.com/x", "", "", proxyWord, fault.Proxy},
		{"http://" + web, "http://127.0.0.1/x", "", "", proxyWord, fault.Address},
		{"http://" + web, "http://[::ffff:169.254.169.254]/x", "", "", proxyWord, fault.Address},
	} {
		asked.Store("")
		p := &Proxy{URL: tt.proxy, User: "me", Password: secret.New(tt.password)}
		resp, err := trusting(p).Fetch(t.Context(), Request{URL: mustURL(t, tt.url)})
		if tt.want != 0 {
			wantFault(t, resp, err, tt.want)
		} else if err != nil || string(resp.Body) != tt.body {
			t.Errorf("%s by %s: got %+v, %v", tt.url, tt.proxy, resp, err)
		}
		if err != nil && strings.Contains(err.Error(), proxyWord) || strings.Contains(fmt.Sprintf("%+v %#v", p, Settings{Proxy: p}.Proxy), proxyWord) {
			t.Errorf("the password is told: %v", err)
		}
		if asked.Load() != tt.asked {
			t.Errorf("%s by %s: the proxy was asked %q, want %q", tt.url, tt.proxy, asked.Load(), tt.asked)
		}
	}
}

// TestProxyOfTLS: the proxy's own certificate counts, and its faults are not those of the page.
func TestProxyOfTLS(t *testing.T) {
	s, addr := tlsServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
	for _, trusted := range []bool{true, false} {
		f := newFetcher(t, func(set *Settings) {
			set.Proxy = &Proxy{URL: "https://" + addr}
			if trusted {
				set.Roots = pool(s.Certificate())
			}
		})
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://a.test/x")})
		if !trusted {
			wantFault(t, resp, err, fault.Proxy)
		} else if err != nil || string(resp.Body) != "http://a.test/x" {
			t.Errorf("got %+v, %v", resp, err)
		}
	}
}

// TestProxyAndRules: an address that a URL writes is judged though a proxy would dial it.
func TestProxyAndRules(t *testing.T) {
	f := newFetcher(t, func(s *Settings) {
		s.Proxy = &Proxy{URL: "http://127.0.0.1:1"}
		s.Judge = func(a netip.Addr) (bool, bool, string) { return false, true, "rule 1" }
	})
	_, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://192.0.2.1/")})
	if e, ok := errors.AsType[*Error](err); !ok || e.Fault != fault.AddressForbidden {
		t.Errorf("got %v, want that the rule forbids it", err)
	}
}
