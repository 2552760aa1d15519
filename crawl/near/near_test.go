package near

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/seeded"
)

func keyOf(n uint64) (k Key) {
	binary.BigEndian.PutUint64(k[:], n)
	return k
}

// flip changes n bits of h.
func flip(r *rand.Rand, h uint64, n int) uint64 {
	for _, bit := range r.Perm(64)[:n] {
		h ^= 1 << bit
	}
	return h
}

// TestIndexModel holds the index against a list, with fingerprints that are crowded.
func TestIndexModel(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		type held struct {
			Hash uint64
			Key  Key
		}
		var model []held
		x := New()
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		centres := []uint64{0, ^uint64(0), r.Uint64(), r.Uint64()}
		draw := func() uint64 {
			return flip(r, centres[r.IntN(len(centres))], r.IntN(8))
		}
		compare := func(a, b held) int {
			return slices.Compare([]uint64{a.Hash, binary.BigEndian.Uint64(a.Key[:])}, []uint64{b.Hash, binary.BigEndian.Uint64(b.Key[:])})
		}
		for range rapid.IntRange(1, 600).Draw(t, "operations") {
			switch n := r.IntN(10); {
			case n < 6:
				h := held{draw(), keyOf(uint64(r.IntN(1000)))}
				x.Add(h.Hash, h.Key)
				model = append(model, h)
			case n < 8 && len(model) > 0:
				i := r.IntN(len(model))
				h := model[i]
				model = slices.Delete(model, i, i+1)
				if !x.Remove(h.Hash, h.Key) {
					t.Fatalf("%x was not held", h)
				}
			default:
				if x.Remove(draw(), keyOf(5000)) {
					t.Fatal("an unknown key was held")
				}
			}
			if x.Len() != len(model) {
				t.Fatalf("%d are held, want %d", x.Len(), len(model))
			}
			q := draw()
			var got, want, same, wantSame []held
			x.Near(q, func(h uint64, k Key) bool { got = append(got, held{h, k}); return true })
			x.Same(q, func(k Key) bool { same = append(same, held{q, k}); return true })
			for _, h := range model {
				if bits.OnesCount64(h.Hash^q) <= Distance {
					want = append(want, h)
				}
				if h.Hash == q {
					wantSame = append(wantSame, h)
				}
			}
			for _, s := range [][]held{got, want, same, wantSame} {
				slices.SortFunc(s, compare)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("near %x (-want +got):\n%s", q, d)
			}
			if d := cmp.Diff(wantSame, same); d != "" {
				t.Fatalf("same as %x (-want +got):\n%s", q, d)
			}
		}
	})
}

// TestIndexAtSize finds all of many, whatever bits differ, and stays within its memory.
func TestIndexAtSize(t *testing.T) {
	const n = 300_000
	r := rand.New(rand.NewPCG(3, 4))
	x := New()
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = r.Uint64()
		x.Add(hashes[i], keyOf(uint64(i)))
	}
	for i := 0; i < n; i += 97 {
		q := flip(r, hashes[i], i%5)
		found := false
		x.Near(q, func(h uint64, k Key) bool { found = found || h == hashes[i] && k == keyOf(uint64(i)); return true })
		if want := i%5 <= Distance; found != want {
			t.Fatalf("with %d bits of difference: found %v", i%5, found)
		}
	}
	if per := float64(x.Bytes()) / n; per > 40 {
		t.Errorf("%.1f bytes for each, want at most 40", per)
	}
	for i, h := range hashes {
		if !x.Remove(h, keyOf(uint64(i))) {
			t.Fatalf("%d is not held", i)
		}
	}
	before := x.Bytes()
	for i, h := range hashes {
		x.Add(h, keyOf(uint64(i)))
	}
	if x.Bytes() != before {
		t.Errorf("the memory of what was removed is not used again: %d bytes, then %d", before, x.Bytes())
	}
}

// words is a text of n words that a seed chooses.
func words(seed uint64, n int) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("w", r.IntN(5000))
	}
	return out
}

func distance(a, b string) int {
	h, _ := Simhash(a)
	g, _ := Simhash(b)
	return bits.OnesCount64(h ^ g)
}

// TestSimhashTells: a changed word among many keeps texts near, a tenth of the text
// does not; how often is a matter of luck with each text.
func TestSimhashTells(t *testing.T) {
	const texts = 200
	for _, tt := range []struct {
		words, changed int
		least, most    int // near ones of 100
	}{
		{1000, 0, 100, 100},
		{1000, 1, 95, 100},
		{1000, 3, 75, 100},
		{300, 1, 75, 100},
		{1000, 100, 0, 2},
		{300, 30, 0, 2},
		{60, 60, 0, 0},
	} {
		near := 0
		for seed := range uint64(texts) {
			a := words(seed, tt.words)
			b := slices.Clone(a)
			r := rand.New(rand.NewPCG(seed, 2))
			for _, i := range r.Perm(tt.words)[:tt.changed] {
				b[i] = fmt.Sprint("x", r.Uint32())
			}
			if distance(strings.Join(a, " "), strings.Join(b, ", ")) <= Distance {
				near++
			}
		}
		if percent := 100 * near / texts; percent < tt.least || percent > tt.most {
			t.Errorf("%d of %d words changed: %d %% are near, want %d to %d", tt.changed, tt.words, percent, tt.least, tt.most)
		}
	}
}

func TestSimhashWords(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " ,. - ": 0, "one": 1, "One, two-three (4)": 4, "naïve Straße": 2,
		"日本語の文": 5, "日本 go語": 4, "\xe6": 1, "a\xe6": 2, "\xff\xfe": 1, "한국어 문장": 5,
	} {
		if hash, n := Simhash(text); n != want || (hash == 0) != (want == 0) {
			t.Errorf("%q: %d words, hash %x; want %d words", text, n, hash, want)
		}
	}
	if a, b := "The quick, brown FOX jumps over extraordinarily lazy dogs.", "the quick brown fox jumps over extraordinarily LAZY dogs"; distance(a, b) != 0 {
		t.Error("case and punctuation count")
	}
	if distance("a b c d e f g h", "h g f e d c b a") == 0 {
		t.Error("the order does not count")
	}
	// Stored fingerprints must mean the same in later versions.
	if h, _ := Simhash("Stored fingerprints must mean the same in later versions."); h != stored {
		t.Errorf("the fingerprint is %#x now, and was %#x", h, uint64(stored))
	}
}

const stored = 0xdbcdafa23df8cd9

func FuzzSimhash(f *testing.F) {
	f.Add("one two three", "日本語")
	f.Fuzz(func(t *testing.T, a, b string) {
		h, n := Simhash(a)
		if (h == 0) != (n == 0) || n > len(a) {
			t.Fatalf("%d words, hash %x", n, h)
		}
		if again, _ := Simhash(a); again != h {
			t.Fatal("another fingerprint for the same text")
		}
		_, m := Simhash(b)
		if _, both := Simhash(a + " " + b); both != n+m {
			t.Fatalf("%d and %d words are %d together", n, m, both)
		}
	})
}

func BenchmarkSimhash(b *testing.B) {
	text := strings.Join(words(1, 2000), " ")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Simhash(text)
	}
}

// BenchmarkNear looks up among SEXTANT_NEAR fingerprints, 1,000,000 if it is not set.
func BenchmarkNear(b *testing.B) {
	n := 1_000_000
	if s := os.Getenv("SEXTANT_NEAR"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	x := New()
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = r.Uint64()
		x.Add(hashes[i], keyOf(uint64(i)))
	}
	for _, hit := range []bool{false, true} {
		b.Run(fmt.Sprintf("%d/hit=%v", n, hit), func(b *testing.B) {
			found := 0
			for b.Loop() {
				q := r.Uint64()
				if hit {
					q = flip(r, hashes[r.IntN(n)], 3)
				}
				x.Near(q, func(uint64, Key) bool { found++; return true })
			}
			b.ReportMetric(float64(x.Bytes())/float64(n), "B/doc")
			b.ReportMetric(float64(found)/float64(b.N), "found/op")
		})
	}
	b.Run("add", func(b *testing.B) {
		y := New()
		for b.Loop() {
			y.Add(r.Uint64(), Key{})
		}
	})
}

// TestRepetitionTellsNothing: what each entry of a list repeats does not make lists of
// different things alike.
func TestRepetitionTellsNothing(t *testing.T) {
	list := func(seed uint64) string {
		var b strings.Builder
		for _, w := range words(seed, 150) {
			b.WriteString(w + " (in module threading) method class attribute of the standard library ")
		}
		return b.String()
	}
	one, _ := Simhash(list(1))
	for seed := uint64(2); seed < 200; seed++ {
		if other, _ := Simhash(list(seed)); bits.OnesCount64(one^other) <= Distance {
			t.Errorf("list %d counts as list 1", seed)
		}
	}
}
