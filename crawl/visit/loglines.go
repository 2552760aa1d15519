package visit

import (
	"time"

	"github.com/sextant-crawler/sextant/crawl/crawllog"
	"github.com/sextant-crawler/sextant/scheduler"
)

// logFetched writes the crawl log's line for a requested URL.
func (v *visit) logFetched(s *step) {
	if v.policy.Settings.CrawlLog == "" || s.asked != AskedPage {
		return
	}
	r, status := s.outcome, s.status
	b := v.lease.Effect()
	var messages []string
	if r.Words != statusWords(status) { // which the line already contains
		messages = append(messages, r.Words)
	}
	if b.Class == scheduler.OK {
		messages = append(messages, r.NoDocument)
	}
	if r.Excluded != nil {
		messages = append(messages, r.Excluded.Words)
	}
	if r.Location != "" {
		messages = append(messages, "to "+r.Location)
	}
	if r.DuplicateOf != "" {
		messages = append(messages, "duplicate of "+r.DuplicateOf)
	}
	if b.Forgotten {
		messages = append(messages, "forgotten")
	}
	v.visitor.crawlLog.Add(crawllog.Line(time.Now(), crawllog.DocStatus(b), status, v.lease.URL.String(), v.lease.Record.Referrer, messages))
}
