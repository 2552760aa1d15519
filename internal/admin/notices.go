package admin

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/internal/notices"
)

// Observe returns the conditions of the Crawlers that need a person.
func Observe(ctx context.Context, crawlers []Crawler) notices.Observation {
	var out notices.Observation
	refused := false
	disks := map[int64]bool{} // by size: Crawlers mostly share one
	for _, c := range crawlers {
		s, err := c.Status(ctx)
		if err != nil {
			out.Unsure = append(out.Unsure, notices.Scope{Crawler: c.Name()}, notices.Scope{})
			continue
		}
		s.observe(&out)
		if d := s.Store; d != nil && !disks[d.DiskSize] {
			if below, low := d.DiskLow(); low {
				disks[d.DiskSize] = true
				out.Conditions = append(out.Conditions, notices.Condition{
					Event: notices.Disk,
					Words: fmt.Sprintf("the disk is nearly full: %d MiB are free, it should be %d; the crawl ends at %d", d.DiskFree>>20, below>>20, d.DiskNeeded>>20),
				})
			}
		}
		if s.ConfigError != "" && !refused { // all Crawlers have the same
			refused = true
			out.Conditions = append(out.Conditions, notices.Condition{Event: notices.Config, Words: "a changed configuration is refused, the old one is in force: " + s.ConfigError})
		}
	}
	return out
}

// observe adds what one Crawler knows.
func (s *Status) observe(out *notices.Observation) {
	add := func(e notices.Event, subject, words string) *notices.Condition {
		out.Conditions = append(out.Conditions, notices.Condition{Event: e, Crawler: s.Crawler, Subject: subject, Words: words})
		return &out.Conditions[len(out.Conditions)-1]
	}
	if s.Outbox.Held > 0 {
		c := add(notices.Brake, "", fmt.Sprintf("deletions are held: %d of them; sextant deletions --by host,reason counts them, then release or drop them", s.Outbox.Held))
		if s.HeldSince != nil {
			c.Since = *s.HeldSince
		}
	}
	for _, t := range s.Targets {
		if t.DownSince != nil {
			add(notices.Indexer, t.Name, fmt.Sprintf("the indexer %s accepts no documents: %s", t.Name, t.LastError)).Since = *t.DownSince
		}
	}
	for _, h := range s.Ill {
		add(notices.Host, h.Host, h.Host+" is ill: its documents turn bad, so none of them is replaced, or deleted unless you release it").Since = h.Since
	}
	if s.IllHosts > len(s.Ill) {
		out.Unsure = append(out.Unsure, notices.Scope{Event: notices.Host, Crawler: s.Crawler})
	}
	for _, l := range s.Sessions {
		if l.State == sessionFailed {
			add(notices.Login, l.Name, fmt.Sprintf("the log-in %s fails, its pages wait: %s", l.Name, l.Words))
		}
	}
}
