package hostile

import (
	"context"
	"io"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Each connection of the resolver is answered by a goroutine, which ends with the
// connection.

func pause() { time.Sleep(5 * time.Millisecond) }

// answerName makes the answer to a question, nil for none.
type answerName func(m *dnsmessage.Message)

// zone returns what the names of the cases lead to.
func zone() map[string]answerName {
	code := func(c dnsmessage.RCode) answerName { return func(m *dnsmessage.Message) { m.RCode = c } }
	return map[string]answerName{
		"nxdomain.test.":    code(dnsmessage.RCodeNameError),
		"servfail.test.":    code(dnsmessage.RCodeServerFailure),
		"dns-refused.test.": code(dnsmessage.RCodeRefused),
		"dns-empty.test.":   code(dnsmessage.RCodeSuccess),
		"dns-silent.test.":  nil,
		"dns-cname-loop.test.": func(m *dnsmessage.Message) {
			q := m.Questions[0]
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.CNAMEResource{CNAME: q.Name},
			}}
		},
		"dns-metadata.test.": func(m *dnsmessage.Message) {
			q := m.Questions[0]
			if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
					Body:   &dnsmessage.AResource{A: [4]byte{169, 254, 169, 254}},
				}}
			}
		},
		"dns-garbage.test.": func(m *dnsmessage.Message) { m.Questions = nil },
	}
}

// resolver asks the zone. Names that are not in it lead to this machine.
func resolver(names map[string]answerName) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		client, server := net.Pipe()
		go serveNames(server, names)
		return client, nil
	}}
}

// serveNames answers one query in the framing of DNS over TCP.
func serveNames(c net.Conn, names map[string]answerName) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	buf := make([]byte, 2048)
	n, err := c.Read(buf)
	var m dnsmessage.Message
	if err != nil || n < 2 || m.Unpack(buf[2:n]) != nil || len(m.Questions) != 1 {
		return
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	q := m.Questions[0]
	answer, known := names[q.Name.String()]
	switch {
	case known && answer == nil:
		_, _ = io.Copy(io.Discard, c)
		return
	case known:
		answer(&m)
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	packed, err := m.Pack()
	if err != nil {
		return
	}
	_, _ = c.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...))
}
