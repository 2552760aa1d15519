package badgerstore

import (
	"encoding/binary"
	"testing"
)

// BenchmarkEdits makes the edits of pages with 20 links, two of them new, in batches of
// 200 pages.
func BenchmarkEdits(b *testing.B) {
	const pages = 200
	e := newEdits(1 << 20)
	key := func(kind byte, n uint64, length int) []byte {
		k := binary.BigEndian.AppendUint64([]byte{kind}, n*0x9e3779b97f4a7c15)
		return append(k, make([]byte, length-8)...)
	}
	rec, small := make([]byte, 180), make([]byte, 6)
	var n uint64
	b.ReportAllocs()
	for b.Loop() {
		for range pages {
			n++
			add := func(url, place uint64) {
				e.find(key('u', url, 16))
				e.find(key('p', place, 9))
				e.set(key('q', url, 17), rec[:16])
				e.set(key('p', place, 9), small)
				e.set(key('u', url, 16), rec)
			}
			e.set(key('q', n, 17), nil)
			add(n<<8, n%64)
			for i := range uint64(2) {
				add(n<<8+i+1, n%1024)
			}
			for i := range uint64(18) {
				e.find(key('u', n<<8+100+i, 16))
			}
			e.keepStep()
		}
		e.clear()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pages, "ns/page")
}
