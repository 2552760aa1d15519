package fetcher

import (
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

func TestDenyPrivate(t *testing.T) {
	d := newDialer(Settings{Names: NewNames(), DenyPrivate: true, Judge: func(a netip.Addr) (bool, bool, string) {
		return true, a == netip.MustParseAddr("10.9.9.9"), "rule 1"
	}})
	for address, denied := range map[string]bool{
		"10.1.2.3": true, "10.9.9.9": false, "172.16.0.1": true, "172.32.0.1": false, "192.168.1.1": true,
		"100.64.0.1": true, "100.127.255.255": true, "100.128.0.1": false, "fd12::1": true, "fc00::1": true,
		"::ffff:10.1.2.3": true, "64:ff9b::a01:203": true, "2002:a01:203::1": true, "::10.1.2.3": true,
		"8.8.8.8": false, "2001:db8::1": false, "64:ff9b::808:808": false,
	} {
		try := attempt{dialer: d, exempt: true}
		refused := try.ask(net.JoinHostPort(address, "80"))
		if (refused != nil) != denied || denied && refused.rule {
			t.Errorf("%s: %v, want denied %v", address, refused, denied)
		}
	}
}

// TestUnreadableAddressIsRefused: what cannot be judged is not dialled.
func TestUnreadableAddressIsRefused(t *testing.T) {
	try := attempt{dialer: newDialer(Settings{Names: NewNames()}), exempt: true}
	for _, address := range []string{"", "name.test:80", "1.2.3:80", "0x7f.1:80", "127.0.0.1", "[::1%lo:80"} {
		if try.ask(address) == nil {
			t.Errorf("%q may be dialled", address)
		}
	}
}

// TestSpellings: however the address is written, it is refused and nobody is reached.
func TestSpellings(t *testing.T) { onBoth(t, testSpellings) }

func testSpellings(t *testing.T, newFetcher maker) {
	addr := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	_, port, _ := net.SplitHostPort(addr)
	f := newFetcher(t, nil)
	for _, host := range []string{"127.1", "0x7f.1", "2130706433", "017700000001", "0x7f000001", "127.0.0.1.", "[::ffff:127.0.0.1]", "%3127.0.0.1"} {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+host+":"+port+"/")})
		wantFault(t, resp, err, fault.Address)
	}
}

// TestIPv6 fetches over it where the machine has it.
func TestIPv6(t *testing.T) { onBoth(t, testIPv6) }

func testIPv6(t *testing.T, newFetcher maker) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		testneed.Missing(t, "this machine has no IPv6: %v", err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Host)) })}
	ended := make(chan struct{})
	go func() { _ = s.Serve(l); close(ended) }()
	t.Cleanup(func() { _ = s.Close(); <-ended })
	addr := l.Addr().String()
	resp, err := newFetcher(t, nil, addr).Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/")})
	if err != nil || string(resp.Body) != addr || resp.Address != netip.IPv6Loopback() {
		t.Errorf("got %+v, %v", resp, err)
	}
	resp, err = newFetcher(t, nil).Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/")})
	wantFault(t, resp, err, fault.Address)
}
