package auth

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/weburl"
)

// direct is a method without log-in requests.
type direct struct{ *Session }

func (direct) ready(time.Time) bool                { return true }
func (direct) risks(*url.URL) bool                 { return true }
func (direct) next() *url.URL                      { return nil }
func (direct) login(context.Context) (bool, error) { return true, nil }
func (direct) reset()                              {}
func (direct) read(a answered) sign                { return a.signOf() }
func (direct) isLogInPage(weburl.URL) bool         { return false }

// Basic sends user and password with each request (RFC 7617), without a challenge.
type Basic struct {
	Username string
	Password secret.Value
}

func (k Basic) start(s *Session) (method, error) {
	if strings.Contains(k.Username, ":") {
		return nil, errors.New("a user name for Basic authentication cannot contain a colon (RFC 7617): write only the part before it")
	}
	return header{direct{s}, "Basic", k.Password, func(r *http.Request) {
		r.SetBasicAuth(k.Username, k.Password.Reveal())
	}}, nil
}

// Bearer sends a constant token with each request (RFC 6750).
type Bearer struct{ Token secret.Value }

func (k Bearer) start(s *Session) (method, error) {
	token := k.Token.Reveal()
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the bearer token is empty or contains spaces or control characters: write only the token, without the word Bearer")
	}
	return header{direct{s}, "bearer token", k.Token, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+k.Token.Reveal())
	}}, nil
}

// header is a method whose credentials are a constant header.
type header struct {
	direct
	name   string
	secret secret.Value
	set    func(*http.Request)
}

func (m header) nature() nature          { return nature{name: m.name, direct: true} }
func (m header) secrets() []secret.Value { return []secret.Value{m.secret} }

func (m header) exchange(ctx context.Context, req *http.Request) (*http.Response, bool, error) {
	m.set(req)
	resp, err := m.settings.Do(ctx, req)
	return resp, true, err
}

// Certificate is a client certificate (RFC 8446 section 4.4.2): the session itself sends nothing; Settings.Do presents
// it (LoadCertificate reads one).
type Certificate struct{}

func (Certificate) start(s *Session) (method, error) { return certificate{direct{s}}, nil }

type certificate struct{ direct }

func (certificate) nature() nature {
	return nature{name: "client certificate", direct: true, certificate: true}
}
func (certificate) secrets() []secret.Value { return nil }

func (m certificate) exchange(ctx context.Context, req *http.Request) (*http.Response, bool, error) {
	resp, err := m.settings.Do(ctx, req)
	return resp, true, err
}

// read also recognizes nginx's response for a missing or bad certificate.
func (m certificate) read(a answered) sign {
	const nginxCertError, nginxNoCert = 495, 496
	switch status := a.resp.Status; {
	case status == nginxCertError, status == nginxNoCert,
		status == http.StatusBadRequest && bytes.Contains(a.resp.Body, []byte("SSL certificate")):
		return denied
	}
	return a.signOf()
}
