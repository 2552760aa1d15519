package wire

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
)

// Settings of a Client. Zero values stand for the defaults in brackets.
type Settings struct {
	URL string // http(s)://HOST:PORT, and the path below which the commands are

	User     string       // HTTP Basic, if not empty
	Password secret.Value // of User
	Headers  []Header     // sent with each request, such as an API key

	Roots       *x509.CertPool // authorities of the server's certificate [the system's]
	InsecureTLS bool           // accepts any certificate

	Gzip            bool // compresses bodies
	MaxRequestsPerS int  // repetitions included [no limit]

	Timeout      time.Duration // maximum time without data, before and during the response [2 min]
	Retries      int           // repetitions of one request before it fails; -1 for none [4]
	RetryWait    time.Duration // before the first of them, doubled for each other [500 ms]
	RetryWaitMax time.Duration // the maximum of that, and of a server's Retry-After [1 min]

	// Transport makes the requests, with TLS settings of its own
	// [http.DefaultTransport's settings, on its own].
	Transport http.RoundTripper
}

// Header is a header field that may be a secret.
type Header struct {
	Name  string
	Value secret.Value
}

// Bearer is the header of a bearer token (RFC 6750).
func Bearer(token secret.Value) Header {
	return Header{"Authorization", secret.New("Bearer " + token.Reveal())}
}

func (s *Settings) setDefaults() {
	span := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	span(&s.Timeout, 2*time.Minute)
	span(&s.RetryWait, 500*time.Millisecond)
	span(&s.RetryWaitMax, time.Minute)
	if s.Retries == 0 {
		s.Retries = 4
	}
	s.Retries = max(s.Retries, 0)
}

// base is URL without a slash at its end.
func (s *Settings) base() (string, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "", fmt.Errorf("url: %w: write http://HOST:PORT", withoutURL(err)) // without the URL: it may hold a password
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("url %q is not the address of a server: write http://HOST:PORT", u.Redacted())
	}
	if u.User != nil {
		return "", errors.New("url has a user in it: write user and password into their own attributes")
	}
	return strings.TrimRight(u.String(), "/"), nil
}
