package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// harm is what is done to a file of a store.
type harm struct {
	File string
	Kind string
	At   int64  // the first byte
	N    int64  // how many
	Mask byte   // of flip
	Seed uint64 // of what garbage holds
}

// The kinds of harm.
const (
	harmFlip    = "flip"    // the bits of Mask, of N bytes from At on
	harmZero    = "zero"    // N bytes from At on
	harmGarbage = "garbage" // N bytes from At on, beyond the end too
	harmCut     = "cut"     // all from At on
	harmRemove  = "remove"
	harmFolder  = "folder" // in its place
)

func (h harm) String() string {
	return fmt.Sprintf("%s: %s of %d bytes at %d, mask %#x, seed %d", h.File, h.Kind, h.N, h.At, h.Mask, h.Seed)
}

// inside reports whether a file of so many bytes keeps its length.
func (h harm) inside(size int64) bool {
	return h.Kind != harmCut && h.Kind != harmRemove && h.Kind != harmFolder && h.At+h.N <= size
}

// apply does it.
func (h harm) apply(dir string) error {
	path := filepath.Join(dir, h.File)
	switch h.Kind {
	case harmRemove:
		return os.Remove(path)
	case harmFolder:
		return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
	case harmCut:
		return os.Truncate(path, h.At)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, h.N)
	switch h.Kind {
	case harmFlip:
		if _, err := f.ReadAt(b, h.At); err != nil {
			return err
		}
		for i := range b {
			b[i] ^= h.Mask
		}
	case harmGarbage:
		r := rand.New(rand.NewPCG(h.Seed, 0))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
	_, err = f.WriteAt(b, h.At)
	return err
}

// harms returns the ways to damage a file of so many bytes.
func harms(r *rand.Rand, file string, size int64) []harm {
	some := func() int64 { return r.Int64N(size) }
	bit := func() byte { return 1 << r.IntN(8) }
	page := some()
	return []harm{
		{File: file, Kind: harmFlip, At: some(), N: 1, Mask: bit()},
		{File: file, Kind: harmFlip, At: some(), N: 1, Mask: bit()},
		{File: file, Kind: harmFlip, At: max(0, size-1-r.Int64N(60)), N: 1, Mask: bit()},
		{File: file, Kind: harmFlip, At: min(size-1, r.Int64N(30)), N: 1, Mask: bit()},
		{File: file, Kind: harmZero, At: page, N: min(4096, size-page)},
		{File: file, Kind: harmCut, At: some()},
		{File: file, Kind: harmCut, At: size - 1},
		{File: file, Kind: harmCut},
		{File: file, Kind: harmGarbage, N: size, Seed: r.Uint64()},
		{File: file, Kind: harmGarbage, At: size, N: 100, Seed: r.Uint64()},
		{File: file, Kind: harmRemove},
		{File: file, Kind: harmFolder},
	}
}
