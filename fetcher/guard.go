package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// An attempt belongs to one dial. Its mutex guards the refused addresses: net.Dialer tries addresses in parallel, in
// goroutines of its own.

// dialer connects to addresses that the guard allows. The guard checks the address that is dialled, after DNS, so that
// no name can lead to a forbidden address (server-side request forgery, DNS rebinding).
type dialer struct {
	net    net.Dialer
	strict *net.Resolver   // with the same servers; see confirmError
	exempt map[string]bool // "host:port" as dialled, no names
	judge  func(netip.Addr) (allowed, matched bool, words string)
	deny   bool   // private addresses
	proxy  string // "host:port" of the proxy, always dialled
	// connect is Settings.Connect.
	connect func(ctx context.Context, address netip.AddrPort) (net.Conn, error)

	handshake time.Duration // time limit of TLS
	permit    permit.Permit // nil: always
}

func newDialer(s Settings) *dialer {
	d := &dialer{exempt: make(map[string]bool, len(s.Exempt)), judge: s.Judge, deny: s.DenyPrivate, connect: s.Connect, handshake: s.TLSTimeout, permit: s.Permit}
	for _, hostPort := range s.Exempt {
		host, port, err := net.SplitHostPort(hostPort)
		if err != nil {
			continue
		}
		// The owner of a name decides where it leads, so a name proves nothing.
		if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
			d.exempt[net.JoinHostPort(host, port)] = true
		}
	}
	d.net = net.Dialer{Timeout: s.ConnectTimeout, Resolver: s.Names.resolver(s.Resolver, false)}
	d.strict = s.Names.resolver(s.Resolver, true)
	return d
}

// dial tries the addresses of a host until one that is allowed responds.
func (d *dialer) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	try := attempt{dialer: d, exempt: d.exempt[hostPort]}
	use := d.net
	if hostPort != d.proxy {
		use.ControlContext = try.control
	}
	ctx, cancel := context.WithTimeout(ctx, d.net.Timeout)
	defer cancel()
	connect := use.DialContext
	if d.connect != nil {
		connect = try.connectBy
	}
	conn, err := connect(ctx, network, hostPort)
	if err != nil {
		host, _, _ := net.SplitHostPort(hostPort) // the name that was looked up
		return nil, &dialError{try.reason(d.confirmError(ctx, host, err))}
	}
	watched := &watchedConn{Conn: conn, permit: d.permit}
	if hostPort == d.proxy {
		return watched, watched.limit(d.net.Timeout + 2*d.handshake)
	}
	return watched, nil
}

// attempt checks the addresses of one host.
type attempt struct {
	*dialer
	exempt bool

	mu      sync.Mutex // addresses are tried side by side (RFC 8305)
	allowed bool       // at least one address was
	refused *refusedAddress
}

func (t *attempt) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	if t.permit != nil && (!t.permit.May() || !permit.May(ctx)) { // the last moment before connecting
		return permit.ErrEnded
	}
	refused := t.ask(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	if refused == nil {
		t.allowed = true
		return nil
	}
	// The error is a rule's only if no address was refused otherwise.
	if t.refused == nil || t.refused.rule {
		t.refused = refused
	}
	return refused
}

func (t *attempt) ask(address string) *refusedAddress {
	dialled, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusedAddress{address: address, why: "it is not an IP address"}
	}
	return t.judgeAddress(dialled.Addr())
}

func (t *attempt) judgeAddress(a netip.Addr) *refusedAddress {
	exempt, deny := t.exempt, t.deny
	if t.judge != nil {
		switch allowed, matched, words := t.byRules(a); {
		case matched && !allowed:
			return &refusedAddress{address: a.String(), why: words, rule: true}
		case matched:
			exempt, deny = true, false
		}
	}
	if deny && IsInternal(a) {
		return &refusedAddress{address: a.String(), why: "it is internal, and the configuration denies private addresses"}
	}
	if why := refusal(a, exempt); why != "" {
		return &refusedAddress{address: a.String(), why: "it is " + why}
	}
	return nil
}

// byRules applies the rules to a, and to the address that it stands for: a forbidden address is forbidden in every
// form.
func (t *attempt) byRules(a netip.Addr) (allowed, matched bool, words string) {
	allowed, matched, words = t.judge(a)
	to := reachedAddress(a)
	if matched && !allowed || to == a.Unmap().WithZone("") {
		return allowed, matched, words
	}
	if also, asWell, why := t.judge(to); asWell && (!also || !matched) {
		return also, asWell, why
	}
	return allowed, matched, words
}

// reason returns why no connection was made. net returns the error of the first address, which may be a refusal
// although others were dialled in vain.
func (t *attempt) reason(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var refused *refusedAddress
	switch {
	case !errors.As(err, &refused):
		return err
	case t.allowed:
		return errors.New("no allowed address of the host responds")
	default:
		return t.refused
	}
}

// refusal returns why an address must not be dialled, "" if it may.
func refusal(a netip.Addr, exempt bool) string {
	a = reachedAddress(a)
	if isMetadata(a) {
		return "the metadata address of a cloud, which is never crawled"
	}
	if exempt {
		return ""
	}
	kind := ""
	switch {
	case a.IsLoopback():
		kind = "loopback"
	case a.IsLinkLocalUnicast():
		kind = "link-local"
	case a.IsMulticast(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		kind = "multicast or broadcast"
	case a.IsUnspecified(), a.Is4() && a.As4()[0] == 0:
		kind = "unspecified"
	default:
		return ""
	}
	return "a " + kind + " address; to crawl it, write a start URL with the address itself, or an address rule"
}

// reachedAddress returns the address that packets to a finally reach: IPv4 is extracted from its mapped (RFC 4291),
// NAT64 (RFC 6052, 8215), 6to4 (RFC 3056) and compatible (RFC 4291) forms.
func reachedAddress(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a
	}
	b := a.As16()
	last4 := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case [12]byte(b[:12]) == [12]byte{0, 0x64, 0xff, 0x9b},
		[6]byte(b[:6]) == [6]byte{0, 0x64, 0xff, 0x9b, 0, 1}:
		return last4
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6]))
	case [12]byte(b[:12]) == [12]byte{} && !a.IsUnspecified() && !a.IsLoopback():
		return last4
	}
	return a
}

// IsInternal reports whether an address, in whatever form, belongs to a private network or to this machine. It returns
// false for an unknown address.
func IsInternal(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	a = reachedAddress(a)
	return isPrivate(a) || a.IsLoopback() || a.IsLinkLocalUnicast()
}

func isPrivate(a netip.Addr) bool {
	return a.IsPrivate() || netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10).Contains(a)
}

// isMetadata reports whether clouds hand out credentials at an address to any client inside: AWS, Azure, Google and
// most others, ECS and EKS, Tencent, Alibaba, Oracle, Azure's platform, and the IPv6 ones of AWS and Google.
func isMetadata(a netip.Addr) bool {
	switch a {
	case netip.AddrFrom4([4]byte{169, 254, 169, 254}),
		netip.AddrFrom4([4]byte{169, 254, 170, 2}),
		netip.AddrFrom4([4]byte{169, 254, 170, 23}),
		netip.AddrFrom4([4]byte{169, 254, 0, 23}),
		netip.AddrFrom4([4]byte{100, 100, 100, 200}),
		netip.AddrFrom4([4]byte{192, 0, 0, 192}),
		netip.AddrFrom4([4]byte{168, 63, 129, 16}),
		netip.AddrFrom16([16]byte{0xfd, 0, 0x0e, 0xc2, 14: 0x02, 15: 0x54}),
		netip.AddrFrom16([16]byte{0xfd, 0, 0x0e, 0xc2, 15: 0x23}),
		netip.AddrFrom16([16]byte{0xfd, 0x20, 0, 0xce, 14: 0x02, 15: 0x54}):
		return true
	}
	return false
}

// refusedAddress is the refusal of the guard or, with rule, of the address rules.
type refusedAddress struct {
	address, why string
	rule         bool
}

func (e *refusedAddress) Error() string {
	return fmt.Sprintf("address %s refused: %s", e.address, e.why)
}

// dialError marks an error of looking up or connecting.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }
