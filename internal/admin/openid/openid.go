// Package openid signs people in at a provider of OpenID Connect, such as Keycloak or Microsoft Entra ID: by the
// authorization code flow with PKCE (OpenID Connect Core 3.1, RFC 7636). The groups of a person decide the role.
//
// The first sign-in asks the provider for its addresses, so a provider that is down stops no crawl. The lock of a
// Provider guards them, and is not held over a request. It starts no goroutine; the library's, which fetches keys, ends
// with its request.
package openid

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// Settings describe the provider. The zero value has no provider.
type Settings struct {
	Issuer, ClientID string
	// SecretFile holds the client's secret, and is read at each sign-in; empty for a public client.
	SecretFile string
	// Operators and Readers are the groups, or roles, that get these rights; empty for none.
	Operators, Readers string
}

const (
	// requestTime bounds each request to the provider.
	requestTime = 10 * time.Second
	// maxSkew is how far the clocks of the provider and of this machine may differ. Some ID tokens last a minute only.
	maxSkew = 2 * time.Minute
)

// Provider signs people in. Its methods may be called concurrently.
type Provider struct {
	settings Settings
	client   *http.Client

	mu    sync.Mutex
	known *oidc.Provider // nil before its first response
}

// New returns a Provider. It makes no request.
func New(s Settings) *Provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // people sign in rarely
	return &Provider{settings: s, client: &http.Client{
		Transport: transport, Timeout: requestTime,
		// Secrets go to the provider alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// discover asks the provider for its addresses, until it has responded once.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	known, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.settings.Issuer)
	if err != nil {
		return nil, fmt.Errorf("the provider's description: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = known
	return known, nil
}

// config returns the client's settings. Groups are a separate scope at some providers, and an unknown one at others.
func (p *Provider) config(known *oidc.Provider, redirect string) (*oauth2.Config, error) {
	c := &oauth2.Config{ClientID: p.settings.ClientID, Endpoint: known.Endpoint(), RedirectURL: redirect,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"}}
	var has struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := known.Claims(&has); err == nil && slices.Contains(has.Scopes, "groups") {
		c.Scopes = append(c.Scopes, "groups")
	}
	if p.settings.SecretFile == "" {
		return c, nil
	}
	secret, err := os.ReadFile(p.settings.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("the client's secret: %w", err)
	}
	c.ClientSecret = strings.TrimSpace(string(secret))
	return c, nil
}

// Begin returns the provider's address to send a browser to. State, nonce and verifier are unpredictable, and used
// once.
func (p *Provider) Begin(ctx context.Context, redirect, state, nonce, verifier string) (string, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	c, err := p.config(known, redirect)
	if err != nil {
		return "", err
	}
	return c.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// ErrNoRole is the error for a person without a group that has a role here.
var ErrNoRole = errors.New("this account is in no group that may use the console")

// Finish redeems the code that the browser came back with, and returns the person's caller, without Remote.
func (p *Provider) Finish(ctx context.Context, redirect, code, nonce, verifier string) (admin.Caller, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return admin.Caller{}, err
	}
	c, err := p.config(known, redirect)
	if err != nil {
		return admin.Caller{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			about := printable(refused.ErrorDescription)
			err = fmt.Errorf("status %d %s %s", refused.Response.StatusCode, refused.ErrorCode, about)
		}
		return admin.Caller{}, fmt.Errorf("the provider does not redeem the code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := p.verify(ctx, known, raw)
	if err != nil {
		return admin.Caller{}, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1 {
		return admin.Caller{}, errors.New("the ID token was made for another sign-in: its nonce differs")
	}
	if id.Subject == "" { // required by OpenID Connect Core 2
		return admin.Caller{}, errors.New("the ID token has no sub")
	}
	var all claims
	if err := id.Claims(&all); err != nil {
		return admin.Caller{}, fmt.Errorf("the claims of the ID token: %w", err)
	}
	party, own := all.texts("azp"), []string{p.settings.ClientID}
	if (len(id.Audience) > 1 || len(party) > 0) && !slices.Equal(party, own) { // OpenID Connect Core 3.1.3.7
		return admin.Caller{}, errors.New("the ID token was issued to another client")
	}
	return p.caller(id.Subject, all)
}

// verify checks an ID token. It is new, so one that has expired shows that the clocks differ.
func (p *Provider) verify(ctx context.Context, known *oidc.Provider, raw string) (*oidc.IDToken, error) {
	c := &oidc.Config{ClientID: p.settings.ClientID}
	id, err := known.Verifier(c).Verify(ctx, raw)
	expired, ok := errors.AsType[*oidc.TokenExpiredError](err)
	switch {
	case !ok:
		return id, err
	case time.Since(expired.Expiry) > maxSkew:
		return nil, fmt.Errorf("the ID token expired at %v: compare the clocks of this machine and of the provider",
			expired.Expiry)
	}
	c.Now = func() time.Time { return time.Now().Add(-maxSkew) }
	return known.Verifier(c).Verify(ctx, raw)
}

// claims are those of an ID token. A struct would take Groups for groups, too (RFC 7519 section 4).
type claims map[string]json.RawMessage

// texts returns a claim that is a list of texts, or one text.
func (c claims) texts(name string) (list []string) {
	var one string
	if json.Unmarshal(c[name], &one) == nil && one != "" {
		return []string{one}
	}
	if json.Unmarshal(c[name], &list) != nil {
		return nil
	}
	return list
}

// caller maps a person to a role.
func (p *Provider) caller(subject string, c claims) (admin.Caller, error) {
	has := slices.Concat(c.texts("groups"), c.texts("roles"))
	name := subject
	for _, better := range []string{"email", "preferred_username"} {
		if is := c.texts(better); len(is) > 0 {
			name = is[0]
		}
	}
	caller := admin.Caller{Name: "openid " + printable(name)}
	switch {
	case p.settings.Operators != "" && slices.Contains(has, p.settings.Operators):
		caller.Role = admin.Operator
	case p.settings.Readers != "" && slices.Contains(has, p.settings.Readers):
		caller.Role = admin.Reader
	default:
		return admin.Caller{}, fmt.Errorf("%w: %s, in %q", ErrNoRole, caller.Name, printable(strings.Join(has, ", ")))
	}
	return caller, nil
}

// maxName bounds a name or a message of the provider in the log.
const maxName = 200

// printable returns a text of the provider for the log.
func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName])
	}
	return name
}
