package weburl

import "strings"

// normalisePercent writes percent-encoded bytes in upper-case hex and decodes
// those that RFC 3986 section 2.3 calls unreserved. A decoded character is never
// placed where it would complete a stray '%' to a new encoded byte, so that the
// result does not change when it is normalised again.
func normalisePercent(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	stray := -3
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '%' {
			out = append(out, c)
			continue
		}
		if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			stray = len(out)
			out = append(out, c)
			continue
		}
		d := unhex(s[i+1])<<4 | unhex(s[i+2])
		if isUnreserved(d) && len(out)-stray > 2 {
			out = append(out, d)
		} else {
			out = append(out, '%', upperHex[d>>4], upperHex[d&15])
		}
		i += 2
	}
	return string(out)
}

const upperHex = "0123456789ABCDEF"

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	default:
		return c - 'A' + 10
	}
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
