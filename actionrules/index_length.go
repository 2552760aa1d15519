package actionrules

import "slices"

// intervals finds the length atoms that match a number. They are sorted by lower bound; greatest holds, for the middle
// of each half, quarter and so on, the greatest upper bound of that part, so that parts below the number are skipped.
type intervals struct {
	low, high, greatest []int
	triggers            []trigger
}

// interval is a length atom before it is built in.
type interval struct {
	low, high int
	trigger   trigger
}

func (iv *intervals) build(all []interval) {
	slices.SortStableFunc(all, func(a, b interval) int { return a.low - b.low })
	for _, a := range all {
		iv.low = append(iv.low, a.low)
		iv.high = append(iv.high, a.high)
		iv.triggers = append(iv.triggers, a.trigger)
	}
	iv.greatest = make([]int, len(all))
	iv.measure(0, len(all))
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

// find pulls the triggers of the atoms from place i up to j that hold for n.
func (iv *intervals) find(x *index, s *Scratch, n, i, j int) {
	mid := (i + j) / 2
	if i == j || iv.greatest[mid] < n {
		return
	}
	iv.find(x, s, n, i, mid)
	if iv.low[mid] > n {
		return
	}
	if n <= iv.high[mid] {
		x.pull(&iv.triggers[mid], s)
	}
	iv.find(x, s, n, mid+1, j)
}
