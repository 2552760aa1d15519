package fetcher

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

func TestRefusal(t *testing.T) {
	tests := []struct {
		address          string
		strict, exempted bool // dialled
	}{
		{"8.8.8.8", true, true},
		{"10.1.2.3", true, true},
		{"172.16.0.1", true, true},
		{"192.168.1.1", true, true},
		{"100.64.0.1", true, true},
		{"2001:db8::1", true, true},
		{"fd12:3456::1", true, true},
		{"127.0.0.1", false, true},
		{"127.255.0.9", false, true},
		{"::1", false, true},
		{"0.0.0.0", false, true},
		{"0.1.2.3", false, true},
		{"::", false, true},
		{"169.254.1.1", false, true},
		{"fe80::1%eth0", false, true},
		{"224.0.0.1", false, true},
		{"ff02::1", false, true},
		{"255.255.255.255", false, true},
		{"::ffff:127.0.0.1", false, true},
		{"::127.0.0.1", false, true},
		{"64:ff9b::7f00:1", false, true},
		{"64:ff9b:1::7f00:1", false, true},
		{"2002:7f00:1::", false, true},
		{"64:ff9b::808:808", true, true},
		{"2002:808:808::1", true, true},
		{"169.254.169.254", false, false},
		{"::ffff:169.254.169.254", false, false},
		{"64:ff9b::a9fe:a9fe", false, false},
		{"2002:a9fe:a9fe::1", false, false},
		{"169.254.170.2", false, false},
		{"fd00:ec2::254", false, false},
		{"100.100.100.200", false, false},
		{"168.63.129.16", false, false},
		{"192.0.0.192", false, false},
		{"fd20:ce::254", false, false},
	}
	for _, tt := range tests {
		a := netip.MustParseAddr(tt.address)
		if why := refusal(a, false); (why == "") != tt.strict {
			t.Errorf("%s: refusal %q, want dialled %v", a, why, tt.strict)
		}
		if why := refusal(a, true); (why == "") != tt.exempted {
			t.Errorf("%s, exempt: refusal %q, want dialled %v", a, why, tt.exempted)
		}
	}
}

// zone is a DNS server in memory: addresses by name. A name that is missing does
// not exist; one with no addresses makes the server fail.
type zone map[string][]string

func (z zone) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go z.serve(server)
		return client, nil
	}}
}

// serve answers one query in the framing of DNS over TCP.
func (z zone) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	buf := make([]byte, 2048)
	n, err := c.Read(buf)
	if err != nil || n < 2 {
		return
	}
	var m dnsmessage.Message
	if err := m.Unpack(buf[2:n]); err != nil || len(m.Questions) != 1 {
		return
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	q := m.Questions[0]
	addresses, known := z[strings.TrimSuffix(q.Name.String(), ".")]
	switch {
	case !known:
		m.RCode = dnsmessage.RCodeNameError
	case len(addresses) == 0:
		m.RCode = dnsmessage.RCodeServerFailure
	}
	for _, s := range addresses {
		a := netip.MustParseAddr(s)
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 60}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	packed, err := m.Pack()
	if err != nil {
		return
	}
	_, _ = c.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...))
}

func TestNamesAreJudgedByTheirAddresses(t *testing.T) { onBoth(t, testNamesAreJudgedByTheirAddresses) }

func testNamesAreJudgedByTheirAddresses(t *testing.T, newFetcher maker) {
	asked := 0
	addr := serve(t, func(http.ResponseWriter, *http.Request) { asked++ })
	_, port, _ := net.SplitHostPort(addr)
	names := zone{
		"rebound.test":  {"127.0.0.1"},
		"mapped.test":   {"::ffff:127.0.0.1"},
		"both.test":     {"169.254.169.254", "127.0.0.1"},
		"metadata.test": {"169.254.169.254"},
		"start.test":    {"127.0.0.1"},
		"broken.test":   {},
	}
	f := newFetcher(t, func(s *Settings) { s.Resolver = names.resolver() },
		"start.test:"+port, "metadata.test:"+port, "other.test:"+port)
	for host, want := range map[string]fault.Fault{
		"rebound.test":      fault.Address,
		"mapped.test":       fault.Address,
		"both.test":         fault.Address,
		"metadata.test":     fault.Address,
		"127.0.0.1":         fault.Address,
		"2130706433":        fault.Address, // 127.0.0.1 in one number
		"0x7f.1":            fault.Address,
		"[::ffff:7f00:1]":   fault.Address,
		"gone.test":         fault.DNSNotFound,
		"broken.test":       fault.DNSNoAnswer,
		"0":                 fault.Address,
		"[64:ff9b::7f00:1]": fault.Address,
	} {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+host+":"+port+"/")})
		wantFault(t, resp, err, want)
	}
	if asked != 0 {
		t.Fatalf("the server behind the guard was asked %d times", asked)
	}
	// A name in a start URL proves nothing: its owner may lead it to this machine.
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://start.test:"+port+"/")})
	wantFault(t, resp, err, fault.Address)
	f = newFetcher(t, nil, "127.0.0.1:"+port)
	resp, err = f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/")})
	if err != nil || resp.Status != 200 {
		t.Fatalf("address and port of a start URL: got %+v, %v", resp, err)
	}
	// The port counts, too: another service on the same machine stays closed.
	resp, err = f.Fetch(t.Context(), Request{URL: mustURL(t, "http://127.0.0.1:1/")})
	wantFault(t, resp, err, fault.Address)
	f = newFetcher(t, func(s *Settings) { s.DenyPrivate = true }, "127.0.0.1:"+port)
	resp, err = f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/")})
	wantFault(t, resp, err, fault.Address)
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	onBoth(t, testProxiesOfTheEnvironmentAreNotUsed)
}

func testProxiesOfTheEnvironmentAreNotUsed(t *testing.T, newFetcher maker) {
	proxied := 0
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { proxied++ })
	t.Setenv("HTTP_PROXY", "http://"+proxy)
	t.Setenv("http_proxy", "http://"+proxy)
	f := newFetcher(t, func(s *Settings) { s.Resolver = zone{}.resolver() }, proxy)
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://anywhere.test/")})
	wantFault(t, resp, err, fault.DNSNotFound)
	if proxied != 0 {
		t.Error("the environment's proxy was asked")
	}
}

// TestIsInternal: an internal address is one in every form that reaches it.
func TestIsInternal(t *testing.T) {
	for written, want := range map[string]bool{
		"10.1.2.3": true, "100.64.0.1": true, "127.0.0.1": true, "169.254.1.1": true, "::1": true, "fe80::1": true, "fd00::1": true,
		"::ffff:192.168.0.1": true, "64:ff9b::10.1.2.3": true, "2002:a01:203::": true,
		"203.0.113.5": false, "2001:db8::1": false, "64:ff9b::203.0.113.5": false,
	} {
		if got := IsInternal(netip.MustParseAddr(written)); got != want {
			t.Errorf("%s is internal: %t", written, got)
		}
	}
	if IsInternal(netip.Addr{}) {
		t.Error("no address is internal")
	}
}

// allowAll returns a Judge that allows what is refused otherwise, so that names may lead to a test server.
func allowAll(netip.Addr) (allowed, matched bool, words string) { return true, true, "" }
