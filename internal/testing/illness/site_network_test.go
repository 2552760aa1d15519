package illness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sextant-crawler/sextant/internal/testing/testpipe"
)

// The servers run in two goroutines, which Close waits for, and each connection of the
// resolver in one that ends with it.

// nameTTL is for how long, in seconds, an answer of the name server holds.
const nameTTL = 60

// Network is a network in memory with sites, each plain and secure at the host of its origin
// and at its other names, the other host at Elsewhere, and a name server. It belongs to the
// bubble that it is made in.
type Network struct {
	sites         []*Site
	hosts         map[string]int // which of the sites a name is of; len(sites): Elsewhere
	certificates  *certificates
	plain, secure *testpipe.Listener
	server        *http.Server
	running       sync.WaitGroup
}

// NewNetwork serves sites; the first also answers at Elsewhere. The caller closes it.
func NewNetwork(sites ...*Site) (*Network, error) {
	n := &Network{sites: sites, hosts: map[string]int{Elsewhere: len(sites)}, plain: testpipe.Listen(), secure: testpipe.Listen()}
	for i, s := range sites {
		origin, err := url.Parse(s.options.Origin)
		if err != nil {
			return nil, fmt.Errorf("a site: %w", err)
		}
		for _, name := range append(s.options.Names, origin.Hostname()) {
			n.hosts[name] = i
		}
		s.onChange(func() { dropIdle(n.server) })
	}
	var err error
	if n.certificates, err = newCertificates(slices.Sorted(maps.Keys(n.hosts))...); err != nil {
		return nil, err
	}
	n.server = quietServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.site(r.Host).ServeHTTP(w, r) }))
	n.running.Go(func() { _ = n.server.Serve(n.plain) })
	n.running.Go(func() { _ = n.server.Serve(tls.NewListener(eagerListener{n.secure}, n.certificates.config(n.site))) })
	return n, nil
}

// site returns the one at a host.
func (n *Network) site(host string) *Site { return n.sites[n.hosts[host]%len(n.sites)] }

func quietServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
}

// dropIdle closes the connections that nobody uses: the next request comes over a new
// one, which sees whether there is still a server, and its certificate.
func dropIdle(server *http.Server) {
	server.SetKeepAlivesEnabled(false)
	server.SetKeepAlivesEnabled(true)
}

// Close ends the servers.
func (n *Network) Close() error {
	err := n.server.Close()
	n.running.Wait()
	return err
}

// Roots returns those who sign the site's certificates.
func (n *Network) Roots() *x509.CertPool { return n.certificates.roots }

// address is that of the ith site: the addresses of RFC 5737 come first.
func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{192, 0, byte(2 + i/250), byte(1 + i%250)})
}

// Connect connects to an address of the network.
func (n *Network) Connect(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
	i := 0
	for i <= len(n.sites) && address(i) != at.Addr() {
		i++
	}
	switch {
	case i > len(n.sites):
		return nil, fmt.Errorf("nobody is at %s: %w", at, syscall.EHOSTUNREACH)
	case i < len(n.sites) && n.sites[i].Illness() == Refused:
		return nil, syscall.ECONNREFUSED
	case at.Port() == 80:
		return n.plain.Dial(ctx)
	case at.Port() == 443:
		return n.secure.Dial(ctx)
	}
	return nil, syscall.ECONNREFUSED
}

// Resolver asks the network's name server.
func (n *Network) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serveNames(server)
		return client, nil
	}}
}

// serveNames answers one question, in the framing of DNS over TCP (RFC 1035 section 4.2.2).
func (n *Network) serveNames(c net.Conn) {
	defer func() { _ = c.Close() }()
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return
	}
	query := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(c, query); err != nil {
		return
	}
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return
	}
	n.reply(&m)
	packed, err := m.Pack()
	if err != nil {
		return
	}
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(packed)))
	_, _ = c.Write(append(framed, packed...)) // the client may have gone
}

// reply makes the answer of a question.
func (n *Network) reply(m *dnsmessage.Message) {
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: nameTTL}
	i, known := n.hosts[strings.TrimSuffix(q.Name.String(), ".")]
	if known && i < len(n.sites) {
		switch n.sites[i].Illness() {
		case NoSuchName:
			known = false
		case NameServerFails:
			m.RCode = dnsmessage.RCodeServerFailure
			return
		}
	}
	if known && q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: address(i).As4()}}}
		return
	}
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	m.Authorities = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.SOAResource{NS: q.Name, MBox: q.Name, MinTTL: nameTTL}}}
}
