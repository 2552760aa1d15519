package service

import (
	"context"
	"path/filepath"
	"time"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/notices"
	"github.com/sextant-crawler/sextant/scheduler"
)

// noticesFile remembers in the data directory what was told.
const noticesFile = "notices.json"

// Receivers are those of a configuration.
func Receivers(f *config.File) []notices.Receiver {
	var out []notices.Receiver
	for _, n := range f.Notify {
		out = append(out, notices.Receiver{
			Webhook: n.Webhook, Secret: n.Secret, Command: n.Command, On: n.On, IndexerDown: n.IndexerDown,
		})
	}
	return out
}

// notifier tells the receivers what needs a person.
func (s *Service) notifier(f *config.File, data string) (*notices.Notifier, error) {
	crawlers := s.Crawlers()
	var kept notices.Kept = notices.File(filepath.Join(data, noticesFile))
	if s.lent != nil {
		kept = noticesSent{s.lent.store}
	}
	return notices.New(notices.Settings{
		Receivers: Receivers(f), Kept: kept, Log: s.log,
		Observe: func(ctx context.Context) notices.Observation { return admin.Observe(ctx, crawlers) },
	})
}

// Crawlers are those that the service runs, as it shows them.
func (s *Service) Crawlers() []admin.Crawler {
	out := make([]admin.Crawler, len(s.crawls))
	for i, r := range s.crawls {
		out[i] = r
	}
	return out
}

// noticesSent keeps in the store which notices were sent, so that each is sent once, whichever node of a cluster crawls.
type noticesSent struct{ store scheduler.Values }

// noticesName is the value's name, and noticesFor how long its saving may take: the log may be out of reach.
const (
	noticesName = "notices sent"
	noticesFor  = 10 * time.Second
)

// Load implements notices.Kept.
func (n noticesSent) Load() ([]byte, error) { return n.store.Value(context.Background(), noticesName) }

// Save implements notices.Kept.
func (n noticesSent) Save(list []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), noticesFor)
	defer cancel()
	return n.store.SetValue(ctx, noticesName, list)
}
