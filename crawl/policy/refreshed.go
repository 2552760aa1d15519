package policy

import (
	"errors"
	"slices"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// refreshes compiles the settings of refresh.
func (p *Policy) refreshes() error {
	p.Settings.Frontier.Sections = nil
	for i := range p.Settings.Refreshes {
		r := &p.Settings.Refreshes[i]
		match := func(weburl.URL) bool { return true }
		if r.If != nil {
			m, errs := actionrules.CompileCondition(r.If)
			if len(errs) > 0 {
				return errors.Join(errs...)
			}
			match = m.Match
		}
		if r.Ages != nil {
			ages := *r.Ages
			ages.Match, ages.Key = match, r.Match
			p.Settings.Frontier.Sections = append(p.Settings.Frontier.Sections, ages)
		}
		switch {
		case r.Schedule == nil:
		case r.Group == "":
			p.scheduled = append(p.scheduled, match)
		default:
			if group, err := p.GroupSites(r.Group); err == nil {
				p.scheduled = append(p.scheduled, func(u weburl.URL) bool { return match(u) && group.Decide(u).Accept })
			}
		}
	}
	return nil
}

// Refreshes reports whether any page is refetched automatically: by its age, or by a schedule.
func (p *Policy) Refreshes() bool {
	return p.Settings.Frontier.Refreshes() || p.Settings.Rounds > 0 ||
		slices.ContainsFunc(p.Settings.Refreshes, func(r Refresh) bool { return r.Schedule != nil })
}

// Refreshed reports whether a page is refetched automatically: by its age, or by a schedule. Pages outside all sites,
// found from a root without a site, do not count.
func (p *Policy) Refreshed(u weburl.URL) bool {
	if p.Settings.Frontier.Of(u.String()).Ages() {
		return true
	}
	return slices.ContainsFunc(p.scheduled, func(match func(weburl.URL) bool) bool { return match(u) })
}
