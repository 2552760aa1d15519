package near

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/copysites"
)

var compareUnexported = cmp.AllowUnexported(Signature{}, tokens{}, sampled{})

// many is a text of n words, no two pairs of which are equal.
func many(n int, word string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%c%c%c ", word, 'a'+i%26, 'a'+i/26%26, 'a'+i/676)
	}
	return b.String()
}

// TestSignatureIsStored: its binary form gives it back, is as long as it says, and means
// the same in later versions.
func TestSignatureIsStored(t *testing.T) {
	text := many(300, "word") + "in 1999, 日本語の文 naïve Straße && || 4.5"
	for _, s := range []*Text{Read("A title of 3 words - Site", text), Read("", text), Read(many(30, "t"), many(maxWords+5, "w"))} {
		b := s.Append(nil)
		if len(b) != SignatureSize || SignatureSize > 128 {
			t.Errorf("%d bytes, want %d and at most 128", len(b), SignatureSize)
		}
		got, err := DecodeSignature(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s.Signature, got, compareUnexported); d != "" {
			t.Errorf("another signature (-want +got):\n%s", d)
		}
	}
	sum := sha256.Sum256(Read("A title of 3 words - Site", text).Append(nil))
	if got := hex.EncodeToString(sum[:4]); got != stored {
		t.Errorf("signatures are others than those that are stored: %s, want %s; a new form needs a new version", got, stored)
	}
}

const stored = "8a81d6ad"

// TestDamagedSignature: what is no signature is none.
func TestDamagedSignature(t *testing.T) {
	good := Read("title", many(60, "w")).Append(nil)
	bad := map[string][]byte{"short": good[:100], "long": append(good[:SignatureSize:SignatureSize], 0), "empty": nil}
	for at, value := range map[int]byte{0: signatureVersion + 1, SignatureSize - tokensSize + 4: 99, SignatureSize - 1: 1} {
		b := append([]byte{}, good...)
		b[at] = value
		bad[fmt.Sprint("byte ", at)] = b
	}
	for name, b := range bad {
		if s, err := DecodeSignature(b); err == nil {
			t.Errorf("%s: %+v, want an error", name, s)
		}
	}
}

// TestShortTexts have no signature, however long their bytes.
func TestShortTexts(t *testing.T) {
	for _, text := range []string{"", " ", many(MinWords-1, "w"), strings.Repeat("again and again ", 1000), strings.Repeat(". ", 5000), strings.Repeat("1 2 3 ", 1000)} {
		if s := Read("title", text); s != nil {
			t.Errorf("%.30q has a signature of %d pairs", text, s.pairs)
		}
	}
	if Read("", many(MinWords, "w")) == nil {
		t.Error("no signature of a text that is long enough")
	}
}

// TestWords: what is a word and what counts.
func TestWords(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " \n\t ": 0, "one": 1, "One, two-three (4)": 3, "naïve Straße": 2,
		"日本語の文": 5, "日本 go語": 4, "\xe6": 1, "a\xe6": 2, "\xff\xfe": 1, "한국어 문장": 5,
		"extraordinarily longwords of_several parts": 4,
	} {
		if got := cutOf(text); len(got) != want {
			t.Errorf("%q: %d words, want %d", text, len(got), want)
		}
	}
	base := many(40, "word") + "extraordinarily lazy dogs " + many(40, "other")
	for change, equal := range map[string]bool{
		strings.ToUpper(base):                              true,
		strings.ReplaceAll(base, " ", " \n\t"):             true,
		strings.Replace(base, "lazy", "lazzy", 1):          false,
		strings.Replace(base, "lazy dogs", "dogs lazy", 1): false,
		strings.Replace(base, "lazy ", "lazy && ", 1):      false,
		strings.Replace(base, "lazy ", "lazy 1 ", 1):       false,
		base + "more": false,
	} {
		a, b := Read("t", base), Read("t", change)
		if got := a.sameWords(&b.Signature); got != equal {
			t.Errorf("%.200q has the same words: %v", change, got)
		}
	}
}

// FuzzRead: any text can be read, the same way each time, and in a text of two the words of
// both are found.
func FuzzRead(f *testing.F) {
	f.Add("title", "one two three", "日本語")
	f.Add("x - y", strings.Repeat("a1 b2 ", 100), "\xe6\x97")
	f.Fuzz(func(t *testing.T, title, a, b string) {
		text := a + " " + many(MinWords, "w") + b
		one, two := Read(title, text), Read(title, text)
		if one == nil || two == nil || one.Signature != two.Signature {
			t.Fatal("another signature for the same text")
		}
		if s, err := DecodeSignature(one.Append(nil)); err != nil || s != one.Signature {
			t.Fatalf("it is stored as %+v, %v", s, err)
		}
	})
}

// BenchmarkRead is what a page's signature costs.
func BenchmarkRead(b *testing.B) {
	for _, own := range []int{100, 400, 2000} {
		pages := copysites.Site(copysites.Layout{Host: "a.example", Frame: 200, Own: own, Pages: 1000, Seed: 3})
		b.Run(fmt.Sprintf("%d words", own+200), func(b *testing.B) {
			b.SetBytes(int64(len(pages[0].Text)))
			for i := 0; b.Loop(); i++ {
				p := &pages[i%len(pages)]
				Read(p.Title, p.Text)
			}
		})
	}
}

// cutOf is the words of a text as cut appends them.
func cutOf(text string) []uint64 {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.n = 0
	r.cut(text)
	return slices.Clone(r.all[:r.n])
}

// sameWords compares the words of a text with those found byte by byte.
func sameWords(t *testing.T, text string) {
	t.Helper()
	var want []uint64
	start := 0
	end := func(at int) {
		if at > start {
			want = append(want, longHash(text[start:at]))
		}
		start = max(start, at)
	}
	for i, c := range []byte(text) {
		if c <= ' ' || isWide(c) || i >= 3 && isWide(text[i-3]) {
			end(i)
		}
		if c <= ' ' {
			start = i + 1
		}
	}
	end(len(text))
	if got := cutOf(text); !slices.Equal(got, want) {
		t.Fatalf("%q: the words %x, want %x", text, got, want)
	}
}

// FuzzWords: cut finds the words of any text.
func FuzzWords(f *testing.F) {
	f.Add("Straße 4.5 && || extraordinarilylongwords of 16 letters: sixteenletters16 seventeenletters7 日本語 go語\xe6")
	f.Add(strings.Repeat("ab1 ", 40) + strings.Repeat(" ", 100) + strings.Repeat("x", 100) + "\x7f\x80\xe2\xe3\xed\xee")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxWords/2 {
			return
		}
		for shift := range 9 {
			sameWords(t, strings.Repeat(" ", shift)+text)
		}
	})
}

// TestWindows: words of each length, and each byte, at all places of a window.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const some = "aZ09 .,-\n&é日語ß\xe3\xff@[`{/:"
	for range 3000 {
		text := make([]byte, 300)
		for i := range text {
			if text[i] = some[r.IntN(len(some))]; r.IntN(3) > 0 {
				text[i] = 'a' + byte(r.IntN(26))
			}
			if r.IntN(50) == 0 {
				text[i] = byte(r.IntN(256))
			}
		}
		sameWords(t, string(text[:r.IntN(len(text))]))
	}
	for c := range 256 {
		same := strings.Repeat(string([]byte{byte(c)}), 2*window)
		sameWords(t, same+"a"+same[:1]+"Z "+same[:2]+"0"+same[:17]+strings.Repeat(" x"+same[:1], window))
	}
	for n := range 2 * window {
		sameWords(t, strings.Repeat("a ", n)+strings.Repeat("b", n%40)+strings.Repeat("&", n%7)+strings.Repeat("c d, ", 50))
	}
}

// TestNumbers: which words are numbers.
func TestNumbers(t *testing.T) {
	for word, want := range map[string]bool{
		"1": true, "0": true, "9th": true, "(17)": true, "$5": true, "-3": true, "2026-11-22": true, "10000000000000000000000": true,
		"a": false, "a1": false, "(a1": false, "((1": false, "/": false, ":1": false, "é1": false, "(": false,
	} {
		for _, text := range []string{word, word + strings.Repeat(" ", window)} {
			if got := cutOf(text)[0]&isNumber != 0; got != want {
				t.Errorf("%q is a number: %v, want %v", text, got, want)
			}
		}
	}
}

// TestSketchIsOfASet: each pair and each number counts once, wherever it stands and in however
// many batches.
func TestSketchIsOfASet(t *testing.T) {
	text := many(300, "word") + "room 17 has 4 windows "
	once, often := Read("t", text), Read("t", strings.Repeat(text, 5))
	// One more pair: the last word before the first.
	if d := often.pairs - once.pairs; d != 1 {
		t.Errorf("the same words again make %d pairs more, want 1", d)
	}
	if once.numbers != often.numbers {
		t.Error("the same numbers again are other numbers")
	}
	d := differ(&once.Signature, &often.Signature, &frame{}, &frame{})
	if d.pairs < 0.9 || d.pairs > 1.1 {
		t.Errorf("they differ in %.2f pairs, want 1", d.pairs)
	}
	if signed := Sign("t", text); signed.Signature != once.Signature || signed.fine != nil {
		t.Error("a page that no frame is learnt from has another signature")
	}
}

// TestCutTexts: of a text that is longer than the sketched part, each byte counts.
func TestCutTexts(t *testing.T) {
	long := many(maxWords+window, "w")
	texts := []string{long, long + "c", long + "d", long + "c d"}
	for i, text := range texts {
		for k, other := range texts {
			a, b := Read("", text), Read("", other)
			if (a.text == b.text) != (i == k) || !a.cut {
				t.Errorf("%d and %d: the same text: %v, cut: %v", i, k, a.text == b.text, a.cut)
			}
		}
	}
	if Read("", many(maxWords-window, "w")).cut {
		t.Error("a shorter text is cut")
	}
}

// TestSketchOfBoth: the sketch that is made with a signature is that of SketchOf.
func TestSketchOfBoth(t *testing.T) {
	for _, n := range []int{100, 600, 3000, 3 * maxWords} {
		for _, text := range []string{many(n, "word"), strings.Repeat("日本語の文字", n), strings.Repeat("x", 9000) + many(n, "\xe6")} {
			got, want := Sign("title", many(MinWords, "w")+text).Sketch, SketchOf("title", many(MinWords, "w")+text)
			if got != want {
				t.Errorf("%d words: the sketch %v, want %v", n, got, want)
			}
		}
	}
}
