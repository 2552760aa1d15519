package sketch

import (
	"cmp"
	"slices"
)

const (
	// minTemplate is the number of sketches from which on a template is learned.
	minTemplate = 4
	// perBin is the maximum number of minima in a bin of a template, and of titles in a template, because at most 4 values
	// can each be in a quarter of the sketches.
	perBin = 4
	// minShared is the minimum number of sketches that must share a minimum or a title.
	minShared = 3
	// minBins is the number of bins from which on minima decide whether two texts are alike.
	minBins = 8
	// mostlyEqual is the share of equal minima above which two texts without title that consist of nothing but a
	// template are equal.
	mostlyEqual = 0.7
)

// Template contains the common parts of a host's documents: the minima of menus, headers and footers, at most four in
// each bin, and at most four titles. Unused places are 0. The zero Template is empty.
type Template struct {
	Minima [Bins][perBin]uint8
	Titles [perBin]uint32
}

// TemplateOf returns the minima and titles that at least a quarter of the given sketches have, and at least 3. The
// template of fewer than 4 sketches is empty.
//
// A half would be too much: a pair that all texts share is the minimum of its bin only in texts whose own pairs there
// have greater hashes. A shared minimum that less than half of the sketches show would then remain, and make all texts
// in the same frame alike. Chance hardly ever makes a template: 8 of 32 sketches do not share a minimum of 255 by
// chance.
func TemplateOf(sketches []Sketch) (t Template) {
	if len(sketches) < minTemplate {
		return t
	}
	shared := max(minShared, (len(sketches)+perBin-1)/perBin)
	for bin := range t.Minima {
		var counts [256]uint16
		found := 0
		for i := range sketches {
			v := sketches[i].Minima[bin]
			if counts[v]++; v != 0 && int(counts[v]) == shared {
				t.Minima[bin][found] = v
				found++
			}
		}
		slices.SortFunc(t.Minima[bin][:], descending) // makes the result independent of the order of sketches
	}
	t.Titles = sharedTitles(sketches, shared)
	return t
}

// sharedTitles returns the titles that at least shared sketches have, greatest first.
func sharedTitles(sketches []Sketch, shared int) (titles [perBin]uint32) {
	found := 0
	for i := range sketches {
		title, count := sketches[i].Title, 0
		for k := range i + 1 {
			if sketches[k].Title == title {
				count++
			}
		}
		if title != 0 && count == shared {
			titles[found] = title
			found++
		}
	}
	slices.SortFunc(titles[:], descending)
	return titles
}

func descending[T cmp.Ordered](a, b T) int { return cmp.Compare(b, a) }

// Alike estimates how much of the text of two documents is the same: the Jaccard similarity of the sets of their word
// pairs, from 0 to 1, without the pairs that belong to one of the templates. A nil template is empty.
//
// A minimum that belongs to a template counts as an empty bin. Bins that are empty in both sketches are left out;
// Alike is the share of the others in which the minima are equal. So a bin that is empty in one of both counts as
// different. That also holds for a bin in which one minimum belongs to a template and the other does not: to leave it
// out would leave out differences only, and make documents with little text of their own alike.
//
// The standard deviation is at most 0.07 with all 64 bins, and 0.18 with 8. Two different minima are equal in one of
// 255 cases. Alike does not correct that, since it is about a quarter of one bin of 64.
//
// If fewer than 8 bins are left, documents with equal titles are 1 and those with different ones 0; a title and no
// title are different. A title that belongs to a template counts as no title. Two documents without title are 1 if all
// bins that are left are equal, otherwise 0. If no bins are left either, they are 1 if more than 0.7 of their minima
// are equal, templates included, otherwise 0; two documents without title and without any minimum are 1.
func Alike(a, b Sketch, templates ...*Template) float64 {
	equal, bins := a.compare(&b, templates)
	if bins >= minBins {
		return float64(equal) / float64(bins)
	}
	titleA, titleB := a.ownTitle(templates), b.ownTitle(templates)
	switch {
	case titleA != 0 || titleB != 0:
		return oneIf(titleA == titleB)
	case bins > 0:
		return oneIf(equal == bins)
	}
	equal, bins = a.compare(&b, nil)
	return oneIf(bins == 0 || float64(equal) > mostlyEqual*float64(bins))
}

// compare counts the bins in which one of two sketches has a minimum that belongs to no template, and those of them in
// which both have the same.
func (s *Sketch) compare(o *Sketch, templates []*Template) (equal, bins int) {
	for bin := range s.Minima {
		v, w := s.own(bin, templates), o.own(bin, templates)
		if v == 0 && w == 0 {
			continue
		}
		bins++
		if v == w {
			equal++
		}
	}
	return equal, bins
}

// own returns the minimum of a bin, or 0 if it belongs to a template.
func (s *Sketch) own(bin int, templates []*Template) uint8 {
	v := s.Minima[bin]
	for _, t := range templates {
		if t != nil && slices.Contains(t.Minima[bin][:], v) {
			return 0
		}
	}
	return v
}

// ownTitle returns the title, or 0 if it belongs to a template.
func (s *Sketch) ownTitle(templates []*Template) uint32 {
	for _, t := range templates {
		if t != nil && slices.Contains(t.Titles[:], s.Title) {
			return 0
		}
	}
	return s.Title
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Same reports whether two documents have the same text: the similarity of their texts without templates is at least
// least. If templates leave too little to compare, all of the text and the title must be equal: a title alone is no
// proof.
func Same(a, b Sketch, least float64, templates ...*Template) bool {
	equal, bins := a.compare(&b, templates)
	if bins >= minBins {
		return float64(equal) >= least*float64(bins)
	}
	return a == b && a.Minima != [Bins]uint8{}
}
