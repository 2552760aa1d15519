package weburl

import (
	"net/netip"
	"strings"
)

// schemeLength returns the number of bytes before the colon of a scheme; 0 if s has none.
func schemeLength(s string) int {
	if s == "" || s[0] < 'A' || !is(s[0], schemeByte) {
		return 0
	}
	for i := 1; i < len(s); i++ {
		if !is(s[i], schemeByte) {
			if s[i] == ':' {
				return i
			}
			return 0
		}
	}
	return 0
}

// cutScheme splits s before the host, if s is http or https and has two slashes.
func cutScheme(s string) (scheme, rest string, ok bool) {
	n := schemeLength(s)
	switch {
	case n == len("http") && strings.EqualFold(s[:n], "http"):
		scheme = "http"
	case n == len("https") && strings.EqualFold(s[:n], "https"):
		scheme = "https"
	default:
		return "", "", false
	}
	rest, ok = strings.CutPrefix(s[n:], "://")
	return scheme, rest, ok
}

// opaqueScheme returns the scheme, with its colon, of a URL like mailto: or
// javascript:, which is never malformed and never to be crawled; else empty.
func opaqueScheme(raw string) string {
	s := trim(raw)
	n := schemeLength(s)
	if n == 0 || n+1 < len(s) && (s[n+1] == '/' || s[n+1] <= ' ') {
		return ""
	}
	switch scheme := strings.ToLower(s[:n+1]); scheme {
	case "http:", "https:", "ws:", "wss:", "ftp:", "file:": // special, never opaque
		return ""
	default:
		return scheme
	}
}

// appendOrigin writes scheme, host and port and notes their offsets; s begins
// with the host.
func (u *URL) appendOrigin(out []byte, scheme, s string) (_ []byte, n int, ok bool) {
	u.schemeEnd = uint16(len(scheme))
	u.hostStart = u.schemeEnd + uint16(len("://"))
	out = append(append(out, scheme...), "://"...)
	out, n = appendHost(out, s)
	if n == 0 {
		return nil, 0, false
	}
	u.hostEnd = uint16(len(out))
	if n < len(s) && s[n] == ':' {
		port := n + 1
		for n = port; n < len(s) && '0' <= s[n] && s[n] <= '9'; n++ {
		}
		if out, ok = appendPort(out, scheme, s[port:n]); !ok {
			return nil, 0, false
		}
	}
	u.pathStart = uint16(len(out))
	return out, n, n == len(s) || is(s[n], endByte)
}

// appendHost writes the host at the beginning of s in lower case, if it is
// ordinary: a name of letters, digits, hyphens and underscores without punycode,
// or an IPv4 address in canonical form. Else n is 0.
func appendHost(out []byte, s string) (_ []byte, n int) {
	label := len(out)
	for ; n < len(s); n++ {
		c := s[n]
		if !is(c, hostByte) {
			if c != '.' {
				break
			}
			if !ordinaryLabel(out[label:]) {
				return nil, 0
			}
			label = len(out) + 1
		} else if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		out = append(out, c)
	}
	if !ordinaryLabel(out[label:]) {
		return nil, 0
	}
	// The standard takes a host for an address if its last label is a number.
	if c := out[label]; c == '-' || '0' <= c && c <= '9' {
		if a, err := netip.ParseAddr(s[:n]); err != nil || !a.Is4() {
			return nil, 0
		}
	}
	return out, n
}

func ordinaryLabel(l []byte) bool {
	return len(l) > 0 && (len(l) < 4 || string(l[:4]) != "xn--")
}

// appendPort writes a port that is not the scheme's own.
func appendPort(out []byte, scheme, port string) ([]byte, bool) {
	if port == "" || len(port) > 5 || port[0] == '0' || len(port) == 5 && port > "65535" {
		return nil, false
	}
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return out, true
	}
	return append(append(out, ':'), port...), true
}

// IsLoopback reports whether a host, without a port or brackets, is this machine's own: localhost, 127.0.0.0/8 or ::1.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Zone() == "" && a.Unmap().IsLoopback()
}
