package testdocs

import (
	"bytes"
	"encoding/binary"
	"time"
	"unicode/utf16"
)

const (
	sector     = 512
	miniCutoff = 4096 // streams below it would lie in the mini stream: they are filled up
	endOfChain = 0xfffffffe
	noStream   = 0xffffffff
)

// Compound makes a compound file (MS-CFB, version 3) of streams in its root. Each has
// zeros at its end where it would be shorter than 4,096 bytes.
func Compound(streams ...Part) []byte {
	var fat []uint32
	var body bytes.Buffer
	write := func(b []byte) (first uint32) {
		first = uint32(len(fat))
		for i := 0; i < len(b); i += sector {
			var s [sector]byte
			copy(s[:], b[i:])
			body.Write(s[:])
			fat = append(fat, uint32(len(fat))+1)
		}
		fat[len(fat)-1] = endOfChain
		return first
	}
	directory := entry("Root Entry", 5, noStream, 1, endOfChain, 0)
	for i, s := range streams {
		content := append([]byte(s.Body), make([]byte, max(0, miniCutoff-len(s.Body)))...)
		next := uint32(i + 2)
		if i == len(streams)-1 {
			next = noStream
		}
		directory = append(directory, entry(s.Name, 2, next, noStream, write(content), len(content))...)
	}
	at := write(directory)
	fatSectors := (len(fat) + sector/4) / (sector/4 - 1) // the FAT has itself in it
	first := uint32(len(fat))
	for range fatSectors {
		fat = append(fat, 0xfffffffd)
	}
	for len(fat)%(sector/4) != 0 {
		fat = append(fat, noStream)
	}
	for _, next := range fat {
		body.Write(le(next))
	}
	head := append([]byte{0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1}, make([]byte, 16)...)
	head = append(head, le(uint16(0x3e), uint16(3), uint16(0xfffe), uint16(9), uint16(6), make([]byte, 10), uint32(fatSectors), at, uint32(0),
		uint32(miniCutoff), uint32(endOfChain), uint32(0), uint32(endOfChain), uint32(0))...)
	for i := range uint32(109) {
		if i < uint32(len(fat)*4/sector) && i < uint32(fatSectors) {
			head = append(head, le(first+i)...)
		} else {
			head = append(head, le(uint32(noStream))...)
		}
	}
	return append(head, body.Bytes()...)
}

func entry(name string, kind byte, right, child, first uint32, size int) []byte {
	var raw [64]byte
	wide := UTF16(name)
	copy(raw[:], wide)
	b := append(raw[:], le(uint16(len(wide)+2))...)
	b = append(b, kind, 1)
	return append(b, le(uint32(noStream), right, child, make([]byte, 36), first, uint32(size), uint32(0))...)
}

// le returns its arguments one behind the other, the low byte first.
func le(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		must(binary.Write(&b, binary.LittleEndian, p))
	}
	return b.Bytes()
}

// UTF16 returns a text in two bytes a character, the low one first.
func UTF16(s string) []byte { return le(utf16.Encode([]rune(s))) }

// Summary returns the stream SummaryInformation: properties by their numbers, and times.
func Summary(c Content) Part {
	text := func(s string) []byte {
		b := le(uint32(0x1e), uint32(len(s)+1))
		return append(append(b, s...), make([]byte, 4-len(s)%4)...)
	}
	moment := func(t time.Time) []byte { return le(uint32(0x40), uint64(t.Unix()+11644473600)*10_000_000) }
	created, modified := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	values := []struct {
		id    uint32
		value []byte
	}{
		{1, le(uint32(2), uint32(65001))}, {2, text(c.Title)}, {3, text("Harbours")}, {4, text(c.Author)}, {5, text("tide, quay")},
		{12, moment(created)}, {13, moment(modified)}, {14, le(uint32(3), uint32(7))},
	}
	var index, all []byte
	for _, v := range values {
		index = append(index, le(v.id, uint32(8+8*len(values)+len(all)))...)
		all = append(all, v.value...)
	}
	set := append(le(uint32(8+len(index)+len(all)), uint32(len(values))), append(index, all...)...)
	head := le(uint16(0xfffe), uint16(0), uint32(0), make([]byte, 16), uint32(1), make([]byte, 16), uint32(48))
	return Part{"\x05SummaryInformation", string(append(head, set...))}
}
