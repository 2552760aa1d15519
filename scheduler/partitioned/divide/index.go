package divide

import (
	"encoding/binary"
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// index is the partition of each URL, which are added in the order of their keys.
type index struct {
	heads []uint64 // the first eight bytes of a key
	parts []uint8
	// twins are whole keys of URLs whose heads are another's, too.
	last  weburl.Key
	twins map[weburl.Key]uint8
}

func head(k weburl.Key) uint64 { return binary.BigEndian.Uint64(k[:]) }

func (x *index) add(k weburl.Key, part uint8) {
	if n := len(x.heads); n > 0 && x.heads[n-1] == head(k) {
		if x.twins == nil {
			x.twins = map[weburl.Key]uint8{}
		}
		if _, there := x.twins[x.last]; !there {
			x.twins[x.last] = x.parts[n-1]
		}
		x.twins[k], x.last = part, k
		return
	}
	x.heads, x.parts, x.last = append(x.heads, head(k)), append(x.parts, part), k
}

func (x *index) find(k weburl.Key) (part uint8, known bool) {
	if part, known = x.twins[k]; known {
		return part, true
	}
	at, known := slices.BinarySearch(x.heads, head(k))
	if !known {
		return 0, false
	}
	return x.parts[at], true
}

func (x *index) has(k weburl.Key) bool {
	_, known := x.find(k)
	return known
}
