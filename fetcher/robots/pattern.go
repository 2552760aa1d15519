package robots

import "strings"

// pattern is a rule's path, split once, because most rules differ from a target in their first piece. It is comparable.
type pattern struct {
	head     string // up to the first '*'
	tail     string // the pieces after it
	wild     bool   // there is a '*'
	anchored bool   // a '$' at the end, cut off
}

func newPattern(text string) pattern {
	var p pattern
	text, p.anchored = strings.CutSuffix(text, "$")
	p.head, p.tail, p.wild = strings.Cut(text, "*")
	return p
}

func (p *pattern) length() int { return len(p.head) + len(p.tail) }

// matches reports whether p matches target from its beginning. A '*' matches any characters, a '$' at the end matches
// the end (RFC 9309 section 2.2.3). Matching each piece at its first occurrence is correct, because only '*' is between
// them, and takes time proportional to the sum of the lengths, not their product.
func (p *pattern) matches(target string) bool {
	if len(target) < len(p.head) || target[:len(p.head)] != p.head {
		return false
	}
	target = target[len(p.head):]
	if !p.wild {
		return !p.anchored || target == ""
	}
	for rest := p.tail; ; {
		piece, after, more := strings.Cut(rest, "*")
		if !more && p.anchored {
			return strings.HasSuffix(target, piece)
		}
		i := strings.Index(target, piece)
		if i < 0 || !more {
			return i >= 0
		}
		target, rest = target[i+len(piece):], after
	}
}
