package copies

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/internal/testing/copysites"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

// pairSet is the set of word pairs that near.SketchOf samples.
type pairSet map[[2]string]bool

// pairsOf reads a text as near does: words are runs of characters above the space.
func pairsOf(text string) pairSet {
	set, last := pairSet{}, ""
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(c rune) bool { return c <= ' ' }) {
		set[[2]string{last, word}] = true
		last = word
	}
	return set
}

// without returns the pairs that are not in another set.
func (p pairSet) without(other pairSet) pairSet {
	rest := pairSet{}
	for pair := range p {
		if !other[pair] {
			rest[pair] = true
		}
	}
	return rest
}

// jaccard is the size of the intersection by that of the union; of two empty sets it is 1.
func jaccard(a, b pairSet) float64 {
	both := 0
	for pair := range a {
		if b[pair] {
			both++
		}
	}
	if len(a)+len(b) == 0 {
		return 1
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// hostTemplate is what half of some pages of a host share, in pairs and in minima.
type hostTemplate struct {
	pairs  pairSet
	minima *sketch.Template
}

func templateOf(pages []copysites.Page) hostTemplate {
	counts, sketches := map[[2]string]int{}, []sketch.Sketch{}
	for i := range pages {
		for pair := range pairsOf(pages[i].Text) {
			counts[pair]++
		}
		sketches = append(sketches, near.SketchOf(pages[i].Title, pages[i].Text))
	}
	t := hostTemplate{pairs: pairSet{}}
	for pair, n := range counts {
		if 2*n >= len(pages) {
			t.pairs[pair] = true
		}
	}
	minima := sketch.TemplateOf(sketches)
	t.minima = &minima
	return t
}

// some are up to n pages at random.
func some(r *rand.Rand, pages []copysites.Page, n int) (chosen []copysites.Page) {
	for _, i := range r.Perm(len(pages))[:min(n, len(pages))] {
		chosen = append(chosen, pages[i])
	}
	return chosen
}

// place is how many words are replaced together.
const place = 20

// shares reports whether most pairs of some words belong to the template.
func (h *hostTemplate) shares(words []string) bool {
	pairs := pairsOf(strings.Join(words, " "))
	return 2*len(pairs.without(h.pairs)) < len(pairs)
}

// edited is a page a share of whose own text is replaced by text of another page.
func (h *hostTemplate) edited(r *rand.Rand, p, by copysites.Page, share float64) copysites.Page {
	words, other := strings.Fields(p.Text), strings.Fields(by.Text)
	for at := 0; at < len(words); at += place {
		part := words[at:min(at+place, len(words))]
		if r.Float64() < share && len(other) > 0 && !h.shares(part) {
			copy(part, other[r.IntN(len(other)):])
		}
	}
	p.Text = strings.Join(words, " ")
	return p
}

// frame is the text of a page that belongs to the template.
func (h *hostTemplate) frame(p copysites.Page) string {
	words, frame := strings.Fields(p.Text), []string{}
	for at := 0; at < len(words); at += place {
		if part := words[at:min(at+place, len(words))]; h.shares(part) {
			frame = append(frame, part...)
		}
	}
	return strings.Join(frame, " ")
}

// judged are comparisons of pairs of pages: what Alike says, and what is so.
type judged struct{ got, want []float64 }

func (j *judged) compare(a, b copysites.Page, without ...hostTemplate) {
	pairsA, pairsB := pairsOf(a.Text), pairsOf(b.Text)
	var templates []*sketch.Template
	for _, t := range without {
		pairsA, pairsB = pairsA.without(t.pairs), pairsB.without(t.pairs)
		templates = append(templates, t.minima)
	}
	j.got = append(j.got, sketch.Alike(near.SketchOf(a.Title, a.Text), near.SketchOf(b.Title, b.Text), templates...))
	j.want = append(j.want, jaccard(pairsA, pairsB))
}

// quantiles are the least, those of 5, 50 and 95 %, and the greatest.
func quantiles(all []float64) string {
	sorted := slices.Sorted(slices.Values(all))
	var b strings.Builder
	for _, q := range []float64{0, 0.05, 0.5, 0.95, 1} {
		fmt.Fprintf(&b, " %.2f", sorted[int(math.Round(q*float64(len(sorted)-1)))])
	}
	return b.String()
}

// wrong is the share of comparisons that a threshold judges otherwise than the exact similarity does, in percent: of
// all, and of those whose similarity is at least 0.15 from the threshold.
func (j *judged) wrong(threshold float64) string {
	wrong, far, wrongFar := 0, 0, 0
	for i, got := range j.got {
		want := j.want[i]
		differ := (got < threshold) != (want < threshold)
		if differ {
			wrong++
		}
		if math.Abs(want-threshold) >= 0.15 {
			far++
			if differ {
				wrongFar++
			}
		}
	}
	return fmt.Sprintf(" %.1f (%.1f)", 100*float64(wrong)/float64(len(j.got)), 100*float64(wrongFar)/float64(max(far, 1)))
}

// log writes a row of a table.
func (j *judged) log(t *testing.T, name string) {
	t.Helper()
	if len(j.got) > 0 {
		t.Logf("| %s | %d |%s |%s |%s |%s |%s |",
			name, len(j.got), quantiles(j.want), quantiles(j.got), j.wrong(0.2), j.wrong(0.5), j.wrong(0.7))
	}
}

// errors returns the mean and the root mean square of what Alike is beside the exact similarity.
func (j *judged) errors() (mean, rms float64) {
	for i, got := range j.got {
		mean += got - j.want[i]
		rms += (got - j.want[i]) * (got - j.want[i])
	}
	n := float64(len(j.got))
	return mean / n, math.Sqrt(rms / n)
}

// over is the share of comparisons that Alike puts above a value, in percent.
func (j *judged) over(value float64) float64 {
	n := 0
	for _, got := range j.got {
		if got > value {
			n++
		}
	}
	return 100 * float64(n) / float64(len(j.got))
}

// under is the same below a value.
func (j *judged) under(value float64) float64 {
	n := 0
	for _, got := range j.got {
		if got < value {
			n++
		}
	}
	return 100 * float64(n) / float64(len(j.got))
}
