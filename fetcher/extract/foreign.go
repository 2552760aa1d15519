package extract

import (
	"slices"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// maxForeign is the depth to which SVG and MathML are tracked.
const maxForeign = 256

// inForeign reports whether the position is in SVG or MathML, and not in HTML inside these.
func (r *reader) inForeign() bool {
	n := len(r.foreign)
	return n > 0 && (r.foreign[n-1] == markup.Svg || r.foreign[n-1] == markup.Math)
}

// foreignStart handles a start tag in or of foreign content (WHATWG HTML section 13.2.6.5): no element there is raw,
// "/>" ends one, and some HTML elements end the foreign content.
func (r *reader) foreignStart(tag markup.Tag) {
	if tag.Is(markup.BreaksOut) {
		r.leaveForeign()
	}
	enters := tag == markup.Svg || tag == markup.Math
	if r.isForeign = enters || r.inForeign(); r.isForeign {
		r.z.NotRaw()
	}
	if r.inForeign() && r.foreign[len(r.foreign)-1] == markup.Svg {
		enters = enters || tag == markup.ForeignObject || tag == markup.Desc || tag == markup.Title
	}
	if enters && !r.z.SelfClosing() && len(r.foreign) < maxForeign {
		r.foreign = append(r.foreign, tag)
	}
	r.z.AllowCDATA(r.inForeign())
}

// foreignEnd handles an end tag in foreign content. That of a block ends it together with the block around it.
func (r *reader) foreignEnd(tag markup.Tag) {
	switch tag {
	case markup.Svg, markup.Math, markup.ForeignObject, markup.Desc, markup.Title:
		for i, open := range slices.Backward(r.foreign) {
			if open == tag {
				r.foreign = r.foreign[:i]
				break
			}
		}
	default:
		if tag.Is(markup.Block | markup.BreaksOut) {
			r.leaveForeign()
		}
	}
	r.z.AllowCDATA(r.inForeign())
}

func (r *reader) leaveForeign() {
	for r.inForeign() {
		r.foreign = r.foreign[:len(r.foreign)-1]
	}
}
