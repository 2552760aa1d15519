package extract

// cutter cuts parts out of a page.
type cutter struct {
	page    []byte
	wanted  bool   // otherwise the methods do nothing
	kept    []byte // the kept part of the page up to done; nil if nothing was cut yet
	done    int
	cutting bool
}

// at begins or ends a cut at a position, which must not be before the last one. At the end of a cut, between adds a
// space for a removed break between two words.
func (c *cutter) at(position int, cutting, between bool) {
	if !c.wanted || cutting == c.cutting {
		return
	}
	if c.cutting = cutting; cutting {
		if c.kept == nil {
			c.kept = make([]byte, 0, len(c.page))
		}
		c.kept = append(c.kept, c.page[c.done:position]...)
	} else if between {
		c.kept = append(c.kept, ' ')
	}
	c.done = position
}

// content returns the kept parts, nil if nothing was cut.
func (c *cutter) content() []byte {
	if c.kept == nil || c.cutting {
		return c.kept
	}
	return append(c.kept, c.page[c.done:]...)
}
