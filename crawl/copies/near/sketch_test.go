package near

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/copysites"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

// TestSketchesStay: stored sketches are compared with new ones, so a document has the same sketch in all versions.
func TestSketchesStay(t *testing.T) {
	const want = "8902b1aae2b37c4d472726a26e5394caba8b90430308978359a33bccfcd0022c"
	r := rand.New(rand.NewPCG(36, 63))
	sum := sha256.New()
	var b []byte
	for i := range 600 {
		text := anyText(r, 1+i*i%5000)
		s := SketchOf(text[:min(len(text), 40)], text)
		b = s.Append(b[:0])
		sum.Write(b)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the sketches have the sum %s, want %s", got, want)
	}
}

// minima is the number of bins that have one.
func minima(s sketch.Sketch) (n int) {
	for _, v := range s.Minima {
		if v != 0 {
			n++
		}
	}
	return n
}

// TestSketchOfShortTexts: a word is a pair with the beginning of the text, and each further one with the word before
// it.
func TestSketchOfShortTexts(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " \n ": 0, " && ": 1, "one": 1, "404": 1, "日": 1, "again again again again": 2,
	} {
		if got := minima(SketchOf("", text)); got != want {
			t.Errorf("%q has %d minima, want %d", text, got, want)
		}
	}
	if s := SketchOf("", " \n"); !s.IsZero() {
		t.Errorf("an empty document has the sketch %v", s)
	}
	if s := SketchOf("title", ""); s.IsZero() {
		t.Error("a document with a title has no sketch")
	}
	// A bin stays empty with a probability of 2^-45.
	if got := minima(SketchOf("", many(2000, "w"))); got != sketch.Bins {
		t.Errorf("a long text has %d minima, want %d", got, sketch.Bins)
	}
}

// TestSketchCountsNumbers: pages that differ in their numbers have different sketches.
func TestSketchCountsNumbers(t *testing.T) {
	var a, b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&a, "%d ", i)
		fmt.Fprintf(&b, "%d ", 1000+i)
	}
	if got := sketch.Alike(SketchOf("", a.String()), SketchOf("", b.String())); got > 0.1 {
		t.Errorf("alike %v, want 0", got)
	}
}

// TestSketchTitles: which titles are equal.
func TestSketchTitles(t *testing.T) {
	title := func(s string) uint32 { return SketchOf(s, "").Title }
	for a, b := range map[string]string{
		"Not Found": " not  FOUND\n", "Error 4711 Shop": "Error 4712 shop", "Not found: /a/b": "Not found: /c",
		"STRASSE ΟΔΟΣ": "strasse οδος", "Page ١٢": "page",
	} {
		if title(a) != title(b) || title(a) == 0 {
			t.Errorf("%q and %q are different titles", a, b)
		}
	}
	for a, b := range map[string]string{
		"Not found": "Found not", "a": "b", "ab": "a b", "Shop": "", "Error": "Error Shop",
	} {
		if title(a) == title(b) {
			t.Errorf("%q and %q are the same title", a, b)
		}
	}
	for _, s := range []string{"", " ", "404", "/a/b 17x"} {
		if title(s) != 0 {
			t.Errorf("%q is a title", s)
		}
	}
}

// TestSketchIsUniform: each value is as frequent as the others, in texts of any length, so chance equality is rare.
func TestSketchIsUniform(t *testing.T) {
	for _, n := range []int{10, 300, 5000} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		var counts [256]int
		total := 0
		for range 200_000 / max(n, 200) {
			var b strings.Builder
			for range n {
				fmt.Fprintf(&b, "%c%c%c ", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26))
			}
			for _, v := range SketchOf("", b.String()).Minima {
				if v != 0 {
					counts[v]++
					total++
				}
			}
		}
		// Chi squared with 254 degrees of freedom: mean 254, standard deviation 22.5.
		want, chi := float64(total)/255, 0.0
		for _, c := range counts[1:] {
			chi += (float64(c) - want) * (float64(c) - want) / want
		}
		if deviation := math.Abs(chi-254) / 22.5; deviation > 4 {
			t.Errorf("texts of %d words: chi squared of %d values is %.0f, want 254", n, total, chi)
		}
	}
}

// TestSketchAllocatesNothing whatever the title.
func TestSketchAllocatesNothing(t *testing.T) {
	text := many(600, "word")
	if n := testing.AllocsPerRun(10, func() { SketchOf("Ein ΤΙΤΛΟΣ of 4 words", text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSketchOf is what a page's sketch costs.
func BenchmarkSketchOf(b *testing.B) {
	for _, words := range []int{600, 5000} {
		pages := copysites.Site(copysites.Layout{Host: "a.example", Frame: 200, Own: words - 200, Pages: 100, Seed: 3})
		b.Run(fmt.Sprintf("%d words", words), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(pages[0].Text)))
			for i := 0; b.Loop(); i++ {
				p := &pages[i%len(pages)]
				SketchOf(p.Title, p.Text)
			}
		})
	}
}
