package placement

import (
	"cmp"
	"slices"
)

// replicate keeps as many copies of a partition as are wanted: a new one is made before an old one goes.
func (p *planner) replicate(i int) {
	for _, node := range slices.Clone(p.Of(i)) {
		// A copy that is in the making, and will not be made.
		if lost := !p.mayHold(node) || p.nodes[node].Refuses; lost && !p.inSync(i, node) && p.Partitions[i].Owner != node && len(p.Of(i)) > 1 {
			p.remove(i, node)
		}
	}
	good := 0
	for _, node := range p.Of(i) {
		if p.mayHold(node) {
			good++
		}
	}
	if good < p.want {
		if node := p.receiver(i); node != "" {
			p.add(i, node, len(p.Of(i)))
		}
		return
	}
	p.shrink(i)
}

// shrink takes one copy away that is too many, when those that stay are in sync and live.
func (p *planner) shrink(i int) {
	of, sure := p.Of(i), 0
	for _, node := range of {
		if p.sure(i, node) {
			sure++
		}
	}
	for _, node := range slices.Backward(of) { // who shall go stands last
		switch {
		case node == p.First(i) || node == p.owner(i) || sure < p.want:
		case !p.mayHold(node), len(of) > p.want && p.sure(i, node) && sure > p.want:
			p.remove(i, node)
			return
		}
	}
}

// sure reports whether a node has a copy on which one can rely.
func (p *planner) sure(i int, node string) bool {
	return p.mayHold(node) && p.alive(node) && p.inSync(i, node)
}

// receives reports whether a node can be given a copy to make.
func (p *planner) receives(node string) bool {
	return p.mayHold(node) && p.alive(node) && !p.nodes[node].Refuses && !p.makes(node)
}

// makes reports whether a node has a copy to make.
func (p *planner) makes(node string) bool {
	return slices.ContainsFunc(p.indexes(), func(i int) bool {
		return slices.Contains(p.Of(i), node) && !p.inSync(i, node)
	})
}

// copying reports whether any copy is in the making, or one that is too many has not gone yet.
func (p *planner) copying() bool {
	return slices.ContainsFunc(p.indexes(), p.changes)
}

func (p *planner) changes(i int) bool {
	return len(p.Of(i)) != p.want || slices.ContainsFunc(p.Of(i), func(node string) bool { return !p.inSync(i, node) })
}

// receiver is the node that is best given a copy of a partition, "" if there is none now.
func (p *planner) receiver(i int) string {
	best := ""
	for _, n := range p.Nodes {
		if slices.Contains(p.Of(i), n.Name) || !p.receives(n.Name) {
			continue
		}
		if best == "" || cmp.Or(cmp.Compare(p.seats[n.Name], p.seats[best]), cmp.Compare(n.Name, best)) < 0 {
			best = n.Name
		}
	}
	return best
}

func (p *planner) add(i int, node string, at int) {
	p.Members[i] = slices.Insert(slices.Clone(p.Of(i)), at, node)
	p.seats[node]++
}

// spread begins to move a copy from the node with the most to the one with the fewest, if they differ by more than one. It
// reports whether something is to be done before ownership is spread.
func (p *planner) spread() bool {
	began := false
	for {
		from, to := p.extremes(p.seats, func(n string) bool { return p.mayHold(n) && p.alive(n) }, p.receives)
		if from == "" || p.seats[from]-p.seats[to] < 2 {
			return began
		}
		i, owned := p.spare(from, to)
		switch {
		case i < 0:
			return began
		case owned: // it has to be handed over first
			heir := p.heir(i)
			if heir == "" {
				return began
			}
			p.toFront(i, heir)
			return true
		}
		p.remove(i, from)
		p.add(i, to, len(p.Of(i)))
		p.add(i, from, len(p.Of(i))) // last: it goes when the new copy is in sync
		began = true
	}
}

// spare is a partition of which a copy can go from one node to another; owned if only such are left as the first one owns. It is
// one of the owner of whose partitions the other has the fewest copies, so that it can be handed partitions by all.
func (p *planner) spare(from, to string) (i int, owned bool) {
	best, owns, has := -1, p.owns(), map[string]int{}
	for i := range p.Members {
		if slices.Contains(p.Of(i), to) {
			has[p.First(i)]++
		}
	}
	better := func(i, j int) bool {
		a, b := p.First(i), p.First(j)
		return cmp.Or(cmp.Compare(rank(a == from), rank(b == from)), cmp.Compare(has[a], has[b]), cmp.Compare(owns[b], owns[a])) < 0
	}
	for i := range p.Members {
		if of := p.Of(i); !slices.Contains(of, from) || slices.Contains(of, to) || p.changes(i) {
			continue
		}
		if best < 0 || better(i, best) {
			best = i
		}
	}
	return best, best >= 0 && p.First(best) == from
}

// extremes are the nodes with the most and with the fewest of something, of those that may give and may take; "" if there are none.
func (p *planner) extremes(count map[string]int, gives, takes func(string) bool) (most, fewest string) {
	for _, n := range p.Nodes {
		if gives(n.Name) && (most == "" || cmp.Or(cmp.Compare(count[most], count[n.Name]), cmp.Compare(n.Name, most)) < 0) {
			most = n.Name
		}
		if takes(n.Name) && (fewest == "" || cmp.Or(cmp.Compare(count[n.Name], count[fewest]), cmp.Compare(n.Name, fewest)) < 0) {
			fewest = n.Name
		}
	}
	if fewest == "" {
		return "", ""
	}
	return most, fewest
}
