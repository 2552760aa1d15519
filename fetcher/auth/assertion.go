package auth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

// assertionTime is the time for which an assertion is valid; each is used once, immediately.
const assertionTime = 5 * time.Minute

// assertion returns a JSON Web Token that authenticates the client at a token endpoint, by the key of its certificate
// (RFC 7523 section 2.2; PS256 and x5t#S256 as Microsoft Entra ID requires them).
func assertion(certificate *tls.Certificate, clientID, audience string, now time.Time) (string, error) {
	key, ok := certificate.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		return "", errors.New("the key of certFile is not an RSA key")
	}
	thumbprint := sha256.Sum256(certificate.Certificate[0])
	encoded := func(v any) string {
		b, _ := json.Marshal(v) // maps of texts and numbers: it cannot fail
		return base64.RawURLEncoding.EncodeToString(b)
	}
	text := encoded(map[string]string{"alg": "PS256", "typ": "JWT",
		"x5t#S256": base64.RawURLEncoding.EncodeToString(thumbprint[:])}) + "." +
		encoded(map[string]any{
			"aud": audience, "iss": clientID, "sub": clientID, "jti": rand.Text(),
			"nbf": now.Unix(), "exp": now.Add(assertionTime).Unix(),
		})
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPSS(rand.Reader, key, crypto.SHA256, digest[:],
		&rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
