package service

import (
	"log/slog"

	"github.com/sextant-crawler/sextant/crawl/policy"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// Settings puts a Crawler element into the terms of the packages that obey it. Agent is the
// User-Agent of those that name none.
func Settings(c config.Crawler, agent string) policy.Settings {
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
	fetch.UserAgent = agent
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

// fetches are those of a Crawler: its common settings of a fetcher, with what each changes.
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

// mapping is that of metas, nil without one.
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

// StoreOptions are how a Crawler's store is opened for writing.
func StoreOptions(c config.Crawler, log *slog.Logger) badgerstore.Options {
	o := badgerstore.Options{Logger: log, Durability: badgerstore.Sync, FirstOrder: FirstOrder()}
	if c.Durability == config.OS {
		o.Durability = badgerstore.OS
	}
	return o
}

// documentSettings puts a Crawler element into the terms of the pool.
func documentSettings(c config.Crawler) documents.Settings {
	return documents.Settings{Workers: c.Documents.Workers, Timeout: c.Documents.Timeout, MaxMemory: c.Documents.MaxMemory}
}

// settings are those of a Crawler that runs, which has what reads documents.
func (r *running) settings(c config.Crawler) policy.Settings {
	s := Settings(c, r.agent)
	s.Frontier.LeavesTarget = leavesTarget(r.opened.Push) // targets change with a restart only
	if c.Documents.On {
		s.Documents = r.documents
	}
	return s
}
