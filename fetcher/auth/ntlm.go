package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/Azure/go-ntlmssp"

	"github.com/sextant-crawler/sextant/config/secret"
)

// The mutex of an ntlmMethod guards the map of turns. The holder of a turn, which is a channel and not a lock, may keep
// it over the requests of a handshake.

// NTLM authenticates connections (MS-NLMP, NTLMv2; HTTP/1.1 only). A new connection needs three requests on that
// connection without a pause: they count as one. A page on an authenticated connection costs one request. Requests to
// one origin run one at a time, up to the header of their response. Signing and channel binding (Extended Protection)
// are not supported.
type NTLM struct {
	Username    string // DOMAIN\user or user@domain
	Password    secret.Value
	Workstation string // the crawler's name for the server's log; may be empty
}

func (k NTLM) start(s *Session) (method, error) {
	if k.Username == "" {
		return nil, errors.New(`no user name: write DOMAIN\user or user@domain`)
	}
	return &ntlmMethod{direct: direct{s}, NTLM: k, turns: map[origin]*turn{}}, nil
}

type ntlmMethod struct {
	direct
	NTLM

	mu    sync.Mutex
	turns map[origin]*turn
}

// turn is the turn of one origin.
type turn struct {
	taken chan struct{} // full while a request to the origin is in flight
	conn  net.Conn      // authenticated last; only for the holder of the turn
}

const maxTurns = 1000 // origins

func (*ntlmMethod) nature() nature            { return nature{name: "NTLM", direct: true} }
func (m *ntlmMethod) secrets() []secret.Value { return []secret.Value{m.Password} }

// take waits until no other request to the origin is in flight, which could take the connection of the handshake.
func (m *ntlmMethod) take(ctx context.Context, o origin) (*turn, error) {
	m.mu.Lock()
	t := m.turns[o]
	if t == nil {
		if len(m.turns) >= maxTurns {
			clear(m.turns) // a disturbed handshake is repeated
		}
		t = &turn{taken: make(chan struct{}, 1)}
		m.turns[o] = t
	}
	m.mu.Unlock()
	select {
	case t.taken <- struct{}{}:
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// handshakes is how often a handshake is tried: an idle connection may be closed in its middle.
const handshakes = 2

func (m *ntlmMethod) exchange(ctx context.Context, req *http.Request) (*http.Response, bool, error) {
	t, err := m.take(ctx, originOf(req.URL))
	if err != nil {
		return nil, false, err
	}
	defer func() { <-t.taken }()
	for try := 1; ; try++ {
		resp, sent, err := m.handshake(ctx, t, req)
		if !errors.Is(err, errOtherConnection) {
			return resp, sent, err
		}
		if try == handshakes {
			return nil, false, m.fault("%w: give the session connections of its own", err)
		}
	}
}

var errOtherConnection = errors.New("the NTLM handshake did not stay on one connection")

// handshake requests the page, and authenticates the connection if needed. A page that is returned without a handshake
// came over an authenticated connection, or is public: it proves nothing.
func (m *ntlmMethod) handshake(ctx context.Context, t *turn, req *http.Request) (_ *http.Response, sent bool, err error) {
	resp, conn, err := m.ask(ctx, req, "", nil)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err == nil && conn != nil && conn == t.conn, err
	}
	scheme, _ := ntlmChallenge(resp.Header)
	if scheme == "" {
		return resp, true, nil
	}
	if resp.ProtoMajor > 1 {
		drain(resp)
		return nil, false, m.fault("the server speaks HTTP/%d, and NTLM needs HTTP/1.1: turn HTTP/2 off for it", resp.ProtoMajor)
	}
	drain(resp)
	message, err := ntlmssp.NewNegotiateMessage("", m.Workstation)
	if err != nil {
		return nil, false, m.fault("no NTLM message can be made: %w", err)
	}
	resp, conn, err = m.ask(ctx, req, authorization(scheme, message), nil)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err == nil, err
	}
	scheme, token := ntlmChallenge(resp.Header)
	drain(resp)
	if token == "" {
		return nil, false, m.fault("the server answers the first NTLM message by no challenge; it offers %s", offered(resp.Header))
	}
	message, err = m.answer(token)
	if err != nil {
		return nil, false, m.fault("the NTLM challenge cannot be answered: %w", err)
	}
	resp, _, err = m.ask(ctx, req, authorization(scheme, message), conn)
	if err == nil && resp.StatusCode != http.StatusUnauthorized {
		t.conn = conn
	}
	return resp, true, err
}

func (m *ntlmMethod) answer(token string) ([]byte, error) {
	challenge, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return nil, errors.New("it is not base64")
	}
	return ntlmssp.NewAuthenticateMessage(challenge, m.Username, m.Password.Reveal(),
		&ntlmssp.AuthenticateMessageOptions{WorkstationName: m.Workstation})
}

func (m *ntlmMethod) fault(words string, a ...any) error {
	return &Error{tidy(fmt.Errorf(words, a...).Error(), 300), denied}
}

func authorization(scheme string, message []byte) string {
	return scheme + " " + base64.StdEncoding.EncodeToString(message)
}

// ask makes one request and returns its connection. If want is set, the request must be made on it, since its
// credentials are valid only there.
func (m *ntlmMethod) ask(ctx context.Context, req *http.Request, authorization string, want net.Conn) (*http.Response, net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var conn net.Conn
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		conn = i.Conn
		if want != nil && conn != want {
			cancel(errOtherConnection)
			_ = conn.Close() // the transport may write the request before it sees the cancellation
		}
	}})
	req = req.Clone(traced)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := m.settings.Do(traced, req)
	if other := context.Cause(ctx); errors.Is(other, errOtherConnection) {
		if err == nil {
			drain(resp)
		}
		cancel(nil)
		return nil, nil, other
	}
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	resp.Body = &cancelBody{resp.Body, cancel}
	return resp, conn, nil
}

// ntlmChallenge returns the scheme in the server's spelling, and its token. IIS also accepts NTLM inside Negotiate.
func ntlmChallenge(h http.Header) (scheme, token string) {
	for _, c := range challenges(h) {
		switch {
		case c.scheme == "ntlm":
			return "NTLM", c.token
		case c.scheme == "negotiate" && scheme == "":
			scheme, token = "Negotiate", c.token
		}
	}
	return scheme, token
}

// cancelBody ends the request's context when the body is closed.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close also ends the context.
func (b *cancelBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
