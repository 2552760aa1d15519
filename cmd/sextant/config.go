package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// configPath is the configuration that a command means.
func configPath(c *cli.Context) (string, error) {
	if path := c.String("config"); path != "" {
		return path, nil
	}
	beside := filepath.Join(c.String("data"), "config", config.FileName)
	for _, path := range []string{config.FileName, beside} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no configuration: neither ./%s nor %s is there; write one, or name it with --config FILE", config.FileName, beside)
}

// loadConfig reads the configuration. Its errors go to stderr and end the
// command with its own "no".
func loadConfig(c *cli.Context) (*config.File, config.Report, error) {
	path, err := configPath(c)
	if err != nil {
		return nil, config.Report{}, err
	}
	parsed, report, err := config.LoadWith(path, ownFilesOf(c).lookups())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, report, fmt.Errorf("%w: --config must name a %s or a folder that holds one", err, config.FileName)
		}
		return nil, report, err
	}
	return parsed, report, reportErrors(c, report)
}

// reportErrors prints a report's errors to stderr, if it has any.
func reportErrors(c *cli.Context, report config.Report) error {
	if len(report.Errors) == 0 {
		return nil
	}
	for _, p := range report.Errors {
		fmt.Fprintln(c.App.ErrWriter, p)
	}
	return no(fmt.Errorf("the configuration has %s", count(len(report.Errors), "error")))
}

// absoluteConfig is the file of the configuration that a command means, wherever
// the process goes.
func absoluteConfig(c *cli.Context) (string, error) {
	path, err := configPath(c)
	if err != nil {
		return "", err
	}
	if isDir(path) {
		path = filepath.Join(path, config.FileName)
	}
	return filepath.Abs(path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// homeOf is a Crawler's part of the data directory.
func homeOf(parsed *config.File, crawler config.Crawler, data string) home {
	if len(parsed.Crawlers) > 1 {
		data = filepath.Join(data, crawler.Name)
	}
	return home{crawler: crawler.Name, dir: data}
}

// crawlersOf are the Crawlers that a command means, all of the file where none is named.
func crawlersOf(c *cli.Context, parsed *config.File) ([]config.Crawler, error) {
	name := c.String("crawler")
	if name == "" {
		return parsed.Crawlers, nil
	}
	var names []string
	for _, crawler := range parsed.Crawlers {
		if crawler.Name == name {
			return []config.Crawler{crawler}, nil
		}
		names = append(names, crawler.Name)
	}
	return nil, wrongUse("the configuration has no Crawler %q: it has %s", name, strings.Join(names, ", "))
}

// oneCrawler is the Crawler that a command works on, with its part of the data directory.
func oneCrawler(c *cli.Context) (config.Crawler, home, error) {
	parsed, _, err := loadConfig(c)
	if err != nil {
		return config.Crawler{}, home{}, err
	}
	return theCrawler(c, parsed)
}

// theCrawler is the one of a file that a command works on.
func theCrawler(c *cli.Context, parsed *config.File) (config.Crawler, home, error) {
	crawlers, err := crawlersOf(c, parsed)
	if err != nil {
		return config.Crawler{}, home{}, err
	}
	if len(crawlers) > 1 {
		var names []string
		for _, crawler := range crawlers {
			names = append(names, crawler.Name)
		}
		return config.Crawler{}, home{}, wrongUse("the configuration has several Crawlers: name one with --crawler (%s)", strings.Join(names, ", "))
	}
	return crawlers[0], homeOf(parsed, crawlers[0], c.String("data")), nil
}

// crawlSettings puts a Crawler element into the terms of the packages that obey it.
func crawlSettings(c config.Crawler) policy.Settings {
	frontier := scheduler.DefaultSettings()
	frontier.Weights = c.Weights
	frontier.Throttle, frontier.Aggressive, frontier.MaxConnectionsPerHost = c.Throttle, c.Aggressive, c.MaxConnectionsPerHost
	frontier.Policy = policyOf(c.ErrorPolicy)
	frontier.MaxTemporaryErrors, frontier.TemporaryErrorMin, frontier.ErrorRefresh = c.MaxTemporaryErrors, c.TemporaryErrorMin, c.ErrorRefresh
	frontier.SmartRefresh, frontier.MinAge, frontier.MaxAge = c.SmartRefresh, c.SmartRefreshMinAge, c.SmartRefreshMaxAge
	frontier.IndexRedirectSources, frontier.PushUnchanged = c.IndexRedirectSources, c.PushUnchanged
	frontier.LinkGraph = c.LinkGraph
	frontier.MinimumAged, frontier.SitemapHints = c.MinimumAged, c.SitemapHints
	frontier.PerAddress, frontier.Throttles = c.PerAddress, throttles(c.Throttles)
	frontier.Brake = scheduler.Brake{On: c.Brake.On, Rest: c.Brake.Rest, Min: c.Brake.Min, Percent: c.Brake.Percent, Window: c.Brake.Window}
	frontier.ForgetDeleted, frontier.LeavesTarget = c.ForgetDeleted, leavesTarget(c.Push)

	fetch := fetcher.DefaultSettings()
	fetch.UserAgent = fetcher.UserAgent(version, "")
	if c.UserAgent != "" {
		fetch.UserAgent = c.UserAgent
	}
	fetch.From, fetch.MaxBodyBytes = c.From, c.MaxBodyBytes
	fetch.ConnectTimeout, fetch.TLSTimeout, fetch.FirstByteTimeout = c.Timeouts.Connect, c.Timeouts.TLS, c.Timeouts.FirstByte
	fetch.IdleTimeout, fetch.DownloadTimeout = c.Timeouts.Idle, c.Timeouts.Download
	fetch.MaxConnectionsPerHost = c.MaxConnectionsPerHost

	content := false
	for _, p := range c.Push {
		content = content || p.Content
	}
	var readRejectList func() (*crawlspace.File, error)
	if c.RejectList.Path != "" {
		readRejectList = c.RejectList.Read
	}
	return policy.Settings{
		MaxPDFBytes: c.MaxPDFBytes, CrawlLog: c.CrawlLog,
		Name: c.Name, Workers: c.Threads, Rules: c.Rules, Space: c.Space, Traps: c.Traps,
		ReadRejectList: readRejectList, RejectListEvery: c.RejectList.Checkpoint,
		IgnoreRobots: c.IgnoreRobotsTxt, EmbeddedLinks: c.EmbeddedLinks, IgnoreNoFollow: c.IgnoreNofollow, IgnoreNoIndex: c.IgnoreNoindex,
		Unconditional: c.DisableConditionalGet, RobotsAgent: c.RobotsAgent, MaxRedirects: c.MaxRedirects,
		PushContent: content, OutboxMaxBytes: c.OutboxMaxBytes,
		MaxRequestsPerS: c.MaxRequestsPerS, MaxBytesPerS: c.MaxBytesPerS, Refreshes: refreshes(c.Refreshes),
		Sources: sources(c.URLSources), CrawlSitemaps: c.Sitemaps.FromRobots,
		SitemapMaxBytes: c.Sitemaps.MaxBytes, SitemapMaxLinks: c.Sitemaps.MaxLinks, SitemapMaxPerHost: c.Sitemaps.MaxPerHost,
		Fetches: fetches(c.Fetches, fetch), EnableCookies: c.EnableCookies, DenyPrivate: c.DenyPrivate,
		NearDuplicates: c.NearDuplicates, DetectPatterns: c.DetectPatterns,
		Collapse: c.Collapse, CollapseDepth: c.CollapseDepth, Remove: c.Remove, Mapping: mapping(c.Mapping),
		Frontier: frontier, Fetcher: fetch,
		Robots: robots.Settings{Original: c.OriginalRobots, Agent: c.RobotsAgent},
	}
}

// sources are the sitemaps, feeds and XML files of a Crawler.
func sources(written []config.URLSource) []policy.Source {
	var out []policy.Source
	for _, w := range written {
		s := policy.Source{URL: w.URL, Kind: scheduler.KindSitemap, IndexItems: w.IndexItems}
		switch {
		case w.Feed:
			s.Kind = scheduler.KindFeed
		case w.XML != nil:
			s.Kind, s.XML = scheduler.KindXML, &policy.XMLDocuments{
				Path: w.XML.Path, Link: w.XML.Link, Title: w.XML.Title, Text: w.XML.Text, Date: w.XML.Date, HTML: w.XML.HTML,
			}
			for _, m := range w.XML.Metas {
				s.XML.Metas = append(s.XML.Metas, policy.XMLMeta(m))
			}
		}
		out = append(out, s)
	}
	return out
}

// fetches are those of a Crawler, which have its own settings of a fetcher but for
// what they say.
func fetches(written []config.Fetch, common fetcher.Settings) []policy.Fetch {
	var out []policy.Fetch
	for _, w := range written {
		f := policy.Fetch{Name: w.Name, Fetcher: common, IgnoreRobots: w.IgnoreRobotsTxt}
		if f.Name == "" {
			f.Name = "at " + w.At.String()
		}
		if w.Match != nil {
			f.Match = w.Match.Match
		}
		f.Fetcher.Roots, f.Fetcher.InsecureTLS, f.Fetcher.Header = w.Roots, w.InsecureTLS, w.Header
		if w.Proxy != nil {
			f.Fetcher.Proxy = &fetcher.Proxy{URL: w.Proxy.URL, User: w.Proxy.User, Password: w.Proxy.Password}
		}
		if l := w.Login; l != nil {
			f.Login = &policy.Login{Name: l.Name, Origins: l.Origins, Kind: l.Kind, Certificate: l.Certificate, Identity: l.Identity}
		}
		out = append(out, f)
	}
	return out
}

func throttles(written []config.Throttle) []scheduler.Throttle {
	var out []scheduler.Throttle
	for _, t := range written {
		s := scheduler.Throttle{Match: t.Match.Match, WholeHost: t.WholeHost, Connections: t.Connections}
		if t.Pause != nil {
			s.Pause, s.HasPause = *t.Pause, true
		}
		for _, h := range t.Hours {
			s.Hours = append(s.Hours, scheduler.Hours(h))
		}
		out = append(out, s)
	}
	return out
}

func refreshes(written []config.Refresh) []policy.Refresh {
	var out []policy.Refresh
	for _, r := range written {
		out = append(out, policy.Refresh{Schedule: r.Schedule, Spec: r.Spec, Group: r.Group})
	}
	return out
}

// mapping is that of metas, nil where there is none.
func mapping(written *config.Mapping) *policy.Mapping {
	if written == nil {
		return nil
	}
	m := &policy.Mapping{KeepUnmapped: written.KeepUnmapped}
	for _, w := range written.Maps {
		m.Maps = append(m.Maps, policy.Map(w))
	}
	return m
}

func policyOf(p config.ErrorPolicy) scheduler.Policy {
	switch p {
	case config.Cautious:
		return scheduler.Cautious
	case config.Smartsite:
		return scheduler.Smartsite
	case config.CloudView:
	}
	return scheduler.CloudView
}

// storeOptions are how a Crawler's store is opened for writing.
func storeOptions(c config.Crawler, log *slog.Logger) badgerstore.Options {
	o := badgerstore.Options{Logger: log, Durability: badgerstore.Sync, FirstOrder: firstOrder()}
	if c.Durability == config.OS {
		o.Durability = badgerstore.OS
	}
	return o
}

// count words a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
