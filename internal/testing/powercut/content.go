package powercut

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
)

const (
	pageSize   = 4096
	sectorSize = 512 // what a disk writes whole
)

type page [pageSize]byte

// version is the content of a file at one time. Missing pages are zero.
type version struct {
	size  int64
	pages map[int64]*page
}

// content is a file: its present version, and the one last synced. The two share clean pages.
type content struct {
	now, durable version
	dirty        map[int64]bool
	// appended is set if the file has grown by writes, not by setting its size, since it was synced.
	appended bool
}

func newContent() *content {
	return &content{
		now: version{pages: map[int64]*page{}}, durable: version{pages: map[int64]*page{}},
		dirty: map[int64]bool{},
	}
}

// writable returns a page that may be changed.
func (c *content) writable(n int64) *page {
	p := c.now.pages[n]
	if c.dirty[n] && p != nil {
		return p
	}
	c.dirty[n] = true
	own := &page{}
	if p != nil {
		*own = *p
	}
	c.now.pages[n] = own
	return own
}

func (c *content) write(b []byte, at int64) {
	if end := at + int64(len(b)); end > c.now.size {
		c.now.size, c.appended = end, true
	}
	for len(b) > 0 {
		n, from := at/pageSize, at%pageSize
		part := b[:min(int64(len(b)), pageSize-from)]
		if c.now.pages[n] != nil || !allZero(part) {
			copy(c.writable(n)[from:], part)
		}
		b, at = b[len(part):], at+int64(len(part))
	}
}

func allZero(b []byte) bool {
	return !slices.ContainsFunc(b, func(v byte) bool { return v != 0 })
}

// read reads from the offset at into b and returns the number of bytes.
func (c *content) read(b []byte, at int64) int {
	if at >= c.now.size {
		return 0
	}
	b = b[:min(int64(len(b)), c.now.size-at)]
	for done := 0; done < len(b); {
		n, from := (at+int64(done))/pageSize, (at+int64(done))%pageSize
		part := b[done:min(len(b), done+int(pageSize-from))]
		if p := c.now.pages[n]; p != nil {
			copy(part, p[from:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return len(b)
}

// resize truncates the file or extends it with zeros.
func (c *content) resize(size int64) {
	if size < c.now.size {
		for n := range c.now.pages {
			if n*pageSize >= size {
				delete(c.now.pages, n)
				c.dirty[n] = true
			}
		}
		if from := size % pageSize; c.now.pages[size/pageSize] != nil && from > 0 {
			clear(c.writable(size / pageSize)[from:])
		}
	}
	c.now.size = size
}

// sync makes the present content durable.
func (c *content) sync() {
	for n := range c.dirty {
		if p := c.now.pages[n]; p != nil {
			c.durable.pages[n] = p
		} else {
			delete(c.durable.pages, n)
		}
	}
	c.durable.size = c.now.size
	c.appended = false
	clear(c.dirty)
}

// image writes the file as a power cut may leave it. A journal has a change of size completely or not at all: truncated
// content exists with the old size, and is gone with the new one.
func (c *content) image(path string, r *rand.Rand, luck float64, order Order) (err error) {
	size, resized := c.durable.size, c.now.size != c.durable.size && r.Float64() < luck
	if resized {
		size = c.now.size
	}
	whole := resized && c.appended && order == Journal
	pages := maps.Clone(c.durable.pages)
	for _, n := range slices.Sorted(maps.Keys(c.dirty)) {
		if order == Journal && c.now.pages[n] == nil {
			if resized {
				delete(pages, n)
			}
			continue
		}
		grown := (n+1)*pageSize > c.durable.size
		pages[n] = draw(c.durable.pages[n], c.now.pages[n], r, luck, whole && grown)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for n, p := range pages {
		if p == nil || n*pageSize >= size {
			continue
		}
		if _, err := f.WriteAt(p[:min(pageSize, size-n*pageSize)], n*pageSize); err != nil {
			return err
		}
	}
	return f.Truncate(size)
}

// draw selects the result for a page that was not synced: the old one, the new one, or sectors of both.
func draw(before, now *page, r *rand.Rand, luck float64, keep bool) *page {
	const torn = 0.1
	switch {
	case keep:
		return now
	case r.Float64() >= torn:
		if r.Float64() < luck {
			return now
		}
		return before
	}
	mixed := &page{}
	for at := 0; at < pageSize; at += sectorSize {
		from := before
		if r.IntN(2) == 0 {
			from = now
		}
		if from != nil {
			copy(mixed[at:at+sectorSize], from[at:])
		}
	}
	return mixed
}
