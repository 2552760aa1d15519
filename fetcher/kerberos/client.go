package kerberos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/internal/clock"
)

// Client.mu guards the tickets. The holder of the turn, which is a channel and not a lock, may keep it over an exchange
// with KDCs.

const (
	// putOff is the wait before a failed request is retried, even if an older ticket is still valid.
	putOff = 2 * time.Minute
	// maxServices bounds the stored tickets; a dropped one is fetched again.
	maxServices = 1000
)

// ErrLoggedOut reports that there is no ticket-granting ticket: LogIn gets one.
var ErrLoggedOut = errors.New("not logged in to the KDC")

// Settings configures a Client. One of Keytab, Password and Cache is required.
type Settings struct {
	// Principal is "name", "name/instance" or either with "@REALM"; by default it is that of the credential cache, or
	// the keytab's only one.
	Principal string
	Realms    Realms
	Keytab    *Keytab
	Password  secret.Value
	// Cache reads a credential cache file. It is called at each log-in, since other programs renew the file.
	Cache func() ([]byte, error)
	// Dial connects to a KDC; nil: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is a principal with its tickets.
type Client struct {
	settings Settings
	turn     chan struct{} // full while KDCs are being contacted

	mu       sync.Mutex
	name     types.PrincipalName
	realm    string
	granting *ticket // nil: logged out
	renewAt  time.Time
	services map[string]*service
}

// service is the state of one service: a ticket, or the reason why there is none.
type service struct {
	ticket  *ticket // nil: none, because of err
	err     error
	renewAt time.Time // no earlier request
}

// New returns a Client without contacting a KDC. The error states how to correct the settings.
func New(s Settings) (*Client, error) {
	if s.Dial == nil {
		s.Dial = (&net.Dialer{}).DialContext
	}
	c := &Client{settings: s, turn: make(chan struct{}, 1), services: map[string]*service{}}
	principal := s.Principal
	if principal == "" && s.Keytab != nil {
		all := s.Keytab.principals()
		if len(all) > 1 {
			return nil, fmt.Errorf("the keytab has keys of %s: name the one to log in with", brief(strings.Join(all, ", ")))
		}
		principal = all[0]
	}
	if principal == "" && s.Cache == nil {
		return nil, errors.New("the principal is missing: write a name such as crawler@EXAMPLE.COM")
	}
	if principal != "" {
		name, realm, _ := strings.Cut(principal, "@")
		if realm == "" {
			realm = s.Realms.Default
		}
		if name == "" || realm == "" || strings.Contains(realm, "@") {
			return nil, fmt.Errorf("%q is not a principal with a realm: write it as name@REALM", brief(principal))
		}
		c.name, c.realm = types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, name), realm
		if len(s.Realms.KDCs[realm]) == 0 {
			return nil, fmt.Errorf("no KDC of the realm %s is named: realm names are usually in capitals, and files that a krb5.conf includes are not read", brief(realm))
		}
	}
	if k := s.Keytab; k != nil && len(k.ciphersOf(c.name, c.realm)) == 0 {
		return nil, fmt.Errorf("the keytab has no usable key of %s (AES or RC4): it has keys of %s", brief(c.name.PrincipalNameString()+"@"+c.realm), brief(strings.Join(k.principals(), ", ")))
	}
	return c, nil
}

// Format writes the same for every verb, so that fmt never shows keys.
func (c *Client) Format(f fmt.State, _ rune) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(f, "kerberos client of "+c.principal())
}

// principal returns the client's principal with its realm. Its caller holds mu.
func (c *Client) principal() string { return c.name.PrincipalNameString() + "@" + c.realm }

// Ready reports whether there is a ticket-granting ticket that does not expire soon.
func (c *Client) Ready(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granting != nil && now.Before(c.renewAt)
}

// Forget drops all tickets and the state of services.
func (c *Client) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.granting = nil
	clear(c.services)
}

// LogIn gets a ticket-granting ticket. If that fails and the old one is still valid, Ready returns true for a while.
func (c *Client) LogIn(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.pass()
	t, err := c.newGranting(ctx)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.granting != nil && now.Before(c.granting.end) {
			c.renewAt = earlier(now.Add(putOff), c.granting.end)
		}
		return err
	}
	c.granting, c.renewAt = t, t.renewAt()
	return nil
}

func (c *Client) newGranting(ctx context.Context) (*ticket, error) {
	if c.settings.Cache == nil {
		t, err := c.grant(ctx)
		if err != nil {
			return nil, c.explain(err)
		}
		return t, nil
	}
	return c.fromCache(ctx)
}

// fromCache returns the ticket of the credential cache, renewed if it expires soon and the file has no other.
func (c *Client) fromCache(ctx context.Context) (*ticket, error) {
	content, err := c.settings.Cache()
	if err != nil {
		return nil, fmt.Errorf("reading the credential cache: %w", err)
	}
	name, realm, t, err := cached(content)
	if err != nil {
		return nil, fmt.Errorf("the credential cache: %w", err)
	}
	c.mu.Lock()
	switch {
	case c.realm == "":
		c.name, c.realm = name, realm
	case realm != c.realm || name.PrincipalNameString() != c.name.PrincipalNameString():
		err = fmt.Errorf("the credential cache is that of %s@%s, not of %s", brief(name.PrincipalNameString()), brief(realm), c.principal())
	}
	if old := c.granting; old != nil && old.end.After(t.end) {
		t = old
	}
	c.mu.Unlock()
	if err != nil || time.Now().Before(t.renewAt()) {
		return t, err
	}
	renewed, err := c.exchange(ctx, realm, t, grantingService(realm), true)
	if err == nil {
		return renewed, nil
	}
	c.mu.Lock()
	c.granting = t
	c.mu.Unlock()
	return nil, fmt.Errorf("the ticket in the credential cache expires at %s and cannot be renewed: run kinit, or let k5start renew it: %w", clock.Stamp(t.end), c.explain(err))
}

// Service returns a ticket for a service, such as "HTTP/web.example.com", in the realm after an @, the realm of its
// domain, or the client's own. It keeps a ticket until shortly before it expires, a failure for two minutes.
func (c *Client) Service(ctx context.Context, spn string) (*Ticket, error) {
	if t, err, known := c.known(spn, time.Now()); known {
		return t, err
	}
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.pass()
	if t, err, known := c.known(spn, time.Now()); known { // fetched while this call waited
		return t, err
	}
	c.mu.Lock()
	granting := c.granting
	c.mu.Unlock()
	if granting == nil || !time.Now().Before(granting.end) {
		return nil, ErrLoggedOut
	}
	t, err := c.serviceTicket(ctx, granting, spn)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return c.keep(spn, t, err)
}

// known returns the stored state of a service without contacting a KDC.
func (c *Client) known(spn string, now time.Time) (*Ticket, error, bool) { //nolint:revive // the error may be a stored one
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.services[spn]
	if s == nil || !now.Before(s.renewAt) {
		return nil, nil, false
	}
	if s.ticket == nil {
		return nil, s.err, true
	}
	return &Ticket{c.name, c.realm, s.ticket, spn}, nil, true
}

// keep stores the result of a request for a ticket. After a failure, an older ticket is used while it is valid.
func (c *Client) keep(spn string, t *ticket, err error) (*Ticket, error) {
	if err != nil {
		err = c.explain(err)
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.services[spn]
	if old == nil && len(c.services) >= maxServices {
		clear(c.services)
	}
	switch {
	case err == nil:
		c.services[spn] = &service{ticket: t, renewAt: t.renewAt()}
	case old != nil && old.ticket != nil && now.Before(old.ticket.end):
		t = old.ticket
		old.renewAt = earlier(now.Add(putOff), t.end)
	default:
		c.services[spn] = &service{err: err, renewAt: now.Add(putOff)}
		return nil, err
	}
	return &Ticket{c.name, c.realm, t, spn}, nil
}

func (c *Client) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) pass() { <-c.turn }

// credentials returns the client's credentials in the form of the library.
func (c *Client) credentials() *credentials.Credentials {
	own := credentials.NewFromPrincipalName(c.name, c.realm)
	if c.settings.Keytab != nil {
		return own.WithKeytab(c.settings.Keytab.keys)
	}
	return own.WithPassword(c.settings.Password.Reveal())
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
