package match

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// scan looks for one literal after the other.
func scan(literals []literal, text string) []uint32 {
	var found []uint32
	for i, l := range literals {
		var ok bool
		switch l.kind {
		case Exact:
			ok = text == l.text
		case Prefix:
			ok = strings.HasPrefix(text, l.text)
		case Suffix:
			ok = strings.HasSuffix(text, l.text)
		case Inside:
			ok = strings.Contains(text, l.text)
		}
		if ok {
			found = append(found, uint32(i))
		}
	}
	return found
}

func sorted(numbers []uint32) []uint32 {
	slices.Sort(numbers)
	return numbers
}

func TestIndexFindsWhatAScanFinds(t *testing.T) {
	pieces := []string{"a", "b", "aa", "ab", "\x00", "é", "/", "http://", ".example.com/", "0123456789abcdef"}
	seeded.Check(t, func(t *rapid.T) {
		text := func(most int, name string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, most).Draw(t, name), "")
		}
		var b Builder
		for range rapid.IntRange(0, 200).Draw(t, "literals") {
			b.Add(Kind(rapid.IntRange(0, 3).Draw(t, "kind")), text(6, "literal"))
		}
		x := b.Build()
		for range 10 {
			s := text(12, "text")
			if diff := cmp.Diff(scan(b.literals, s), sorted(x.Append(nil, s))); diff != "" {
				t.Fatalf("%q: %s", s, diff)
			}
		}
	})
}

func TestAddNumbersEqualLiteralsOnce(t *testing.T) {
	var b Builder
	got := []uint32{b.Add(Prefix, "a"), b.Add(Suffix, "a"), b.Add(Prefix, "a"), b.Add(Exact, "")}
	if diff := cmp.Diff([]uint32{0, 1, 0, 2}, got); diff != "" {
		t.Fatal(diff)
	}
	if len(b.literals) != 3 {
		t.Fatalf("%d literals, want 3", len(b.literals))
	}
}

func TestZeroIndexIsEmpty(t *testing.T) {
	if got := new(Index).Append(nil, "text"); len(got) > 0 {
		t.Fatalf("found %v", got)
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	var b Builder
	for _, l := range []string{"x", "y", "xy", "xyxy"} {
		b.Add(Inside, l)
	}
	got := b.Build().Append([]uint32{3, 3}, "xyxyxy")
	if diff := cmp.Diff([]uint32{3, 3}, got[:2]); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]uint32{0, 1, 2, 3}, sorted(got[2:])); diff != "" {
		t.Fatal(diff)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("abc\naabc\nc", "xaabcabc")
	f.Add("\n\x00\n\xff\xfe", "\x00\xff\xfe")
	f.Fuzz(func(t *testing.T, lines, text string) {
		var b Builder
		for i, l := range strings.Split(lines, "\n") {
			b.Add(Kind(i%4), l)
			b.Add(Inside, l)
		}
		if diff := cmp.Diff(scan(b.literals, text), sorted(b.Build().Append(nil, text))); diff != "" {
			t.Fatal(diff)
		}
	})
}
