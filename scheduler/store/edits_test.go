package store

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// TestEdits compares edits with a map, through final and undone steps, with enough keys for the hash table to grow
// within a step.
func TestEdits(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		e := newEdits(1 << 20)
		e.slots = make([]int32, 4)
		want, before := map[string]string{}, map[string]string{}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				e.keepStep()
				before = maps.Clone(want)
			case 1:
				e.takeBack()
				want = maps.Clone(before)
			case 2:
				if rapid.IntRange(0, 5).Draw(t, "clear") == 0 {
					e.clear()
					want, before = map[string]string{}, map[string]string{}
				}
			default:
				key := []byte(fmt.Sprint("key", rapid.IntRange(0, 40).Draw(t, "key")))
				value := []byte(rapid.StringMatching("[a-c]{0,3}").Draw(t, "value"))
				want[string(key)] = string(value)
				if rapid.IntRange(0, 3).Draw(t, "long") == 0 {
					value = []byte(strings.Repeat("x", byReference))
					want[string(key)] = string(value)
				}
				if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
					value = nil
					want[string(key)] = "removed"
				}
				e.set(key, value)
				copy(key, "zzzz") // a key may be changed afterwards
			}
			checkEdits(t, &e, want)
		}
	})
}

func checkEdits(t *rapid.T, e *edits, want map[string]string) {
	word := func(v []byte) string {
		if v == nil {
			return "removed"
		}
		return string(v)
	}
	got := map[string]string{}
	var size, bytes int64
	for key, value := range e.all() {
		if _, twice := got[string(key)]; twice {
			t.Fatalf("key %s comes twice", key)
		}
		got[string(key)] = word(value)
		size += int64(len(key)+len(value)) + 12
		bytes += int64(len(value))
	}
	if !maps.Equal(got, want) {
		t.Fatalf("edits %q, want %q", got, want)
	}
	if e.size != size || e.bytes != bytes || e.count != int64(len(want)) {
		t.Fatalf("measured %d, %d, %d; want %d, %d, %d", e.size, e.bytes, e.count, size, bytes, len(want))
	}
	for i := range 41 {
		key := fmt.Sprint("key", i)
		v, ok := e.find([]byte(key))
		if w, wantOK := want[key]; ok != wantOK || ok && word(v) != w {
			t.Fatalf("find(%s) = %q, %t; want %q, %t", key, v, ok, w, wantOK)
		}
	}
}

func TestGenerations(t *testing.T) {
	var m generations[int, int]
	for i := range 3 * generationSize {
		m.put(i, -i)
		if v, ok := m.find(7); i >= 7 && (!ok || v != -7) {
			t.Fatalf("after %d: 7 is forgotten although it is asked for", i)
		}
	}
	if _, ok := m.find(8); ok {
		t.Error("8 is still there")
	}
	if n := len(m.young) + len(m.old); n > 2*generationSize+1 {
		t.Errorf("%d entries", n)
	}
}
