package fingerprints

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/weburl"
)

// keyOf spreads numbers over all bits, as a hash does; different numbers give
// different fingerprints (56 bits of a permutation of 64 are checked below).
func keyOf(n uint64) weburl.Key {
	n ^= n >> 30
	n *= 0xbf58476d1ce4e5b9
	n ^= n >> 27
	n *= 0x94d049bb133111eb
	n ^= n >> 31
	var k weburl.Key
	binary.BigEndian.PutUint64(k[2:], n)
	return k
}

// inStripe moves a key into one of a few stripes, so that they become large soon.
func inStripe(k weburl.Key, few byte) weburl.Key {
	k[2] %= few
	return k
}

func fingerprint(k weburl.Key) uint64 { return binary.BigEndian.Uint64(k[2:]) >> 8 }

// same checks a set against what it must hold, and the order and bounds of each shard.
func same(t testing.TB, s *Set, want map[uint64]bool) {
	t.Helper()
	if s.Len() != len(want) {
		t.Fatalf("Len() = %d, want %d", s.Len(), len(want))
	}
	got := 0
	for i := range s.stripes {
		st := &s.stripes[i]
		for j, sh := range st.table[:len(st.table)-1] {
			if sh.start+sh.n > st.table[j+1].start {
				t.Fatalf("shard %d of stripe %d is longer than its room", j, i)
			}
		}
		sorted := st.sorted(nil)
		if !ascending(sorted) {
			t.Fatalf("stripe %d is not in order", i)
		}
		for ; len(sorted) > 0; sorted = sorted[wholeWidth:] {
			fp := uint64(i)<<48 | binary.BigEndian.Uint64(append(append([]byte{0, 0}, sorted[:wholeWidth]...), 0)[:8])
			if !want[fp] {
				t.Fatalf("fingerprint %x is in the set and was not added", fp)
			}
			got++
		}
	}
	if got != len(want) {
		t.Fatalf("%d fingerprints are stored, want %d", got, len(want))
	}
}

// TestAgainstMap adds and removes runs of keys, few enough stripes apart that they are
// split and joined again, saves and loads, and compares with a map.
func TestAgainstMap(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		s := New(rapid.IntRange(-1, 300_000).Draw(t, "hint"))
		want := map[uint64]bool{}
		few := byte(rapid.SampledFrom([]int{1, 2, 255}).Draw(t, "stripes"))
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			from := rapid.Uint64Range(0, 20_000).Draw(t, "from")
			n := rapid.Uint64Range(0, 12_000).Draw(t, "n")
			op := rapid.SampledFrom([]string{"add", "add", "remove", "reload"}).Draw(t, "op")
			for i := from; i < from+n && op != "reload"; i++ {
				k := inStripe(keyOf(i), few)
				fp := fingerprint(k)
				if s.Has(k) != want[fp] {
					t.Fatalf("Has(%v) = %v", k, s.Has(k))
				}
				if op == "add" {
					if s.Add(k) == want[fp] {
						t.Fatalf("Add(%v) = %v", k, want[fp])
					}
					want[fp] = true
				} else {
					if s.Remove(k) != want[fp] {
						t.Fatalf("Remove(%v) = %v", k, !want[fp])
					}
					delete(want, fp)
				}
			}
			if op == "reload" {
				s = reload(t, s, from)
			}
			for i := range uint64(40_000) {
				if k := inStripe(keyOf(i), few); s.Has(k) != want[fingerprint(k)] {
					t.Fatalf("after %s: Has(%v) = %v", op, k, s.Has(k))
				}
			}
		}
		sameRapid(t, s, want)
	})
}

func sameRapid(t *rapid.T, s *Set, want map[uint64]bool) {
	if s.Len() != len(want) {
		t.Fatalf("Len() = %d, want %d", s.Len(), len(want))
	}
}

// reload saves a set and loads it again.
func reload(t rapid.TB, s *Set, mark uint64) *Set {
	var file bytes.Buffer
	if err := s.Save(&file, mark); err != nil {
		t.Fatal(err)
	}
	loaded, got, err := Load(&file)
	if err != nil || got != mark {
		t.Fatalf("Load: mark %d, %v; want mark %d", got, err, mark)
	}
	return loaded
}

// TestUnevenKeys fills a stripe with values that no hash would give: it stays right,
// only slower.
func TestUnevenKeys(t *testing.T) {
	s, want := New(0), map[uint64]bool{}
	var k weburl.Key
	add := func() {
		fp := fingerprint(k)
		if s.Add(k) == want[fp] {
			t.Fatalf("Add(%x) = %v", k, want[fp])
		}
		want[fp] = true
	}
	for i := range 10_000 {
		binary.BigEndian.PutUint16(k[7:], uint16(i)) // all in one shard, close together
		add()
	}
	for i := range 7 {
		k = weburl.Key{}
		k[2+i] = 0xff
		add()
		for j := i; j < 7; j++ {
			k[2+j] = 0xff
		}
		add()
	}
	same(t, s, want)
}

// TestBytes holds the memory to its promise at every size while it grows.
func TestBytes(t *testing.T) {
	sizes, most := 1_000_000, 0.0
	if testing.Short() {
		sizes = 300_000
	}
	s := New(0)
	for i := range sizes {
		s.Add(keyOf(uint64(i)))
		if s.Len() < 100_000 {
			continue
		}
		if per := float64(s.Bytes()) / float64(s.Len()); per >= 8 {
			t.Fatalf("%d keys take %.2f bytes each", s.Len(), per)
		} else {
			most = max(most, per)
		}
	}
	t.Logf("at most %.2f bytes a key, %.2f with %d", most, float64(s.Bytes())/float64(s.Len()), s.Len())
	for i := range sizes * 9 / 10 {
		s.Remove(keyOf(uint64(i)))
	}
	if per := float64(s.Bytes()) / float64(s.Len()); s.Len() >= 100_000 && per >= 16 {
		t.Errorf("%d keys that are left take %.2f bytes each", s.Len(), per)
	}
}

// TestReadersAndWriter lets one goroutine change the set while others read and save it:
// what was there before and stays is always found, and in each saved file.
func TestReadersAndWriter(t *testing.T) {
	const stay, come = 20_000, 60_000
	s := New(0)
	for i := range uint64(stay) {
		s.Add(inStripe(keyOf(i), 3))
	}
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for i := uint64(0); ; i = (i + 1) % stay {
				select {
				case <-done:
					return
				default:
				}
				if !s.Has(inStripe(keyOf(i), 3)) {
					t.Errorf("key %d is lost", i)
					return
				}
			}
		})
	}
	readers.Go(func() {
		for range 5 {
			loaded := reload(t, s, 1)
			for i := range uint64(stay) {
				if !loaded.Has(inStripe(keyOf(i), 3)) {
					t.Errorf("key %d is not in the file", i)
					return
				}
			}
		}
	})
	for i := range uint64(come) {
		s.Add(inStripe(keyOf(stay+i), 3))
		if i%3 == 0 {
			s.Remove(inStripe(keyOf(stay+i/2), 3))
		}
	}
	close(done)
	readers.Wait()
}

// TestOneHost: the keys of one host, which begin alike, are spread over all stripes.
func TestOneHost(t *testing.T) {
	const n = 256 * 400
	var counts [stripes]int
	for i := range n {
		u, err := weburl.Parse(fmt.Sprintf("https://www.example.com/page/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		counts[stripeOf(u.Key())]++
	}
	for i, count := range counts {
		if count < 300 || count > 500 {
			t.Errorf("stripe %d has %d of %d keys, want about 400", i, count, n)
		}
	}
}

// TestCollision says what happens to two keys with the same 56 bits.
func TestCollision(t *testing.T) {
	a, b := keyOf(1), keyOf(1)
	b[9]++
	s := New(0)
	if !s.Add(a) || s.Add(b) || !s.Has(b) || s.Len() != 1 {
		t.Error("keys with the same fingerprint are told apart")
	}
	if !s.Remove(b) || s.Has(a) || s.Remove(a) || s.Len() != 0 {
		t.Error("a fingerprint is not removed")
	}
}

// randomKey is not a key of keyOf.
func randomKey(r *rand.Rand) weburl.Key {
	var k weburl.Key
	binary.BigEndian.PutUint64(k[:], r.Uint64())
	binary.BigEndian.PutUint64(k[8:], r.Uint64())
	return k
}
