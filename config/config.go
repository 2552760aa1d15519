package config

import (
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
)

// File is a configuration without errors.
type File struct {
	// Crawlers has at least one; their names are unique.
	Crawlers []Crawler
	// Notify are who is told of trouble, each once.
	Notify []Notify
}

// Crawler is one crawl. The fields are the attributes of <Crawler> unless they
// say otherwise; docs/configuration.md has meaning, range and default of each.
type Crawler struct {
	Name string
	At   actionrules.Position

	Threads               int
	Aggressive            bool
	Throttle              time.Duration // with sleepAfterLoadMS
	MaxConnectionsPerHost int           // counts with Aggressive only
	PerAddress            bool
	MaxRequestsPerS       int   // of the whole crawl; 0 is no limit
	MaxBytesPerS          int64 // likewise
	// Throttles are in the order of the file: of those that match a URL, the first
	// counts.
	Throttles       []Throttle
	IgnoreRobotsTxt bool
	OriginalRobots  bool // robots="original"

	// Rules are the roots, the rules and the start state; Engine is the same,
	// compiled.
	Rules  actionrules.RuleSet
	Engine *actionrules.Engine
	// Written says which of defaultAccept, defaultIndex and defaultFollow stand in
	// the file. Of those that do not, Rules have what the crawl space makes of them.
	Written struct{ Accept, Index, Follow bool }
	// Space are the gates before the rules, with the contents of the files that they
	// name; Gates are the same, compiled for the roots in the file.
	Space crawlspace.Settings
	Gates *crawlspace.Space
	// Traps are asked of new links behind all else; nil is off.
	Traps *crawlspace.TrapSettings
	// RejectList is read again while the crawl goes on; Space has its first content.
	RejectList RejectList

	IndexRedirectSources  bool
	LinkGraph             bool
	DisableConditionalGet bool
	SmartRefresh          bool
	SmartRefreshMinAge    time.Duration
	SmartRefreshMaxAge    time.Duration
	PushUnchanged         bool
	MinimumAged           time.Duration // 0 is off; then SmartRefresh is false
	SitemapHints          bool
	Refreshes             []Refresh
	// URLSources are the Sitemap, Feed and XMLDocuments elements, each URL once.
	URLSources []URLSource
	Sitemaps   Sitemaps

	ErrorPolicy        ErrorPolicy
	MaxTemporaryErrors int
	TemporaryErrorMin  time.Duration
	ErrorRefresh       time.Duration // SmartRefreshMaxAge unless written
	ForgetDeleted      bool
	Brake              Brake
	Durability         Durability

	UserAgent      string // "" is the program's own
	RobotsAgent    string
	From           string
	MaxBodyBytes   int64
	MaxPDFBytes    int64
	Documents      Documents
	MaxRedirects   int
	Timeouts       Timeouts
	EmbeddedLinks  bool // of images and the like, and of forms
	IgnoreNofollow bool
	IgnoreNoindex  bool
	EnableCookies  bool
	// Fetches are in the order of the file: of those that match a URL, the first
	// counts. The one that the attribute fetcher names is the last and matches all.
	Fetches []Fetch
	// DenyPrivate is private="deny" of Addresses.
	DenyPrivate bool

	NearDuplicates bool // nearDuplicateDetector
	DetectPatterns bool // patternsDetector
	Collapse       bool // enableSimpleSiteCollapsing
	CollapseDepth  int  // simpleSiteCollapsingDepth
	// Remove are elements whose text is left out of pages, as extract.NewRemoval takes
	// them: RemoveElements.
	Remove []string
	// Mapping is that of metas; nil where they keep their names.
	Mapping *Mapping

	// Weights are those of the six sources, by their numbers: user, redir, index,
	// index_follow, follow, refresh. 0 switches a source off.
	Weights [6]int

	// Push has at least one target; their names are unique.
	Push []Push
	// CrawlLog is the file of a line per URL that was asked for, "" for none.
	CrawlLog       string
	OutboxMaxBytes int64
}

// Documents is how PDF and office documents are read.
type Documents struct {
	On        bool
	Workers   int // processes at once
	Timeout   time.Duration
	MaxMemory int64 // of one process, in bytes
}

// Brake has deletions rest before they leave, and holds those that are suspiciously many:
// of the whole index no more leave within Window than the larger of Min and Percent.
type Brake struct {
	On      bool
	Rest    time.Duration // how long a deletion rests at least
	Min     int
	Percent int // of the indexed documents, 0 to 100
	Window  time.Duration
}

// Timeouts bound the stages of one request.
type Timeouts struct {
	Connect   time.Duration // DNS and TCP
	TLS       time.Duration
	FirstByte time.Duration
	Idle      time.Duration // between two pieces of the body
	Download  time.Duration // the whole request
}

// ErrorPolicy says which failures delete a document.
type ErrorPolicy uint8

// The policies; CloudView is the default.
const (
	CloudView ErrorPolicy = iota
	Cautious              // 500, 502, 503, 504 and TLS errors are temporary, too
	Smartsite             // any failure deletes
)

// Durability says what a commit survives.
type Durability uint8

// The durabilities; Sync, the default, survives a power loss.
const (
	Sync Durability = iota
	OS
)

// Push is a target that gets documents and deletions. Exactly one of File, PAPI,
// Elastic, Solr, Funnelback and Webhook is set, and Server for all but File.
type Push struct {
	Name   string
	Kind   string
	Source string // this source's documents only; "" is all
	// Content asks for the page bytes.
	Content    bool
	File       *FilePush
	Server     *PushServer
	PAPI       *PAPIPush
	Elastic    *ElasticPush
	Solr       *SolrPush
	Funnelback *FunnelbackPush
	Webhook    *WebhookPush
	At         actionrules.Position
}

// FilePush writes JSON Lines into a folder.
type FilePush struct {
	// Dir is absolute or relative to the working folder; "" is out in the data
	// directory.
	Dir         string
	RotateBytes int64
}
