package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"
)

// The lock of Access guards tokens and certificate. Requests take it to read for a moment;
// Reload takes it once the files are read.

// Role defines what a caller may do. Each role includes those below it.
type Role uint8

// The roles, lowest first.
const (
	Nobody   Role = iota // sees only that there is a service
	Local                // is on this machine: health, status and metrics
	Reader               // sees stored data and the service's state; the routes define what
	Operator             // may do everything
)

// String returns the role's name in logs and on the command line.
func (r Role) String() string {
	return [...]string{Nobody: "nobody", Local: "local", Reader: "reader", Operator: "operator"}[r]
}

// Caller identifies the client that makes a request.
type Caller struct {
	Role Role
	// Name is the token's, or the user's at the Unix socket; empty without either.
	Name string
	// Remote is the address that the request came from, "socket" for the Unix socket.
	Remote string
	// Socket is set if the request came over the Unix socket, from the owner of the data directory. Such a caller may
	// name files of this machine.
	Socket bool
}

// String returns the caller for the log.
func (c Caller) String() string {
	parts := []string{c.Role.String()}
	if c.Name != "" {
		parts = append(parts, c.Name)
	}
	return strings.Join(append(parts, c.Remote), " ")
}

// AccessSettings control access to the service over TCP.
type AccessSettings struct {
	// OperatorToken and ReaderToken are files that hold one token each; empty for none.
	OperatorToken, ReaderToken string
	// ReaderMayLack makes the file of the readers' token optional.
	ReaderMayLack bool
	// Certificate and Key are PEM files; both empty for plain HTTP.
	Certificate, Key string
	// Beyond is set if the service listens on an address other than loopback: then only its health is shown without a
	// token.
	Beyond bool
}

// Access holds the tokens and the certificate of the service. Its methods may be called concurrently.
type Access struct {
	settings AccessSettings

	mu          sync.RWMutex
	tokens      []token
	certificate *tls.Certificate
	// signedIn, if not nil, identifies callers by other means than a token.
	signedIn func(*http.Request) (Caller, bool)
}

// NewAccess reads the files that the settings name.
func NewAccess(s AccessSettings) (*Access, error) {
	a := &Access{settings: s}
	return a, a.Reload()
}

// Reload reads tokens and certificate again. After an error the old ones stay.
func (a *Access) Reload() error {
	if a == nil {
		return nil
	}
	var tokens []token
	for _, f := range []struct {
		path string
		role Role
	}{{a.settings.OperatorToken, Operator}, {a.settings.ReaderToken, Reader}} {
		if f.path == "" {
			continue
		}
		t, err := readToken(f.path, f.role)
		if f.role == Reader && a.settings.ReaderMayLack && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return &TokenError{f.path, "the file of the " + f.role.String() + "'s token does not exist: create it with mode 0600, for example with openssl rand -hex 32"}
		}
		if err != nil {
			return fmt.Errorf("the %s's token: %w", f.role, err)
		}
		tokens = append(tokens, t)
	}
	if len(tokens) == 2 && tokens[0].sum == tokens[1].sum {
		return &TokenError{a.settings.ReaderToken, "it contains the operator's token, so readers would be operators: write another token to it"}
	}
	var certificate *tls.Certificate
	if a.settings.Certificate != "" {
		c, err := loadCertificate(a.settings.Certificate, a.settings.Key)
		if err != nil {
			return err
		}
		certificate = c
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens, a.certificate = tokens, certificate
	return nil
}

// ByToken returns the caller that a token belongs to; ok is false for an unknown token. It takes the same
// time for all tokens.
func (a *Access) ByToken(written string) (c Caller, ok bool) {
	if a == nil {
		return Caller{}, false
	}
	sum := sha256.Sum256([]byte(written))
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, t := range a.tokens {
		if subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 {
			c, ok = Caller{Role: t.role, Name: t.name}, true
		}
	}
	return c, ok
}

// SignedIn sets the function that identifies callers without a token, by the sessions of
// browsers. The Caller that it returns needs no Remote.
func (a *Access) SignedIn(by func(*http.Request) (Caller, bool)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.signedIn = by
}

// caller identifies the client of a request over TCP. Refused is true if its token is
// unknown.
func (a *Access) caller(r *http.Request) (c Caller, refused bool) {
	floor := Local
	if a != nil && a.settings.Beyond {
		floor = Nobody
	}
	if written, ok := bearer(r); ok {
		c, ok = a.ByToken(written)
		if !ok {
			return Caller{Role: Nobody, Remote: r.RemoteAddr}, true
		}
		c.Remote = r.RemoteAddr
		return c, false
	}
	if a != nil {
		a.mu.RLock()
		by := a.signedIn
		a.mu.RUnlock()
		if by != nil {
			if c, ok := by(r); ok {
				c.Remote, c.Socket = r.RemoteAddr, false
				return c, false
			}
		}
	}
	return Caller{Role: floor, Remote: r.RemoteAddr}, false
}

// bearer returns the token of a request. Any other scheme counts as an unknown token.
func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", false
	}
	scheme, value, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.TrimSpace(value), true
}

// TLS returns the configuration for TCP, nil for plain HTTP.
func (a *Access) TLS() *tls.Config {
	if a == nil || a.settings.Certificate == "" {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			a.mu.RLock()
			defer a.mu.RUnlock()
			return a.certificate, nil
		},
	}
}

// answersTo reports whether the service's certificate is valid for a host.
func (a *Access) answersTo(host string) bool {
	if a == nil {
		return false
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.certificate != nil && a.certificate.Leaf != nil && a.certificate.Leaf.VerifyHostname(host) == nil
}

// loadCertificate reads a certificate and its key, which only its owner may read.
func loadCertificate(certificate, key string) (*tls.Certificate, error) {
	if info, err := os.Stat(key); err == nil && tooWide(info) {
		return nil, &TokenError{key, wideWords(info)}
	}
	c, err := tls.LoadX509KeyPair(certificate, key) // it sets Leaf
	if err != nil {
		return nil, &TokenError{certificate, "the certificate cannot be used: " + err.Error()}
	}
	return &c, nil
}
