// Package peer lets the nodes of a cluster ask each other over HTTPS. Both ends prove that they have
// the cluster's token, and neither ever sends it: each proof is a MAC over the keys of the one TLS
// connection that it travels on. So it is of no use on another connection, and who
// stands between two nodes with a certificate of its own has other keys on either side. Certificates need no
// authority for that: each process makes its own.
//
// There is no goroutine and no lock here.
package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"strings"
	"time"
)

// ErrProof says that the other end did not prove that it has the token.
var ErrProof = errors.New("the other node did not prove that it has this cluster's token")

// leastToken is how many characters a token has at least: proofs can be tried out by whoever got a node to
// connect to it, so no word that a person thinks of will do.
const leastToken = 32

// Token is the secret that all nodes of a cluster have. It is never printed.
type Token struct{ key [sha256.Size]byte }

// NewToken draws the text of a token.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails: the standard library ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ParseToken reads the text of a token; blanks and line ends around it do not count.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	if len(text) < leastToken {
		return Token{}, fmt.Errorf("the cluster's token has %d characters: write at least %d, drawn by chance, such as sextant cluster init prints", len(text), leastToken)
	}
	return Token{sha256.Sum256([]byte("sextant cluster token " + text))}, nil
}

// Format implements fmt.Formatter: no verb shows the token.
func (Token) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("(token)")) }

// LogValue implements slog.LogValuer.
func (Token) LogValue() slog.Value { return slog.StringValue("(token)") }

// Seal is what only who has the token can make of a text: it shows to the others that have it that the text is one of theirs.
func (t Token) Seal(of string) string {
	mac := hmac.New(sha256.New, t.key[:])
	_, _ = io.WriteString(mac, "seal "+of)
	return hex.EncodeToString(mac.Sum(nil))
}

// Sealed reports whether a seal is that of a text.
func (t Token) Sealed(of, seal string) bool { return hmac.Equal([]byte(t.Seal(of)), []byte(seal)) }

// The ends of a connection: a proof of one is none of the other.
const (
	asks    = "asks"
	answers = "answers"
)

// header carries the proofs.
const header = "Sextant-Proof"

// proof is what one end of a connection shows.
func (t Token) proof(c *tls.ConnectionState, end string) (string, error) {
	if c == nil || c.Version < tls.VersionTLS13 {
		return "", errors.New("the connection is not TLS 1.3")
	}
	keys, err := c.ExportKeyingMaterial("EXPORTER-sextant-cluster", nil, 32)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, t.key[:])
	mac.Write([]byte("sextant cluster 1 " + end + " "))
	mac.Write(keys)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}

// proves reports whether a proof is that of the end.
func (t Token) proves(c *tls.ConnectionState, end, shown string) bool {
	want, err := t.proof(c, end)
	return err == nil && hmac.Equal([]byte(want), []byte(shown))
}

// ServerConfig is the TLS of a listener, with a certificate of this process.
func ServerConfig() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	name := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"sextant"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(20, 0, 0),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, name, name, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	}, nil
}
