package auth

import (
	"net/http"
	"strings"
)

// Limits on challenges; a sensible server sends a handful.
const (
	maxChallenges = 32
	maxParams     = 32
	maxChallenge  = 16 << 10 // bytes of one header line
)

// challenge is one of a WWW-Authenticate header (RFC 9110 section 11.6.1).
type challenge struct {
	scheme string            // lower case
	token  string            // a token68, for NTLM and Negotiate
	params map[string]string // by name in lower case; the first of duplicate names
}

// challenges reads all WWW-Authenticate headers. A syntax error ends its line; challenges before it count.
func challenges(h http.Header) []challenge {
	var all []challenge
	for _, line := range h.Values("Www-Authenticate") {
		if len(line) <= maxChallenge && len(all) < maxChallenges {
			all = append(all, parseChallenges(line)...)
		}
	}
	return all[:min(len(all), maxChallenges)]
}

// offered returns the schemes of a 401 as text.
func offered(h http.Header) string {
	var schemes []string
	for _, c := range challenges(h) {
		schemes = append(schemes, tidy(c.scheme, 20))
	}
	if len(schemes) == 0 {
		return "no scheme that Sextant supports"
	}
	return strings.Join(schemes, ", ")
}

// parseChallenges reads one line. The grammar is ambiguous, as its RFC notes: a comma ends a parameter or a challenge;
// a word without "=" begins the next one.
func parseChallenges(line string) []challenge {
	var all []challenge
	p := parser{line}
	for len(all) < maxChallenges {
		p.skip(" \t,")
		word := p.token()
		if word == "" {
			return all
		}
		if value, ok := p.value(); ok {
			if len(all) == 0 {
				return nil // a parameter without a challenge
			}
			all[len(all)-1].set(word, value)
			continue
		}
		next := challenge{scheme: strings.ToLower(word), params: map[string]string{}}
		switch {
		case p.rest == "" || p.rest[0] == ',':
		case p.rest[0] == ' ' || p.rest[0] == '\t':
			next.token = p.token68()
		default:
			return all
		}
		all = append(all, next)
	}
	return all
}

func (c *challenge) set(name, value string) {
	name = strings.ToLower(name)
	if _, twice := c.params[name]; !twice && len(c.params) < maxParams {
		c.params[name] = value
	}
}

// parser reads from the start of rest.
type parser struct{ rest string }

func (p *parser) skip(set string) { p.rest = strings.TrimLeft(p.rest, set) }

// token reads a token (RFC 9110 section 5.6.2); empty if there is none.
func (p *parser) token() string {
	n := 0
	for n < len(p.rest) && isTokenByte(p.rest[n]) {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// value reads "=" and what follows; without "=" it reads nothing.
func (p *parser) value() (string, bool) {
	after := strings.TrimLeft(p.rest, " \t")
	if !strings.HasPrefix(after, "=") {
		return "", false
	}
	p.rest = strings.TrimLeft(after[1:], " \t")
	if strings.HasPrefix(p.rest, `"`) {
		return p.quoted(), true
	}
	// Some servers omit required quotes.
	n := strings.IndexAny(p.rest, ", \t")
	if n < 0 {
		n = len(p.rest)
	}
	v := p.rest[:n]
	p.rest = p.rest[n:]
	return v, true
}

// quoted reads a quoted string; an unterminated one extends to the end.
func (p *parser) quoted() string {
	var b strings.Builder
	s := p.rest[1:]
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			p.rest = s[i+1:]
			return b.String()
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	p.rest = ""
	return b.String()
}

// token68 reads one if it stands alone up to the next comma or the end.
func (p *parser) token68() string {
	s := strings.TrimLeft(p.rest, " \t")
	n := 0
	for n < len(s) && (isTokenByte(s[n]) || s[n] == '/') {
		n++
	}
	for n < len(s) && s[n] == '=' {
		n++
	}
	after := strings.TrimLeft(s[n:], " \t")
	if n == 0 || after != "" && after[0] != ',' {
		return ""
	}
	p.rest = after
	return s[:n]
}
