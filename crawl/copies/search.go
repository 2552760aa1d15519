package copies

import (
	"context"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// search is one search for an original. It reads records and frames without the mutex; records that change meanwhile
// are read again. The result is valid only if lacks is nil afterwards.
type search struct {
	records map[weburl.Key]*scheduler.Record // nil: not known
	frames  []hostFrame                      // frames of the few hosts involved
	reads   weburl.Key                       // is being read, or was
	stale   bool                             // it changed meanwhile
	// lacks lists the requested pages that are not loaded.
	lacks func(context.Context) error
}

type hostFrame struct {
	host  weburl.HostKey
	frame *near.Frame
}

// begin starts a search that is notified of changes until end. The mutex is held.
func (d *Detector) begin() *search {
	s := &search{} // most read nothing
	d.searches[s] = struct{}{}
	return s
}

func (d *Detector) end(s *search) { delete(d.searches, s) }

// changed notifies searches that a record has changed. The mutex is held.
func (d *Detector) changed(key weburl.Key) {
	for s := range d.searches {
		delete(s.records, key)
		s.stale = s.stale || s.reads == key
	}
}

// ask calls fn until everything that it requests is loaded. It releases the mutex, which must be held, while it reads:
// the state that fn has seen may be outdated then.
func (d *Detector) ask(ctx context.Context, s *search, fn func()) error {
	for {
		s.lacks = nil
		if fn(); s.lacks == nil {
			return nil
		}
		if err := s.lacks(ctx); err != nil {
			return err
		}
	}
}

// record returns a stored URL, or nil if it is unknown or must be read first. The mutex is held.
func (d *Detector) record(s *search, key weburl.Key) *scheduler.Record {
	r, read := s.records[key]
	if !read {
		s.lacks = func(ctx context.Context) error {
			s.reads, s.stale = key, false
			d.mu.Unlock()
			r, err := scheduler.Find(ctx, d.store, key)
			d.mu.Lock()
			if err == nil && !s.stale {
				if s.records == nil {
					s.records = map[weburl.Key]*scheduler.Record{}
				}
				s.records[key] = r
			}
			return err
		}
	}
	return r
}

// frame returns a host's frame, or nil if there is none or it must be read first. The mutex is held.
func (d *Detector) frame(s *search, k weburl.HostKey) *near.Frame {
	h := d.host(k)
	i := slices.IndexFunc(s.frames, func(f hostFrame) bool { return f.host == k })
	switch {
	case h != nil && i < 0:
		s.frames = append(s.frames, hostFrame{k, h.frame})
		return h.frame
	case h != nil:
		s.frames[i].frame = h.frame
		return h.frame
	case i >= 0:
		return s.frames[i].frame
	}
	s.lacks = func(ctx context.Context) error { return d.readHost(ctx, k) }
	return nil
}

// Original returns the document that the lease's is a copy of, or nil, and how
// much of its text the two share in percent. From then on, until Settle or Abandon, the
// lease's counts as a document for others that come at the same time.
func (d *Detector) Original(ctx context.Context, l *scheduler.Lease, c *Content) (of *scheduler.Record, why scheduler.Reason, overlap uint8, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.begin()
	defer d.end(s)
	if !c.IsZero() {
		if err := d.ask(ctx, s, func() { d.frame(s, c.host) }); err != nil {
			return nil, why, 0, err
		}
		if h := d.host(c.host); h != nil {
			h.learn(l.Key, c)
		}
	}
	var m match
	if err := d.ask(ctx, s, func() { m = d.match(s, l.Key, c) }); err != nil {
		return nil, why, 0, err
	}
	d.enter(l, c, m)
	if m.why == scheduler.NoReason {
		return nil, m.why, 0, nil
	}
	d.found++
	return s.records[m.original], m.why, m.overlap, nil
}

// enter adds a page with the result of its search. The mutex is held.
func (d *Detector) enter(l *scheduler.Lease, c *Content, m match) {
	before := contentOf(&l.Record, "")
	d.pages.Remove(before.place.Body, l.Key)
	c.copyOf = m.original
	d.inFlight[l.Key] = c
	if isCopy := m.why != scheduler.NoReason; !isCopy || !c.IsZero() {
		d.addPage(c.place, l.Key, isCopy)
	}
	if isNew := before.Signature != c.Signature || originalOf(&l.Record) != c.copyOf; !isNew || c.IsZero() {
		return
	}
	h := d.host(c.host)
	if h == nil {
		return
	}
	titles, others := c.titlesBy(h.frame), false
	for i, title := range titles {
		other, own, texts := false, false, 0
		d.pages.Title(title, func(text uint32, k near.Key) bool {
			texts, own = 1, own || k == near.Key(l.Key)
			other = other || k != near.Key(l.Key) && (i > 0 || near.SameTitle(text, c.place.Body))
			return true
		})
		if texts > 0 {
			texts = d.pages.Titled(title)
		}
		if own || texts <= near.MaxTitled {
			// Those that only look as if they had its title change when it becomes common.
			others = others || other || texts > near.MaxTitled
			c.review = append(c.review, title)
		}
	}
	// Under which other titles it is looked for is not known before the frame is.
	if others || !h.frame.Full() {
		h.shared(c.review)
	}
	if !others {
		c.review = nil
	}
}
