package fetcher

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// query is what a wireServer was asked.
type query struct {
	dnsmessage.Message
	tcp bool
	nth int // of its kind and network, from 1
}

func (q query) kind() dnsmessage.Type { return q.Questions[0].Type }

// reply returns the usual answer to q: these addresses, as far as they are of the kind.
func (q query) reply(addresses ...string) dnsmessage.Message {
	m := dnsmessage.Message{Header: q.Header, Questions: q.Questions}
	m.Response, m.RecursionAvailable = true, true
	h := dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 60}
	for _, s := range addresses {
		switch a := netip.MustParseAddr(s); {
		case a.Is4() && q.kind() == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.kind() == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m
}

// code returns the answer to q that is nothing but a code.
func (q query) code(c dnsmessage.RCode) dnsmessage.Message {
	m := q.reply()
	m.RCode = c
	return m
}

func packed(m dnsmessage.Message) []byte {
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

// wireServer is a DNS server on a port of UDP and TCP of this machine. answer gives the
// messages that are sent back, in their order; it is called by several goroutines.
type wireServer struct {
	answer func(q query) [][]byte
	udp    net.PacketConn
	tcp    net.Listener

	mu    sync.Mutex
	asked map[string]int // by network and kind, as "udp TypeA"
	sizes []uint16       // that EDNS offers
	wg    sync.WaitGroup
}

func newWireServer(t *testing.T, answer func(q query) [][]byte) *wireServer {
	t.Helper()
	s := &wireServer{answer: answer, asked: map[string]int{}}
	s.listen(t, "127.0.0.1:0")
	return s
}

func (s *wireServer) listen(t *testing.T, address string) {
	t.Helper()
	var err error
	for range 20 { // the port of TCP must be free for UDP, too
		if s.tcp, err = net.Listen("tcp", address); err != nil {
			t.Fatal(err)
		}
		if s.udp, err = net.ListenPacket("udp", s.tcp.Addr().String()); err == nil {
			break
		}
		_ = s.tcp.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.wg.Go(s.servePackets)
	s.wg.Go(s.serveConnections)
	t.Cleanup(func() {
		_ = s.udp.Close()
		_ = s.tcp.Close()
		s.wg.Wait()
	})
}

func (s *wireServer) servePackets() {
	for {
		buf := make([]byte, 2048)
		n, from, err := s.udp.ReadFrom(buf)
		if err != nil {
			return
		}
		s.wg.Go(func() {
			for _, m := range s.answers(buf[:n], false) {
				_, _ = s.udp.WriteTo(m, from)
			}
		})
	}
}

func (s *wireServer) serveConnections() {
	for {
		c, err := s.tcp.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() {
			defer func() { _ = c.Close() }()
			var length [2]byte
			if _, err := io.ReadFull(c, length[:]); err != nil {
				return
			}
			message := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(c, message); err != nil {
				return
			}
			for _, m := range s.answers(message, true) {
				framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...)
				for len(framed) > 0 { // in pieces, as TCP may give them
					n := min(len(framed), 700)
					_, _ = c.Write(framed[:n])
					framed = framed[n:]
				}
			}
		})
	}
}

func (s *wireServer) answers(message []byte, tcp bool) [][]byte {
	q := query{tcp: tcp}
	if err := q.Unpack(message); err != nil || len(q.Questions) != 1 {
		return nil
	}
	network := map[bool]string{false: "udp ", true: "tcp "}[tcp]
	s.mu.Lock()
	s.asked[network+q.kind().String()]++
	q.nth = s.asked[network+q.kind().String()]
	for _, r := range q.Additionals {
		if r.Header.Type == dnsmessage.TypeOPT {
			s.sizes = append(s.sizes, uint16(r.Header.Class))
		}
	}
	s.mu.Unlock()
	return s.answer(q)
}

// counts returns how often the server was asked by network and kind.
func (s *wireServer) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for k, n := range s.asked {
		counts[k] = n
	}
	return counts
}

// resolver asks s, whatever servers the system has, by the means of the system.
func (s *wireServer) resolver() *net.Resolver {
	return &net.Resolver{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.tcp.Addr().String())
	}}
}
