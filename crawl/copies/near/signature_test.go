package near

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
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
	for size, all := range map[int][]Signature{
		SignatureSize: {Sign("A title of 3 words - Site", text), Sign("", text), Sign(many(30, "t"), many(maxWords+5, "w"))},
		headSize:      {Head("A title of 3 words - Site", text), Head("", text)},
	} {
		for _, s := range all {
			b := s.Append(nil)
			if len(b) != size || size > 128 {
				t.Errorf("%d bytes, want %d and at most 128", len(b), size)
			}
			got, err := DecodeSignature(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(s, got, compareUnexported); d != "" {
				t.Errorf("another signature (-want +got):\n%s", d)
			}
		}
	}
	sum := sha256.Sum256(Read("A title of 3 words - Site", text).Append(nil))
	if got := hex.EncodeToString(sum[:4]); got != stored {
		t.Errorf("signatures are others than those that are stored: %s, want %s; a new form needs a new version", got, stored)
	}
}

const stored = "db74f86f"

// TestDamagedSignature: what is no signature is none.
func TestDamagedSignature(t *testing.T) {
	good := Read("title", many(60, "w")).Append(nil)
	bad := map[string][]byte{"short": good[:100], "only its head": good[:headSize], "long": append(good[:SignatureSize:SignatureSize], 0), "empty": nil}
	for at, value := range map[int]byte{0: signatureVersion + 1, headSize - tokensSize + 4: 99, headSize - 1: 1, 1: 0} {
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
		"": 0, " ,. - ": 0, "one": 1, "One, two-three (4)": 4, "naïve Straße": 2,
		"日本語の文": 5, "日本 go語": 4, "\xe6": 1, "a\xe6": 2, "\xff\xfe": 1, "한국어 문장": 5,
		"extraordinarily longwords of_several parts": 5,
	} {
		scan, n := wordScanner{text: text}, 0
		for _, ok := scan.next(); ok; _, ok = scan.next() {
			n++
		}
		if n != want {
			t.Errorf("%q: %d words, want %d", text, n, want)
		}
	}
	base := many(40, "word") + "extraordinarily lazy dogs " + many(40, "other")
	for change, equal := range map[string]bool{
		base:                  true,
		strings.ToUpper(base): false,
		strings.Replace(base, "lazy", "lazzy", 1):          false,
		strings.Replace(base, "lazy dogs", "dogs lazy", 1): false,
		strings.Replace(base, "lazy ", "lazy && ", 1):      false,
		strings.Replace(base, "lazy ", "lazy 1 ", 1):       false,
		base + "more": false,
	} {
		a, b := Head("t", base), Sign("t", change)
		if got := a.Same(&b); got != equal {
			t.Errorf("%.200q is the same text: %v", change, got)
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

// FuzzWords: windows show the words that next finds byte by byte.
func FuzzWords(f *testing.F) {
	f.Add("Straße 4.5 && || extraordinarilylongwords of 16 letters: sixteenletters16 seventeenletters7 日本語 go語\xe6")
	f.Add(strings.Repeat("ab1 ", 40) + strings.Repeat(" ", 100) + strings.Repeat("x", 100) + "\x7f\x80\xe2\xe3\xed\xee")
	f.Fuzz(func(t *testing.T, text string) {
		for shift := range 9 {
			sameWords(t, strings.Repeat(" ", shift)+text+strings.Repeat(" ", window+inWindow))
		}
	})
}

func sameWords(t *testing.T, text string) {
	t.Helper()
	fast, slow := wordScanner{text: text}, wordScanner{text: text}
	var batch [batchWords]word
	for n := fast.fill(batch[:]); n > 0; n = fast.fill(batch[:]) {
		for i := range n {
			if want, ok := slow.next(); !ok || batch[i] != want {
				t.Fatalf("%q, up to %d: %+v, want %+v (%v)", text, slow.at, batch[i], want, ok)
			}
		}
	}
	if w, ok := slow.next(); ok {
		t.Fatalf("%q: %+v is not found", text, w)
	}
}

// TestWindows: the same for all bytes at all places of a window.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 3000 {
		text := []byte(anyText(r, 1+i%300))
		for k := range text {
			if r.IntN(50) == 0 {
				text[k] = byte(r.IntN(256))
			}
		}
		sameWords(t, string(text))
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
	if signed := Sign("t", text); signed != once.Signature {
		t.Error("a page that no frame is learnt from has another signature")
	}
}

// TestCutTexts: of a text that is longer than what is sketched, each byte counts.
func TestCutTexts(t *testing.T) {
	long := many(MinWords, "w") + strings.Repeat("ab ", maxWords-MinWords)
	for name, text := range map[string]string{"one word more": long + "c", "another word": long + "d", "two": long + "c d", "none": long} {
		for other, o := range map[string]string{"one word more": long + "c", "another word": long + "d", "two": long + "c d", "none": long} {
			a, b := Sign("", text), Sign("", o)
			if (a.text == b.text) != (name == other) || a.cut != (name != "none") {
				t.Errorf("%s and %s: the same text: %v, cut: %v", name, other, a.text == b.text, a.cut)
			}
		}
	}
}
