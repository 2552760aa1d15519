package fetcher

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/testpipe"
)

// TestConnect: connections are those of Settings.Connect, to the addresses that DNS
// gives, one after the other, except those that the guard refuses.
func TestConnect(t *testing.T) { onBoth(t, testConnect) }

func testConnect(t *testing.T, newFetcher maker) {
	synctest.Test(t, func(t *testing.T) {
		listener := testpipe.Listen()
		server := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "at "+r.Host)
		})}
		go func() { _ = server.Serve(listener) }()
		defer func() { _ = server.Close() }()
		names := &nameServer{asked: map[string]int{}, answer: func(name string, _ int) ([]string, uint32, dnsmessage.RCode) {
			return map[string][]string{
				"two.test":      {"192.0.2.1", "192.0.2.2"},
				"loopback.test": {"127.0.0.1"},
				"refused.test":  {"192.0.2.1"},
			}[name], 60, 0
		}}
		var dialled []string
		f := newFetcher(t, func(s *Settings) {
			s.Resolver = names.resolver()
			s.Connect = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
				dialled = append(dialled, a.String())
				if a.Addr() == netip.MustParseAddr("192.0.2.1") {
					return nil, syscall.ECONNREFUSED
				}
				return listener.Dial(ctx)
			}
		})
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://two.test:8080/")})
		if err != nil || string(resp.Body) != "at two.test:8080" {
			t.Errorf("%+v, %v", resp, err)
		}
		for _, tt := range []struct {
			url  string
			want fault.Fault
		}{
			{"http://refused.test/", fault.Refused},
			{"http://loopback.test/", fault.Address},
			{"http://nowhere.test/", fault.DNSNotFound},
		} {
			_, err := f.Fetch(t.Context(), Request{URL: mustURL(t, tt.url)})
			wantFault(t, nil, err, tt.want)
			if errors.Is(err, syscall.ECONNREFUSED) != (tt.want == fault.Refused) {
				t.Errorf("%v", err)
			}
		}
		if diff := cmp.Diff([]string{"192.0.2.1:8080", "192.0.2.2:8080", "192.0.2.1:80"}, dialled); diff != "" {
			t.Errorf("dialled (-want +got):\n%s", diff)
		}
	})
}
