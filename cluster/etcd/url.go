package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
)

const defaultPort = "2379"

// forms is what an error says to write.
const forms = "write etcd://HOST:PORT,HOST:PORT,HOST:PORT[/PREFIX], or etcds:// for TLS, with the client ports of all members"

// ParseURL reads how an etcd is reached: etcd://a:2379,b:2379,c:2379/prefix, or etcds:// where it
// has TLS. A port that is not written is 2379, the prefix sextant.
func ParseURL(raw string) (Settings, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	transport := map[string]string{"etcd": "http://", "etcds": "https://"}[scheme]
	if !ok || transport == "" {
		return Settings{}, fmt.Errorf("engine %q: %s", raw, forms)
	}
	hosts, prefix, slash := strings.Cut(rest, "/")
	prefix = strings.TrimSuffix(prefix, "/")
	if slash && prefix != "" && !regexp.MustCompile(`^[a-zA-Z0-9._/-]{1,100}$`).MatchString(prefix) {
		return Settings{}, fmt.Errorf("engine %q: the prefix %q may have letters, digits, dots, dashes, underscores and slashes, 100 at most", raw, prefix)
	}
	var s Settings
	if prefix != "" {
		s.Prefix = prefix + "/"
	}
	for member := range strings.SplitSeq(hosts, ",") {
		endpoint, err := hostPort(strings.TrimSpace(member))
		if err != nil {
			return Settings{}, fmt.Errorf("engine %q: member %q: %w: %s", raw, member, err, forms)
		}
		s.Endpoints = append(s.Endpoints, transport+endpoint)
	}
	return s, nil
}

func hostPort(member string) (string, error) {
	host, port, err := net.SplitHostPort(member)
	if err != nil {
		if host, port = strings.Trim(member, "[]"), defaultPort; strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", errors.New("it is no host and port")
		}
	}
	if net.ParseIP(host) == nil && !regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,251}[a-zA-Z0-9])?$`).MatchString(host) {
		return "", fmt.Errorf("%q is no host", host)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q is no port", port)
	}
	return net.JoinHostPort(host, port), nil
}

// Files are where the TLS of an etcd lies, as PEM.
type Files struct {
	CA          string // of those who sign etcd's certificates; "": the system's
	Certificate string // that names this node's user to etcd; "": none
	Key         string // of Certificate
}

// Secure gives the settings the TLS of the files. They are of use for etcds:// only.
func (s *Settings) Secure(f Files) error {
	if !strings.HasPrefix(s.Endpoints[0], "https://") {
		if f != (Files{}) {
			return errors.New("engine: certificates are of use with TLS only: write etcds://")
		}
		return nil
	}
	s.TLS, s.files = &tls.Config{MinVersion: tls.VersionTLS12}, f
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return fmt.Errorf("engine: the authority of etcd's certificates: %w", err)
		}
		s.TLS.RootCAs = x509.NewCertPool()
		if !s.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("engine: %s holds no certificate in PEM", f.CA)
		}
	}
	if (f.Certificate == "") != (f.Key == "") {
		return errors.New("engine: certificate and key go together: name both files")
	}
	if f.Certificate == "" {
		return nil
	}
	s.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return f.load() }
	_, err := f.load()
	return err
}

// load reads the certificate: at each connection, so that it may be renewed while the node runs.
func (f *Files) load() (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("engine: certificate %s with the key %s: %w", f.Certificate, f.Key, err)
	}
	return &c, nil
}
