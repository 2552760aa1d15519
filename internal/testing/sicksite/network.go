package sicksite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
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

// Network is a network in memory with a site at Host, plain and secure, perhaps one at
// Neighbour, the other host at Elsewhere, and a name server. It belongs to the bubble that
// it is made in.
type Network struct {
	site          *Site
	certificates  *certificates
	plain, secure *testpipe.Listener
	server        *http.Server
	running       sync.WaitGroup
}

// NewNetwork serves a site, and its neighbour, nil for none, which cannot fall ill below
// HTTP. The caller closes it.
func NewNetwork(s, neighbour *Site) (*Network, error) {
	c, err := newCertificates()
	if err != nil {
		return nil, err
	}
	n := &Network{site: s, certificates: c, plain: testpipe.Listen(), secure: testpipe.Listen()}
	n.server = quietServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == Neighbour && neighbour != nil {
			neighbour.ServeHTTP(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	n.running.Go(func() { _ = n.server.Serve(n.plain) })
	n.running.Go(func() { _ = n.server.Serve(tls.NewListener(eagerListener{n.secure}, c.config(s))) })
	s.onChange(func() { dropIdle(n.server) })
	return n, nil
}

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

// Roots are those who sign the site's certificates.
func (n *Network) Roots() *x509.CertPool { return n.certificates.roots }

// Two addresses of RFC 5737.
var (
	hostAddress  = netip.AddrFrom4([4]byte{192, 0, 2, 1})
	otherAddress = netip.AddrFrom4([4]byte{192, 0, 2, 2})
)

// Connect connects to an address of the network.
func (n *Network) Connect(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	if address.Addr() == hostAddress && n.site.Illness() == Refused {
		return nil, syscall.ECONNREFUSED
	}
	switch {
	case address.Addr() != hostAddress && address.Addr() != otherAddress:
		return nil, fmt.Errorf("nobody is at %s: %w", address, syscall.EHOSTUNREACH)
	case address.Port() == 80:
		return n.plain.Dial(ctx)
	case address.Port() == 443:
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
	address, known := map[string]netip.Addr{Host + ".": hostAddress, Neighbour + ".": otherAddress, Elsewhere + ".": otherAddress}[q.Name.String()]
	if address == hostAddress {
		switch n.site.Illness() {
		case NoSuchName:
			known = false
		case NameServerFails:
			m.RCode = dnsmessage.RCodeServerFailure
			return
		}
	}
	if known && q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: address.As4()}}}
		return
	}
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	m.Authorities = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.SOAResource{NS: q.Name, MBox: q.Name, MinTTL: nameTTL}}}
}
