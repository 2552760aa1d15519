package auth

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// origins are the origins that may receive credentials.
type origins []origin

// origin is scheme, host and port (RFC 6454); with subdomains, all hosts below host.
type origin struct {
	scheme, host, port string
	subdomains         bool
}

// parseOrigins parses "https://host", "https://host:8443" and "https://*.example.com", which stands for all hosts below
// example.com but not for itself.
func parseOrigins(written []string) (origins, error) {
	all := make(origins, 0, len(written))
	for _, w := range written {
		u, err := url.Parse(w)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("origin %q is not an origin: write scheme and host, such as https://intranet.example.com", tidy(w, 100))
		}
		if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
			return nil, fmt.Errorf("origin %q: write only scheme, host and port; the URL condition selects pages", place(u))
		}
		o := originOf(u)
		o.host, o.subdomains = strings.CutPrefix(o.host, "*.")
		if strings.Contains(o.host, "*") || o.subdomains && !strings.Contains(o.host, ".") {
			return nil, fmt.Errorf("origin %q: write a star only in place of whole names before a domain, such as https://*.example.com", w)
		}
		all = append(all, o)
	}
	return all, nil
}

func originOf(u *url.URL) origin {
	o := origin{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), port: u.Port()}
	if o.port == "" {
		o.port = map[string]string{"http": "80", "https": "443"}[o.scheme]
	}
	return o
}

func (o origin) String() string {
	host := o.host
	if o.subdomains {
		host = "*." + host
	}
	if o.scheme == "http" && o.port == "80" || o.scheme == "https" && o.port == "443" {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return o.scheme + "://" + host
	}
	return o.scheme + "://" + net.JoinHostPort(host, o.port)
}

func (o origin) matchesHost(host string) bool {
	if o.subdomains {
		return strings.HasSuffix(host, "."+o.host)
	}
	return host == o.host
}

// admit returns why u must not receive the credentials; nil if it may.
func (all origins) admit(u *url.URL) error {
	asked := originOf(u)
	var secure bool
	for _, o := range all {
		if !o.matchesHost(asked.host) {
			continue
		}
		if o.scheme == asked.scheme && o.port == asked.port {
			return nil
		}
		secure = secure || o.scheme == "https" && asked.scheme == "http"
	}
	if secure {
		return fmt.Errorf("the credentials are for https and would go to %s unencrypted: restrict the URL condition to https, or add %s to the origins", asked, asked)
	}
	return fmt.Errorf("the credentials are not for %s: if they are meant for it, add it to the origins", asked)
}

// place returns u in a form for messages and logs, without the parts that often contain secrets: user, query, fragment
// and path parameters.
func place(u *url.URL) string {
	if u == nil {
		return "no URL"
	}
	path, _, _ := strings.Cut(u.EscapedPath(), ";")
	return tidy(originOf(u).String()+path, 300)
}

// tidy returns a server's text in a form for one line of a log: printable ASCII, cut at limit.
func tidy(s string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s[:min(len(s), limit)])
	if len(s) > limit {
		clean += "..."
	}
	return clean
}

var errNoOrigins = errors.New("origins are missing: name the servers that the credentials are for, such as https://intranet.example.com")
