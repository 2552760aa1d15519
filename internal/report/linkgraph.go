package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The pages that link to a URL are found by a walk over the links of all pages, with the
// URLs in question in memory. The store keeps 48 bits of each link. There is no index from a
// URL to its pages: it would cost each page a write for each of its links.

const (
	// brokenBatch is how many URLs are handled in one pass over all links, 60 bytes each, and pairsMax how many links to
	// them are stored, 24 bytes each.
	brokenBatch = 1 << 17
	pairsMax    = 1 << 20
	// graphPart is how many pages' links are read before the store is released for a moment.
	graphPart = 50_000
	// redirectsMax is how many redirects are followed backwards, 24 bytes each; others are ignored.
	redirectsMax = 1 << 21
	// redirectSteps limits how far redirects to a selected redirect are followed backwards, as in a circle.
	redirectSteps = 5
)

// linked is a URL in question; gone is set if it is no longer known.
type linked struct {
	key  weburl.Key
	gone *scheduler.Gone
}

// linkedPage is a page that links to one; via is the redirect between them, or the zero key.
type linkedPage struct {
	page, via weburl.Key
}

type linkedPages []linkedPage

// target is a selected URL, or one that redirects to it.
type target struct {
	of   int32      // index in urls
	same int32      // the next target with the same print, or -1
	step int32      // how many redirects are between
	via  weburl.Key // zero: the URL itself
}

// pair is a link that was found.
type pair struct {
	target int32
	page   weburl.Key
}

// exchange gathers URLs, finds the pages that link to them, and passes both to emit in the
// order in which the URLs came.
type exchange struct {
	store        Store
	batch, pairs int
	emit         func(*linked, linkedPages) error

	urls    []linked
	targets []target
	byPrint map[scheduler.LinkPrint]int32
	found   []pair
	limit   int32 // of the URLs only those before it are looked for
}

// add puts a URL in question.
func (x *exchange) add(ctx context.Context, l linked) error {
	x.urls = append(x.urls, l)
	if len(x.urls) < x.batch {
		return nil
	}
	return x.flush(ctx)
}

// flush finds the links to all URLs. It takes several passes if too many pages link to them.
func (x *exchange) flush(ctx context.Context) error {
	for len(x.urls) > 0 {
		if err := x.search(ctx); err != nil {
			return err
		}
		slices.SortFunc(x.found, func(a, b pair) int {
			return cmp.Or(cmp.Compare(x.targets[a.target].of, x.targets[b.target].of), bytes.Compare(a.page[:], b.page[:]), cmp.Compare(a.target, b.target))
		})
		found := x.found
		for i := range x.limit {
			var pages linkedPages
			for len(found) > 0 && x.targets[found[0].target].of == i {
				p := linkedPage{page: found[0].page, via: x.targets[found[0].target].via}
				if n := len(pages); n == 0 || pages[n-1].page != p.page { // a page that links to both counts as linking directly
					pages = append(pages, p)
				}
				found = found[1:]
			}
			if err := x.emit(&x.urls[i], pages); err != nil {
				return err
			}
		}
		x.urls = slices.Delete(x.urls, 0, int(x.limit))
	}
	return nil
}

// search finds links to as many of the URLs as there is room for.
func (x *exchange) search(ctx context.Context) error {
	x.targets, x.found, x.limit = x.targets[:0], x.found[:0], int32(len(x.urls))
	x.byPrint = make(map[scheduler.LinkPrint]int32, len(x.urls))
	for i := range x.urls {
		x.aim(x.urls[i].key, target{of: int32(i)})
	}
	if err := x.redirects(ctx); err != nil {
		return err
	}
	var from weburl.Key
	for last := false; !last; {
		n := 0
		last = true
		err := x.store.Outlinks(ctx, from, func(page weburl.Key, links scheduler.LinkPrints) error {
			if n == graphPart {
				from, last = page, false
				return errEnough
			}
			n++
			x.look(page, links)
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	return nil
}

// aim makes links to a key count for a target.
func (x *exchange) aim(k weburl.Key, t target) {
	p := scheduler.PrintOf(k)
	t.same = -1
	if first, ok := x.byPrint[p]; ok {
		t.same = first
	}
	x.byPrint[p] = int32(len(x.targets))
	x.targets = append(x.targets, t)
}

// look notes which links of a page go to a target.
func (x *exchange) look(page weburl.Key, links scheduler.LinkPrints) {
	for p := range links.All() {
		i, ok := x.byPrint[p]
		for ; ok && i >= 0; i = x.targets[i].same {
			if x.targets[i].of < x.limit {
				x.found = append(x.found, pair{i, page})
			}
		}
	}
	if len(x.found) > x.pairs && x.limit > 1 {
		x.limit /= 2
		x.found = slices.DeleteFunc(x.found, func(f pair) bool { return x.targets[f.target].of >= x.limit })
	}
}

// leading is a redirect: its target, and its own key.
type leading struct {
	to   scheduler.LinkPrint
	from weburl.Key
}

// redirects adds the redirects to the URLs, also indirect ones.
func (x *exchange) redirects(ctx context.Context) error {
	var all []leading
	err := eachRecord(ctx, x.store, redirects, func(k weburl.Key, r *scheduler.Record) error {
		if to, ok := weburl.FromCanonical(r.RedirectTo); ok && len(all) < redirectsMax {
			all = append(all, leading{scheduler.PrintOf(to.Key()), k})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b leading) int { return cmp.Or(cmp.Compare(a.to, b.to), a.from.Compare(b.from)) })
	for i := 0; i < len(x.targets); i++ {
		t := x.targets[i]
		key := t.via
		if t.step == 0 {
			key = x.urls[t.of].key
		}
		to := scheduler.PrintOf(key)
		j, _ := slices.BinarySearchFunc(all, to, func(l leading, to scheduler.LinkPrint) int { return cmp.Compare(l.to, to) })
		for ; j < len(all) && all[j].to == to && t.step < MaxRedirects && len(x.targets) < 2*x.batch+x.pairs; j++ {
			if from := all[j].from; t.step < redirectSteps || !x.asks(from) {
				x.aim(from, target{of: t.of, via: from, step: t.step + 1})
			}
		}
	}
	return err
}

// asks reports whether a URL is selected.
func (x *exchange) asks(k weburl.Key) bool {
	i, ok := x.byPrint[scheduler.PrintOf(k)]
	for ; ok && i >= 0; i = x.targets[i].same {
		if x.targets[i].step == 0 {
			return true
		}
	}
	return false
}

// name is the page's URL; ok is false if its links do not count any more.
func (p *linkedPage) name(ctx context.Context, store Store) (from LinkedFrom, ok bool, err error) {
	r, err := store.Lookup(ctx, p.page)
	if errors.Is(err, scheduler.ErrNotFound) {
		return from, false, nil
	}
	if err != nil || !reads(&r) {
		return from, false, err
	}
	from.Page = r.URL
	if p.via != (weburl.Key{}) {
		via, err := store.Lookup(ctx, p.via)
		if err != nil && !errors.Is(err, scheduler.ErrNotFound) {
			return from, false, err
		}
		from.Redirect = via.URL
	}
	return from, true, nil
}
