// Package placement decides which nodes have copies of which partition, and which of them owns it.
// It asks nobody and remembers nothing: from the present map and what is seen of the nodes it makes the
// next map, a small change away. So every schedule of deaths and returns can be tried in microseconds.
// docs/decisions/0070 has the reasons.
package placement

import (
	"cmp"
	"slices"
)

// Map is who should have a copy of each partition: names of nodes. The first one should own it, the others take over in
// their order. A partition always has at least one.
type Map struct {
	Members [][]string `json:"members"`
}

// Clone is a map that shares nothing with m.
func (m Map) Clone() Map {
	out := Map{Members: make([][]string, len(m.Members))}
	for p, names := range m.Members {
		out.Members[p] = slices.Clone(names)
	}
	return out
}

// Equal reports whether two maps say the same.
func (m Map) Equal(other Map) bool {
	return slices.EqualFunc(m.Members, other.Members, slices.Equal[[]string])
}

// Of are the members of a partition; nil if the map does not have it.
func (m Map) Of(p int) []string {
	if p < 0 || p >= len(m.Members) {
		return nil
	}
	return m.Members[p]
}

// First is the node that should own a partition, "" if the map does not have it.
func (m Map) First(p int) string {
	if of := m.Of(p); len(of) > 0 {
		return of[0]
	}
	return ""
}

// Aim is what people want of the map.
type Aim struct {
	// Replicas is how many copies there should be of each partition, if there are as many nodes.
	Replicas int `json:"replicas"`
	// Drained nodes own nothing as long as others can; they keep their copies. Leaving nodes are drained, and
	// their copies are made elsewhere as far as there are nodes for them.
	Drained []string `json:"drained,omitempty"`
	Leaving []string `json:"leaving,omitempty"`
}

// IsDrained reports whether a node shall own nothing.
func (a Aim) IsDrained(node string) bool {
	return slices.Contains(a.Drained, node) || slices.Contains(a.Leaving, node)
}

// Node is a node as the leader sees it.
type Node struct {
	Name  string
	Alive bool
	// Gone says that it has given no sign of life for so long that its copies are made anew elsewhere.
	Gone bool
	// Refuses says that it takes no further copy at present, Declines that it did not take over what it should, or must not.
	Refuses, Declines bool
}

// Partition is how a partition is, as seen in the engine.
type Partition struct {
	Owner  string // "": nobody owns it
	InSync []string
	// Fresh says that the owner has claimed it since the map was written: it took over, whoever stands first.
	Fresh bool
}

// View is all that a change of the map is decided by. Nodes has everyone who is in the map.
type View struct {
	Aim        Aim
	Nodes      []Node
	Partitions []Partition
}

// planner is a map in the making.
type planner struct {
	View
	Map
	nodes map[string]Node
	seats map[string]int // copies that nodes have or are to have
	want  int            // copies of each partition
	calm  bool           // every node lives, or is gone
	// moving says that a partition is about to change its owner: no other one is to begin.
	moving bool
}

// Next is the map that should follow m; equal to it if nothing is to be done. It begins at most one hand-over, and only if none
// is under way, and gives no node a second copy to make before the first is in sync.
func Next(m Map, v View) Map {
	p := &planner{View: v, Map: m.Clone(), nodes: map[string]Node{}, seats: map[string]int{}, calm: true}
	holders := 0
	for _, n := range v.Nodes {
		p.nodes[n.Name] = n
		if p.mayHold(n.Name) {
			holders++
		}
		if !n.Alive && !n.Gone {
			p.calm = false
		}
	}
	p.want = max(1, min(v.Aim.Replicas, holders))
	for _, of := range p.Members {
		for _, name := range of {
			p.seats[name]++
		}
	}
	for i := range p.Members {
		p.settle(i)
		p.replicate(i)
	}
	p.move()
	return p.Map
}

// Due reports whether next, which is to follow m, has to be written: it is another map, or it has a partition handed over that
// its owner claimed after m was written, who goes by later maps alone.
func Due(m, next Map, v View) bool {
	if !next.Equal(m) {
		return true
	}
	for i, p := range v.Partitions {
		if p.Fresh && p.Owner != "" && p.Owner != next.First(i) {
			return true
		}
	}
	return false
}

// move begins what comes next, after what has to be.
func (p *planner) move() {
	switch {
	case p.moving || p.drain() || !p.calm:
	case p.copying():
		p.hand(1, true) // a node that waits for further copies can own what it has; there may be shorter ways for others later
	case !p.spread():
		p.hand(len(p.Nodes), false)
	}
}

func (p *planner) indexes() []int {
	all := make([]int, len(p.Members))
	for i := range all {
		all[i] = i
	}
	return all
}

func (p *planner) alive(node string) bool { return p.nodes[node].Alive }

// mayHold reports whether a node shall have copies, mayOwn whether it shall own partitions.
func (p *planner) mayHold(node string) bool {
	n, known := p.nodes[node]
	return known && !n.Gone && !slices.Contains(p.Aim.Leaving, node)
}

func (p *planner) mayOwn(node string) bool {
	return p.alive(node) && !p.nodes[node].Declines && !p.Aim.IsDrained(node)
}

func (p *planner) inSync(i int, node string) bool {
	return slices.Contains(p.Partitions[i].InSync, node)
}

// owner is the node that owns a partition now, "" if none does that lives.
func (p *planner) owner(i int) string {
	if o := p.Partitions[i].Owner; p.alive(o) {
		return o
	}
	return ""
}

// able reports whether a node could take a partition over now. One that is drained can if there is no better one.
func (p *planner) able(i int, node string) bool {
	return p.alive(node) && p.inSync(i, node) && (p.mayOwn(node) || !slices.ContainsFunc(p.Of(i), func(other string) bool {
		return p.mayOwn(other) && p.inSync(i, other)
	}))
}

// settle takes in what has happened: who took over stays, unless it is the one that is to hand over now, and whoever cannot take
// over does not stand first.
func (p *planner) settle(i int) {
	owner, first := p.owner(i), p.First(i)
	switch {
	case owner == first && owner != "":
	case p.able(i, first) && (owner == "" || !p.moving && !p.Partitions[i].Fresh):
		p.moving = true
	case owner != "":
		p.toFront(i, owner)
	default:
		if at := slices.IndexFunc(p.Of(i), func(node string) bool { return p.able(i, node) }); at > 0 {
			p.toFront(i, p.Of(i)[at])
		}
	}
	if of := p.Of(i); len(of) <= p.want { // else the last one is about to go
		p.order(i, of[1:])
	}
}

// order has successors of different partitions be different nodes, and those that are drained come last.
func (p *planner) order(i int, rest []string) {
	slices.Sort(rest)
	if n := len(rest); n > 1 {
		turned := slices.Concat(rest[i%n:], rest[:i%n])
		copy(rest, turned)
	}
	slices.SortStableFunc(rest, func(a, b string) int {
		return cmp.Compare(rank(p.Aim.IsDrained(a)), rank(p.Aim.IsDrained(b)))
	})
}

func rank(late bool) int {
	if late {
		return 1
	}
	return 0
}

// toFront makes a node the one that should own a partition. One that was no member is one.
func (p *planner) toFront(i int, node string) {
	rest := slices.DeleteFunc(slices.Clone(p.Of(i)), func(n string) bool { return n == node })
	if len(rest) == len(p.Of(i)) {
		p.seats[node]++
	}
	p.Members[i] = append([]string{node}, rest...)
}

func (p *planner) remove(i int, node string) {
	p.Members[i] = slices.DeleteFunc(slices.Clone(p.Of(i)), func(n string) bool { return n == node })
	p.seats[node]--
}
