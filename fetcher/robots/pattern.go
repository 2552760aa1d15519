package robots

import "strings"

// pattern is the path of a rule, taken apart once, because most rules differ from a
// target in their first piece. It is comparable.
type pattern struct {
	head     string // up to the first '*'
	tail     string // what follows that
	wild     bool   // there is one
	anchored bool   // a '$' at the end, cut off
}

func newPattern(text string) pattern {
	var p pattern
	text, p.anchored = strings.CutSuffix(text, "$")
	p.head, p.tail, p.wild = strings.Cut(text, "*")
	return p
}

func (p *pattern) length() int { return len(p.head) + len(p.tail) }

// matches reports whether p matches target from its beginning. A '*' stands for
// anything, a '$' at the end for the end (RFC 9309 section 2.2.3). Taking each
// piece where it comes first is right, as only '*' is between them, and needs
// time that grows with the lengths' sum, not with their product.
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
