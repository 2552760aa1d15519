package auth

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// LoadCertificate reads a client certificate with its chain, and its private key, from PEM files; if both are in one
// file, keyFile is empty. It is for tls.Config.Certificates of the connections that Settings.Do uses, and of no others.
// read returns a file's content; it may refuse. The error names the file and the problem, and contains no part of a
// key.
func LoadCertificate(read func(file string) ([]byte, error), certFile, keyFile string) (tls.Certificate, error) {
	if keyFile == "" {
		keyFile = certFile
	}
	certificate, err := readPEM(read, certFile, "CERTIFICATE")
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate: %w", err)
	}
	key, err := readPEM(read, keyFile, "PRIVATE KEY")
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("key of the client certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate %s and key %s: %w", certFile, keyFile, err)
	}
	now := time.Now()
	switch leaf := pair.Leaf; {
	case now.After(leaf.NotAfter):
		return tls.Certificate{}, fmt.Errorf("client certificate %s: it expired at %s: renew it", certFile, leaf.NotAfter.Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		return tls.Certificate{}, fmt.Errorf("client certificate %s: it is not valid before %s: check it and this machine's clock", certFile, leaf.NotBefore.Format(time.DateOnly))
	}
	return pair, nil
}

// readPEM reads a file that contains a block whose type ends in kind.
func readPEM(read func(string) ([]byte, error), file, kind string) ([]byte, error) {
	content, err := read(file)
	if err != nil {
		return nil, err
	}
	found := []string{}
	for rest := content; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch {
		case strings.HasSuffix(block.Type, "ENCRYPTED PRIVATE KEY") && kind == "PRIVATE KEY",
			strings.HasSuffix(block.Type, kind) && block.Headers["DEK-Info"] != "":
			return nil, fmt.Errorf("%s: the key is encrypted: decrypt it (openssl pkey -in %s -out key.pem) and let only the crawler's user read it", file, file)
		case strings.HasSuffix(block.Type, kind):
			return content, nil
		}
		found = append(found, tidy(block.Type, 40))
	}
	if len(found) > 0 {
		return nil, fmt.Errorf("%s: it contains no PEM block %s, only %s", file, kind, strings.Join(found, ", "))
	}
	if bytes.HasPrefix(content, []byte{0x30}) {
		return nil, fmt.Errorf("%s: this is DER or PKCS#12: convert it to PEM (openssl x509 or openssl pkcs12 -nodes)", file)
	}
	return nil, errors.New(file + ": it contains no PEM block")
}
