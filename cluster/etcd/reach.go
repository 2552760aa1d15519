package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// reach.go: why no member of etcd answers. gRPC tries again until the time is over, and then says that alone; so for people who have to
// end it a connection is made by hand. It starts a goroutine for each member, and waits for all.

// reachFor is how long a member may take to say whether it takes a connection.
const reachFor = 5 * time.Second

// unreached says of each member why it cannot be reached; "" if nothing is wrong with the connections.
func (e *Engine) unreached(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, reachFor)
	defer cancel()
	all := make([]error, len(e.names))
	var g sync.WaitGroup
	for i, name := range e.names {
		g.Go(func() { all[i] = e.reach(ctx, name) })
	}
	g.Wait()
	var words []string
	for i, err := range all {
		if err != nil {
			words = append(words, e.names[i]+": "+err.Error())
		}
	}
	return strings.Join(words, "; ")
}

// reach connects to a member once, as its client does.
func (e *Engine) reach(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	if e.secure.TLS == nil {
		// Nothing is said over this connection: whether there is TLS is all that is asked.
		if tls.Client(raw, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) == nil { //nolint:gosec // see above
			return errors.New("it wants TLS: write etcds://")
		}
		return nil
	}
	return e.secure.handshake(ctx, raw, u.Hostname())
}

// handshake ends when the member has taken the certificate of this end, too: with TLS 1.3 that is after its own handshake.
func (s *secure) handshake(ctx context.Context, raw net.Conn, host string) error {
	config := s.TLS.Clone()
	config.ServerName, config.NextProtos = host, []string{"h2"}
	var asked *tls.CertificateRequestInfo
	own := config.GetClientCertificate
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked = info
		if own == nil {
			return &tls.Certificate{}, nil
		}
		return own(info)
	}
	conn := tls.Client(raw, config)
	err := conn.HandshakeContext(ctx)
	if err == nil {
		_, err = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")) // HTTP/2 begins so
	}
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return s.refusal(err, asked)
}

// refusal says which file is wrong, and what to do. asked is what the member wanted to see, nil if it wanted nothing.
func (s *secure) refusal(err error, asked *tls.CertificateRequestInfo) error {
	var plain tls.RecordHeaderError
	var signer x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &plain):
		return errors.New("it has no TLS: write etcd://, or give etcd a certificate (ETCD_CERT_FILE)")
	case errors.As(err, &signer) && s.CA == "":
		return errors.New("no authority of this machine signed etcd's certificate: name the file of the one that did (--engine-ca)")
	case errors.As(err, &signer):
		return fmt.Errorf("no authority in %s signed etcd's certificate: name the file of the one that did (--engine-ca)", s.CA)
	case errors.As(err, &name):
		return fmt.Errorf("etcd's certificate (ETCD_CERT_FILE there) has another name: %w: write a name that it has in --engine, or give etcd one with this name", name)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("etcd's certificate (ETCD_CERT_FILE there): %w: renew it, if this machine's clock is right", invalid)
	case asked == nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return errors.New("it ends the connection instead of beginning TLS: write etcd:// if it has none, or give etcd a certificate (ETCD_CERT_FILE)")
	case asked == nil:
		return err
	case s.Certificate == "":
		return errors.New("etcd asks for a certificate: name the files of this node's, and of its key (--engine-cert, --engine-key)")
	}
	return s.ownRefused(err, asked)
}

// ownRefused says what may be wrong with the certificate that this end has shown.
func (s *secure) ownRefused(err error, asked *tls.CertificateRequestInfo) error {
	c, unread := s.load()
	if unread != nil {
		return unread
	}
	switch now := time.Now(); {
	case now.After(c.Leaf.NotAfter):
		return fmt.Errorf("etcd refuses the certificate %s (--engine-cert): it expired on %s: renew it", s.Certificate, c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.Leaf.NotBefore):
		return fmt.Errorf("etcd refuses the certificate %s (--engine-cert): it is not valid before %s: look at the clocks", s.Certificate, c.Leaf.NotBefore.UTC().Format(time.RFC3339))
	case asked.SupportsCertificate(c) != nil:
		return fmt.Errorf("etcd refuses the certificate %s (--engine-cert): no authority that etcd trusts (ETCD_TRUSTED_CA_FILE there) signed it: have it signed by one of those", s.Certificate)
	}
	return fmt.Errorf("etcd refuses the certificate %s (--engine-cert): %w: it has to be for clients, and signed by an authority that etcd trusts (ETCD_TRUSTED_CA_FILE there)", s.Certificate, err)
}
