package store

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
)

// region is some bytes of a file.
type region struct{ at, n int64 }

// trusted returns the bytes of a file that Badger, or this package, needs to read the rest: lengths, numbers and
// checksums.
func trusted(t *testing.T, dir string, f storeFile) []region {
	t.Helper()
	opened, err := os.Open(filepath.Join(dir, f.name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()               // it was only read
	b, err := io.ReadAll(io.LimitReader(opened, 4<<20)) // logs end with zeros
	if err != nil {
		t.Fatal(err)
	}
	switch ext := filepath.Ext(f.name); {
	case ext == ".sst":
		return tableRegions(t, opened.Name(), b)
	case ext == ".vlog", ext == ".mem":
		return logRegions(b)
	case f.name == "MANIFEST":
		return []region{{0, 32}, {f.size - 12, 12}}
	case f.name == badgerfiles.DiscardName:
		return []region{{0, 32}, {f.size - 16, 16}}
	case ext == bodyfiles.Ext:
		return []region{{0, 4}, {f.size - 4, 4}}
	}
	return []region{{0, min(f.size, 64)}, {max(0, f.size-16), min(f.size, 16)}}
}

// tableRegions returns the ends of the first and the last block, the begin of the index, and everything after it.
func tableRegions(t *testing.T, path string, b []byte) []region {
	t.Helper()
	index, behind := tableIndex(b)
	const (
		tail  = 16 // number of entries, checksum and its length
		begin = 24
	)
	return []region{
		{0, 8},
		{blockEnd(t, path, 0) - tail, tail},
		{index - tail, tail + begin},
		{behind - 8, int64(len(b)) - behind + 8},
	}
}

// logRegions returns the file's header, and headers and checksums of the first and last entries.
func logRegions(b []byte) []region {
	regions := []region{{0, badgerfiles.LogHeader}}
	var last region
	_, _ = badgerfiles.EachEntry(bytes.NewReader(b), int64(len(b)), func(at, n int64, key []byte) bool {
		if at+n > int64(len(b)) {
			return false
		}
		last = region{at, int64(strings.Index(string(b[at:at+n]), string(key))) + 4}
		if len(regions) == 1 {
			const checksum = 4
			regions = append(regions, last, region{at + n - checksum, checksum})
		}
		return true
	})
	return append(regions, last)
}

// TestDamagedBytes damages each trusted byte, and some others, in closed stores and those of a killed process. No store
// may end the process, allocate excessively, or silently hold something else.
func TestDamagedBytes(t *testing.T) {
	r := seeded.Rand(t)
	closed, killed := damagedFixture(t, 100)
	rounds := attackRounds(t, 1)
	every := 1 // of so many cases one is judged
	if rounds == 1 {
		every = 640
	}
	for _, dir := range []string{closed, killed} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var cases []damagedStore
			files := filesOf(t, dir)
			for _, f := range files {
				newest := f.name == newestLog(files, filepath.Ext(f.name))
				for n, h := range byteHarms(t, r, dir, f, max(1, rounds/20)) {
					if n%every != 0 {
						continue
					}
					c := damagedStore{From: dir, Harms: []harm{h}, ReadOnly: r.IntN(4) == 0}
					c.Torn = dir == killed && (newest || f.name == "MANIFEST")
					c.Decayed = dir == closed && h.inside(f.size) && r.IntN(2) == 0
					cases = append(cases, c)
				}
			}
			judge(t, cases)
		})
	}
}

// newestLog returns the last file with a suffix, "" if that is not one of logs.
func newestLog(files []storeFile, ext string) string {
	newest := ""
	for _, f := range files {
		if (ext == ".vlog" || ext == ".mem") && filepath.Ext(f.name) == ext {
			newest = f.name
		}
	}
	return newest
}

// byteHarms flips each trusted bit, sets each trusted byte to values that make lengths large, and damages as many other
// bytes, pages and ends as rounds.
func byteHarms(t *testing.T, r *rand.Rand, dir string, f storeFile, rounds int) []harm {
	t.Helper()
	var all []harm
	for _, g := range trusted(t, dir, f) {
		for at := g.at; at < g.at+g.n; at++ {
			for bit := range 8 {
				all = append(all, harm{File: f.name, Kind: harmFlip, At: at, N: 1, Mask: 1 << bit})
			}
			all = append(all, harm{File: f.name, Kind: harmFlip, At: at, N: 1, Mask: 0xff}, harm{File: f.name, Kind: harmCut, At: at})
			if n := g.at + g.n - at; n >= 4 {
				all = append(all, harm{File: f.name, Kind: harmGarbage, At: at, N: 4, Seed: r.Uint64()}, harm{File: f.name, Kind: harmZero, At: at, N: 4},
					harm{File: f.name, Kind: harmFlip, At: at, N: 4, Mask: 0x80})
			}
		}
	}
	for range rounds * 40 {
		at := r.Int64N(f.size)
		all = append(all, harm{File: f.name, Kind: harmFlip, At: at, N: 1, Mask: 1 << r.IntN(8)},
			harm{File: f.name, Kind: harmGarbage, At: at, N: 1 + r.Int64N(64), Seed: r.Uint64()})
	}
	for range rounds * 4 {
		at := r.Int64N(f.size)
		all = append(all, harm{File: f.name, Kind: harmZero, At: at, N: min(4096, f.size-at)}, harm{File: f.name, Kind: harmCut, At: at},
			harm{File: f.name, Kind: harmGarbage, At: f.size, N: 1 + r.Int64N(8192), Seed: r.Uint64()})
	}
	return append(all, harm{File: f.name, Kind: harmZero, At: f.size, N: 5000}, harm{File: f.name, Kind: harmRemove})
}

// TestDamageThatKilled repeats damage that has ended processes, each in its own way.
func TestDamageThatKilled(t *testing.T) {
	closed, killed := damagedFixture(t, 100)
	regions := func(dir, name string) []region {
		for _, f := range filesOf(t, dir) {
			if f.name == name {
				return trusted(t, dir, f)
			}
		}
		t.Fatalf("%s has no %s", dir, name)
		return nil
	}
	table, log, memtable := regions(closed, "000002.sst"), regions(closed, "000001.vlog"), regions(killed, "00001.mem")
	blockEnd := func(g region) harm { // a longer checksum, so that the number of entries is another
		return harm{File: "000002.sst", Kind: harmFlip, At: g.at + 15, N: 1, Mask: 0x20}
	}
	endOfLength := func(g region) int64 { return g.at + g.n - 6 } // before the time and four bytes of the key
	var cases []damagedStore
	for _, c := range []struct {
		dir string
		harm
	}{
		// A key that is stored nowhere: the file of a value was removed while it was mapped.
		{closed, harm{File: "000001.vlog", Kind: harmFlip, At: log[1].at + log[1].n - 1, N: 1, Mask: 4}},
		// A panic while a table is opened, and while it is merged.
		{closed, blockEnd(table[2])},
		{closed, blockEnd(table[1])},
		// Lengths of gigabytes.
		{closed, harm{File: "KEYREGISTRY", Kind: harmGarbage, At: 28, N: 100, Seed: 1}},
		{closed, harm{File: "000004.vlog", Kind: harmFlip, At: endOfLength(log[1]), N: 2, Mask: 0x80}},
		{killed, harm{File: "00001.mem", Kind: harmFlip, At: endOfLength(memtable[1]), N: 4, Mask: 0x80}},
	} {
		cases = append(cases, damagedStore{From: c.dir, Harms: []harm{c.harm}, Torn: c.dir == killed})
	}
	judge(t, cases)
}
