package near

// MinOwn is the number of different pairs of words, roughly the number of words, that a page must have outside its
// host's frame to be a near-duplicate.
const MinOwn = 50

// Verdict is the decision whether one of two pages is a copy of the other.
type Verdict struct {
	Copy bool
	// Overlap estimates the share of own text in common, from 0 to 1.
	Overlap float64
	Reason  Reason
}

// Reason is the reason of a Verdict.
type Reason uint8

// Reasons why a page is no copy, and from SameWords on why it is one.
const (
	UnknownFrame Reason = iota // too few documents of a host are known
	OtherTitle                 // the titles differ
	NoTitle                    // the texts differ, and the title is no evidence
	Short                      // there is too little text beyond the frame
	Long                       // the text is longer than the compared part
	OtherText                  // the texts differ
	SameWords                  // all words are equal
	Numbers                    // a few numbers differ, as in dates and counters
	OneInHundred               // one word in a hundred differs at most
	Addition                   // one has a sentence or two more
	Exchange                   // a sentence differs, as advertisements do
	OtherFrame                 // one lacks the frame, as print versions do
)

// Judge reports whether one of two pages is a copy of the other, by their signatures and the frames of their hosts. In
// doubt it returns false: a false negative costs a copy in the index, a false positive a document. Judge is symmetric.
// If too little is known of one host, it uses the other's frame, since the host may be a mirror.
func Judge(a, b *Signature, frameA, frameB *Frame) Verdict {
	switch {
	case a.IsZero() || b.IsZero():
		return Verdict{Reason: Short}
	case frameA.Ready() && frameB.Ready():
		return judge(a, b, frameA.known(), frameB.known())
	case frameA.Ready():
		return judge(a, b, frameA.known(), frameA.known())
	case frameB.Ready():
		return judge(a, b, frameB.known(), frameB.known())
	case a.sameWords(b):
		return Verdict{Reason: SameWords, Copy: true, Overlap: 1}
	}
	return Verdict{Reason: UnknownFrame}
}

func judge(a, b *Signature, frameA, frameB *frame) Verdict {
	titleA, titleB := a.title.without(frameA.title), b.title.without(frameB.title)
	sameTitle := a.title.whole == b.title.whole || a.title.n != b.title.n && titleA == titleB
	if !sameTitle && !titleA.within(&titleB) && !titleB.within(&titleA) {
		return Verdict{Reason: OtherTitle}
	}
	d := differ(a, b, frameA, frameB)
	v := Verdict{Overlap: overlap(d.pairs, d.own)}
	switch {
	case a.text == b.text && !d.onlyFrame:
		v.Reason = SameWords
	case d.own < MinOwn:
		v.Reason = Short
	case a.cut || b.cut:
		v.Reason = Long
	case titleA.n == 0:
		v.Reason = NoTitle
	case sameTitle && d.changed() != OtherText:
		v.Reason = d.changed()
	case d.lacksFrame():
		v.Reason, v.Overlap = OtherFrame, overlap(d.beyond, d.own)
	default:
		v.Reason = OtherText
	}
	v.Copy = v.Reason >= SameWords
	return v
}

// overlap returns the share of own pairs that two texts have in common, from their number and the number that only one
// text has.
func overlap(alone, own float64) float64 { return max(0, 1-alone/(2*max(own, 1))) }
