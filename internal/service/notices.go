package service

import (
	"context"
	"path/filepath"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/notices"
)

// noticesFile remembers the sent notices, in the data directory.
const noticesFile = "notices.json"

// Receivers returns the receivers of a configuration.
func Receivers(f *config.File) []notices.Receiver {
	var out []notices.Receiver
	for _, n := range f.Notify {
		r := notices.Receiver{Webhook: n.Webhook, Secret: n.Secret, Command: n.Command, IndexerDown: n.IndexerDown}
		for _, event := range n.On {
			r.On = append(r.On, notices.Event(event))
		}
		out = append(out, r)
	}
	return out
}

// notifier notifies the receivers of conditions that require a person.
func (s *Service) notifier(f *config.File, data string) (*notices.Notifier, error) {
	crawlers := s.Crawlers()
	return notices.New(notices.Settings{
		Receivers: Receivers(f), Path: filepath.Join(data, noticesFile), Log: s.log,
		Observe: func(ctx context.Context) notices.Observation { return admin.Observe(ctx, crawlers) },
	})
}
