package scheduler

import "math/bits"

// creditUnit is the resolution of credit: what a weight of 1 earns with each pick. It keeps the rounding of rescale far
// below the smallest weight.
const creditUnit = 1 << 20

// stride shares picks among the sources in proportion to their weights: with each pick every ready source earns its
// weight, the richest is picked and pays what all of them earned together. So the credits of a fixed set of sources add
// up to a constant, in integers without rounding, and each source always stays within two picks of its share.
//
// A source that is not ready neither earns nor pays. When the set of ready sources changes, credits are rescaled so
// that they mean the same number of picks as before: a source that fell one pick behind among heavy ones is then one
// pick behind among light ones, not thousands.
type stride struct {
	weight [Sources]int64
	credit [Sources]int64
	total  int64 // sum of the weights that the credits are scaled to
}

// newStride takes weights from 0 to 1,000,000.
func newStride(weights [Sources]int) stride {
	var s stride
	for i, w := range weights {
		s.weight[i] = int64(w)
	}
	return s
}

// pick chooses among the sources whose bit is set in ready; false if none of them has a weight.
func (s *stride) pick(ready uint8) (Source, bool) {
	total := s.sum(ready)
	if total == 0 {
		return 0, false
	}
	s.rescale(total)
	best := -1
	for i := range s.credit {
		if ready&(1<<i) == 0 || s.weight[i] == 0 {
			continue
		}
		s.credit[i] += s.weight[i] * creditUnit
		if best < 0 || s.credit[i] > s.credit[best] {
			best = i
		}
	}
	s.credit[best] -= total * creditUnit
	return Source(best), true
}

// refund takes back a pick of source that found no work. ready is the set of sources of that pick.
func (s *stride) refund(source Source, ready uint8) {
	total := s.sum(ready)
	s.rescale(total)
	for i := range s.credit {
		if ready&(1<<i) != 0 {
			s.credit[i] -= s.weight[i] * creditUnit
		}
	}
	s.credit[source] += total * creditUnit
}

func (s *stride) sum(ready uint8) int64 {
	var total int64
	for i, w := range s.weight {
		if ready&(1<<i) != 0 {
			total += w
		}
	}
	return total
}

func (s *stride) rescale(total int64) {
	if s.total != total && s.total != 0 {
		for i, c := range s.credit {
			s.credit[i] = mulDiv(c, total, s.total)
		}
	}
	s.total = total
}

// mulDiv returns a*b/c rounded towards zero, without overflow, for positive b and c and a quotient that fits.
func mulDiv(a, b, c int64) int64 {
	if a < 0 {
		return -mulDiv(-a, b, c)
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}
