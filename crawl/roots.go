package crawl

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Roots of the configuration are the operator's own links: their records say so,
// so that they are never forgotten, and one that is not known is added whenever it is asked
// for. One that is taken out of the configuration is a page like others.

const (
	// rootsName is the stored value with the keys of the roots that records mark.
	rootsName = "crawl.roots"
	rootsWhat = "the list of roots"
)

// addRoots adds the configured roots; known ones are not crawled sooner.
func (c *Crawl) addRoots(ctx context.Context, p *policy.Policy) error {
	links := p.RootLinks(func(root weburl.URL, v *policy.Verdict) {
		c.log.Warn("a root is not crawled; the rules exclude it", "url", root.String(), "by", p.Detail(v))
	})
	if _, err := c.frontier.Add(ctx, links, false); err != nil {
		return err
	}
	if err := c.markRoots(ctx, links); err != nil {
		return err
	}
	return c.addSources(ctx, p)
}

// markRoots marks the records of roots, and unmarks those of former roots. Pending URLs are left to their visit
// (updateRoot), and stay in the stored list of roots until then.
func (c *Crawl) markRoots(ctx context.Context, links []scheduler.Link) error {
	stored, err := storedRoots(ctx, c.store)
	if err != nil {
		return err
	}
	roots := make(map[weburl.Key]bool, len(links))
	var list []weburl.Key
	for i := range links {
		if k := links[i].URL.Key(); !roots[k] {
			roots[k] = true
			list = append(list, k)
		}
	}
	before := make(map[weburl.Key]bool, len(stored))
	for _, k := range stored {
		before[k] = true
	}
	former := slices.DeleteFunc(slices.Clone(stored), func(k weburl.Key) bool { return roots[k] })
	news := slices.DeleteFunc(slices.Clone(list), func(k weburl.Key) bool { return before[k] })
	still, err := c.markAs(ctx, roots, news, former)
	if err != nil {
		return err
	}
	list = append(list, slices.SortedFunc(maps.Keys(still), weburl.Key.Compare)...)
	if slices.Equal(list, stored) {
		return nil
	}
	return c.store.SetValue(ctx, scheduler.CrawlValue(rootsName), slices.Concat(bytesOf(list)...))
}

// markAs marks new and former roots, and returns those that could not be changed yet because they are pending.
func (c *Crawl) markAs(ctx context.Context, roots map[weburl.Key]bool, news, former []weburl.Key) (still map[weburl.Key]bool, err error) {
	for keys := range slices.Chunk(slices.Concat(news, former), scheduler.WalkBatch) {
		_, err := c.frontier.Revise(context.WithoutCancel(ctx), keys, func(k weburl.Key, r scheduler.Record) *scheduler.Change {
			if r.Root == roots[k] {
				return nil
			}
			r.Root = roots[k]
			return &scheduler.Change{Next: r}
		})
		if err != nil {
			return nil, err
		}
	}
	still = map[weburl.Key]bool{}
	for _, k := range former {
		r, err := scheduler.Find(ctx, c.store, k)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Root {
			still[k] = true
		}
	}
	c.persistent.former.Store(&still)
	return still, nil
}

// bytesOf returns keys in their stored form.
func bytesOf(keys []weburl.Key) [][]byte {
	out := make([][]byte, len(keys))
	for i := range keys {
		out[i] = keys[i][:]
	}
	return out
}

func storedRoots(ctx context.Context, store scheduler.Reader) ([]weburl.Key, error) {
	v, err := store.Value(ctx, scheduler.CrawlValue(rootsName))
	if err != nil {
		return nil, err
	}
	if len(v)%len(weburl.Key{}) != 0 {
		return nil, fmt.Errorf("%w: %s cannot be read: it has %d bytes", scheduler.ErrDamaged, rootsWhat, len(v))
	}
	var keys []weburl.Key
	for k := range slices.Chunk(v, len(weburl.Key{})) {
		keys = append(keys, weburl.Key(k))
	}
	return keys, nil
}

// addSources adds the configured sources. A source that was read under other rules or settings is read again, and so is
// a restored XML file, because its documents were deleted with it.
func (c *Crawl) addSources(ctx context.Context, p *policy.Policy) error {
	if err := p.SaveLists(ctx, c.store); err != nil {
		return err
	}
	if gone := p.GoneLists(); len(gone) > 0 {
		_, err := c.frontier.Revise(context.WithoutCancel(ctx), gone, func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			if r.Kind != scheduler.KindXML || r.RulesVersion == 0 {
				return nil
			}
			r.RulesVersion = 0
			return &scheduler.Change{Next: r}
		})
		if err != nil {
			return err
		}
	}
	var links []scheduler.Link
	for _, s := range p.Sources {
		l, v, ok := p.SourceLink(s.URL, s.Kind, "")
		if !ok {
			c.log.Warn("a sitemap or feed is not read; the rules exclude it", "url", s.URL.String(), "by", p.Detail(&v))
			continue
		}
		l.Root = true
		links = append(links, l)
	}
	return visit.NameSources(ctx, c.frontier, links, func(k weburl.Key, r *scheduler.Record) bool {
		return r.RulesVersion != p.SourceVersion(k)
	})
}
