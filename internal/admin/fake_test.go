package admin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/internal/compare"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/weburl"
)

// Settings returns those of rules that crawl the host a.test.
func (f fakeCrawler) Settings() policy.Settings {
	s := policy.Settings{RobotsAgent: "sextant"}
	s.Robots.Agent = "sextant"
	return s
}

// Note keeps an event in the store.
func (f fakeCrawler) Note(ctx context.Context, e events.Event) error {
	return events.NewLog(f.store).Add(ctx, e)
}

// Sent gives the order that waits, with its document.
func (f fakeCrawler) Sent(ctx context.Context, url string) (*push.Listed, *push.Document, error) {
	var found *push.Listed
	err := f.Reports().Orders(ctx, push.Selection{URLs: []string{url}}, func(l push.Listed) error {
		found = &l
		return nil
	})
	if found == nil || found.Op == push.Delete {
		return found, nil, err
	}
	return found, &push.Document{URL: url, Title: "A title"}, err
}

// fakeConfig is a configuration that a test has written, if it has.
type fakeConfig struct{ path string }

func (f fakeConfig) Path() string { return f.path }

func (f fakeConfig) History() ConfigHistory {
	return ConfigHistory{filepath.Join(filepath.Dir(f.path), "history"), filepath.Base(f.path)}
}

// Receive keeps nothing in mind.
func (fakeConfig) Receive(_ []byte, write func() error) error { return write() }

// Draft knows one word that is wrong, and reports whether it may read all files.
func (f fakeConfig) Draft(text []byte, files bool) *Draft {
	if strings.Contains(string(text), "broken") {
		return &Draft{Findings: []Finding{{"error", f.path, 3, 5, "broken"}, {"warning", f.path, 1, 1, "odd"}}}
	}
	d := &Draft{Crawlers: []DraftCrawler{{Name: "a", Roots: 1, Rules: 2, DeletesOn: "4xx"}}}
	if files {
		d.Findings = append(d.Findings, Finding{"warning", f.path, 1, 1, "reads files"})
	}
	return d
}

func (f fakeConfig) DraftFile(path string) (*Draft, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &Declined{Err: err}
	}
	return f.Draft(text, true), nil
}

func (fakeService) Fetch(_ context.Context, _ Crawler, raw string, u weburl.URL) (*Fetched, error) {
	return NewFetched(raw, u, &crawl.Trial{Recording: visit.Recording{Robots: "allowed", Excluded: "the rules"}}, &Explanation{URL: raw, Canonical: u.String(), Decision: "ignore", Metas: map[string][]string{}, Rules: []RuleExplanation{}}), nil
}

func (fakeService) IndexOf(_ Crawler, target string) (compare.Index, error) {
	if target == "none" {
		return nil, &Declined{Err: errors.New("no papi target is named none")}
	}
	return fakeIndex{}, nil
}

// fakeIndex holds one document that nobody pushed.
type fakeIndex struct{}

func (fakeIndex) Name() string   { return "papi" }
func (fakeIndex) Source() string { return "" }
func (fakeIndex) Enumerate(_ context.Context, fn func(uri, hash string) error) error {
	return fn("http://foreign/", "")
}

func (fakeIndex) Present(context.Context, []string) (map[string]bool, error) { return nil, nil }
func (fakeIndex) Push(context.Context, []push.Entry) ([]push.Refusal, error) {
	return []push.Refusal{{Seq: 1, Words: "no"}}, nil
}
func (fakeIndex) Sync(context.Context) error { return nil }
func (fakeIndex) Close() error               { return nil }

var _ Service = fakeService{}
