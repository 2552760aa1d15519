// Package testopenid is a strict provider of OpenID Connect for tests, without people: whoever is sent to it is signed
// in. Its lock guards the codes and what tests set.
package testopenid

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Provider is the provider.
type Provider struct {
	Issuer, ClientID, Secret string
	Key                      *rsa.PrivateKey

	mu     sync.Mutex
	claims map[string]any
	forge  func(claims map[string]any) string
	codes  map[string]grant
	page   bool
}

// grant is what a code stands for.
type grant struct{ redirect, nonce, challenge string }

// New starts a provider, at a name other than the services' 127.0.0.1: to a browser it is another site.
func New(t testing.TB) *Provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{ClientID: "sextant", Secret: "s3cret of the client", Key: key, codes: map[string]grant{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.Issuer = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	return p
}

// Person sets the claims of whoever signs in from now on.
func (p *Provider) Person(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = claims
}

// Forge sets the function that makes later ID tokens from the right claims; nil is the default one.
func (p *Provider) Forge(token func(claims map[string]any) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forge = token
}

// ShowPage has the provider show a page with a link back, in place of a redirect.
func (p *Provider) ShowPage() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.page = true
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.Issuer, "authorization_endpoint": p.Issuer + "/authorize", "token_endpoint": p.Issuer +
			"/token", "jwks_uri": p.Issuer + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "none"}, "scopes_supported": []string{"openid", "groups"},
	})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	e := big.NewInt(int64(p.Key.E)).Bytes()
	answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1",
		"n": base64.RawURLEncoding.EncodeToString(p.Key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(e),
	}}})
}

// authorize refuses what a strict provider refuses (OpenID Connect Core 3.1.2, RFC 7636).
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case err != nil || q.Get("client_id") != p.ClientID || back.Path != "/signin/callback":
		http.Error(w, "unknown client or redirect_uri", http.StatusBadRequest)
		return
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != 43 ||
		len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20 || !strings.Contains(" "+q.Get("scope")+" ", " openid ") ||
		!strings.Contains(q.Get("scope"), "groups"):
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = grant{q.Get("redirect_uri"), q.Get("nonce"), q.Get("code_challenge")}
	page := p.page
	p.mu.Unlock()
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	if page {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><title>Provider</title><link rel="icon" href="data:,">`+
			`<a href="%s">Sign in</a></html>`,
			strings.ReplaceAll(back.String(), "&", "&amp;"))
		return
	}
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token redeems a code once, for the client that has the secret and the verifier.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	user, secret, basic := r.BasicAuth()
	if !basic {
		user, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	} else {
		secret, _ = url.QueryUnescape(secret)
	}
	if user != p.ClientID || secret != p.Secret {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || g.redirect != r.PostFormValue("redirect_uri") ||
		g.challenge != base64.RawURLEncoding.EncodeToString(challenge[:]) {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := map[string]any{"iss": p.Issuer, "aud": p.ClientID, "sub": "1", "nonce": g.nonce, "iat": now.Unix(),
		"exp": now.Add(5 * time.Minute).Unix()}
	maps.Copy(claims, p.claims)
	token := p.Sign(claims, p.Key)
	if p.forge != nil {
		token = p.forge(claims)
	}
	answer(w, http.StatusOK, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": token})
}

// Sign returns an ID token.
func (p *Provider) Sign(claims map[string]any, key *rsa.PrivateKey) string {
	text := Part(map[string]string{"alg": "RS256", "kid": "1"}) + "." + Part(claims)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		panic(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// Part returns a part of a token.
func Part(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}
