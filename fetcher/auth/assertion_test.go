package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

// certificateOf returns a self-signed certificate.
func certificateOf(t *testing.T, key crypto.Signer) *tls.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// proven returns the fault of an assertion, as a token endpoint finds it that has the certificate and has seen the
// others.
func proven(certificate *tls.Certificate, written string, seen map[string]bool) string {
	parts := strings.Split(written, ".")
	if len(parts) != 3 {
		return "it has not three parts"
	}
	decoded := make([][]byte, 3)
	for i, part := range parts {
		b, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			return err.Error()
		}
		decoded[i] = b
	}
	var head struct {
		Alg  string `json:"alg"`
		Type string `json:"typ"`
		X    string `json:"x5t#S256"`
	}
	var claims struct {
		Aud, Iss, Sub, Jti string
		Nbf, Exp           int64
	}
	if json.Unmarshal(decoded[0], &head) != nil || json.Unmarshal(decoded[1], &claims) != nil {
		return "no JSON"
	}
	thumbprint := sha256.Sum256(certificate.Certificate[0])
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	key, now := certificate.PrivateKey.(*rsa.PrivateKey), time.Now()
	switch {
	case head.Alg != "PS256" || head.Type != "JWT" || head.X != base64.RawURLEncoding.EncodeToString(thumbprint[:]):
		return "the header"
	case rsa.VerifyPSS(&key.PublicKey, crypto.SHA256, digest[:], decoded[2],
		&rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}) != nil:
		return "the signature"
	case claims.Aud != tokens || claims.Iss != "me" || claims.Sub != "me":
		return "the claims"
	case claims.Nbf > now.Unix() || claims.Exp <= now.Unix() || claims.Exp > now.Unix()+600:
		return "the time"
	case claims.Jti == "" || seen[claims.Jti]:
		return "it was used before"
	}
	seen[claims.Jti] = true
	return ""
}

// TestOAuth2ByCertificate: each token request carries a new assertion, and no secret.
func TestOAuth2ByCertificate(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		certificate, seen, asked := certificateOf(t, key), map[string]bool{}, 0
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Host != "login.example.com" {
				if r.Header.Get("Authorization") != "Bearer opens" {
					w.WriteHeader(http.StatusUnauthorized)
				}
				_, _ = io.WriteString(w, "content")
				return
			}
			asked++
			if _, _, basic := r.BasicAuth(); basic || r.PostFormValue("client_secret") != "" ||
				r.PostFormValue("client_id") != "me" ||
				r.PostFormValue("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
				t.Errorf("the request is %v", r.PostForm)
			}
			if wrong := proven(certificate, r.PostFormValue("client_assertion"), seen); wrong != "" {
				t.Errorf("the assertion is refused: %s", wrong)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"opens","token_type":"Bearer","expires_in":600}`)
		})
		s := newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(site), Logger: (&logs{}).logger()},
			auth.OAuth2{TokenURL: tokens, ClientID: "me", Certificate: certificate, Scopes: []string{"all"}})
		c := newCrawl(s)
		c.run(t.Context(), 20, pages(t, origin, "/a")...)
		time.Sleep(550 * time.Second)
		c.run(t.Context(), 20, pages(t, origin, "/b")...)
		if asked != 2 || len(c.result) != 2 || len(c.waits) > 0 {
			t.Errorf("%d token requests, %v, words %q", asked, c.result, c.waits)
		}
	})
}

func TestOAuth2NeedsOneProof(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for want, k := range map[string]auth.OAuth2{
		"not an RSA key": {TokenURL: tokens, ClientID: "me", Certificate: certificateOf(t, key)},
		"either a client secr": {TokenURL: tokens, ClientID: "me", Certificate: certificateOf(t, key),
			ClientSecret: secret.New("x")},
		"require a client id": {TokenURL: tokens, ClientID: "me"},
	} {
		_, err := auth.New(auth.Settings{Origins: []string{origin}, Do: inMemory(http.NotFoundHandler()),
			Logger: (&logs{}).logger()}, k)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
