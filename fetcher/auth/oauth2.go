package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/sextant-crawler/sextant/config/secret"
)

// The mutex of an oauth2Method guards its token. It is not held while a token is fetched: Session ensures that one
// goroutine does that.

// OAuth2 fetches a bearer token with client credentials (RFC 6749 section 4.4), keeps it, and renews it before it
// expires, and once after a 401.
type OAuth2 struct {
	TokenURL     string // https, unless the server has only http
	ClientID     string
	ClientSecret secret.Value
	// Certificate, with an RSA key, authenticates the client in place of ClientSecret; nil: the secret does.
	Certificate *tls.Certificate
	Scopes      []string
	// Params are further parameters of the request, such as "audience" or "resource".
	Params map[string]secret.Value
	// InBody sends the client's credentials in the body in place of the Authorization header, for servers that require
	// it.
	InBody bool
}

func (k OAuth2) start(s *Session) (method, error) {
	u, err := url.Parse(k.TokenURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("token URL %q is not a URL: write it whole, such as https://login.example.com/oauth2/token", place(u))
	}
	if k.ClientID == "" || k.ClientSecret.IsEmpty() == (k.Certificate == nil) {
		return nil, errors.New("client credentials need a client id, and either a client secret or a certificate")
	}
	if k.Certificate != nil {
		if _, err := assertion(k.Certificate, k.ClientID, k.TokenURL, time.Now()); err != nil {
			return nil, err
		}
	}
	return &oauth2Method{direct: direct{s}, OAuth2: k, url: u}, nil
}

type oauth2Method struct {
	direct
	OAuth2
	url *url.URL

	mu      sync.Mutex
	token   *oauth2.Token
	renewAt time.Time // zero: never
}

func (*oauth2Method) nature() nature   { return nature{name: "OAuth2", renews: true} }
func (m *oauth2Method) next() *url.URL { return m.url }

func (m *oauth2Method) secrets() []secret.Value {
	all := []secret.Value{m.ClientSecret}
	for _, p := range m.Params {
		all = append(all, p)
	}
	return all
}

func (m *oauth2Method) ready(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.token != nil && (m.renewAt.IsZero() || now.Before(m.renewAt))
}

func (m *oauth2Method) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.token = nil
}

// login fetches a token. While the old one is valid, a failure only postpones the renewal.
func (m *oauth2Method) login(ctx context.Context) (bool, error) {
	token, err := m.fetch(ctx)
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		if m.token != nil && now.Before(m.token.Expiry) {
			m.renewAt = now.Add(min(m.settings.MinBackoff, m.token.Expiry.Sub(now)))
		}
		return false, err
	}
	m.token, m.renewAt = token, time.Time{}
	if !token.Expiry.IsZero() {
		// A tenth of its lifetime before its end, at most a minute.
		m.renewAt = token.Expiry.Add(-min(token.Expiry.Sub(now)/10, time.Minute))
	}
	return true, nil
}

func (m *oauth2Method) fetch(ctx context.Context) (*oauth2.Token, error) {
	c := clientcredentials.Config{
		ClientID: m.ClientID, ClientSecret: m.ClientSecret.Reveal(), TokenURL: m.TokenURL,
		Scopes: m.Scopes, EndpointParams: url.Values{}, AuthStyle: oauth2.AuthStyleInHeader,
	}
	if m.InBody || m.Certificate != nil {
		c.AuthStyle = oauth2.AuthStyleInParams
	}
	if m.Certificate != nil {
		proof, err := assertion(m.Certificate, m.ClientID, m.TokenURL, time.Now())
		if err != nil {
			return nil, err
		}
		c.EndpointParams.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		c.EndpointParams.Set("client_assertion", proof)
	}
	for name, value := range m.Params {
		c.EndpointParams.Set(name, value.Reveal())
	}
	client := &http.Client{
		Transport: transport(m.settings.Do),
		// The credentials go to the token URL and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	token, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		return nil, m.reason(err)
	}
	if !strings.EqualFold(token.Type(), "Bearer") || !sendable(token.AccessToken) {
		return nil, errors.New("the token endpoint answers with a token that is not a bearer token")
	}
	return token, nil
}

// reason returns the token endpoint's error, without its body.
func (m *oauth2Method) reason(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		words := fmt.Sprintf("the token endpoint %s answers %d", place(m.url), e.Response.StatusCode)
		if e.ErrorCode != "" {
			words += " " + tidy(e.ErrorCode, 60)
		}
		return errors.New(m.clean(words))
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return m.scrub(err, m.url)
	}
	return fmt.Errorf("the token endpoint %s answers without a token that can be read", place(m.url))
}

// transport makes an http.Client use a Do.
type transport Do

// RoundTrip makes one request.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t(req.Context(), req)
}

func (m *oauth2Method) exchange(ctx context.Context, req *http.Request) (*http.Response, bool, error) {
	m.mu.Lock()
	token := m.token
	m.mu.Unlock()
	if token == nil { // dropped since the step; the server's 401 leads to the next
		return nil, false, &Error{"the token was just given up", renew}
	}
	token.SetAuthHeader(req)
	resp, err := m.settings.Do(ctx, req)
	return resp, true, err
}
