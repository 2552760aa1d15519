package service

import (
	"fmt"
	"log/slog"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/push"
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
