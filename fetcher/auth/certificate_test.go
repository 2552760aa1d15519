package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/auth"
)

// issued returns a certificate for client authentication, signed by itself, and its key.
func issued(t *testing.T, from, to time.Time) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "crawler"}, NotBefore: from, NotAfter: to,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

func file(t *testing.T, parts ...[]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.pem")
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	if err := os.WriteFile(name, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestClientCertificate(t *testing.T) {
	now := time.Now()
	certificate, key := issued(t, now.Add(-time.Hour), now.Add(time.Hour))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello "+r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)

	crawl := func(certificates ...tls.Certificate) (*crawl, *auth.Session) {
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certificates}}
		t.Cleanup(tr.CloseIdleConnections)
		s := newSession(t, auth.Settings{Name: "mtls", Origins: []string{server.URL}, Do: transportDo(tr)}, auth.Certificate{})
		c := newCrawl(s)
		c.pause = func(bool) {}
		c.visit(t.Context(), parse(t, server.URL+"/a"))
		return c, s
	}
	for name, load := range map[string]func() (tls.Certificate, error){
		"two files": func() (tls.Certificate, error) {
			return auth.LoadCertificate(os.ReadFile, file(t, certificate), file(t, key))
		},
		"one file": func() (tls.Certificate, error) {
			return auth.LoadCertificate(os.ReadFile, file(t, key, certificate), "")
		},
	} {
		loaded, err := load()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c, s := crawl(loaded); c.result[server.URL+"/a"] != 200 || s.Status().State != "good" {
			t.Errorf("%s: %v, words %q", name, c.result, c.waits)
		}
	}
	if c, s := crawl(); len(c.result) > 0 || s.Status().State != "failed" || !strings.Contains(fmt.Sprint(c.waits), "mtls: the server rejects the client certificate: tls: certificate required") {
		t.Errorf("without certificate: %v, %+v, words %q", c.result, s.Status(), c.waits)
	}
	otherCertificate, otherKey := issued(t, now.Add(-time.Hour), now.Add(time.Hour))
	other, err := tls.X509KeyPair(otherCertificate, otherKey)
	if err != nil {
		t.Fatal(err)
	}
	if c, s := crawl(other); len(c.result) > 0 || s.Status().State != "failed" {
		t.Errorf("with a stranger's certificate: %v, %+v, words %q", c.result, s.Status(), c.waits)
	}
}

func TestLoadCertificateErrors(t *testing.T) {
	now := time.Now()
	certificate, key := issued(t, now.Add(-time.Hour), now.Add(time.Hour))
	over, overKey := issued(t, now.Add(-2*time.Hour), now.Add(-time.Hour))
	early, earlyKey := issued(t, now.Add(time.Hour), now.Add(2*time.Hour))
	_, otherKey := issued(t, now.Add(-time.Hour), now.Add(time.Hour))
	block, _ := pem.Decode(certificate)
	for name, c := range map[string]struct{ certificate, key, want string }{
		"no file":       {"/nowhere/file.pem", "", "/nowhere/file.pem"},
		"empty":         {file(t), "", "no PEM block"},
		"key only":      {file(t, key), "", "it contains no PEM block CERTIFICATE, only PRIVATE KEY"},
		"no key":        {file(t, certificate), "", "key of the client certificate"},
		"der":           {file(t, block.Bytes), "", "convert it to PEM"},
		"encrypted":     {file(t, certificate), file(t, pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}})), "decrypt it"},
		"old encrypted": {file(t, certificate), file(t, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"DEK-Info": "AES-128-CBC,00"}, Bytes: []byte{1}})), "decrypt it"},
		"other key":     {file(t, certificate), file(t, otherKey), "does not match"},
		"over":          {file(t, over), file(t, overKey), "expired at"},
		"early":         {file(t, early), file(t, earlyKey), "not valid before"},
		"broken":        {file(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})), file(t, key), "x509"},
	} {
		_, err := auth.LoadCertificate(os.ReadFile, c.certificate, c.key)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}
