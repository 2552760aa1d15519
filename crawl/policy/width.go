package policy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Links that are outside are not stored. When rules let more in than before, the pages that
// may have such links must be read again; when they only let in less, none has to be. So the
// store remembers, in the form of JSON, what the rules consisted of.

const (
	// widthName is the key of the stored value with the width of the rules.
	widthName = "crawl.width"
	widthWhat = "the set of URLs that the rules accept"
)

// Width describes which links rules and crawl space allow, as far as that is comparable.
type Width struct {
	Rules string `json:"rules"` // fingerprint of the rules that it belongs to
	// Lists contains the parts of each list, eight bytes each: a hash that ends in a partKind.
	Lists map[string][]byte `json:"lists,omitempty"`
	// Path and Link are the maximum depths, -1 for no limit.
	Path int `json:"path"`
	Link int `json:"link"`
}

// partKind is the effect of a part, stored in the last bits of its hash.
type partKind uint64

const (
	closes partKind = iota
	opens
	turns // both
	kindMask
)

// sitesList is the list of the sites of roots.
const sitesList = "sites"

// Width returns the width of the policy. Moved sites count at their new place, since pages there may have been read
// before.
func (p *Policy) Width() *Width {
	w := &Width{Rules: p.Fingerprint, Lists: map[string][]byte{}}
	w.Path, w.Link = p.Space.Depths()
	for _, part := range p.Space.Parts() {
		kind := closes
		if part.Opens {
			kind = opens
		}
		w.add(part.List, kind, part.Text)
	}
	set := &p.Settings.Rules
	for name, on := range map[string]bool{
		"accept": set.DefaultAccept, "index": set.DefaultIndex, "follow": set.DefaultFollow, "roots": set.DefaultFollowRoots,
	} {
		if on {
			w.add("default "+name, opens, "")
		}
	}
	for _, r := range p.roots {
		if r.Site {
			w.add(sitesList, opens, r.URL.String())
		}
	}
	for i := range set.Rules {
		if kind, ok := kindOfRule(&set.Rules[i]); ok {
			h := writer{sha256.New()}
			h.rule(&set.Rules[i])
			w.add("rules", kind, string(h.Sum(nil)))
		}
	}
	return w
}

func (w *Width) add(list string, kind partKind, text string) {
	sum := sha256.Sum256([]byte(text))
	w.Lists[list] = binary.BigEndian.AppendUint64(w.Lists[list], binary.BigEndian.Uint64(sum[:8])&^uint64(kindMask)|uint64(kind))
}

// kindOfRule returns the effect of a rule on which URLs are crawled; false if it has none. Whether a stored page is
// indexed or followed is decided at the page itself.
func kindOfRule(r *actionrules.Rule) (kind partKind, ok bool) {
	accepts := slices.ContainsFunc(r.Then, func(a actionrules.Action) bool { return a.Verb == actionrules.Accept })
	ignores := slices.ContainsFunc(r.Then, func(a actionrules.Action) bool { return a.Verb == actionrules.Ignore })
	switch {
	case accepts && ignores:
		return turns, true
	case accepts:
		return opens, true
	}
	return closes, ignores
}

// Widening selects the pages whose links must be judged again, because some may now be in scope.
type Widening struct {
	All bool `json:"all,omitempty"`
	// Depth, if not nil, selects pages at least this number of links away from a start URL.
	Depth *int `json:"depth,omitempty"`
	// Origins selects pages on a root's site that is new or has moved. Pages of other sites wait for their refresh, so
	// that a new root does not cause all sites to be refetched.
	Origins []string `json:"origins,omitempty"`
}

// since compares with the earlier width; it returns nil if no new links are accepted.
func (p *Policy) since(old *Width) *Widening {
	var n Widening
	w := p.Width()
	lists := maps.Clone(w.Lists)
	maps.Copy(lists, old.Lists) // all names
	for name := range lists {
		if name != sitesList && wider(partsOf(old.Lists[name]), partsOf(w.Lists[name])) {
			n.All = true
		}
	}
	if old.Path >= 0 && (w.Path < 0 || w.Path > old.Path) {
		n.All = true
	}
	if old.Link >= 0 && (w.Link < 0 || w.Link > old.Link) {
		n.Depth = &old.Link
	}
	known := counted(partsOf(old.Lists[sitesList]))
	parts := partsOf(w.Lists[sitesList])
	for _, root := range p.roots {
		if !root.Site {
			continue
		}
		if known[parts[0]] == 0 {
			n.Origins = append(n.Origins, p.placesOf(root.URL)...)
		}
		parts = parts[1:]
	}
	if !n.All && n.Depth == nil && len(n.Origins) == 0 {
		return nil
	}
	return &n
}

// placesOf returns the origins at which a site of a root in force is and was crawled. Pages at a former place may still
// be in scope because of another root.
func (p *Policy) placesOf(site weburl.URL) []string {
	origins := OriginsOf(site)
	for _, root := range p.Settings.Rules.Roots {
		m := p.Moved[root.URL.String()]
		if place, ok := m.Place(); ok && root.Site && (root.URL == site || place == site) {
			origins = slices.Concat(origins, OriginsOf(root.URL), OriginsOf(place), m.Left)
		}
	}
	slices.Sort(origins)
	return slices.Compact(origins)
}

func partsOf(list []byte) []uint64 {
	parts := make([]uint64, 0, len(list)/8)
	for b := range slices.Chunk(list, 8) {
		if len(b) == 8 {
			parts = append(parts, binary.BigEndian.Uint64(b))
		}
	}
	return parts
}

// wider reports whether a list may allow more than before: closing parts were removed, others added, or the order
// changed.
func wider(old, now []uint64) bool {
	before, after := counted(old), counted(now)
	kind := func(part uint64) partKind { return partKind(part & uint64(kindMask)) }
	for len(old)+len(now) > 0 {
		dropped := len(old) > 0 && kind(old[0]) == opens
		added := len(now) > 0 && kind(now[0]) == closes
		switch {
		case len(old) > 0 && len(now) > 0 && old[0] == now[0]:
			before[old[0]]--
			after[now[0]]--
			old, now = old[1:], now[1:]
		case dropped && (after[old[0]] == 0 || !added || before[now[0]] > 0):
			before[old[0]]--
			old = old[1:]
		case added:
			after[now[0]]--
			now = now[1:]
		default:
			return true
		}
	}
	return false
}

func counted(parts []uint64) map[uint64]int {
	n := make(map[uint64]int, len(parts))
	for _, p := range parts {
		n[p]++
	}
	return n
}

// And returns the union of two; either may be nil.
func (n *Widening) And(m *Widening) *Widening {
	switch {
	case n == nil:
		return m
	case m == nil:
		return n
	}
	both := Widening{All: n.All || m.All, Depth: n.Depth, Origins: slices.Concat(n.Origins, m.Origins)}
	if both.Depth == nil || m.Depth != nil && *m.Depth < *both.Depth {
		both.Depth = m.Depth
	}
	slices.Sort(both.Origins)
	both.Origins = slices.Compact(both.Origins)
	return &both
}

// Covers reports whether a page's links must be judged again.
func (n *Widening) Covers(r *scheduler.Record) bool {
	return n != nil && (n.All || n.Depth != nil && int(r.Depth) >= *n.Depth || slices.Contains(n.Origins, r.Origin))
}

// StoredWidth returns the width of the rules by which stored URLs were last judged, or nil.
func StoredWidth(ctx context.Context, store scheduler.ValueReader) (*Width, error) {
	var w Width
	if err := scheduler.LoadValue(ctx, store, scheduler.CrawlValue(widthName), widthWhat, &w); err != nil || w.Rules == "" {
		return nil, err
	}
	return &w, nil
}

// Widened returns the widening from old, which may be nil, to the policy.
func (p *Policy) Widened(old *Width) *Widening {
	if old == nil || old.Rules == p.Fingerprint {
		return nil
	}
	return p.since(old)
}

// MayFollow reports whether a redirect to a URL may be followed.
func (p *Policy) MayFollow(to string) bool {
	u, ok := weburl.FromCanonical(to)
	if !ok {
		return false
	}
	_, _, inside := p.Link(crawlspace.Link{URL: u})
	return inside
}

// SaveWidth stores the policy's width, for StoredWidth.
func (p *Policy) SaveWidth(ctx context.Context, store scheduler.Values) error {
	return scheduler.SaveValue(ctx, store, scheduler.CrawlValue(widthName), widthWhat, p.Width())
}
