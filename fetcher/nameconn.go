package fetcher

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

var errQuery = errors.New("the resolver's query does not have exactly one question")

// nameConn is the connection to a DNS server that Go's resolver sees, in the framing of DNS over TCP (RFC 1035 section
// 4.2.2). It dials the server only for responses that Names does not have. It is used by one goroutine, as the resolver
// does.
type nameConn struct {
	ctx      context.Context
	names    *Names
	resolver *net.Resolver
	dial     func(ctx context.Context, network, server string) (net.Conn, error)
	network  string
	server   string
	deadline time.Time
	answer   []byte // the rest to read, length included
}

func (c *nameConn) Write(framed []byte) (int, error) {
	if len(framed) < 2 {
		return 0, errQuery
	}
	query := framed[2:]
	name, kind, id, ok := questionOf(query)
	if !ok {
		return 0, errQuery
	}
	ctx := c.ctx
	if !c.deadline.IsZero() {
		own, cancel := context.WithDeadline(ctx, c.deadline)
		defer cancel()
		ctx = own
	}
	q := question{resolver: c.resolver, server: c.server, name: name, kind: kind}
	message, err := c.names.answer(ctx, q, func() ([]byte, error) { return c.ask(ctx, query, q, id) })
	if err != nil {
		return 0, temporary(err, c.network)
	}
	c.answer = binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(message)), uint16(len(message)))
	c.answer = append(c.answer, message...)
	binary.BigEndian.PutUint16(c.answer[2:], id)
	return len(framed), nil
}

// temporary wraps err in a network error, which the resolver recognizes as temporary, so that it does not conclude that
// a name does not exist.
func temporary(err error, network string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*net.OpError)) {
		return err
	}
	return &net.OpError{Op: "ask", Net: network, Err: err}
}

// ask sends a query to the server and waits for its response.
func (c *nameConn) ask(ctx context.Context, query []byte, q question, id uint16) ([]byte, error) {
	conn, err := c.dial(ctx, c.network, c.server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	_, packets := conn.(net.PacketConn)
	if !packets {
		query = append(binary.BigEndian.AppendUint16(nil, uint16(len(query))), query...)
	}
	if _, err := conn.Write(query); err != nil {
		return nil, err
	}
	for {
		message, err := readMessage(conn, packets)
		if err != nil {
			return nil, err
		}
		name, kind, got, ok := questionOf(message)
		if ok && name == q.name && kind == q.kind && got == id && message[2]&0x80 != 0 {
			if !packets && message[2]&2 != 0 && message[6]|message[7] == 0 {
				return nil, errors.New("the DNS server's response has no answer")
			}
			return message, nil
		}
		if !packets {
			return nil, errors.New("the DNS server responds to another question")
		}
		// Any host can send a packet: wait for the server's own.
	}
}

func readMessage(conn net.Conn, packet bool) ([]byte, error) {
	if packet {
		buf := make([]byte, maxAnswer)
		n, err := conn.Read(buf)
		return buf[:n], err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(conn, message)
	return message, err
}

func (c *nameConn) Read(p []byte) (int, error) {
	if len(c.answer) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// SetDeadline limits the next query.
func (c *nameConn) SetDeadline(t time.Time) error { c.deadline = t; return nil }

// SetReadDeadline does nothing: reads never block.
func (*nameConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing: the resolver uses SetDeadline.
func (*nameConn) SetWriteDeadline(time.Time) error { return nil }

// Close does nothing: the server's connection is closed after its response.
func (*nameConn) Close() error { return nil }

// LocalAddr returns nil: it is unknown.
func (*nameConn) LocalAddr() net.Addr { return nil }

// RemoteAddr returns nil: it is unknown.
func (*nameConn) RemoteAddr() net.Addr { return nil }
