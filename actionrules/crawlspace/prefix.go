package crawlspace

import (
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// prefixRule matches URLs by a prefix.
type prefixRule struct {
	rule
	text string // a pattern with wildcards, none at its end
}

// parsePrefix parses the target of a prefix rule and converts it into the canonical form of URLs as far as possible.
// problem describes the fault and the correction.
func parsePrefix(target string) (text, problem string) {
	switch {
	case len(target) > weburl.MaxLength:
		return "", fmt.Sprintf("the prefix is longer than any URL, which has at most %d bytes", weburl.MaxLength)
	case strings.Contains(target, "#"):
		return "", fmt.Sprintf("%s holds #, which no URL here does; leave the fragment out, put a blank before a comment", clip(target))
	case !mayBeURL(target):
		return "", noScheme(target)
	}
	scheme, rest, found := strings.Cut(target, "://")
	if !found {
		return strings.TrimSuffix(wildcards(lower(target)), string(rune(wildcard))), ""
	}
	scheme = lower(scheme)
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	if strings.Contains(authority, "@") {
		return "", fmt.Sprintf("%s holds a user name, which no URL here does; leave it out", clip(target))
	}
	if strings.HasPrefix(path, "?") {
		path = "/" + path
	}
	authority, problem = canonicalAuthority(scheme, authority, path != "")
	if problem != "" {
		return "", problem
	}
	text = wildcards(scheme + "://" + authority + escape(path))
	return strings.TrimSuffix(text, string(rune(wildcard))), ""
}

// mayBeURL reports whether some http or https URL could begin with the pattern.
func mayBeURL(target string) bool {
	head := lower(target)
	if i := strings.Index(head, "//"); i >= 0 {
		head = head[:i+len("//")]
	}
	if !strings.HasPrefix(head, "http://") && !strings.HasPrefix(head, "https://") && !strings.Contains(head, "*") {
		return false
	}
	p := wildcards(head)
	return matches(p, "http://", atStart) || matches(p, "https://", atStart)
}

// noScheme returns the correction for a prefix that no URL begins with.
func noScheme(target string) string {
	if strings.Contains(target, "://") {
		return fmt.Sprintf("%s can match no URL here; a prefix begins with http:// or https://", clip(target))
	}
	return fmt.Sprintf("%s has no scheme; write %s or %s", clip(target),
		clip("http://"+strings.TrimLeft(target, "/")), clip("https://"+strings.TrimLeft(target, "/")))
}

// canonicalAuthority spells host and port as canonical URLs do. A host that is
// not complete, because nothing follows it, stays open.
func canonicalAuthority(scheme, authority string, complete bool) (string, string) {
	if complete && !strings.Contains(authority, "*") {
		if scheme != "https" { // http, or with a wildcard
			scheme = "http"
		}
		u, err := weburl.Parse(scheme + "://" + authority + "/")
		if err != nil {
			return "", fmt.Sprintf("%s is no host; write it as in http://www.example.com/ or http://[2001:db8::1]:8080/", clip(authority))
		}
		return strings.TrimPrefix(u.Origin(), u.Scheme()+"://"), ""
	}
	if complete && scheme == "http" {
		authority = strings.TrimSuffix(authority, ":80")
	} else if complete && scheme == "https" {
		authority = strings.TrimSuffix(authority, ":443")
	}
	if isASCII(authority) {
		return lower(authority), ""
	}
	host, port, hasPort := strings.Cut(authority, ":")
	host, problem := hostPattern(host)
	if hasPort {
		host += ":" + port
	}
	return strings.ReplaceAll(host, string(rune(wildcard)), "*"), problem
}

// escape escapes the same characters of path and query as canonical URLs: complete escapes in upper case, those of
// unreserved characters (RFC 3986 section 2.3) decoded, bytes above ASCII encoded.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x80 && (c != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteByte(c)
			continue
		}
		if c == '%' {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if 'a' <= lowerByte(c) && lowerByte(c) <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~' {
				b.WriteByte(c)
				continue
			}
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lowerByte(c) && lowerByte(c) <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return lowerByte(c) - 'a' + 10
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// prefixGate asks the prefix rules; the first that applies decides.
type prefixGate struct {
	rules   []prefixRule
	matcher *matcher
}

func newPrefixGate(rules []prefixRule) *prefixGate {
	if len(rules) == 0 {
		return nil
	}
	patterns := make([]pattern, len(rules))
	for i, r := range rules {
		patterns[i] = pattern{r.text, int32(i)}
	}
	return &prefixGate{rules, newMatcher(patterns, atStart)}
}

// decide returns the first rule that applies, or nil.
func (g *prefixGate) decide(l Link) *rule {
	if i := g.matcher.first(l.URL.String()); i != none {
		return &g.rules[i].rule
	}
	return nil
}

func (g *prefixGate) judge(l Link) (Reason, bool) { return g.decide(l).judge(GatePrefix) }
