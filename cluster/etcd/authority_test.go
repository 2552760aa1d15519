package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs the certificates of a test.
type authority struct {
	dir  string
	file string // its certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{dir: dir, file: filepath.Join(dir, name+".pem"), key: newKey(t)}
	template := template(name, 0)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der := sign(t, template, template, &a.key.PublicKey, a.key)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// issue writes a certificate for an address, and its key. Its days have ended so long ago; 0: they have not.
func (a *authority) issue(t *testing.T, name, address string, expired time.Duration) Files {
	t.Helper()
	key, template := newKey(t), template(name, expired)
	template.IPAddresses = []net.IP{net.ParseIP(address)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	f := Files{CA: a.file, Certificate: filepath.Join(a.dir, name+".pem"), Key: filepath.Join(a.dir, name+".key")}
	writePEM(t, f.Certificate, "CERTIFICATE", sign(t, template, a.cert, &key.PublicKey, a.key))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, f.Key, "PRIVATE KEY", der)
	return f
}

func template(name string, expired time.Duration) *x509.Certificate {
	c := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: time.Now().AddDate(-2, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	if expired != 0 {
		c.NotAfter = time.Now().Add(-expired)
	}
	return c
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
