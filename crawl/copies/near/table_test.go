package near

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func keyOf(n uint64) (k Key) {
	binary.BigEndian.PutUint64(k[:], n)
	return k
}

func byKey(a, b Key) int { return slices.Compare(a[:], b[:]) }

func withText(x *Table, text uint32) (keys []Key) {
	x.Text(text, func(k Key) bool { keys = append(keys, k); return true })
	slices.SortFunc(keys, byKey)
	return keys
}

func withTitle(x *Table, title uint32) (keys []Key) {
	x.Title(title, func(_ uint32, k Key) bool { keys = append(keys, k); return true })
	slices.SortFunc(keys, byKey)
	return keys
}

// TestTableModel holds the table against a list.
func TestTableModel(t *testing.T) {
	type held struct {
		Place
		Key
		titled bool
	}
	seeded.Check(t, func(t *rapid.T) {
		var model []held
		x := New()
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		texts := 1 + r.IntN(200)
		draw := func() held {
			return held{Place: Place{Body: uint32(r.IntN(texts)), Title: uint32(r.IntN(20))}, Key: keyOf(uint64(r.IntN(300)))}
		}
		for range rapid.IntRange(1, 600).Draw(t, "operations") {
			h := draw()
			i := slices.IndexFunc(model, func(o held) bool { return o.Body == h.Body && o.Key == h.Key })
			switch {
			case r.IntN(3) == 0:
				if got := x.Remove(h.Body, h.Key); got != (i >= 0) {
					t.Fatalf("%v is removed: %v, want %v", h, got, i >= 0)
				}
				if i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
			default:
				if i < 0 {
					x.Add(h.Place, h.Key)
					different := map[uint32]bool{}
					for _, o := range model {
						if o.titled && o.Title == h.Title {
							different[o.Body] = true
						}
					}
					h.titled = h.Title != 0 && len(different) <= MaxTitled
					model = append(model, h)
				}
			}
			q := draw()
			var text, title []Key
			for _, o := range model {
				if o.Body == q.Body {
					text = append(text, o.Key)
				}
				if o.titled && o.Title == q.Title {
					title = append(title, o.Key)
				}
			}
			slices.SortFunc(text, byKey)
			slices.SortFunc(title, byKey)
			if d := cmp.Diff([][]Key{text, title}, [][]Key{withText(x, q.Body), withTitle(x, q.Title)}); d != "" {
				t.Fatalf("of text and title of %v (-want +got):\n%s", q, d)
			}
			if x.Len() != len(model) {
				t.Fatalf("%d are held, want %d", x.Len(), len(model))
			}
		}
	})
}

// TestTableAtSize finds all of many, stays within its memory, and uses it again.
func TestTableAtSize(t *testing.T) {
	const n = 300_000
	r := rand.New(rand.NewPCG(3, 4))
	x := New()
	places := make([]Place, n)
	fill := func() {
		for i := range places {
			places[i] = Place{Body: r.Uint32(), Title: r.Uint32() | 1}
			x.Add(places[i], keyOf(uint64(i)))
		}
	}
	fill()
	for i, at := range places {
		if k := keyOf(uint64(i)); !slices.Contains(withText(x, at.Body), k) || !slices.Contains(withTitle(x, at.Title), k) {
			t.Fatalf("%d is not found", i)
		}
	}
	per := float64(x.Bytes()) / n
	if per > 41 {
		t.Errorf("%.1f bytes for each page, want at most 41", per)
	}
	for i, at := range places {
		if !x.Remove(at.Body, keyOf(uint64(i))) {
			t.Fatalf("%d is not held", i)
		}
	}
	before := x.Bytes()
	if fill(); x.Bytes() != before {
		t.Errorf("the memory of what was removed is not used again: %d bytes, then %d", before, x.Bytes())
	}
}

// TestCommonTitle: pages that all have one title take no longer each than others.
func TestCommonTitle(t *testing.T) {
	x := New()
	for i := range uint64(100_000) {
		x.Add(Place{Body: uint32(i), Title: 7}, keyOf(i))
	}
	if got := x.Titled(7); got != MaxTitled+1 {
		t.Errorf("%d pages are found by a title that all have, want %d", got, MaxTitled+1)
	}
}
