package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
)

const (
	// kdcTime is the time limit for one KDC, including the look-up of its name.
	kdcTime = 10 * time.Second
	// maxAnswer bounds a KDC's response; a ticket with a large PAC has some 64 KiB.
	maxAnswer = 1 << 20
)

// ErrUnreachable reports that no KDC of a realm responded.
var ErrUnreachable = errors.New("no KDC answers")

// ask sends a message to the KDCs of the realm in order, until one responds. An error response is returned as a
// messages.KRBError, without trying the others.
func (c *Client) ask(ctx context.Context, realm string, message []byte) ([]byte, error) {
	kdcs := c.settings.Realms.KDCs[realm]
	if len(kdcs) == 0 {
		return nil, fmt.Errorf("no KDC of the realm %s is known: name one in kdc or in the krb5.conf (realm names are usually in capitals)", realm)
	}
	failed := make([]string, 0, len(kdcs))
	for _, address := range kdcs {
		answer, err := c.askOne(ctx, address, message)
		if err == nil {
			var refused messages.KRBError
			if decode(func() error { return refused.Unmarshal(answer) }) == nil {
				return nil, refused
			}
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failed = append(failed, address+": "+reason(err))
	}
	return nil, fmt.Errorf("%w for the realm %s (%s): check that this machine can reach TCP port 88 there", ErrUnreachable, realm, strings.Join(failed, "; "))
}

// reason returns a network error without its address, which the message names already.
func reason(err error) string {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Sprintf("no response within %s", kdcTime)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return err.Error()
}

// askOne also ends when ctx does, by closing its connection; its error is then that of ctx.
func (c *Client) askOne(ctx context.Context, address string, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, kdcTime)
	defer cancel()
	answer, err := c.exchangeOver(ctx, address, message)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer, err
}

func (c *Client) exchangeOver(ctx context.Context, address string, message []byte) ([]byte, error) {
	conn, err := c.settings.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	// RFC 4120 section 7.2.2: four bytes of length before each message.
	framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...) //nolint:gosec // a few KiB
	if _, err := conn.Write(framed); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, silent(err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size == 0 || size > maxAnswer {
		return nil, fmt.Errorf("its response is not that of a KDC")
	}
	answer := make([]byte, size)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, silent(err)
	}
	return answer, nil
}

// silent explains the end of a connection.
func silent(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it closed the connection without a response")
	}
	return err
}

// decode runs a decoder of the library, which panics on some malformed input.
func decode(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it is malformed")
		}
	}()
	return f()
}
