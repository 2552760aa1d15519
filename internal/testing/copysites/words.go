package copysites

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// writer writes text out of words that are as frequent as those of a language.
type writer struct {
	*rand.Rand
	words []string
	sums  []float64 // of frequencies
}

var syllables = strings.Fields("ba ce di fo gu ha ki le mo nu pa ra se ti vo wu za be co du fa gi ho ku la me ni po ru sa te vi")

// newWriter has its words chosen by the seed.
func newWriter(seed uint64) *writer {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	total := 0.0
	for i := range 6000 {
		var word strings.Builder
		for range 1 + w.IntN(2) + min(i/40, 2) {
			word.WriteString(syllables[w.IntN(len(syllables))])
		}
		w.words = append(w.words, word.String())
		total += 1 / math.Pow(float64(i)+2.7, 1.05)
		w.sums = append(w.sums, total)
	}
	return w
}

// word is one of them.
func (w *writer) word() string {
	at := w.Float64() * w.sums[len(w.sums)-1]
	low, high := 0, len(w.sums)-1
	for low < high {
		if middle := (low + high) / 2; w.sums[middle] < at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return w.words[low]
}

// name returns a word that is hardly ever written twice.
func (w *writer) name() string {
	n := w.words[100+w.IntN(5900)] + syllables[w.IntN(len(syllables))]
	return strings.ToUpper(n[:1]) + n[1:]
}

// text writes so many words, with a full stop now and then, and a number in thirty.
func (w *writer) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = w.word()
		if w.IntN(30) == 0 {
			words[i] = fmt.Sprint(1 + w.IntN(2000))
		}
		if w.IntN(12) == 0 {
			words[i] += "."
		}
	}
	return strings.Join(words, " ")
}

// title writes the two to five words of one.
func (w *writer) title() string {
	words := make([]string, 2+w.IntN(4))
	for i := range words {
		words[i] = w.words[20+w.IntN(3000)]
	}
	return strings.Join(words, " ")
}

// replace gives a text with n words from one on replaced.
func replace(text string, from, n int, by string) string {
	words := strings.Fields(text)
	from = min(from, len(words))
	end := min(from+n, len(words))
	return strings.Join(append(append(append([]string{}, words[:from]...), by), words[end:]...), " ")
}
