package illness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certificates are two of one key and the same names: a good one, and one that has expired. The
// key is made again for each site; nothing that a test sees depends on it.
type certificates struct {
	good, expired tls.Certificate
	roots         *x509.CertPool
	pem           []byte // of those who sign
}

func newCertificates(names ...string) (*certificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("a key for the site: %w", err)
	}
	c := &certificates{roots: x509.NewCertPool()}
	if c.good, err = c.sign(key, names, time.Now().AddDate(20, 0, 0)); err != nil {
		return nil, err
	}
	c.expired, err = c.sign(key, names, time.Now().Add(-time.Hour))
	return c, err
}

// sign makes a certificate that signs itself, and trusts it.
func (c *certificates) sign(key *ecdsa.PrivateKey, names []string, until time.Time) (tls.Certificate, error) {
	name := pkix.Name{CommonName: "sick site until " + until.Format(time.DateOnly)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(until.Unix()), Subject: name,
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: until,
		DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("a certificate for the site: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("a certificate for the site: %w", err)
	}
	c.roots.AddCert(leaf)
	c.pem = append(c.pem, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// config presents the certificate that the health of the site at a name lets it present.
func (c *certificates) config(site func(name string) *Site) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if site(hello.ServerName).Illness() == ExpiredCertificate {
			return &c.expired, nil
		}
		return &c.good, nil
	}}
}
