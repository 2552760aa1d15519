// Package words finds the known name that was meant by an unknown one: one with a similar spelling, or one that other
// products use. It has no state.
package words

import "strings"

// nameMost bounds the compared part of a name: no known name is longer.
const nameMost = 100

// Nearest returns the known name with the smallest edit distance to name, ignoring case; "" if none is close enough.
// Earlier names win ties.
func Nearest(name string, known []string) string {
	best, most := "", max(1, min(len(name)/3, 4))
	lower := strings.ToLower(name[:min(len(name), nameMost)])
	for _, k := range known {
		if d := editDistance(lower, strings.ToLower(k), most); d <= most {
			best, most = k, d-1
		}
		if most < 0 {
			break
		}
	}
	return best
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours that turn a into b; above most
// the result is only a lower bound.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitute := last[j-1]
			if a[i-1] != b[j-1] {
				substitute++
			}
			row[j] = min(substitute, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
