package markup

import "bytes"

// rawText reads the content of an element without markup, up to its end tag.
func (s *Scanner) rawText() {
	s.start = s.pos
	s.literal = s.raw != Textarea && s.raw != Title
	switch s.raw {
	case Plaintext:
		s.pos = len(s.page)
	case Script:
		s.pos = s.scriptEnd(s.pos)
	default:
		s.pos = s.rawEnd(s.pos)
	}
	s.end, s.content, s.raw = s.pos, s.raw, 0
}

// rawEnd returns the position of the element's end tag.
func (s *Scanner) rawEnd(at int) int {
	for {
		i := bytes.IndexByte(s.page[at:], '<')
		if i < 0 {
			return len(s.page)
		}
		if at += i; s.isRawEnd(at) {
			return at
		}
		at++
	}
}

// isRawEnd reports whether the element's end tag begins at a position.
func (s *Scanner) isRawEnd(at int) bool {
	rest, name := s.page[at+1:], tagNames[s.raw]
	n := 1 + len(name)
	return len(rest) > n && rest[0] == '/' && hasPrefixFold(rest[1:], name) && class[rest[n]]&endsName != 0
}

// scriptEnd returns the position of a script's end tag. Between <!-- and --> there may be a whole script element that
// does not end this one (WHATWG HTML section 13.2.5.15 and following, "script data escaped" and "double escaped").
func (s *Scanner) scriptEnd(at int) int {
	for {
		i := bytes.IndexByte(s.page[at:], '<')
		if i < 0 {
			return len(s.page)
		}
		at += i
		if s.isRawEnd(at) {
			return at
		}
		if at++; bytes.HasPrefix(s.page[at:], []byte("!--")) {
			var ended bool
			if at, ended = s.escapedScript(at + 3); ended {
				return at
			}
		}
	}
}

// escapedScript reads the text after "<!--" in a script, up to the end of "-->" or of the script, if ended is true.
func (s *Scanner) escapedScript(at int) (next int, ended bool) {
	dashes, double := 2, false
	for ; at < len(s.page); at++ {
		switch s.page[at] {
		case '-':
			dashes++
			continue
		case '>':
			if dashes >= 2 {
				return at + 1, false
			}
		case '<':
			switch {
			case s.isRawEnd(at):
				if !double {
					return at, true
				}
				double = false
				at += len("</script")
			case !double && s.isScript(at+1):
				double = true
				at += len("<script")
			}
		}
		dashes = 0
	}
	return len(s.page), true
}

// isScript reports whether "script" is the tag name at a position.
func (s *Scanner) isScript(at int) bool {
	rest := s.page[at:]
	const n = len("script")
	return len(rest) > n && hasPrefixFold(rest, "script") && class[rest[n]]&endsName != 0
}
