package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// applyConfig puts the file in force, and returns which of its settings take effect only after a restart.
func (s *Service) applyConfig(ctx context.Context, o admin.ReloadOptions) (later []string, err error) {
	parsed, report, err := config.LoadWith(s.config.path, s.config.own.Lookups())
	if err != nil {
		return nil, err
	}
	if parsed == nil {
		return nil, &admin.Declined{Err: report.Err()}
	}
	for _, w := range report.Warnings {
		s.log.Warn("configuration", "warning", w.String())
	}
	byName := map[string]config.Crawler{}
	for _, crawler := range parsed.Crawlers {
		byName[crawler.Name] = crawler
	}
	for _, r := range s.crawls {
		if _, ok := byName[r.Name()]; !ok {
			return nil, &admin.Declined{Err: fmt.Errorf("the configuration no longer has the Crawler %q: restart the service to remove it", r.Name())}
		}
	}
	if len(parsed.Crawlers) != len(s.options.File.Crawlers) {
		s.log.Warn("the number of Crawlers changed; this takes effect after a restart", "now", len(s.options.File.Crawlers), "then", len(parsed.Crawlers))
		later = append(later, "the number of Crawlers")
	}
	of, err := s.applyTogether(ctx, byName, o)
	if err != nil {
		return nil, err
	}
	s.notices.Replace(Receivers(parsed))
	return append(later, of...), nil
}

// applyTogether puts the settings of all Crawlers in force, or of none: it prepares all before it applies the first. It
// returns the settings that take effect only after a restart.
func (s *Service) applyTogether(
	ctx context.Context, byName map[string]config.Crawler, o admin.ReloadOptions,
) (later []string, failed error) {
	var changes []*crawl.Change
	for _, r := range s.crawls {
		change, err := r.Prepare(ctx, r.settings(byName[r.Name()]))
		if err != nil {
			for _, c := range changes {
				c.Discard()
			}
			return nil, fmt.Errorf("reloading Crawler %s: %w", r.Name(), err)
		}
		changes = append(changes, change)
	}
	for i, r := range s.crawls {
		if err := r.apply(ctx, changes[i], o); err != nil { // the store's: its crawl is ending
			failed = errors.Join(failed, fmt.Errorf("reloading Crawler %s: %w", r.Name(), err))
			continue
		}
		crawler := byName[r.Name()]
		r.documents.Set(crawler.Reading)
		r.pages.Set(crawler.Reading.ForPages())
		r.renderer.Set(crawler.Browser)
		later = append(later, r.configured(&crawler, s.log)...)
	}
	return later, failed
}

// apply puts prepared settings in force.
func (r *running) apply(ctx context.Context, change *crawl.Change, o admin.ReloadOptions) error {
	if o.Now {
		change.RenewNow()
	}
	if o.Yes {
		r.AllowNextEdit()
	}
	return change.Apply(ctx)
}
