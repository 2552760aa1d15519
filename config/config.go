package config

import (
	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// File is a configuration without errors.
type File struct {
	// Crawlers has at least one; their names are unique.
	Crawlers []Crawler
	// Notify are who is told of trouble, each once.
	Notify []Notify
}

// Crawler is one crawl: the settings of the packages that obey them, filled by the rows of
// the table (Attribute.To), and what is made of them besides. docs/configuration.md has
// meaning, range and default of each. A UserAgent that is empty is the program's own.
type Crawler struct {
	policy.Settings
	At actionrules.Position

	// Engine is Rules, compiled; Gates is Space, compiled for the roots in the file.
	Engine *actionrules.Engine
	Gates  *crawlspace.Space
	// Written says which of defaultAccept, defaultIndex and defaultFollow stand in
	// the file. Of those that do not, Rules have what the crawl space makes of them.
	Written struct{ Accept, Index, Follow bool }

	// ReadDocuments reports whether PDF and office documents are read, by Reading.
	ReadDocuments bool
	Reading       documents.Settings
	// Browser renders pages, where a Fetch says so.
	Browser render.Settings
	// BrowserAt is where that is written, At where it is not.
	BrowserAt  actionrules.Position
	Durability badgerstore.Durability
	// Push has at least one target; their names are unique.
	Push []Push

	// What warnings need of elements, in the order of the settings that they became.
	throttles, fetches, fields, mains []choice
	// ages are Refresh elements with ages, refreshed the others with a condition.
	ages, refreshed []choice
	sources         []actionrules.Position
	converters      []actionrules.Position
}
