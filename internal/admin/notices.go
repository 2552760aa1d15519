package admin

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/internal/notices"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// Observe returns the conditions of the Crawlers that need attention.
func Observe(ctx context.Context, crawlers []Crawler) notices.Observation {
	var out notices.Observation
	refused := false
	disks := map[int64]bool{} // by size: Crawlers usually share one
	for _, c := range crawlers {
		s, err := c.Status(ctx)
		if err != nil {
			out.Unsure = append(out.Unsure, notices.Scope{Crawler: c.Name()}, notices.Scope{})
			continue
		}
		s.observe(&out)
		if d := s.Store; d != nil && d.DiskLow() && !disks[d.DiskSize] {
			disks[d.DiskSize] = true
			out.Conditions = append(out.Conditions, notices.Condition{
				Event: notices.Disk,
				Words: fmt.Sprintf("the disk is nearly full: %d MiB are free and %d are recommended; the crawl ends at %d", d.DiskFree>>20, d.DiskWanted()>>20, d.DiskNeeded>>20),
			})
		}
		if s.ConfigError != "" && !refused { // the same for all Crawlers
			refused = true
			out.Conditions = append(out.Conditions, notices.Condition{Event: notices.Config, Words: "a changed configuration is refused; the old one is in force: " + s.ConfigError})
		}
	}
	return out
}

// observe adds the conditions of one Crawler.
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
		ill := add(notices.Host, h.Origin, h.Origin+" is ill: most of its last responses were bad")
		ill.Since, ill.Help = h.Since, "none of its documents is deleted or gets a new text until it is well, unless you release them"
	}
	if s.IllHosts > len(s.Ill) || s.LosingHosts > len(s.Losing) {
		out.Unsure = append(out.Unsure, notices.Scope{Event: notices.Host, Crawler: s.Crawler})
	}
	if s.LosingHosts > len(s.Losing) {
		out.Unsure = append(out.Unsure, notices.Scope{Event: notices.Brake, Crawler: s.Crawler})
	}
	for _, l := range s.Sessions {
		if l.State == sessionFailed {
			add(notices.Login, l.Name, fmt.Sprintf("the log-in %s fails; its pages wait: %s", l.Name, l.Words))
		}
	}
}

// observeLosses adds the conditions of pending deletions.
func (s *Status) observeLosses(add func(notices.Event, string, string) *notices.Condition) {
	const stays = "the index keeps these documents until that is confirmed, "
	pool, losses, texts := false, 0, 0
	for _, h := range s.Losing {
		if h.Class == scheduler.LossMost.String() && !h.pooled {
			words := fmt.Sprintf("%s pending of the %s of %s", h.Words(), Count(h.Documents, "document"), h.Host)
			add(notices.Brake, h.Host, words).Help = stays + adviceOn(h.Pending, h.NewTexts)
		}
		if h.pooled && h.Class == scheduler.LossMost.String() {
			pool = true
			losses, texts = losses+h.Pending, texts+h.NewTexts
		}
		if h.Silent() {
			silent := add(notices.Host, h.Host+" silent", fmt.Sprintf("no document of %s has had a good response since %s", h.Host, clock.Stamp(*h.SilentSince)))
			silent.Since, silent.Help = *h.SilentSince, "if that continues, its documents are deleted at "+clock.Stamp(*h.GoneAt)
			if h.goneSoon() {
				add(notices.Host, h.Host+" gone", h.Host+" is nearly gone").Help = fmt.Sprintf("its %s are deleted at %s unless one gives a good response",
					Count(h.Documents, "document"), clock.Stamp(*h.GoneAt))
			}
		}
	}
	if pool {
		words := fmt.Sprintf("%s pending of hosts with fewer than %d documents: more than a fifth of them", LossWords(losses, texts, 0), scheduler.PoolBelow)
		add(notices.Brake, "small hosts", words).Help = stays + adviceOn(losses, texts)
	}
	for _, e := range s.Edits {
		if e.State == deletion.EditHeld && e.Pending > 0 {
			edit := fmt.Sprintf("edit %d", e.Number)
			add(notices.Brake, edit, fmt.Sprintf("%s of the rules: %s pending", edit, e.Words())).Help =
				fmt.Sprintf("the documents stay where they are until you release them: sextant deletions release --edit %d", e.Number)
		}
	}
}
