package near

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSignaturesStay: signatures that are stored are compared with new ones, so the same text
// has the same one in all versions. The sum was taken when they were made in two loops, a
// batch at a time; who changes it on purpose changes signatureVersion, too.
func TestSignaturesStay(t *testing.T) {
	const want = "d59199242617f659f2587272b1b9c2c0056e1a2e935e53062d703ce904c8cc99"
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

// TestWordsByInstructions: this processor's make the words of a text that windowsOf makes.
func TestWordsByInstructions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for c := range 256 { // each byte alone, in words, and between them
		same := strings.Repeat(string([]byte{byte(c)}), 2*window)
		sameWindows(t, same)
		sameWindows(t, "a"+same[:1]+"Z "+same[:2]+"0"+same[:17]+strings.Repeat(" x"+same[:1], window))
	}
	for i := range 3000 {
		text := []byte(anyText(r, 1+i%2000))
		if i%2 == 0 { // bytes of any kind, most windows without wide characters
			for k := range text {
				if text[k] = byte(r.Uint32()); r.IntN(16) > 0 {
					text[k] &= 0x7f
				}
			}
		}
		sameWindows(t, string(text))
	}
	// One word after another, and words and signs of each length at the end of a window.
	for n := range 2 * window {
		sameWindows(t, strings.Repeat("a ", n)+strings.Repeat("b", n%20)+strings.Repeat("&", n%7)+strings.Repeat("c d, ", 50))
	}
}

func sameWindows(t *testing.T, text string) {
	t.Helper()
	var got, want [3*windowWords + 7]word
	for from := 0; from < len(text); from += 1 + window/2 {
		for _, room := range []int{len(want), windowWords - 1, windowWords} {
			at, n := windows(text[from:], got[:room])
			wantAt, wantN := windowsOf(text[from:], want[:room])
			if at != wantAt || n != wantN || !slices.Equal(got[:n], want[:n]) {
				t.Fatalf("%q: %d words up to %d, want %d up to %d\n%v\n%v", text[from:], n, at, wantN, wantAt, got[:n], want[:n])
			}
		}
	}
}

// TestSketchByInstructions: this processor's take in words as plainOf does, any number at once.
func TestSketchByInstructions(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var words [1 << 12]word
	for range 40 {
		different := 1 + r.Uint64N(1<<12)
		for i := range words {
			words[i] = word{hash: mix(r.Uint64N(different), 7), number: r.IntN(30) == 0}
		}
		got, want := new(reader), new(reader)
		var gotOf, wantOf Signature
		for rest := words[:]; len(rest) > 0; {
			part := rest[:min(len(rest), r.IntN(40))]
			n, wantN := plain(got, &gotOf, part), plainOf(want, &wantOf, part)
			if n != wantN || gotOf != wantOf || *got != *want {
				t.Fatalf("after %d words: %d taken, want %d", len(words)-len(rest), n, wantN)
			}
			rest = rest[n:]
			if n < len(part) {
				rest = rest[1:] // a number
			}
		}
	}
}
