package service

import (
	"slices"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// Settings returns the settings of a Crawler element. agent is the default User-Agent.
func Settings(c config.Crawler, agent string) policy.Settings {
	s := c.Settings
	if s.Fetcher.UserAgent != "" {
		return s
	}
	s.Fetcher.UserAgent, s.Fetches = agent, slices.Clone(s.Fetches)
	for i := range s.Fetches {
		s.Fetches[i].Fetcher.UserAgent = agent
	}
	return s
}

// StoreOptions returns the options for opening a Crawler's store for writing.
func StoreOptions(c config.Crawler) store.Options {
	return store.Options{Durability: c.Durability, FirstOrder: FirstOrder()}
}

// settings returns the settings of a running Crawler, with its reader of documents.
func (r *running) settings(c config.Crawler) policy.Settings {
	s := Settings(c, r.agent)
	s.CookieFile, s.Fetcher.Permit = r.cookieFile, r.permit
	s.Frontier.LeavesTarget, s.OnlySources = r.opened.Frontier.LeavesTarget, r.opened.OnlySources // targets change with a restart only
	if c.ReadDocuments {
		s.Documents = r.documents
	}
	s.Convert, s.Pages, s.Renderer = r.documents.Convert, r.pages, r.renderer
	return s
}
