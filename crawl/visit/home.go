package visit

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// isRoot reports whether the URL is inside and a root of the configuration.
func (v *visit) isRoot() bool { return v.verdict.Inside() && v.verdict.Decision.Root }

// updateRoot updates the record of a pending URL that became a root, or no longer is one.
func (v *visit) updateRoot() {
	r := &v.lease.Record
	if v.isRoot() {
		r.Root = true
	} else if v.visitor.sites.WasRoot(v.lease.Key) {
		r.Root = false
	}
}

// redirectsOut reports that a redirect leads out of the crawl space, by a verdict of p. For a root it also logs a
// warning, because the root must be changed.
func (v *visit) redirectsOut(p *policy.Policy, target weburl.URL, verdict *policy.Verdict, result *scheduler.Result) {
	by := p.Detail(verdict)
	if !v.isRoot() || v.visitor.trial != nil {
		result.Words += fmt.Sprintf(": leads to %s, outside the crawl space (%s)", target, by)
		return
	}
	advice := fmt.Sprintf("write url=%q in its Root", target.String())
	if g := verdict.Gate.Gate; g != "" && g != crawlspace.GateStartURL {
		advice = fmt.Sprintf("make the %s gate pass it, and %s", g, advice)
	}
	if wait := p.WhyNotMoved(v.lease.URL, result.Moved); wait != "" {
		advice = wait + ", or " + advice
	}
	result.Words += fmt.Sprintf(": leads to %s, outside the crawl space (%s): %s", target, by, advice)
	v.log.Warn("a root redirects out of the crawl space; nothing more of it is crawled",
		"url", v.lease.URL.String(), "status", result.Status, "to", target.String(), "by", by, "do", advice)
}

// logRoot logs that a root could not be fetched.
func (v *visit) logRoot(r *scheduler.Result) {
	if !v.isRoot() || v.visitor.trial != nil {
		return
	}
	words := r.Words
	if r.Excluded != nil {
		words = r.Excluded.Words
	}
	switch class := v.lease.Effect().Class; class {
	case scheduler.Permanent, scheduler.Temporary, scheduler.Ignored:
		v.log.Warn("a root cannot be crawled", "url", v.lease.URL.String(), "class", class.String(), "status", r.Status, "words", words)
	case scheduler.Pending, scheduler.OK, scheduler.Redirect:
	}
}

// isHome records that the URL is a page, which may end the move of a site: its links are already judged by that.
func (v *visit) isHome(ctx context.Context) error {
	before := v.visitor.sites.InForce()
	err := v.visitor.sites.ObserveHome(ctx, v.lease.URL, weburl.URL{}, true)
	if v.visitor.sites.InForce() != before {
		v.adopt()
	}
	return err
}

// adopt switches to the rules now in force, if they allow the page.
func (v *visit) adopt() {
	p := v.visitor.sites.InForce().Policy
	if verdict := p.Judge(policy.Recorded(v.lease.URL, &v.lease.Record)); verdict.Inside() {
		v.policy, v.verdict = p, verdict
		v.indexed, v.why, v.unindexed = p.Indexes(&verdict)
	}
}

// rules returns the rules of the visit.
func (v *visit) rules() *Rules { return &Rules{Policy: v.policy, FetchState: v.fetchState} }
