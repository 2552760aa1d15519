package visit

import (
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/scheduler"
)

// directives returns the combined directives of a page's robots metas and X-Robots-Tag.
func (v *visit) directives(response *fetcher.Response, p extract.Page) extract.Directives {
	return p.Robots.Merge(extract.XRobotsTag(response.Header.Values("X-Robots-Tag"), v.policy.Settings.RobotsAgent))
}

// Reasons of the page itself not to be indexed.
const (
	noIndexWords     = "noindex"
	unavailableWords = "unavailable_after "
)

// applyDirectives applies the page's directives to the result, and returns why it must not be indexed, or empty words
// if it may. A page can only restrict a rule.
func (v *visit) applyDirectives(d extract.Directives, result *scheduler.Result) (why scheduler.Reason, noIndex string) {
	result.Directives = directiveFlags(d) | result.Directives&scheduler.Rendered
	if v.policy.Settings.IgnoreNoIndex {
		return scheduler.NoReason, ""
	}
	result.UnavailableAt = d.UnavailableAt
	switch {
	case d.NoIndex:
		return scheduler.ReasonNoIndex, noIndexWords
	case isOver(d.UnavailableAt):
		v.meter.Unavailable.Add(1)
		return scheduler.ReasonUnavailable, unavailableWords + d.UnavailableAfter
	}
	return scheduler.NoReason, ""
}

// isOver reports whether a time was given and has come.
func isOver(at time.Time) bool { return !at.IsZero() && !time.Now().Before(at) }

// directiveFlags returns the stored form of the directives.
func directiveFlags(d extract.Directives) (flags scheduler.Directives) {
	for _, directive := range [...]struct {
		yes  bool
		flag scheduler.Directives
	}{{d.NoIndex, scheduler.NoIndex}, {d.NoFollow, scheduler.NoFollow}, {d.NoSnippet, scheduler.NoSnippet}, {d.NoArchive, scheduler.NoArchive}} {
		if directive.yes {
			flags |= directive.flag
		}
	}
	return flags
}
