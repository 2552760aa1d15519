package policy

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Moves are stored as JSON.

// Moves contains the roots whose home pages lead to other sites, by the root's URL.
type Moves map[string]Move

// Move is the move of one root's site.
type Move struct {
	// To is the page on whose site the root's site is now crawled, "" if it has not moved.
	To string `json:"to,omitempty"`
	// Back means that the home page is a page again. Until that is certain, the site is crawled at both places.
	Back bool `json:"back,omitempty"`
	// Left contains the origins at which the site was crawled before, latest last.
	Left []string `json:"left,omitempty"`
	// Seen holds the targets of pages that represent the site, while they are not certain.
	Seen map[string]MoveCandidate `json:"seen,omitempty"`
}

// MoveCandidate is an origin that a page leads to, with the time of the first observation.
type MoveCandidate struct {
	To    string    `json:"to"`
	Since time.Time `json:"since"`
}

const (
	// moveAfter is the time for which a page must redirect elsewhere before stored documents follow.
	moveAfter = 24 * time.Hour
	// leftMost bounds move.Left.
	leftMost = 8
)

// Place returns the home page of the site that the root's site moved to; false if it has not moved.
func (m *Move) Place() (weburl.URL, bool) {
	to, err := weburl.Parse(m.To)
	if err != nil {
		return to, false
	}
	home, err := weburl.Parse(to.Origin() + "/")
	return home, err == nil
}

// MoveEvidence is the target of a page that represents a site.
type MoveEvidence struct {
	From, To weburl.URL // To is zero if From is itself a page
	// Permanent means that this may move a site: a permanent redirect.
	Permanent bool
	// Inside means that To is already in the site of a root.
	Inside bool
	// Own and There report whether documents of the root's own place, and of the new one, are stored.
	Own, There bool
	Now        time.Time
}

// After returns the state of a move after a request for a page of root's site. A site without stored documents moves at
// once, by any redirect. Otherwise it moves only by a permanent redirect that is observed again after moveAfter; a
// temporary one may lead to a log-in or maintenance page. When the home page is a page again, its site is crawled again
// at once, and the other place is left once that is seen again.
func (m Move) After(root weburl.URL, h *MoveEvidence) Move {
	place, moved := m.Place()
	home := h.From.String() == root.String()
	switch {
	case h.To.IsZero() && home, !h.To.IsZero() && isOf(root, h.To):
		if !moved || !home {
			return m.unseen(h)
		}
		return m.cameBack(root, place, h)
	case h.To.IsZero():
		return m.unseen(h)
	case moved && isOf(place, h.To):
		if !m.Back || !home {
			return m.unseen(h)
		}
		if !h.Own || m.certain(place, h) {
			m = m.leaving(root, h.Own)
			m.Back = false
			return m.unseen(h)
		}
		return m.seen(place, h)
	case h.Inside:
		return m.unseen(h)
	case !h.Own && !h.There || m.certain(h.To, h):
		return m.moveTo(root, place, h)
	}
	return m.seen(h.To, h)
}

// cameBack returns the move after the home page of a site that had moved became a page again.
func (m Move) cameBack(root, place weburl.URL, h *MoveEvidence) Move {
	permanent := *h
	permanent.Permanent = true
	switch {
	case !h.There || m.Back && m.certain(root, &permanent):
		m = m.leaving(place, h.There)
		return Move{Left: minus(m.Left, OriginsOf(root))}
	case !m.Back:
		m.Back, m.Left = true, minus(m.Left, OriginsOf(root))
	}
	return m.seen(root, &permanent)
}

// moveTo replaces the root's own site, or the one at place, by the site that a page leads to.
func (m Move) moveTo(root, place weburl.URL, h *MoveEvidence) Move {
	m = m.leaving(root, h.Own && (m.To == "" || m.Back)).leaving(place, h.There)
	return Move{To: h.To.String(), Left: minus(m.Left, OriginsOf(h.To))}
}

// leaving records that the site is no longer crawled at a place; documents reports whether documents of it are stored.
func (m Move) leaving(place weburl.URL, documents bool) Move {
	if documents {
		m.Left = append(minus(m.Left, []string{place.Origin()}), place.Origin())
		m.Left = m.Left[max(0, len(m.Left)-leftMost):]
	}
	return m
}

// certain reports whether the first observation of a page leading to a site is old enough.
func (m *Move) certain(to weburl.URL, h *MoveEvidence) bool {
	s, ok := m.Seen[h.From.String()]
	return ok && h.Permanent && s.To == to.Origin() && h.Now.Sub(s.Since) >= moveAfter
}

// seen records that a page leads to a site, if that can cause a move.
func (m Move) seen(to weburl.URL, h *MoveEvidence) Move {
	if !h.Permanent {
		return m.unseen(h)
	}
	page := h.From.String()
	if s, ok := m.Seen[page]; ok && s.To == to.Origin() && !s.Since.After(h.Now) {
		return m
	}
	m.Seen = maps.Clone(m.Seen)
	if m.Seen == nil {
		m.Seen = map[string]MoveCandidate{}
	}
	m.Seen[page] = MoveCandidate{to.Origin(), h.Now}
	return m
}

// unseen removes the page's target from Seen.
func (m Move) unseen(h *MoveEvidence) Move {
	if _, ok := m.Seen[h.From.String()]; !ok {
		return m
	}
	m.Seen = maps.Clone(m.Seen)
	if delete(m.Seen, h.From.String()); len(m.Seen) == 0 {
		m.Seen = nil
	}
	return m
}

// OriginsOf returns the origins of a site according to the rules: its own and, unless it is a www host already, that
// with www.
func OriginsOf(site weburl.URL) []string {
	origin := site.Origin()
	if strings.HasPrefix(site.Host(), "www.") {
		return []string{origin}
	}
	scheme := site.Scheme() + "://"
	return []string{origin, scheme + "www." + origin[len(scheme):]}
}

// isOf reports whether a URL belongs to a site.
func isOf(site, u weburl.URL) bool { return slices.Contains(OriginsOf(site), u.Origin()) }

// minus returns nil if nothing is left.
func minus(all, some []string) []string {
	var out []string
	for _, s := range all {
		if !slices.Contains(some, s) {
			out = append(out, s)
		}
	}
	return out
}

// movedSites is the name of the stored value with the sites that replace roots whose home page redirects to them.
const (
	movesName = "moved-sites"
	movesWhat = "the list of moved sites"
)

// StoredMoves reads the stored moves.
func StoredMoves(ctx context.Context, store scheduler.ValueReader) (Moves, error) {
	moved := Moves{}
	err := scheduler.LoadValue(ctx, store, scheduler.CrawlValue(movesName), movesWhat, &moved)
	return moved, err
}

// movedRoots returns roots with the sites that moved at their new place.
func movedRoots(roots []actionrules.Root, moved Moves) []actionrules.Root {
	var out []actionrules.Root
	for _, root := range roots {
		m := moved[root.URL.String()]
		to, ok := m.Place()
		if !ok || !root.Site {
			out = append(out, root)
			continue
		}
		// The old home page stays a root: otherwise its return would not be noticed.
		home := root
		home.Site = m.Back
		out = append(out, home)
		root.URL = to
		out = append(out, root)
	}
	return out
}

// SaveMoves stores moves for StoredMoves.
func SaveMoves(ctx context.Context, store scheduler.Values, moved Moves) error {
	return scheduler.SaveValue(ctx, store, scheduler.CrawlValue(movesName), movesWhat, moved)
}

// WithMoves returns the policy with moves that do not change its decisions.
func (p *Policy) WithMoves(moved Moves) *Policy {
	other := *p
	other.Moved = moved
	return &other
}
