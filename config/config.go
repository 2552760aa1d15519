package config

import (
	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// File is a configuration without errors.
type File struct {
	// Crawlers has at least one; their names are unique.
	Crawlers []Crawler
	// Notify are the receivers of notices, each once.
	Notify []Notify
}

// Crawler is one crawl: the settings of the packages that use them, filled by the rows of the table (Attribute.To), and
// values derived from them. docs/configuration.md has meaning, range and default of each. An empty UserAgent is the
// program's own.
type Crawler struct {
	policy.Settings
	At actionrules.Position

	// Engine is Rules, compiled; Gates is Space, compiled for the roots in the file.
	Engine *actionrules.Engine
	Gates  *crawlspace.Space
	// Written reports which of defaultAccept, defaultIndex and defaultFollow are set in the file. The crawl space
	// determines the others in Rules.
	Written struct{ Accept, Index, Follow bool }

	// ReadDocuments reports whether PDF and office documents are read, by Reading.
	ReadDocuments bool
	Reading       documents.Settings
	// Browser contains the settings of the browser, if a Fetch renders pages.
	Browser render.Settings
	// BrowserAt is the position of the Browser element, or At if it is absent.
	BrowserAt  actionrules.Position
	Durability store.Durability
	// Push has at least one target; their names are unique.
	Push []Push

	// Elements for warnings, in the order of their settings.
	throttles, fetches, fields, mains, chunked []choice
	// ages are Refresh elements with ages, refreshed are the others with a condition.
	ages, refreshed []choice
	sources         []actionrules.Position
	converters      []actionrules.Position
}
