package near

// MinOwn is how many different pairs of words, which is about how many words, a page
// must have beyond the frame of its host to be a copy of one that is not equal.
const MinOwn = 50

// Verdict says whether one page is a copy of another.
type Verdict struct {
	Copy bool
	// First says that it is the first page that is the copy: it lacks the frame, and
	// the second has it. In all other cases it is the one that came later.
	First bool
	// Sure is false where too little is known of a host to tell its frame. Then only
	// equal pages are copies; the same two may be judged otherwise later.
	Sure bool
	// Overlap is about how much of their own text the two share, from 0 to 1.
	Overlap float64
	Reason  Reason
}

// Reason is what decided.
type Reason uint8

// Reasons why a page is no copy, and from Equal on why it is one.
const (
	UnknownFrame Reason = iota // too few documents of a host are known
	OtherTitle                 // the titles differ
	CommonTitle                // the texts differ, and other pages of the host have the title, too
	Short                      // there is too little text beyond the frame
	Long                       // the text is longer than what is compared
	OtherText                  // the texts differ
	Equal                      // title and text are equal
	SameWords                  // all words are
	Numbers                    // a few numbers differ, as in dates and counters
	OneInHundred               // one word in a hundred differs at most
	Addition                   // one has a sentence or two more
	Exchange                   // a sentence differs, as advertisements do
	OtherFrame                 // one lacks the frame, as print versions do
)

var reasons = [...]string{
	UnknownFrame: "too few documents of the host are known",
	OtherTitle:   "the titles differ",
	CommonTitle:  "the texts differ, and the title is that of other pages, too",
	Short:        "there is too little text of the page's own",
	Long:         "the text is too long to be compared",
	OtherText:    "the texts differ",
	Equal:        "title and text are equal",
	SameWords:    "the words are the same",
	Numbers:      "a few numbers differ",
	OneInHundred: "one word in a hundred differs at most",
	Addition:     "a sentence is added",
	Exchange:     "a sentence differs",
	OtherFrame:   "only the frame differs",
}

// String says it in words.
func (r Reason) String() string { return reasons[r] }

// Judge says whether one of two pages is a copy of the other, by their signatures and
// the frames of their hosts. In doubt none is: that costs a copy in the index, and the
// contrary a document.
func Judge(a, b *Signature, frameA, frameB *Frame) Verdict {
	equal := a.sameWords(b)
	switch {
	case a.IsZero() || b.IsZero():
		return Verdict{Reason: Short, Sure: true}
	case frameA.Ready() && frameB.Ready():
	case equal:
		return Verdict{Reason: Equal, Copy: true, Overlap: 1}
	default:
		return Verdict{Reason: UnknownFrame}
	}
	titleA, titleB := a.title.without(frameA.title), b.title.without(frameB.title)
	sameTitle := titleA == titleB
	if !sameTitle && !titleA.within(&titleB) && !titleB.within(&titleA) {
		return Verdict{Reason: OtherTitle, Sure: true}
	}
	d := differ(a, b, frameA, frameB)
	v := Verdict{Sure: true, Overlap: overlap(d.pairs, d.own)}
	switch {
	case a.text == b.text && !d.onlyFrame:
		v.Reason = SameWords
	case d.own < MinOwn:
		v.Reason = Short
	case a.cut || b.cut:
		v.Reason = Long
	case titleA.n == 0:
		v.Reason = CommonTitle
	case sameTitle && d.changed() != OtherText:
		v.Reason = d.changed()
	case d.lacksFrame():
		v.Reason, v.First, v.Overlap = OtherFrame, a.pairs < b.pairs, overlap(d.beyond, d.own)
	default:
		v.Reason = OtherText
	}
	v.Copy = v.Reason >= Equal
	return v
}

// overlap is the share of so many own pairs that two texts have in common, of which so
// many are of one of the two alone.
func overlap(alone, own float64) float64 { return max(0, 1-alone/(2*max(own, 1))) }
