package near

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSignaturesStay: signatures that are stored are compared with new ones, so the same text
// has the same one in all versions. A change on purpose needs a new signatureVersion.
func TestSignaturesStay(t *testing.T) {
	const want = "d90f05ab4e4d8d3d461f9762387e7186edd737b54491c38d4320f9255f9fbc78"
	r := rand.New(rand.NewPCG(16, 61))
	sum := sha256.New()
	var b []byte
	for i := range 600 {
		text := anyText(r, 1+i*i%5000)
		if s := Sign("Page "+text[:min(len(text), 20)], text); s != nil {
			b = s.Append(b[:0])
			sum.Write(b)
		}
		if s := Read("", text); s != nil {
			sum.Write(new(Frame).With(Key{1}, s).Append(nil))
		}
	}
	// More words than are sketched.
	long := Sign("t", anyText(r, 1<<18)+strings.Repeat(" a word", maxWords))
	sum.Write(long.Append(nil))
	if got := hex.EncodeToString(sum.Sum(nil)); got != want || !long.cut {
		t.Errorf("the signatures have the sum %s, want %s (cut: %v)", got, want, long.cut)
	}
}

// anyText is of words of some vocabulary, numbers and signs, words of any length, and
// characters that are words; about n bytes.
func anyText(r *rand.Rand, n int) string {
	var b strings.Builder
	vocabulary := 20 + r.IntN(2000)
	ascii := r.IntN(3) > 0
	for b.Len() < n {
		w := uint(r.IntN(vocabulary))
		for length := 1 + w*w%11 + w%3; length > 0; length-- {
			b.WriteByte("etaoinshrdlucmfwyp"[w%18])
			w = w*31 + length
		}
		switch r.IntN(40) {
		case 0:
			b.WriteString(" 2026-11-22 ")
		case 1:
			b.WriteString(" && ")
		case 2:
			b.WriteString(", A")
		case 3:
			b.WriteString(strings.Repeat("long", r.IntN(30)))
		case 4:
			b.WriteString(strings.Repeat("\n  ", r.IntN(60)))
		case 5, 6:
			if !ascii {
				b.WriteString([]string{"é", "ß ", "日本語", "\xe6", "\xff\x80", "한국", "ж"}[r.IntN(7)])
			}
		case 7:
			b.WriteString("17 4 99 ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}
