package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/papi"
	"github.com/sextant-crawler/sextant/weburl"
)

// Settings implements admin.Crawler.
func (r *running) Settings() policy.Settings { return r.settings(*r.inForce.Load()) }

// Sent implements admin.Crawler.
func (r *running) Sent(ctx context.Context, url string) (*push.Listed, *push.Document, error) {
	var newest *push.Listed
	err := r.store.Orders(ctx, push.Selection{URLs: []string{url}}, func(l push.Listed) error {
		if newest == nil || l.Seq > newest.Seq {
			newest = &l
		}
		return nil
	})
	if err != nil || newest == nil || newest.State != push.Waiting || newest.Op != push.Add {
		return newest, nil, err
	}
	entries, err := r.store.Outbox().Entries(ctx, newest.Seq-1, 1, 1)
	if err != nil || len(entries) == 0 || entries[0].Seq != newest.Seq || entries[0].Damage != "" {
		return newest, nil, err // it was sent meanwhile, or its body is lost
	}
	document := new(push.Document)
	return newest, document, json.Unmarshal(entries[0].Body, document)
}

// ConfigPath implements admin.Service.
func (s *service) ConfigPath() string { return s.path }

// Draft implements admin.Service.
func (s *service) Draft(text []byte, local bool) *admin.Draft {
	lookups := s.own.lookups()
	if !local {
		allowed, err := s.baseline.allowed()
		if err != nil {
			return &admin.Draft{Findings: []admin.Finding{{Severity: "error", File: s.path, Message: "what the file on this machine names cannot be read: " + err.Error()}}}
		}
		lookups.Allow = allowed
	}
	parsed, report := config.Parse(s.path, text, lookups)
	return draftOf(parsed, report)
}

// Receive implements admin.Service.
func (s *service) Receive(text []byte, write func() error) error {
	return s.baseline.receive(text, write)
}

// DraftFile implements admin.Service.
func (s *service) DraftFile(path string) (*admin.Draft, error) {
	parsed, report, err := config.LoadWith(path, s.own.lookups())
	if err != nil {
		return nil, &admin.Declined{Err: err}
	}
	return draftOf(parsed, report), nil
}

// draftOf gives a configuration the form of the API.
func draftOf(parsed *config.File, report config.Report) *admin.Draft {
	d := &admin.Draft{Findings: findings(report)}
	if parsed == nil {
		return d
	}
	for _, c := range parsed.Crawlers {
		d.Crawlers = append(d.Crawlers, admin.DraftCrawler{
			Name: c.Name, Roots: len(c.Rules.Roots), Rules: len(c.Rules.Rules), DeletesOn: deletesOn(c.ErrorPolicy), Settings: crawlSettings(c),
		})
	}
	return d
}

// findings are a report as it is printed: errors, then warnings, then notes.
func findings(report config.Report) []admin.Finding {
	var out []admin.Finding
	for _, part := range []struct {
		severity string
		problems []config.Problem
	}{{"error", report.Errors}, {"warning", report.Warnings}, {"note", report.Notes}} {
		for _, p := range part.problems {
			out = append(out, admin.Finding{Severity: part.severity, File: p.At.File, Line: p.At.Line, Column: p.At.Column, Message: p.Message})
		}
	}
	return out
}

// Condition implements admin.Service.
func (*service) Condition(xml string) (actionrules.Condition, error) { return parseCondition(xml) }

// Schema implements admin.Service.
func (*service) Schema(version, part string) ([]byte, error) { return schemaText(version, part) }

// Fetch implements admin.Service.
func (s *service) Fetch(ctx context.Context, c admin.Crawler, raw string, u weburl.URL) (*admin.Fetched, error) {
	for _, r := range s.crawls {
		if r.Name() != c.Name() {
			continue
		}
		known, err := admin.KnowledgeOf(ctx, r.store)
		if err != nil {
			return nil, err
		}
		return dryRun(ctx, *r.inForce.Load(), known, raw, u, s.log.With("dry run", c.Name()))
	}
	return nil, fmt.Errorf("no Crawler %q runs", c.Name())
}

// IndexOf implements admin.Service.
func (s *service) IndexOf(c admin.Crawler, target string) (admin.Index, error) {
	for _, r := range s.crawls {
		if r.Name() == c.Name() {
			index, err := openIndex(r.opened, target)
			if err != nil {
				return nil, &admin.Declined{Err: err}
			}
			return index, nil
		}
	}
	return nil, fmt.Errorf("no Crawler %q runs", c.Name())
}

// papiIndex is the index behind a papi target.
type papiIndex struct {
	*papi.Target
	source string
}

// Source implements admin.Index.
func (p papiIndex) Source() string { return p.source }

// Enumerate implements admin.Index.
func (p papiIndex) Enumerate(ctx context.Context, fn func(string) error) error {
	return p.Target.Enumerate(ctx, "", func(uri, _ string) error { return fn(uri) })
}

// openIndex opens the papi target that is meant.
func openIndex(crawler config.Crawler, target string) (admin.Index, error) {
	p, err := papiPushOf(crawler, target)
	if err != nil {
		return nil, err
	}
	t, err := papiTarget(p)
	if err != nil {
		return nil, err
	}
	return papiIndex{t, p.Source}, nil
}
