package fetcher

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// TestPagesOfProxies: what can be known as a proxy's own page is not an answer of the host.
func TestPagesOfProxies(t *testing.T) {
	for _, tt := range []struct {
		status int
		header string
		want   fault.Fault // 0: the host's answer
		words  string      // in the error
	}{
		{403, "Proxy-Status: corp; error=http_request_denied; details=\"by policy\"", fault.Proxy, "403 Forbidden (\"http_request_denied\")"},
		{404, "Proxy-Status: origin-cdn; received-status=404, corp;error=dns_error;rcode=\"NXDOMAIN\"", fault.Proxy, "dns_error"},
		{404, "Proxy-Status: origin-cdn; error=dns_error, corp; received-status=404", 0, ""},
		{404, "Proxy-Status: cdn; error=dns_error\r\nProxy-Status: corp; received-status=404", 0, ""},
		{403, "Proxy-Status: corp; details=\"a, b; error=none, \\\"; error=none\"; next-hop=x", 0, ""},
		{502, "Proxy-Status: corp; error=connection_timeout", fault.Proxy, "connection_timeout"},
		{504, "Proxy-Status: corp; error=destination_unavailable", fault.Proxy, "504"},
		{200, "Proxy-Status: corp; error=http_response_incomplete", 0, ""},
		{403, "X-Squid-Error: ERR_ACCESS_DENIED 0", fault.Proxy, "ERR_ACCESS_DENIED"},
		{404, "X-Squid-Error: ERR_DNS_FAIL 0", fault.Proxy, "ERR_DNS_FAIL"},
		{503, "X-Squid-Error: ERR_CONNECT_FAIL 111\r\nVia: 1.1 corp (squid/6.6)", fault.Proxy, "ERR_CONNECT_FAIL"},
		{500, "X-Squid-Error: ERR_READ_TIMEOUT 0", fault.Proxy, "ERR_READ_TIMEOUT"},
		{404, "X-Squid-Error: " + strings.Repeat("x", 9000), fault.Proxy, "xxx"},
		{403, "Proxy-Authenticate: Basic realm=\"x\"", fault.Proxy, "credentials"},
		{407, "X: y", fault.Proxy, "credentials"},
		{403, "Via: 1.1 corp (squid/6.6)\r\nProxy-Connection: keep-alive", 0, ""},
		{404, "Proxy-Status: \"", 0, ""},
		{502, "X: y", 0, ""},
	} {
		t.Run(fmt.Sprintf("%d %.60s", tt.status, tt.header), func(t *testing.T) {
			addr := listen(t, func(c net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = fmt.Fprintf(c, "HTTP/1.1 %d X\r\n%s\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage", tt.status, tt.header)
				}
			})
			direct, viaProxy := newFetcher(t, nil, addr), newFetcher(t, func(s *Settings) { s.Proxy = &Proxy{URL: "http://" + addr} })
			wantPage := func(resp *Response, err error) {
				t.Helper()
				if err != nil || resp.Status != tt.status || string(resp.Body) != "page" {
					t.Errorf("got %+v, %v, want the host's answer", resp, err)
				}
			}
			wantPage(direct.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/")}))
			resp, err := viaProxy.Fetch(t.Context(), Request{URL: mustURL(t, "http://a.test/")})
			if tt.want == 0 {
				wantPage(resp, err)
				return
			}
			wantFault(t, resp, err, tt.want)
			if words := err.Error(); !strings.Contains(words, tt.words) || len(words) > 300 {
				t.Errorf("error %q, want %q in it", words, tt.words)
			}
		})
	}
}

// TestTunnelsHaveNoPagesOfProxies: what comes through a tunnel is the host's, whatever it
// says.
func TestTunnelsHaveNoPagesOfProxies(t *testing.T) {
	var status int
	s, secure := tlsServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Squid-Error", "ERR_ACCESS_DENIED 0")
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(status)
	})
	proxy := listen(t, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			join(c, secure)
		}
	})
	f := newFetcher(t, func(set *Settings) { set.Roots, set.Proxy = pool(s.Certificate()), &Proxy{URL: "http://" + proxy} })
	for _, status = range []int{http.StatusNotFound, http.StatusProxyAuthRequired} {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "https://example.com/")})
		if err != nil || resp.Status != status {
			t.Errorf("got %+v, %v", resp, err)
		}
	}
}

// TestSOCKSHasNoPages: what comes through SOCKS5 is the host's, too.
func TestSOCKSHasNoPages(t *testing.T) {
	var status int
	plain := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Squid-Error", "ERR_ACCESS_DENIED 0")
		w.WriteHeader(status)
	})
	var asked atomic.Value
	p := &Proxy{URL: "socks5://" + socks(t, plain, &asked), User: "me", Password: secret.New(proxyWord)}
	f := newFetcher(t, func(set *Settings) { set.Proxy = p })
	for _, status = range []int{http.StatusForbidden, http.StatusProxyAuthRequired} {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://example.com/")})
		if err != nil || resp.Status != status {
			t.Errorf("got %+v, %v", resp, err)
		}
	}
}

func TestProxyStatus(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   string
	}{
		{nil, ""},
		{[]string{"corp"}, ""},
		{[]string{"corp;error=x"}, "x"},
		{[]string{"corp;\terror=x ; next-hop=y"}, "x"},
		{[]string{"a;error=x,corp;error=y"}, "y"},
		{[]string{"a;error=x", "corp;error=y"}, "y"},
		{[]string{"a;error=x", "corp"}, ""},
		{[]string{`corp;details="\"; error=x; \""`}, ""},
		{[]string{`corp;details=",;";error=x`}, "x"},
		{[]string{`corp;details="a\\";error=x`}, "x"},
		{[]string{`corp;details="`, `b;error=x`}, ""},
	} {
		if got := proxyStatus(tt.values); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.values, got, tt.want)
		}
	}
}

// FuzzProxyStatus: whatever the header says, what is taken from it stands in it, and in
// its last member.
func FuzzProxyStatus(f *testing.F) {
	f.Add(`a; error=x, b; error=y`)
	f.Add(`a; details="\", error=z"; error=w`)
	f.Add(`"`)
	f.Add(`\`)
	f.Fuzz(func(t *testing.T, value string) {
		said := proxyStatus([]string{value})
		if said != "" && !strings.Contains(value, "error="+said) {
			t.Errorf("%q is not in %q", said, value)
		}
		if got := proxyStatus([]string{value, "b"}); got != "" && strings.Count(value, `"`) == 0 {
			t.Errorf("%q is not of the last member", got)
		}
	})
}
