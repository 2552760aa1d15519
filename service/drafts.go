package service

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/weburl"
)

// ConfigPath implements admin.Service.
func (s *Service) ConfigPath() string { return s.path }

// Draft implements admin.Service.
func (s *Service) Draft(text []byte, local bool) *admin.Draft {
	lookups := s.own.Lookups()
	if !local {
		allowed, err := s.baseline.allowed()
		if err != nil {
			return &admin.Draft{Findings: []admin.Finding{{Severity: "error", File: s.path, Message: "what the file on this machine names cannot be read: " + err.Error()}}}
		}
		lookups.Allow = allowed
	}
	parsed, report := config.Parse(s.path, text, lookups)
	return s.draft(parsed, report)
}

// Receive implements admin.Service.
func (s *Service) Receive(text []byte, write func() error) error {
	return s.baseline.receive(text, write)
}

// DraftFile implements admin.Service.
func (s *Service) DraftFile(path string) (*admin.Draft, error) {
	parsed, report, err := config.LoadWith(path, s.own.Lookups())
	if err != nil {
		return nil, &admin.Declined{Err: err}
	}
	return s.draft(parsed, report), nil
}

// Fetch implements admin.Service.
func (s *Service) Fetch(ctx context.Context, c admin.Crawler, raw string, u weburl.URL) (*admin.Fetched, error) {
	for _, r := range s.crawls {
		if r.Name() != c.Name() {
			continue
		}
		known, err := admin.KnowledgeOf(ctx, r.store)
		if err != nil {
			return nil, err
		}
		return DryRun(ctx, *r.inForce.Load(), known, raw, u, s.agent, s.log.With("dry run", c.Name()))
	}
	return nil, fmt.Errorf("no Crawler %q runs", c.Name())
}

func (s *Service) draft(parsed *config.File, report config.Report) *admin.Draft {
	return admin.NewDraft(parsed, report, func(c config.Crawler) crawl.Settings { return Settings(c, s.agent) })
}
