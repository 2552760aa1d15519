package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Form: version, flags, origin, numbers as varints, and the fields of the flags.

// Flags of a host's state.
const (
	hostNextAt = 1 << iota
	hostIll
	hostIllSince
	hostGoods
	hostBadAt
	hostFlagsEnd
)

// EncodeHost returns the value of a host's state.
func EncodeHost(h *scheduler.HostState) []byte {
	f := flag(!h.NextAt.IsZero())*hostNextAt | flag(h.Ill)*hostIll | flag(!h.IllSince.IsZero())*hostIllSince |
		flag(h.Goods[0] != weburl.Key{})*hostGoods | flag(!h.BadAt.IsZero())*hostBadAt
	b := appendString([]byte{valueVersion, f}, h.Origin)
	b = binary.AppendVarint(b, int64(h.Backoff))
	b = binary.AppendVarint(b, int64(h.Errors))
	b = binary.AppendVarint(b, int64(h.Delay))
	b = binary.AppendUvarint(b, uint64(h.Responses))
	if f&hostNextAt != 0 {
		b = appendTime(b, h.NextAt)
	}
	if f&hostIllSince != 0 {
		b = appendTime(b, h.IllSince)
	}
	if f&hostBadAt != 0 {
		b = appendTime(b, h.BadAt)
	}
	if f&hostGoods != 0 {
		for _, k := range h.Goods {
			b = append(b, k[:]...)
		}
	}
	return b
}

// DecodeHost decodes the output of EncodeHost.
func DecodeHost(b []byte) (scheduler.HostState, error) {
	r := newReader(b)
	f := r.enum("flags of a host", hostFlagsEnd)
	h := scheduler.HostState{Origin: r.string(), Ill: f&hostIll != 0}
	h.Backoff, h.Errors, h.Delay = time.Duration(r.varint()), int(r.varint()), time.Duration(r.varint())
	responses := r.uvarint()
	if responses > math.MaxUint16 {
		r.fail(fmt.Errorf("a host has too many responses, %#x", responses))
	}
	h.Responses = uint16(responses)
	if f&hostNextAt != 0 {
		h.NextAt = r.time()
	}
	if f&hostIllSince != 0 {
		h.IllSince = r.time()
	}
	if f&hostBadAt != 0 {
		h.BadAt = r.time()
	}
	if f&hostGoods != 0 {
		for i := range h.Goods {
			copy(h.Goods[i][:], r.bytes(uint64(len(h.Goods[i]))))
		}
	}
	return h, r.end()
}
