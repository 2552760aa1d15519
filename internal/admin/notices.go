package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/internal/notices"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
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
	s.observeLosses(add)
	for _, t := range s.Targets {
		if t.DownSince != nil {
			add(notices.Indexer, t.Name, fmt.Sprintf("the indexer %s accepts no documents: %s", t.Name, t.LastError)).Since = *t.DownSince
		}
	}
	for _, h := range s.Ill {
		add(notices.Host, h.Host, h.Host+" is ill: its documents turn bad, so none of them is replaced or deleted, unless you release it").Since = h.Since
	}
	if s.IllHosts > len(s.Ill) || s.LosingHosts > len(s.Losing) {
		out.Unsure = append(out.Unsure, notices.Scope{Event: notices.Host, Crawler: s.Crawler})
	}
	if s.LosingHosts > len(s.Losing) {
		out.Unsure = append(out.Unsure, notices.Scope{Event: notices.Brake, Crawler: s.Crawler})
	}
	for _, l := range s.Sessions {
		if l.State == sessionFailed {
			add(notices.Login, l.Name, fmt.Sprintf("the log-in %s fails, its pages wait: %s", l.Name, l.Words))
		}
	}
}

// A host that is silent for silentTold is told of, and again goneSoon before it is taken to be gone.
const (
	silentTold = time.Hour
	goneSoon   = 7 * 24 * time.Hour
)

// observeLosses adds what pending deletions need a person for.
func (s *Status) observeLosses(add func(notices.Event, string, string) *notices.Condition) {
	pool := false
	for _, h := range s.Losing {
		if h.Class == scheduler.LossMost.String() && !h.pooled {
			add(notices.Brake, h.Host, fmt.Sprintf("%d of the %d documents of %s are to go: they stay for days, see sextant deletions; release them if they are gone", h.Pending, h.Documents, h.Host))
		}
		pool = pool || h.pooled && h.Class == scheduler.LossMost.String()
		if h.SilentSince == nil || h.GoneAt == nil {
			continue
		}
		if time.Since(*h.SilentSince) >= silentTold {
			words := fmt.Sprintf("%s gives no good response since %s: if that goes on, its documents are deleted at %s", h.Host, clock(*h.SilentSince), clock(*h.GoneAt))
			add(notices.Host, h.Host+" silent", words).Since = *h.SilentSince
			if time.Until(*h.GoneAt) <= goneSoon {
				add(notices.Host, h.Host+" gone", fmt.Sprintf("%s is nearly gone: its %s are deleted at %s unless one gives a good response", h.Host, counted(uint64(max(h.Documents, 0)), "document"), clock(*h.GoneAt)))
			}
		}
	}
	if pool {
		add(notices.Brake, "small hosts", fmt.Sprintf("many documents of hosts with fewer than %d are to go: they stay for days, see sextant deletions --by host,reason; release them if they are gone", scheduler.PoolBelow))
	}
	for _, e := range s.Edits {
		if e.State == deletion.EditHeld && e.Pending > 0 {
			edit := fmt.Sprintf("edit %d", e.Number)
			add(notices.Brake, edit, fmt.Sprintf("%s of the rules deletes %s: they stay until sextant deletions release --edit %d", edit, counted(e.Pending, "document"), e.Number))
		}
	}
}
