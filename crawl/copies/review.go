package copies

import (
	"context"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// review compares the pages with some titles again, after one of them or their host's frame changed. It refetches those
// whose result would now differ, so the order of arrival does not matter.
func (d *Detector) review(ctx context.Context, titles []uint32) (again int, err error) {
	if len(titles) == 0 {
		return 0, nil
	}
	records, err := d.contradicted(ctx, titles)
	if err != nil {
		return 0, err
	}
	for _, r := range records {
		if u, ok := weburl.FromCanonical(r.URL); ok {
			if err := d.requeue(ctx, u); err != nil {
				return again, err
			}
			again++
		}
	}
	return again, nil
}

// contradicted returns the stored pages with some titles whose result would differ now. They must be fetched in full.
func (d *Detector) contradicted(ctx context.Context, titles []uint32) (again []*scheduler.Record, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.begin()
	defer d.end(s)
	for _, title := range titles {
		var keys []weburl.Key
		d.pages.Title(title, func(_ uint32, k near.Key) bool { keys = append(keys, weburl.Key(k)); return true })
		for _, key := range keys {
			if _, asked := d.whole[key]; asked {
				continue
			}
			is := false
			if err := d.ask(ctx, s, func() { is = d.contradicts(s, key) }); err != nil {
				return nil, err
			}
			if r := s.records[key]; is && r != nil {
				d.whole[key] = struct{}{}
				again = append(again, r)
			}
		}
	}
	return again, nil
}

// contradicts reports whether a stored page's result would differ now. If two documents are copies of each other, that
// is the one with the higher key. The mutex is held.
func (d *Detector) contradicts(s *search, key weburl.Key) bool {
	if d.inFlight[key] != nil {
		return false // it is reported when it is stored
	}
	c, of := d.page(s, key)
	if s.lacks != nil || c == nil || s.records[key].State == scheduler.Waiting {
		return false
	}
	m := d.match(s, key, c)
	switch {
	case s.lacks != nil:
		return false
	case of == weburl.Key{}:
		return m.why != scheduler.NoReason && m.original.Compare(key) < 0
	default:
		return !slices.Contains(m.like, of)
	}
}
