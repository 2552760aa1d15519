package layers

import (
	"cmp"
	"slices"
)

// graph is which file of a package refers to which other one: graph[from][to].
type graph map[string]map[string]bool

func (g graph) add(from, to string) {
	if from == to {
		return
	}
	if g[from] == nil {
		g[from] = map[string]bool{}
	}
	g[from][to] = true
}

// edges returns the number of pairs of files with a reference from the first to the second.
func (g graph) edges() (n int) {
	for _, to := range g {
		n += len(to)
	}
	return n
}

// back returns how many edges run against an order, in which a file refers to files behind it.
func (g graph) back(order []string) (n int) {
	place := map[string]int{}
	for i, file := range order {
		place[file] = i
	}
	for from, all := range g {
		for to := range all {
			if place[to] < place[from] {
				n++
			}
		}
	}
	return n
}

// order returns an order of files against which few edges run. The fewest are hard to find (it is the minimum feedback
// arc set), so each file is moved to its best place until no move helps: from the order of names, and from that in
// which files that refer to many others and are referred to by few come first.
func (g graph) order(files []string) []string {
	byDegree := slices.Clone(files)
	slices.SortStableFunc(byDegree, func(a, b string) int { return cmp.Compare(g.surplus(b), g.surplus(a)) })
	first, second := g.improve(slices.Clone(files)), g.improve(byDegree)
	if g.back(first) < g.back(second) {
		return first
	}
	return second
}

// surplus is how many files a file refers to, less those that refer to it.
func (g graph) surplus(file string) int {
	n := len(g[file])
	for _, to := range g {
		if to[file] {
			n--
		}
	}
	return n
}

func (g graph) improve(order []string) []string {
	for moved := true; moved; {
		moved = false
		for _, file := range slices.Clone(order) {
			moved = g.moveBest(order, file) || moved
		}
	}
	return order
}

// moveBest moves a file within the order to where the fewest edges run against it.
func (g graph) moveBest(order []string, file string) bool {
	at := slices.Index(order, file)
	best, gain := at, 0
	for i, sum := at-1, 0; i >= 0; i-- { // before order[i]
		if sum += g.gain(file, order[i]); sum > gain {
			best, gain = i, sum
		}
	}
	for i, sum := at+1, 0; i < len(order); i++ { // behind order[i]
		if sum += g.gain(order[i], file); sum > gain {
			best, gain = i, sum
		}
	}
	if gain == 0 {
		return false
	}
	copy(order[min(at, best):], slices.Insert(slices.Delete(slices.Clone(order), at, at+1), best, file)[min(at, best):])
	return true
}

// gain is how many edges fewer run against an order in which first comes before second than in the other one.
func (g graph) gain(first, second string) (n int) {
	if g[first][second] {
		n++
	}
	if g[second][first] {
		n--
	}
	return n
}
