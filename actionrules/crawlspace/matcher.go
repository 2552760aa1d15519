package crawlspace

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"sync"
)

// wildcard represents, in patterns, any run of characters other than a slash. No canonical URL and no host contains
// this byte.
const wildcard = 0

// none exceeds every rule's index.
const none = math.MaxInt32

// anchoring is where in a text a pattern must match.
type anchoring uint8

const (
	atStart anchoring = iota // from the start on, not necessarily to the end
	whole
	anywhere
)

// pattern is a literal text with wildcards, and its rule's index in a list. No two wildcards are adjacent.
type pattern struct {
	text string
	rule int32
}

// matcher finds the first rule of a list whose pattern matches a text. All
// patterns lie in one tree in which they share their beginnings, so that the
// time depends on the text and on how many patterns it matches in part, not on
// their number or their order. It is immutable and safe for concurrent use.
type matcher struct {
	nodes   []node // the first is the root
	firsts  []byte // by node: the first byte of its label
	where   anchoring
	starts  [256]bool // the bytes that patterns begin with
	stars   int
	scratch sync.Pool // of *walk; empty if no pattern has a wildcard
}

// node is a piece of one or more patterns.
type node struct {
	label string // literal text that leads here from the parent
	rule  int32  // the first rule whose pattern ends here, or none
	best  int32  // the first rule here and below
	// The children with labels lie side by side.
	children, count int32
	star            int32 // the child that is a wildcard, or 0
	starNumber      int32 // of a wildcard: its number from 1; it has no label
}

// branch is a node to be built: patterns[low:high] share their first at bytes,
// and these lead to it.
type branch struct{ node, low, high, at int }

// newMatcher builds the tree and sorts patterns. It returns nil without patterns.
func newMatcher(patterns []pattern, where anchoring) *matcher {
	if len(patterns) == 0 {
		return nil
	}
	slices.SortFunc(patterns, func(a, b pattern) int { return strings.Compare(a.text, b.text) })
	m := &matcher{where: where, nodes: []node{{}}, firsts: []byte{0}}
	queue := []branch{{0, 0, len(patterns), 0}}
	for len(queue) > 0 {
		b := queue[0]
		queue = append(queue[1:], m.grow(patterns, b)...)
	}
	for _, p := range patterns {
		if p.text != "" {
			m.starts[p.text[0]] = true
		}
	}
	if m.stars > 0 {
		m.scratch.New = func() any { return &walk{entered: make([]uint64, m.stars)} }
	}
	return m
}

// grow fills in the node of b and adds its children, which are yet to be filled in.
func (m *matcher) grow(patterns []pattern, b branch) (more []branch) {
	n := &m.nodes[b.node]
	n.rule, n.best = none, none
	for _, p := range patterns[b.low:b.high] {
		n.best = min(n.best, p.rule)
		if len(p.text) == b.at {
			n.rule = min(n.rule, p.rule)
		}
	}
	low := b.low
	for low < b.high && len(patterns[low].text) == b.at {
		low++
	}
	n.children = int32(len(m.nodes))
	var star, count int32
	for low < b.high {
		first := patterns[low].text[b.at]
		high := low + 1
		for high < b.high && patterns[high].text[b.at] == first {
			high++
		}
		child := branch{len(m.nodes), low, high, b.at + 1}
		if first == wildcard { // sorts before all else
			m.stars++
			star = int32(child.node)
			m.nodes = append(m.nodes, node{starNumber: int32(m.stars)})
		} else {
			label := shared(patterns[low].text[b.at:], patterns[high-1].text[b.at:])
			child.at = b.at + len(label)
			m.nodes = append(m.nodes, node{label: label})
			count++
		}
		m.firsts = append(m.firsts, first)
		more = append(more, child)
		low = high
	}
	n = &m.nodes[b.node] // it may have moved
	n.star, n.count = star, count
	if star != 0 {
		n.children++
	}
	return more
}

// shared is the literal text that both patterns begin with.
func shared(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] && a[n] != wildcard {
		n++
	}
	return a[:n]
}

// child returns the child whose label begins with c, or 0.
func (m *matcher) child(n *node, c byte) int32 {
	i := bytes.IndexByte(m.firsts[n.children:n.children+n.count], c)
	if i < 0 {
		return 0
	}
	return n.children + int32(i)
}

// first returns the index of the first rule whose pattern matches, or none. A nil matcher has no rules.
func (m *matcher) first(text string) int32 {
	switch {
	case m == nil:
		return none
	case m.where != anywhere:
		return m.descend(text, none)
	}
	best := m.nodes[0].rule
	for i := range len(text) {
		if m.starts[text[i]] {
			best = m.descend(text[i:], best)
		}
	}
	return best
}

// descend searches for patterns that begin at the start of text, and for rules before best.
func (m *matcher) descend(text string, best int32) int32 {
	at, read := int32(0), 0
	for {
		n := &m.nodes[at]
		if n.star != 0 {
			return m.walk(text, read, at, best)
		}
		if m.where != whole || read == len(text) {
			best = min(best, n.rule)
		}
		if n.best >= best || read == len(text) {
			return best
		}
		at = m.child(n, text[read])
		label := m.nodes[at].label
		if at == 0 || !strings.HasPrefix(text[read:], label) {
			return best
		}
		read += len(label)
	}
}
