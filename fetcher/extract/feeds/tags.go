package feeds

import "strings"

// maxNames bounds the interned names.
const maxNames = 64

// tag reads name and attributes of a tag up to its end.
func (s *scanner) tag(t token) (token, error) {
	t.name = s.name()
	for {
		for isSpace(s.peek()) {
			s.read()
		}
		switch b := s.peek(); b {
		case 0, '<':
			if b == '<' {
				return t, nil // the next tag begins: this one lacks its end
			}
			if _, ok := s.read(); !ok {
				return t, s.ends("the tag <" + t.name + ">")
			}
		case '>':
			s.read()
			return t, nil
		case '/', '=', '"', '\'':
			s.read()
			if b == '/' && s.peek() == '>' {
				t.closed = t.kind == startTag
			}
		default:
			a, err := s.attribute(t.name)
			if err != nil {
				return t, err
			}
			if t.kind == startTag && len(t.attrs) < maxAttrs {
				t.attrs = append(t.attrs, a)
			}
		}
	}
}

func (s *scanner) name() string {
	s.buf = s.buf[:0]
	for {
		b := s.buffered()
		n := 0
		for n < len(b) && !endsName(b[n]) {
			n++
		}
		if n == 0 {
			return s.named()
		}
		s.buf = append(s.buf, b[:min(n, maxName-len(s.buf))]...)
		s.pass(b[:n])
	}
}

func endsName(b byte) bool {
	return b == 0 || isSpace(b) || b == '/' || b == '>' || b == '=' || b == '<'
}

// named returns the interned name, since a file has few different ones.
func (s *scanner) named() string {
	if name, ok := s.names[string(s.buf)]; ok {
		return name
	}
	name := s.kept()
	if len(s.names) < maxNames {
		s.names[string(s.buf)] = name
	}
	return name
}

func (s *scanner) attribute(tag string) (attribute, error) {
	a := attribute{name: s.name()}
	for isSpace(s.peek()) {
		s.read()
	}
	if s.peek() != '=' {
		return a, nil
	}
	s.read()
	for isSpace(s.peek()) {
		s.read()
	}
	quote := s.peek()
	if quote == '"' || quote == '\'' {
		s.read()
	} else {
		quote = 0
	}
	s.buf = s.buf[:0]
	for {
		if next := s.peek(); quote == 0 && (isSpace(next) || next == '>') {
			break
		}
		b, ok := s.read()
		if !ok {
			return a, s.ends("the tag <" + tag + ">")
		}
		if quote != 0 && b == quote {
			break
		}
		switch {
		case len(s.buf) >= maxAttribute:
		case b == '&':
			s.buf = s.reference(s.buf)
		default:
			s.buf = append(s.buf, b)
		}
	}
	a.value = strings.TrimSpace(s.kept())
	return a, nil
}
