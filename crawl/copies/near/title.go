package near

import (
	"slices"
	"strings"
)

const (
	maxTokens  = 14
	tokensSize = 1 + maxTokens*tokenBits/8
	tokenBits  = 12
	// digitToken marks tokens with a digit in them.
	digitToken = 1 << (tokenBits - 1)
)

// A token is a hash of a word of a title, with its signs: "operator+" and "operator-"
// are two.
type token uint16

// tokens are the words of a title, at most maxTokens: the last stands for all from there
// on.
type tokens struct {
	n   int
	all [maxTokens]token
}

// tokensOf reads a title.
func tokensOf(title string) (t tokens) {
	for w := range strings.FieldsSeq(title) {
		x := token(hashText(1, w)) % digitToken
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

// hash is that of all tokens.
func (t *tokens) hash() uint64 {
	h := uint64(1)
	for _, x := range t.all[:t.n] {
		h = mix(h, uint64(x))
	}
	return h
}

// append appends the binary form: the number, and two tokens in three bytes.
func (t *tokens) append(b []byte) []byte {
	b = append(b, byte(t.n))
	for i := 0; i < maxTokens; i += 2 {
		two := uint32(t.all[i]) | uint32(t.all[i+1])<<tokenBits
		b = append(b, byte(two), byte(two>>8), byte(two>>16))
	}
	return b
}

// tokensFrom reads what append wrote; false if it did not.
func tokensFrom(b []byte) (t tokens, ok bool) {
	t.n = int(b[0])
	for i := range maxTokens / 2 {
		two := uint32(b[1+3*i]) | uint32(b[2+3*i])<<8 | uint32(b[3+3*i])<<16
		t.all[2*i], t.all[2*i+1] = token(two&(1<<tokenBits-1)), token(two>>tokenBits)
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

// without gives the tokens that are not among others.
func (t *tokens) without(others []token) (own tokens) {
	for _, x := range t.all[:t.n] {
		if !slices.Contains(others, x) {
			own.all[own.n] = x
			own.n++
		}
	}
	return own
}

// affixes are the tokens at the beginning and at the end that are among others, with
// what stands between them.
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

// joined makes a title of parts; false if it is too long.
func joined(parts ...[]token) (t tokens, ok bool) {
	for _, p := range parts {
		if t.n+len(p) > maxTokens {
			return t, false
		}
		t.n += copy(t.all[t.n:], p)
	}
	return t, t.n > 0
}

// within says that another title begins or ends with this one, and that there are no
// digits in the rest.
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
