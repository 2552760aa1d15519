package crawlspace

// state is a position in a matcher's tree: a node, and the number of bytes read of its label.
type state struct{ node, read int32 }

// walk follows all places that a text may lead to at once. It is used again and
// again, so that matching allocates nothing.
type walk struct {
	now, next []state
	entered   []uint64 // by wildcard: the step in which it was entered last
	step      uint64
	best      int32
	end       bool // the text ends behind this step
}

// walk continues from the node at, reached by the first read bytes of text.
func (m *matcher) walk(text string, read int, at, best int32) int32 {
	w := m.scratch.Get().(*walk)
	w.next, w.best = w.next[:0], best
	w.step++
	w.end = read == len(text)
	w.enter(m, at)
	for ; read < len(text) && len(w.next) > 0; read++ {
		w.now, w.next = w.next, w.now[:0]
		w.step++
		w.end = read+1 == len(text)
		w.advance(m, text[read])
	}
	best = w.best
	m.scratch.Put(w)
	return best
}

// advance reads one byte in all places.
func (w *walk) advance(m *matcher, c byte) {
	for _, s := range w.now {
		n := &m.nodes[s.node]
		if n.best >= w.best {
			continue
		}
		if int(s.read) < len(n.label) {
			if n.label[s.read] == c {
				w.move(m, s.node, s.read+1)
			}
			continue
		}
		if n.starNumber != 0 && c != '/' {
			w.enter(m, s.node)
		}
		if child := m.child(n, c); child != 0 {
			w.move(m, child, 1)
		}
	}
}

// move continues at a node after the given number of bytes of its label.
func (w *walk) move(m *matcher, at, read int32) {
	if int(read) == len(m.nodes[at].label) {
		w.enter(m, at)
		return
	}
	w.next = append(w.next, state{at, read})
}

// enter is at a node whose label is read, and at the wildcard that may follow. A
// wildcard is reached from its parent and from itself; once a step is enough.
func (w *walk) enter(m *matcher, at int32) {
	n := &m.nodes[at]
	if n.starNumber != 0 {
		if w.entered[n.starNumber-1] == w.step {
			return
		}
		w.entered[n.starNumber-1] = w.step
	}
	if m.where != whole || w.end {
		w.best = min(w.best, n.rule)
	}
	if n.best >= w.best {
		return
	}
	if n.count > 0 || n.starNumber != 0 {
		w.next = append(w.next, state{at, int32(len(n.label))})
	}
	if n.star != 0 {
		w.enter(m, n.star)
	}
}

// matches is the plain way to match one pattern, beside the tree.
func matches(pattern, text string, where anchoring) bool {
	if where == anywhere { // such patterns have no wildcards
		for i := 0; i+len(pattern) <= len(text); i++ {
			if text[i:i+len(pattern)] == pattern {
				return true
			}
		}
		return false
	}
	// star is the place behind the last wildcard, tried where in text its run ends
	// so far. Shorter runs of the wildcards before it never match less.
	p, t, star, tried := 0, 0, -1, 0
	for {
		switch {
		case p == len(pattern) && (where == atStart || t == len(text)):
			return true
		case p < len(pattern) && pattern[p] == wildcard:
			p++
			star, tried = p, t
			continue
		case p < len(pattern) && t < len(text) && pattern[p] == text[t]:
			p++
			t++
			continue
		}
		if star < 0 || tried == len(text) || text[tried] == '/' {
			return false
		}
		tried++
		p, t = star, tried
	}
}
