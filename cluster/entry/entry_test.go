package entry

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func author(epoch uint64) Author {
	return Author{Incarnation: ID{1, 2, 3}, Epoch: epoch, Claim: ID{byte(epoch)}}
}

func packer(t testing.TB) *Packer {
	p, err := NewPacker()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// noise is what zstd cannot make shorter.
func noise(t testing.TB, n int) []byte {
	b := make([]byte, n)
	r := seeded.Rand(t)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return b
}

func TestStepsComeBackWhole(t *testing.T) {
	steps := map[string][]byte{
		"empty": {}, "short": []byte("a"), "packs well": bytes.Repeat([]byte("sextant "), 5000),
		"one part, exactly": noise(t, 1000-Overhead), "one byte more": noise(t, 1001-Overhead), "many parts": noise(t, 12345),
	}
	for name, step := range steps {
		at := Genesis(ID{1, 2, 3}, 7, 1)
		encoded, behind, err := packer(t).Cut(author(5), Newest, at, step, 1000)
		if err != nil {
			t.Fatal(err)
		}
		j := Joiner{Packer: packer(t)}
		for i, b := range encoded {
			if len(b) > 1000 {
				t.Errorf("%s: an entry of %d bytes, over the limit", name, len(b))
			}
			e, err := Decode(b, Newest)
			if err != nil {
				t.Fatal(err)
			}
			if !e.Follows(at) || e.At() != behind[i] || e.Author != author(5) {
				t.Fatalf("%s: part %d does not follow %v", name, i, at)
			}
			at = e.At()
			got, whole, err := j.Add(e)
			if err != nil {
				t.Fatal(err)
			}
			if whole != (i == len(encoded)-1) {
				t.Fatalf("%s: whole = %v after part %d of %d", name, whole, i, len(encoded))
			}
			if whole && !bytes.Equal(got, step) {
				t.Errorf("%s: a step of %d bytes came back with %d", name, len(step), len(got))
			}
		}
	}
}

// TestSameStepSameBytes: an append whose answer was lost is recognised by its hash.
func TestSameStepSameBytes(t *testing.T) {
	at := Genesis(ID{1}, 0, 1)
	first, _, err := packer(t).Cut(author(5), Newest, at, noise(t, 5000), 1000)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := packer(t).Cut(author(5), Newest, at, noise(t, 5000), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	other, _, err := packer(t).Cut(author(6), Newest, at, noise(t, 5000), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first[0], other[0]) {
		t.Error("two authors made the same entry")
	}
}

func TestEveryFlippedBitIsSeen(t *testing.T) {
	encoded, _, err := packer(t).Cut(author(5), Newest, Genesis(ID{1}, 0, 1), []byte("a step"), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(encoded[0]) * 8 {
		b := bytes.Clone(encoded[0])
		b[bit/8] ^= 1 << (bit % 8)
		if _, err := Decode(b, Newest); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrLevel) {
			t.Fatalf("bit %d: %v", bit, err)
		}
	}
	for n := range encoded[0] {
		if _, err := Decode(encoded[0][:n], Newest); err == nil {
			t.Fatalf("cut at %d of %d: no error", n, len(encoded[0]))
		}
	}
}

func entries(t *testing.T, a Author, at Position, step []byte) (all []*Entry, end Position) {
	t.Helper()
	encoded, behind, err := packer(t).Cut(a, Newest, at, step, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range encoded {
		e, err := Decode(b, Newest)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all, behind[len(behind)-1]
}

// TestUnfinishedStepOfAnotherEpochIsVoid: an owner died between two parts, twice in a row.
func TestUnfinishedStepOfAnotherEpochIsVoid(t *testing.T) {
	large := noise(t, 5000)
	first, _ := entries(t, author(5), Genesis(ID{1}, 0, 1), large)
	second, _ := entries(t, author(9), first[2].At(), large)
	third, _ := entries(t, author(12), second[0].At(), []byte("whole"))
	log := append(append(first[:3:3], second[:1]...), third...)
	j := Joiner{Packer: packer(t)}
	var got []string
	for _, e := range log {
		step, whole, err := j.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		if whole {
			got = append(got, string(step))
		}
	}
	if diff := cmp.Diff([]string{"whole"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPartsOutOfOrderAreDamage(t *testing.T) {
	parts, _ := entries(t, author(5), Genesis(ID{1}, 0, 1), noise(t, 5000))
	short, _ := entries(t, author(5), parts[0].At(), []byte("short"))
	for name, log := range map[string][]*Entry{
		"begins in the middle": {parts[1]}, "one is missing": {parts[0], parts[2]},
		"one twice": {parts[0], parts[0]}, "another step between": {parts[0], short[0]},
	} {
		j := Joiner{Packer: packer(t)}
		var err error
		for _, e := range log {
			if _, _, err = j.Add(e); err != nil {
				break
			}
		}
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "was due") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamagedPacking: what unpacks to another size, or not at all, is refused in words.
func TestDamagedPacking(t *testing.T) {
	e := Entry{Author: author(1), Level: Newest, Seq: 2, Parts: 1, Packing: Zstd, StepBytes: 10, Body: []byte("no zstd")}
	f := Entry{Author: author(1), Level: Newest, Seq: 2, Parts: 1, StepBytes: 10, Body: []byte("short")}
	for _, e := range []*Entry{&e, &f} {
		d, err := Decode(e.encode(), Newest)
		if err != nil {
			t.Fatal(err)
		}
		j := Joiner{Packer: packer(t)}
		if _, whole, err := j.Add(d); whole || !errors.Is(err, ErrDamaged) {
			t.Errorf("packing %d: whole %v, %v", e.Packing, whole, err)
		}
	}
}

func TestLaterFormatIsNamed(t *testing.T) {
	encoded, _, err := packer(t).Cut(author(5), Newest, Genesis(ID{1}, 0, 1), nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	encoded[0][0] = Newest + 1
	if _, err := Decode(encoded[0], Newest); !errors.Is(err, ErrLevel) {
		t.Errorf("err = %v, want ErrLevel", err)
	}
}

func TestGenesisIsEachLogsOwn(t *testing.T) {
	a := Genesis(ID{1}, 0, 1)
	for _, b := range []Position{Genesis(ID{2}, 0, 1), Genesis(ID{1}, 1, 1), Genesis(ID{1}, 0, 2)} {
		if a.Hash == b.Hash {
			t.Errorf("%v begins as %v does", a, b)
		}
	}
	if Genesis(ID{1}, 0, 0).Seq != 1 {
		t.Error("an empty store could pass for a copy of the log's beginning")
	}
}

// FuzzDecode: whatever the engine holds, reading it neither panics nor asks for much memory,
// and what is read encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	p := packer(f)
	for _, step := range []string{"", "a step", strings.Repeat("sextant ", 100)} {
		encoded, _, err := p.Cut(author(5), Newest, Genesis(ID{1}, 0, 1), []byte(step), 600)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded[0])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := Decode(b, Newest); err == nil && !bytes.Equal(e.encode(), b) {
			t.Error("an entry encodes to other bytes")
		}
		// The hash keeps random bytes out: with a right one the rest is tried too.
		if len(b) < Overhead {
			return
		}
		e := &Entry{Seq: 2, Parts: 1, Packing: Packing(b[0] % 2), StepBytes: uint32(b[1]), Body: b[2:]}
		if e, err := Decode(e.encode(), Newest); err == nil {
			j := Joiner{Packer: p}
			if step, whole, err := j.Add(e); err == nil && whole && len(step) != int(e.StepBytes) {
				t.Error("a step of another size")
			}
		}
	})
}
