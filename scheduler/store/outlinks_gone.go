package store

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// outlinks are the links of a page that is being completed.
type outlinks struct {
	of    weburl.Key
	links scheduler.LinkPrints
	isNew bool // they replace the stored ones
}

func (o *outlinks) drop() { o.isNew = false }

// takeOutlinks makes the page's record be stored with the links of its completion, whose keys are keys, or without
// links.
func (g *group) takeOutlinks(c *scheduler.Completion, keys []weburl.Key) {
	if c.Outlinks == scheduler.KeepOutlinks {
		return
	}
	g.outlinks.of, g.outlinks.links, g.outlinks.isNew = c.Key, g.outlinks.links[:0], true
	if c.Outlinks == scheduler.DropOutlinks {
		return
	}
	for _, k := range keys[:min(len(keys), scheduler.MaxOutlinks)] {
		g.outlinks.links = g.outlinks.links.AppendPrint(k)
	}
}

// leave stores the trace of a forgotten URL, if it is not nil.
func (g *group) leave(k weburl.Key, gone *scheduler.Gone) error {
	if gone == nil {
		return nil
	}
	left, key := *gone, record.GoneKey(k)
	v, err := g.get(key)
	if err != nil {
		return err
	}
	if v != nil {
		before, err := record.DecodeGone(v)
		if err != nil {
			return g.s.damaged("what is left of URL "+k.String(), err)
		}
		left = left.After(before)
	}
	g.set(key, record.AppendGone(nil, &left))
	return nil
}

// Outlinks calls fn for the links of each page that has any, from a key on, in order of keys. fn must not keep links.
func (s *Store) Outlinks(ctx context.Context, from weburl.Key, fn func(page weburl.Key, links scheduler.LinkPrints) error) error {
	return s.view(ctx, func(view kv.View) error {
		return s.walk(ctx, view, []byte{record.KindURL}, record.URLKey(from), true, func(key, value []byte) error {
			if len(key) != record.URLKeyLen {
				return s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
			}
			links, err := record.Links(value)
			if err != nil {
				return s.damaged(fmt.Sprintf("links of URL %x", key[1:]), err)
			}
			if len(links) == 0 {
				return nil
			}
			return fn(weburl.Key(key[1:]), links)
		})
	})
}

// Gone calls fn for the trace of each URL, from a key on, that was forgotten after an error, in order of keys. The
// URL may be known again.
func (s *Store) Gone(ctx context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error {
	return s.view(ctx, func(view kv.View) error {
		return s.walk(ctx, view, []byte{record.KindGone}, record.GoneKey(from), true, func(key, value []byte) error {
			if len(key) != record.URLKeyLen {
				return s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
			}
			left, err := record.DecodeGone(value)
			if err != nil {
				return s.damaged(fmt.Sprintf("what is left of URL %x", key[1:]), err)
			}
			return fn(weburl.Key(key[1:]), left)
		})
	})
}

// left verifies the trace of a forgotten URL.
func (v *verification) left(key, value []byte) error {
	if len(key) != record.URLKeyLen {
		return record.ErrLength
	}
	left, err := record.DecodeGone(value)
	if u, ok := weburl.FromCanonical(left.URL); err == nil && (!ok || u.Key() != weburl.Key(key[1:])) {
		v.fault(left.URL, "its remaining record is stored under the key of another URL")
	}
	return err
}
