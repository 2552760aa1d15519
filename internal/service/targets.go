package service

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// relayOf makes the relay with all targets of a Crawler.
func relayOf(c config.Crawler, h Home, outbox push.Outbox, log *slog.Logger) (*push.Relay, error) {
	var settings []push.TargetSettings
	for _, p := range c.Push {
		s := p.TargetSettings
		var err error
		if s.Target, err = p.Open(h.Dir, log); err != nil {
			return nil, fmt.Errorf("%s: Push %q: %w", p.At, p.Name, err)
		}
		settings = append(settings, s)
	}
	return push.NewRelay(outbox, settings, log)
}

// sourcesName is the store's value of the push sources that targets took at the last start: a JSON object of lists by
// the target's name. An empty list means all sources.
var sourcesName = scheduler.CrawlValue("push.sources")

// rememberSources stores which sources the targets take. It warns of a target that took others at the last start: its
// documents of then are not pushed because of that, and deleted only where no target takes them.
func rememberSources(ctx context.Context, store scheduler.Values, targets []config.Push, log *slog.Logger) error {
	const what = "the push sources that the targets accept"
	before, now := map[string][]string{}, map[string][]string{}
	if err := scheduler.LoadValue(ctx, store, sourcesName, what, &before); err != nil {
		return err
	}
	for _, t := range targets {
		now[t.Name] = nil
		if t.Source != nil {
			now[t.Name] = []string{*t.Source}
		}
		if took, known := before[t.Name]; known && !slices.Equal(took, now[t.Name]) {
			log.Warn("this push target accepts another source than before: `sextant refresh --all --full` pushes the "+
				"documents that it now accepts; those that it no longer accepts stay in its index while another target accepts "+
				"them, otherwise they are deleted like those of an edit of the rules",
				"target", t.Name, "before", took, "now", now[t.Name])
		}
	}
	if maps.EqualFunc(before, now, slices.Equal) {
		return nil
	}
	return scheduler.SaveValue(ctx, store, sourcesName, what, now)
}
