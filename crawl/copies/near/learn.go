package near

import (
	"math"
	"math/bits"
	"slices"
)

// places are the positions at which a sampled document has pairs, at the level of a frame.
type places [sketchWords]uint64

func (p *places) count() (n int) {
	for _, w := range p {
		n += bits.OnesCount64(w)
	}
	return n
}

func (p *places) and(o *places) (n int) {
	for i, w := range p {
		n += bits.OnesCount64(w & o[i])
	}
	return n
}

// at returns the places of a document at a level not below its own: a place there may have a pair if the larger place
// around it has one.
func (s *sampled) at(level int) (p places) {
	if s.level == level {
		return s.pairs
	}
	for place := range sketchBits {
		if isSet(s.pairs[:], place>>(level-s.level)) {
			set(p[:], place)
		}
	}
	return p
}

// learn computes a frame from documents; there must be enough of them.
func learn(all []*sampled) (f frame) {
	f.learnPairs(all)
	f.learnNumbers(all)
	f.learnTitle(all)
	f.learnAffixes(all)
	return f
}

// learnPairs finds the places that belong to the frame. It skips unusually long documents, about which less is known.
func (f *frame) learnPairs(sampled []*sampled) {
	levels := make([]int, len(sampled))
	for i, s := range sampled {
		levels[i] = s.level
	}
	slices.Sort(levels)
	f.level = levels[len(levels)/2]
	var counts [sketchBits]int
	all := make([]places, 0, maxSampled)
	filled := 0.0
	for _, s := range sampled {
		if s.level > f.level {
			continue
		}
		p := s.at(f.level)
		all = append(all, p)
		filled += float64(p.count()) / sketchBits
		for i, w := range p {
			for ; w != 0; w &= w - 1 {
				counts[64*i+bits.TrailingZeros64(w)]++
			}
		}
	}
	n := float64(len(all))
	framed := framedShare(all)
	chance := max(0, (filled/n-framed)/(1-framed))
	for place, c := range counts {
		// Between the count by chance and that of a frame of half of the documents.
		if float64(c) >= n*(0.3+0.7*chance) {
			set(f.pairs[:], place)
		}
	}
	f.learnSize(sampled)
	parts := 1 << f.level
	for p := range sketchBits / parts {
		set(f.known[:], p)
		if !anySet(f.pairs[:], p*parts, parts) {
			set(f.clean[:], p)
		}
	}
}

// learnSize estimates the number of pairs in the frame: the median of a document's pairs minus those outside the frame.
func (f *frame) learnSize(all []*sampled) {
	clean := sketchBits - f.pairs.count()
	if clean == 0 {
		return
	}
	var sizes []int
	for _, s := range all {
		if s.level == f.level {
			n := s.pairs.count() - s.pairs.and(&f.pairs)
			own := -float64(int(sketchBits)<<f.level) * math.Log(max(0.01, 1-float64(n)/float64(clean)))
			sizes = append(sizes, int(s.n)-int(own))
		}
	}
	slices.Sort(sizes)
	f.size = max(0, sizes[len(sizes)/2])
}

// learnNumbers finds the bits that numbers of the frame set.
func (f *frame) learnNumbers(all []*sampled) {
	for b := range numeralBits {
		n := 0
		for _, s := range all {
			n += int(s.numbers[b/32] >> (b % 32) & 1)
		}
		// Other numbers set bits, too: a third is much.
		if 3*n >= len(all) {
			f.numbers[b/32] |= 1 << (b % 32)
		}
	}
}

// learnTitle finds the words that half of the titles contain.
func (f *frame) learnTitle(all []*sampled) {
	var found []token
	for _, s := range all {
		t := &s.title
		for k, x := range t.all[:t.n] {
			if x&digitToken == 0 && !slices.Contains(t.all[:k], x) {
				found = append(found, x)
			}
		}
	}
	slices.Sort(found)
	for i := 0; i < len(found); {
		n := 1
		for i+n < len(found) && found[i+n] == found[i] {
			n++
		}
		if 2*n >= len(all) {
			f.title = append(f.title, found[i])
		}
		i += n
	}
}

// learnAffixes finds the common prefix and suffix of most titles.
func (f *frame) learnAffixes(all []*sampled) {
	type affixes struct{ before, after tokens }
	counts := map[affixes]int{}
	for _, s := range all {
		before, own, after := s.title.affixes(f.title)
		if len(own) == 0 {
			continue
		}
		var a affixes
		a.before, _ = joined(before)
		a.after, _ = joined(after)
		if counts[a]++; 2*counts[a] > len(all) {
			f.before, f.after = before, after
			return
		}
	}
}

// framedShare estimates the share of all places that belong to the frame. If two documents have nothing but the frame
// in common, which has the share g, and f and h are their shares of places with pairs, then both have pairs at as many
// places, apart from g, as chance predicts:
//
//	(both-g)/(1-g) = (f-g)/(1-g) * (h-g)/(1-g)
//
// Of the estimates from all pairs of documents it takes one that exceeds two thirds of them: a frame that some
// documents lack shows only in pairs that both have it.
func framedShare(all []places) float64 {
	// Shares are counted in steps rather than sorted.
	const steps = 200
	var counts [steps]int
	total := 0
	for i := range all {
		f := float64(all[i].count()) / sketchBits
		for k := range i {
			h, both := float64(all[k].count())/sketchBits, float64(all[i].and(&all[k]))/sketchBits
			if rest := 1 + both - f - h; rest > 0 {
				counts[int(steps*min(max(0, (both-f*h)/rest), 0.97))]++
				total++
			}
		}
	}
	below := 0
	for step, n := range counts {
		if below += n; 3*below > 2*total {
			return (float64(step) + 0.5) / steps
		}
	}
	return 0
}
