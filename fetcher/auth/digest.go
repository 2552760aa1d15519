package auth

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/icholy/digest"

	"github.com/sextant-crawler/sextant/config/secret"
)

// The mutex of a digestMethod guards its nonces. Any worker's goroutine takes it, for a map access and never over a
// request.

// Digest responds to a server's challenge with hashes (RFC 7616): MD5, SHA-256, SHA-512-256 and their -sess forms, qop
// auth, auth-int or none. The server challenges the first request; its nonce is kept, so that each further page costs
// one request.
type Digest struct {
	Username string
	Password secret.Value
}

func (k Digest) start(s *Session) (method, error) {
	if k.Username == "" {
		return nil, errors.New("the user name is missing: Digest authentication requires one")
	}
	return &digestMethod{direct: direct{s}, Digest: k, nonces: map[origin]*nonce{}}, nil
}

const (
	maxNonces   = 1000 // origins whose nonce is kept
	maxRenewals = 3    // stale nonces in a row that a server may report
)

type digestMethod struct {
	direct
	Digest

	mu       sync.Mutex
	nonces   map[origin]*nonce
	renewals int // in a row
}

// nonce is a server's challenge and how often it was used.
type nonce struct {
	challenge digest.Challenge
	algorithm string // as the server wrote it, possibly with -sess
	count     int
}

func (*digestMethod) nature() nature {
	return nature{name: "Digest", renews: true, direct: true}
}
func (m *digestMethod) secrets() []secret.Value { return []secret.Value{m.Password} }

// reset keeps the nonces: each 401 brings a new one.
func (*digestMethod) reset() {}

func (m *digestMethod) risks(u *url.URL) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nonces[originOf(u)] != nil
}

func (m *digestMethod) exchange(ctx context.Context, req *http.Request) (*http.Response, bool, error) {
	o := originOf(req.URL)
	authorization, err := m.authorization(o, req)
	if err != nil {
		return nil, false, &Error{err.Error(), denied}
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := m.settings.Do(ctx, req)
	if err == nil {
		m.learn(o, resp)
	}
	return resp, authorization != "", err
}

// authorization returns the header's value; empty if no challenge is known yet.
func (m *digestMethod) authorization(o origin, req *http.Request) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nonces[o]
	if n == nil {
		return "", nil
	}
	n.count++
	options := digest.Options{
		Method: req.Method, URI: req.URL.RequestURI(), Count: n.count,
		Username: m.Username, Password: m.Password.Reveal(),
	}
	if strings.HasSuffix(strings.ToUpper(n.algorithm), "-SESS") {
		options.Cnonce = rand.Text()
		options.A1 = n.sessionA1(m.Username, m.Password.Reveal(), options.Cnonce)
	}
	c, err := digest.Digest(&n.challenge, options)
	if err != nil {
		return "", fmt.Errorf("the Digest challenge of %s cannot be answered: %w", o, err)
	}
	c.Algorithm = n.algorithm
	return format(c), nil
}

// sessionA1 returns H(A1) of the -sess algorithms, which the library leaves to its caller (RFC 7616 section 3.4.2).
func (n *nonce) sessionA1(user, password, cnonce string) string {
	h := md5.New()
	switch n.challenge.Algorithm {
	case "SHA-256":
		h = sha256.New()
	case "SHA-512":
		h = sha512.New()
	case "SHA-512-256":
		h = sha512.New512_256()
	}
	sum := func(parts ...string) string {
		h.Reset()
		h.Write([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(h.Sum(nil))
	}
	return sum(sum(user, n.challenge.Realm, password), n.challenge.Nonce, cnonce)
}

// learn stores the next nonce from a good response (RFC 7616 section 3.5), or the challenge of a 401.
func (m *digestMethod) learn(o origin, resp *http.Response) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if resp.StatusCode == http.StatusUnauthorized {
		n := findNonce(resp.Header)
		if n == nil {
			return
		}
		if len(m.nonces) >= maxNonces {
			clear(m.nonces) // each costs one request
		}
		m.nonces[o] = n
		return
	}
	if resp.StatusCode < 400 {
		m.renewals = 0
	}
	// The header is a list of parameters without scheme.
	info := parseChallenges("Digest " + resp.Header.Get("Authentication-Info"))
	if n := m.nonces[o]; n != nil && len(info) == 1 && usable(info[0].params["nextnonce"]) {
		n.challenge.Nonce, n.count = info[0].params["nextnonce"], 0
	}
}

// read treats a 401 as a denial only if the credentials were refused.
func (m *digestMethod) read(a answered) sign {
	sg := a.signOf()
	if sg != denied {
		return sg
	}
	n := findNonce(a.resp.Header)
	switch {
	case n == nil || a.sent && !n.challenge.Stale:
		return denied
	case !a.sent:
		return renew
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.renewals++; m.renewals > maxRenewals {
		return denied
	}
	return renew
}

// findNonce returns the first usable challenge: a server lists them in its order of preference (RFC 7616 section 3.7).
func findNonce(h http.Header) *nonce {
	for _, c := range challenges(h) {
		if c.scheme != "digest" || !usable(c.params["nonce"]) {
			continue
		}
		n := &nonce{algorithm: c.params["algorithm"], challenge: digest.Challenge{
			Realm: c.params["realm"], Nonce: c.params["nonce"], Opaque: c.params["opaque"],
			Stale:    strings.EqualFold(c.params["stale"], "true"),
			Userhash: strings.EqualFold(c.params["userhash"], "true"),
		}}
		plain := strings.ToUpper(n.algorithm)
		n.challenge.Algorithm = strings.TrimSuffix(plain, "-SESS")
		for q := range strings.SplitSeq(c.params["qop"], ",") {
			if q = strings.ToLower(strings.TrimSpace(q)); q != "" {
				n.challenge.QOP = append(n.challenge.QOP, q)
			}
		}
		if strings.HasSuffix(plain, "-SESS") && len(n.challenge.QOP) == 0 {
			continue // without qop there is no cnonce
		}
		if digest.CanDigest(&n.challenge) && sendable(n.challenge.Realm) && sendable(n.challenge.Opaque) {
			return n
		}
	}
	return nil
}

func usable(nonce string) bool { return nonce != "" && sendable(nonce) }

// sendable reports whether s can be written into a header.
func sendable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// format writes the Authorization header with the server's parts byte by byte: the library escapes what Go escapes,
// also in realms that are not UTF-8.
func format(c *digest.Credentials) string {
	var b strings.Builder
	b.WriteString("Digest ")
	quoted := func(name, value string) {
		b.WriteString(name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `", `)
	}
	quoted("username", c.Username)
	quoted("realm", c.Realm)
	quoted("nonce", c.Nonce)
	quoted("uri", c.URI)
	if c.Opaque != "" {
		quoted("opaque", c.Opaque)
	}
	if c.QOP != "" {
		quoted("cnonce", c.Cnonce)
		b.WriteString("qop=" + c.QOP + ", nc=" + fmt.Sprintf("%08x", c.Nc) + ", ")
	}
	if c.Algorithm != "" {
		b.WriteString("algorithm=" + c.Algorithm + ", ")
	}
	if c.Userhash {
		b.WriteString("userhash=true, ")
	}
	b.WriteString(`response="` + c.Response + `"`)
	return b.String()
}
