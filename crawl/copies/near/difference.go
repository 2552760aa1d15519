package near

import (
	"math"
	"math/bits"
)

// difference describes how two texts differ. Numbers of pairs are estimates.
type difference struct {
	own       float64 // pairs outside the frame in the text that has fewer
	counted   bool    // own was counted without a frame
	onlyFrame bool    // no pairs differ
	// pairs counts the pairs that only one text has: less those of one text, more those of the other.
	pairs, less, more float64
	grams             float64
	beyond            float64 // of pairs, those outside the frame
	frame             float64 // pairs of the frame
	// At shares of the positions of the frame, and of the others, the sketches differ.
	inFrame, elsewhere float64
	// numbers counts the bits of numbers that differ, ownNumbers those outside the frame.
	numbers, ownNumbers int
}

// minClean is the minimum number of positions without frame at which own text is counted.
const minClean = 16

func differ(a, b *Signature, frameA, frameB *frame) (d difference) {
	var clean, framed, all, ofClean, ofFrame, cleanA, cleanB, grams int
	for i := range a.sketch {
		x := a.sketch[i] ^ b.sketch[i]
		c := frameA.clean[i] & frameB.clean[i]
		f := frameA.known[i] & frameB.known[i] &^ c
		clean, framed = clean+bits.OnesCount64(c), framed+bits.OnesCount64(f)
		all, ofClean, ofFrame = all+bits.OnesCount64(x), ofClean+bits.OnesCount64(x&c), ofFrame+bits.OnesCount64(x&f)
		cleanA, cleanB = cleanA+bits.OnesCount64(a.sketch[i]&c), cleanB+bits.OnesCount64(b.sketch[i]&c)
	}
	for i := range a.grams {
		grams += bits.OnesCount64(a.grams[i] ^ b.grams[i])
	}
	size := max(frameA.size, frameB.size)
	d.frame, d.counted, d.onlyFrame = float64(size), clean >= minClean, clean >= minClean && min(cleanA, cleanB) == 0
	d.own = ownPairs(min(cleanA, cleanB), clean, min(a.pairs, b.pairs), size)
	d.pairs, d.grams, d.beyond = members(all, sketchBits, sketchBits), members(grams, gramBits, gramBits), members(ofClean, clean, sketchBits)
	longer := math.Abs(float64(a.pairs) - float64(b.pairs))
	d.less, d.more = max(0, (d.pairs-longer)/2), (d.pairs+longer)/2
	d.inFrame, d.elsewhere = float64(ofFrame)/float64(max(framed, 1)), float64(ofClean)/float64(max(clean, 1))
	d.numbers, d.ownNumbers = a.numbers.differ(&b.numbers), a.numbers.differ(&b.numbers, &frameA.numbers, &frameB.numbers)
	return d
}

// ownPairs estimates the number of pairs that a text has outside the frame. The number of bits set at clean positions
// gives a rough estimate, independent of the frame; if it agrees with all pairs minus the frame, or with all pairs,
// that number is more exact.
func ownPairs(set, clean int, pairs uint32, frame int) float64 {
	rest := float64(pairs) - float64(frame)
	if clean < minClean {
		return min(rest-0.4*float64(frame), 400)
	}
	own := members(set, clean, sketchBits)
	counted := rest
	if math.Abs(own-float64(pairs)) < math.Abs(own-rest) { // without the frame
		counted = float64(pairs)
	}
	if math.Abs(own-counted) <= 30+own/2 {
		return max(counted, 0)
	}
	return own
}

// members estimates the size of a set that set so many of n bits. The estimate has an upper limit.
func members(set, n, positions int) float64 {
	if set == 0 {
		return 0
	}
	return -float64(positions) / 2 * math.Log(max(0.1, 1-2*float64(set)/float64(n)))
}

const (
	// fewNumbers is the maximum difference, in bits of the numbers' sketch, of texts that differ only in numbers: each
	// changes two. Texts of longText pairs may have twice as many.
	fewNumbers = 6
	longText   = 200
	// oneWord is the number of pairs that change when a word is replaced.
	oneWord = 4
	// An inserted sentence has five to eighty words, and is at most a quarter of the text; joint is more than the one pair
	// broken by it.
	minAdded, maxSentence, maxAdded = 5, 80, 0.25
	joint                           = 1.6
	// A replaced sentence has at least five words, which make six pairs, and at most about a seventh of the text.
	minExchanged, maxExchanged = 5.8, 0.12
	// With this many own pairs or more, a word may differ besides numbers or a sentence.
	minMonth, minExchange = 65, 85
	// A print version lacks at least a third of a frame of some size, and a fifth of the frame's places. As much of the
	// other text may seem to be missing, because the count is inexact.
	minFrame, missingFrame, missingPlaces, missingText = 30, 0.3, 0.2, 0.33
)

// changed returns the kind of difference between two texts with one title, OtherText if it is too large.
func (d *difference) changed() Reason {
	// Each place where they differ brings 2*(gramWords-2) more grams than pairs. In long
	// texts it looks like more, because some of the added pairs already occur.
	places, one := (d.grams-d.pairs)/(2*(gramWords-2)), 1.5+min(d.own, 400)/800
	numbers := fewNumbers
	if d.own > longText {
		numbers = 2 * fewNumbers
	}
	switch {
	case d.pairs == 0 && d.grams == 0 && d.numbers <= numbers:
		return Numbers
	case d.pairs < oneWord+1 && places < 1.5 && d.numbers >= 2 && d.numbers <= numbers && d.own >= minMonth:
		return Numbers // and the name of a month
	case d.pairs <= d.own/100 && d.numbers <= 2:
		return OneInHundred
	case d.numbers > fewNumbers-2 || d.more > maxSentence:
		return OtherText
	case d.less < joint && d.more-d.less >= minAdded && d.more <= maxAdded*d.own && places < one:
		return Addition
	case d.more > minExchanged && d.more <= maxExchanged*d.own && d.own >= minExchange && places < one:
		return Exchange
	}
	return OtherText
}

// lacksFrame reports whether one of the texts has no frame; otherwise it returns the frame of the other.
func (d *difference) lacksFrame() bool {
	return d.counted && d.frame >= minFrame && d.more-d.less > missingFrame*d.frame && d.inFrame > max(missingPlaces, 2*d.elsewhere) &&
		d.beyond <= missingText*d.own && d.ownNumbers <= fewNumbers
}
