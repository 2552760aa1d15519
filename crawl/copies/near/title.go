package near

import (
	"encoding/binary"
	"slices"
	"strings"
)

// The words of a title are stored in a binary form: the hash of the title, their number, and
// the tokens.

const (
	maxTokens  = 8
	tokensSize = 4 + 1 + 2*maxTokens
	// digitToken marks tokens with a digit in them.
	digitToken = 1 << 15
)

// A token is a hash of a word of a title, including its signs: "operator+" and "operator-" are different.
type token uint16

// tokens are the words of a title, at most maxTokens: the last one represents all remaining words.
type tokens struct {
	whole uint32 // a hash of the title as written, except for white space
	n     int
	all   [maxTokens]token
}

// tokensOf reads a title.
func tokensOf(title string) (t tokens) {
	for w := range strings.FieldsSeq(title) {
		h := hashText(1, w)
		t.whole = uint32(mix(uint64(t.whole), h))
		x := token(h) % digitToken
		if strings.ContainsAny(w, "0123456789") {
			x |= digitToken
		}
		if t.n < maxTokens {
			t.all[t.n] = x
			t.n++
			continue
		}
		last := &t.all[maxTokens-1]
		*last = token(mix(uint64(*last), uint64(x)))%digitToken | (*last|x)&digitToken
	}
	return t
}

// hash returns the hash of all tokens.
func (t *tokens) hash() uint64 {
	h := uint64(1)
	for _, x := range t.all[:t.n] {
		h = mix(h, uint64(x))
	}
	return h
}

// append appends the binary form.
func (t *tokens) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, t.whole)
	b = append(b, byte(t.n))
	for _, x := range t.all {
		b = binary.LittleEndian.AppendUint16(b, uint16(x))
	}
	return b
}

// tokensFrom decodes the result of append; false if it is invalid.
func tokensFrom(b []byte) (t tokens, ok bool) {
	t.whole, t.n = binary.LittleEndian.Uint32(b), int(b[4])
	for i := range t.all {
		t.all[i] = token(binary.LittleEndian.Uint16(b[5+2*i:]))
	}
	if t.n > maxTokens {
		return t, false
	}
	for _, x := range t.all[t.n:] {
		if x != 0 {
			return t, false
		}
	}
	return t, true
}

// without returns the tokens that are not among others.
func (t *tokens) without(others []token) (own tokens) {
	for _, x := range t.all[:t.n] {
		if !slices.Contains(others, x) {
			own.all[own.n] = x
			own.n++
		}
	}
	return own
}

// affixes returns the tokens at the beginning and at the end that are among others, with any between them.
func (t *tokens) affixes(others []token) (before, own, after []token) {
	i, k := 0, t.n
	for i < k && slices.Contains(others, t.all[i]) {
		i++
	}
	for k > i && slices.Contains(others, t.all[k-1]) {
		k--
	}
	return t.all[:i], t.all[i:k], t.all[k:t.n]
}

// joined builds a title from parts; false if it is too long.
func joined(parts ...[]token) (t tokens, ok bool) {
	for _, p := range parts {
		if t.n+len(p) > maxTokens {
			return t, false
		}
		t.n += copy(t.all[t.n:], p)
	}
	return t, t.n > 0
}

// within reports whether another title begins or ends with this one, and the rest has no digits.
func (t *tokens) within(o *tokens) bool {
	if t.n == 0 || t.n >= o.n {
		return false
	}
	own, other := t.all[:t.n], o.all[:o.n]
	rest := other[t.n:]
	if !slices.Equal(own, other[:t.n]) {
		if !slices.Equal(own, other[o.n-t.n:]) {
			return false
		}
		rest = other[:o.n-t.n]
	}
	return !slices.ContainsFunc(rest, func(x token) bool { return x&digitToken != 0 })
}
