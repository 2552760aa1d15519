package near

// MinOwn is how many different pairs of words, which is about how many words, a page
// must have beyond the frame of its host to be a copy of one that is not equal.
const MinOwn = 50

// Verdict says whether one of two pages is a copy of the other.
type Verdict struct {
	Copy bool
	// Overlap is about how much of their own text the two share, from 0 to 1.
	Overlap float64
	Reason  Reason
}

// Reason is what decided.
type Reason uint8

// Reasons why a page is no copy, and from SameWords on why it is one.
const (
	UnknownFrame Reason = iota // too few documents of a host are known
	OtherTitle                 // the titles differ
	NoTitle                    // the texts differ, and the title tells nothing
	Short                      // there is too little text beyond the frame
	Long                       // the text is longer than the compared part
	OtherText                  // the texts differ
	Unread                     // the texts differ, and one of the signatures is only a head
	SameWords                  // the texts are equal
	Numbers                    // a few numbers differ, as in dates and counters
	OneInHundred               // one word in a hundred differs at most
	Addition                   // one has a sentence or two more
	Exchange                   // a sentence differs, as advertisements do
	OtherFrame                 // one lacks the frame, as print versions do
)

// Judge says whether one of two pages is a copy of the other, by their signatures and
// the frames of their hosts. In doubt none is: that costs a copy in the index, and the
// contrary a document. It does not matter which of the two comes first. Of a host of which
// too little is known the other's frame is taken: it may be a mirror.
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
	case a.Same(b):
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
	if a.text == b.text { // so the sketches are, too
		if a.IsWhole() {
			b = a
		} else {
			a = b
		}
	}
	if !a.IsWhole() || !b.IsWhole() {
		return Verdict{Reason: Unread}
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

// overlap is the share of so many own pairs that two texts have in common, of which so
// many are of one of the two alone.
func overlap(alone, own float64) float64 { return max(0, 1-alone/(2*max(own, 1))) }
