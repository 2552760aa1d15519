package placement

import (
	"cmp"
	"slices"
)

// owns is how many partitions each node owns, or is about to.
func (p *planner) owns() map[string]int {
	count := map[string]int{}
	for i := range p.Members {
		count[p.First(i)]++
	}
	return count
}

// heir is the member of a partition that is best given it, of those that do not stand first; "" if there is none.
func (p *planner) heir(i int) string {
	best, owns := "", p.owns()
	for _, node := range p.Of(i)[1:] {
		if !p.mayOwn(node) || !p.inSync(i, node) {
			continue
		}
		if best == "" || cmp.Or(cmp.Compare(owns[node], owns[best]), cmp.Compare(node, best)) < 0 {
			best = node
		}
	}
	return best
}

// drain begins to hand over a partition of a node that shall own nothing, and reports whether there was one.
func (p *planner) drain() bool {
	for i := range p.Members {
		if owner := p.owner(i); owner != "" && p.Aim.IsDrained(owner) {
			if heir := p.heir(i); heir != "" {
				p.toFront(i, heir)
				return true
			}
		}
	}
	return false
}

// hand looks for the shortest way, of at most so many steps, from a node that owns two more than another one to that, and begins its last
// step: the others follow, since their ways are shorter then. surely has it give only what is above, and to whoever is below,
// what all have in the end. It reports whether there was a way.
func (p *planner) hand(steps int, surely bool) bool {
	owns := p.owns()
	names := []string{}
	for _, n := range p.Nodes {
		if p.mayOwn(n.Name) {
			names = append(names, n.Name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(owns[b], owns[a]), cmp.Compare(a, b))
	})
	for far := 1; far <= steps; far++ {
		for _, from := range names {
			for _, to := range slices.Backward(names) {
				low := len(p.Members) / len(names)
				if owns[from]-owns[to] < 2 || surely && (owns[from] <= low || owns[to] >= low) {
					break
				}
				if i := p.lastStep(from, to, far); i >= 0 {
					p.toFront(i, to)
					return true
				}
			}
		}
	}
	return false
}

// lastStep is the partition that a way from one node to another ends with, -1 if there is no way: partitions that a node owns
// lead to their other members.
func (p *planner) lastStep(from, to string, steps int) int {
	reached, edge := map[string]bool{from: true}, []string{from}
	for range steps {
		var next []string
		for i := range p.Members {
			if len(p.Of(i)) > p.want || !slices.Contains(edge, p.First(i)) || p.owner(i) != p.First(i) {
				continue
			}
			for _, node := range p.Of(i)[1:] {
				switch {
				case !p.mayOwn(node) || !p.inSync(i, node):
				case node == to:
					return i
				case !reached[node]:
					reached[node] = true
					next = append(next, node)
				}
			}
		}
		edge = next
	}
	return -1
}
