package auth

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/kerberos"
)

// The mutex of a kerberosMethod guards the origins that required Negotiate. It is not held over a request.

// Kerberos proves the crawler's identity to servers that require Negotiate (SPNEGO, RFC 4559), with tickets of KDCs:
// the log-in is at the KDC, and servers never see a password. The first request to a server carries no ticket; once the
// server has returned 401 with Negotiate, each request to its origin carries a separate token. A token from the server
// must prove its identity; a server that sends none is trusted as far as TLS goes. NTLM within Negotiate is never used.
// HTTP/1.1 is required, because IIS refuses Negotiate over HTTP/2.
type Kerberos struct {
	Settings kerberos.Settings
	// Service is the principal of the servers, such as "HTTP/web.example.com"; empty: HTTP and the host of the URL.
	Service string
}

func (k Kerberos) start(s *Session) (method, error) {
	if kind, host, ok := strings.Cut(k.Service, "/"); k.Service != "" && (!ok || kind == "" || host == "") {
		return nil, errors.New("write a service as its kind and host, such as HTTP/web.example.com")
	}
	client, err := kerberos.New(k.Settings)
	if err != nil {
		return nil, err
	}
	return &kerberosMethod{direct: direct{s}, Kerberos: k, client: client, asks: map[origin]bool{}}, nil
}

type kerberosMethod struct {
	direct
	Kerberos
	client *kerberos.Client

	mu   sync.Mutex
	asks map[origin]bool // have returned 401 with Negotiate
}

const maxAsks = 1000 // origins; a forgotten one gets one request without a ticket

func (*kerberosMethod) nature() nature {
	return nature{name: "Kerberos", renews: true, direct: true}
}
func (m *kerberosMethod) secrets() []secret.Value  { return []secret.Value{m.Settings.Password} }
func (m *kerberosMethod) ready(now time.Time) bool { return m.client.Ready(now) }
func (m *kerberosMethod) reset()                   { m.client.Forget() }

// risks returns false: the KDC has verified the credentials before any server gets a ticket.
func (*kerberosMethod) risks(*url.URL) bool { return false }

// login contacts the KDCs, not a web server: its step has no URL.
func (m *kerberosMethod) login(ctx context.Context) (bool, error) {
	report(ctx, "requests a ticket-granting ticket from the KDC")
	if err := m.client.LogIn(ctx); err != nil {
		return false, errors.New(m.clean(err.Error()))
	}
	return true, nil
}

func (m *kerberosMethod) exchange(ctx context.Context, req *http.Request) (*http.Response, bool, error) {
	o := originOf(req.URL)
	asks := m.hasAsked(o)
	if !asks {
		resp, err := m.settings.Do(ctx, req)
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, false, err
		}
		if offers, _ := negotiate(resp.Header); !offers {
			return resp, true, nil
		}
		drain(resp)
		m.remember(o)
	}
	spn := cmp.Or(m.Service, "HTTP/"+strings.ToLower(req.URL.Hostname()))
	ticket, err := m.client.Service(ctx, spn)
	if err != nil {
		report(ctx, "no ticket for %s: %s", tidy(spn, 100), m.clean(err.Error()))
		return nil, false, m.fault(ctx, err)
	}
	report(ctx, "has a ticket for %s", tidy(spn, 100))
	token, proof, err := ticket.Token()
	if err != nil {
		return nil, false, m.fault(ctx, err)
	}
	again := req.Clone(ctx)
	again.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(token))
	resp, err := m.settings.Do(ctx, again)
	if err != nil {
		return nil, false, err
	}
	proved, err := verify(resp, proof)
	if proved {
		report(ctx, "the server proves that it is %s", tidy(spn, 100))
	}
	if err != nil {
		drain(resp)
		return nil, true, &Error{m.clean(err.Error()), denied}
	}
	return resp, proved || !asks || resp.StatusCode == http.StatusUnauthorized, nil
}

// read recognizes a 401 of a server that has accepted the ticket, which exchange has verified: the user is known there
// and may not see the page. Apache returns 401 where others return 403.
func (m *kerberosMethod) read(a answered) sign {
	if a.resp.Status == http.StatusUnauthorized {
		_, written := negotiate(a.resp.Header)
		if token, err := base64.StdEncoding.DecodeString(written); err == nil && kerberos.Accepts(token) {
			return forbidden
		}
	}
	return a.signOf()
}

// verify checks the token of a response; proved is true if the server proved its identity.
func verify(resp *http.Response, proof *kerberos.Proof) (proved bool, err error) {
	_, written := negotiate(resp.Header)
	if written == "" {
		return false, nil
	}
	token, err := base64.StdEncoding.DecodeString(written)
	if err != nil {
		return false, errors.New("the server's Negotiate token is not base64")
	}
	return proof.Verify(token)
}

// negotiate reports whether a server offers Negotiate, and returns its token.
func negotiate(h http.Header) (offers bool, token string) {
	for _, c := range challenges(h) {
		if c.scheme == "negotiate" {
			return true, c.token
		}
	}
	return false, ""
}

// fault returns why there is no token for a page: its URL waits.
func (m *kerberosMethod) fault(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, kerberos.ErrLoggedOut): // since the step; the next one logs in
		return &Error{err.Error(), renew}
	case errors.Is(err, kerberos.ErrUnreachable):
		return &Error{m.clean(err.Error()), unable}
	}
	return &Error{m.clean(err.Error()), refused}
}

func (m *kerberosMethod) hasAsked(o origin) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asks[o]
}

func (m *kerberosMethod) remember(o origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asks) >= maxAsks {
		clear(m.asks)
	}
	m.asks[o] = true
}
