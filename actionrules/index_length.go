package actionrules

import "slices"

// intervals finds the length atoms that hold for a number. They are sorted by
// their lower bounds; greatest is by the middle of each half, half of a half and
// so on the greatest upper bound in it, so that what lies below is left out.
type intervals struct {
	atoms         []int32
	low, greatest []int
	high          []int
}

func (iv *intervals) build(atoms []atomEntry) {
	slices.SortFunc(iv.atoms, func(a, b int32) int { return atoms[a].matcher.min - atoms[b].matcher.min })
	for _, a := range iv.atoms {
		iv.low = append(iv.low, atoms[a].matcher.min)
		iv.high = append(iv.high, atoms[a].matcher.max)
	}
	iv.greatest = make([]int, len(iv.atoms))
	iv.measure(0, len(iv.atoms))
}

// measure sets greatest from place i up to j.
func (iv *intervals) measure(i, j int) int {
	if i == j {
		return -1
	}
	mid := (i + j) / 2
	iv.greatest[mid] = max(iv.high[mid], iv.measure(i, mid), iv.measure(mid+1, j))
	return iv.greatest[mid]
}

func (iv *intervals) appendTo(into []uint32, n int) []uint32 {
	return iv.appendFrom(into, n, 0, len(iv.atoms))
}

func (iv *intervals) appendFrom(into []uint32, n, i, j int) []uint32 {
	mid := (i + j) / 2
	if i == j || iv.greatest[mid] < n {
		return into
	}
	into = iv.appendFrom(into, n, i, mid)
	if iv.low[mid] > n {
		return into
	}
	if n <= iv.high[mid] {
		into = append(into, uint32(iv.atoms[mid]))
	}
	return iv.appendFrom(into, n, mid+1, j)
}
