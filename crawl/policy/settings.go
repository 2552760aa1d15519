package policy

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Settings are the settings of one Crawler element, in the types of the packages that use them.
type Settings struct {
	Name string
	// Workers fetch and read pages; at least 1 (nthreads).
	Workers int
	Rules   actionrules.RuleSet
	// Space holds the gates before the rules; the zero value has none.
	Space crawlspace.Settings
	// Traps apply to new links after gates and rules; nil is off.
	Traps *crawlspace.TrapSettings
	// ReadRejectList, if not nil, reads the reject list again; a nil list is empty. It is called every RejectListEvery (60
	// s if 0), and its result applies from then on.
	ReadRejectList  func() (*crawlspace.File, error)
	RejectListEvery time.Duration
	// AddKilled adds URLs to the file of Space.KillExact on disk; nil without such a file.
	AddKilled func(urls []string) error

	IgnoreRobots   bool // ignoreRobotsTxt
	EmbeddedLinks  bool // images, media and the like, and forms of method GET
	IgnoreNoFollow bool // page and link directives
	IgnoreNoIndex  bool
	// Unconditional switches conditional GET off (disableConditionalGet).
	Unconditional bool
	// RobotsAgent is the product token for robots.txt, robots metas and X-Robots-Tag.
	RobotsAgent string
	// MaxRedirects is the longest chain of redirects that is followed.
	MaxRedirects int
	// PushContent sends the page's bytes in addition to its text.
	PushContent bool
	// NearDuplicates excludes a document from the index if another one of the same source has the same or nearly the same
	// content. Reload does not change it.
	NearDuplicates bool
	// DetectPatterns learns which URLs lead to such documents, and stops following them after a while. It needs
	// NearDuplicates. Reload does not change it.
	DetectPatterns bool
	// DetectLanguage finds the language of documents by their text.
	DetectLanguage bool
	// Collapse gives documents beyond CollapseDepth path segments the URL of their site
	// at that depth as the meta collapse_key.
	Collapse      bool
	CollapseDepth int
	// Remove lists elements whose text is removed from pages, as extract.NewRemoval accepts them.
	Remove []string
	// Mapping of metas; nil: they keep their names.
	Mapping *Mapping
	// ReadingKey identifies settings besides Rules that affect the document of a page, empty for the defaults. If it
	// changes, unchanged pages are read again.
	ReadingKey string
	// CrawlLog is the file that gets a line for each requested URL; "" for none.
	CrawlLog string
	// OutboxMaxBytes of unsent bodies make the crawl wait; 0 is no limit.
	OutboxMaxBytes int64

	// MaxRequestsPerS and MaxBytesPerS limit the whole crawl; 0 is no limit. Every request counts, including robots.txt;
	// bytes are those of bodies on the wire, before decompression.
	MaxRequestsPerS int
	MaxBytesPerS    int64
	// Rounds is the pause after a round over the start URLs and Sources before they are queued
	// again; 0: they are not. With ListsOnly it is a round over Sources alone.
	Rounds    time.Duration
	ListsOnly bool
	// Refreshes re-queue sections at set times, or set separate ages for them.
	Refreshes []Refresh

	// Fetches are the request settings for some URLs. The first that matches applies, otherwise Fetcher. robots.txt is
	// requested like its host's pages.
	Fetches []Fetch
	// EnableCookies keeps cookies for all sites without a Login.
	EnableCookies bool
	// KeepCookies stores the cookies of all sites in CookieFile, so that they survive a restart. If CookieFile is "", no
	// cookies survive, not even those of a Login.
	KeepCookies bool
	CookieFile  string
	// Documents reads PDF and office documents; nil: they are not read.
	Documents DocumentReader
	// Renderer renders the pages whose Fetch has a Render; nil only if none has.
	Renderer Renderer
	// Converters are external programs that read media types. Convert runs them; it is nil only if there are none.
	Converters []extract.Converter
	Convert    Convert
	// Inside selects the Fields to look for, by Pages; nil: no Fields.
	Inside *Inside
	Pages  PageSearcher
	// MaxPDFBytes limits bodies of PDF files in place of Fetcher's MaxBodyBytes; 0: it does not.
	MaxPDFBytes int64
	// DenyPrivate refuses private addresses that no address rule allows.
	DenyPrivate bool

	// Sources are the sitemaps and feeds that the configuration names.
	Sources []Source
	// KnownXMLFiles lists XML files that Sources contain or contained, as URLs; Stored reads it.
	KnownXMLFiles []string
	// CrawlSitemaps reads the sitemaps that robots.txt names. SitemapMaxBytes and SitemapMaxLinks limit each,
	// SitemapMaxPerHost the number of a host's sitemaps that the configuration does not name; 0 is no limit.
	CrawlSitemaps     bool
	SitemapMaxBytes   int64
	SitemapMaxLinks   int
	SitemapMaxPerHost int

	// OnlySources are the push sources that targets take, sorted, if each target takes one alone; nil: all are taken.
	OnlySources []string

	Frontier scheduler.Settings
	Fetcher  fetcher.Settings
	Robots   robots.Settings
}

// Refresh defines when the documents of a group that match a condition are refetched.
type Refresh struct {
	// Schedule requeues them; nil for none. It uses local time unless its spec names a time zone.
	Schedule cron.Schedule
	// Spec is the schedule as written. Spec, Group and Match together identify it in the store.
	Spec  string
	Group string // of roots; "" is all URLs
	// If is a condition, and Match its text as written; nil and "" select all URLs.
	If    actionrules.Condition
	Match string
	// Ages, if not nil, are theirs in place of the Crawler's; of several that match a URL the first
	// count. Match and Key are set here, and Group does not count.
	Ages *scheduler.Section
}

// Name returns the schedule's key in the store.
func (r *Refresh) Name() string {
	if r.Match == "" {
		return r.Spec + "\n" + r.Group
	}
	return r.Spec + "\n" + r.Group + "\n" + r.Match
}

// DocumentReader reads bodies other than pages: those that documents.KindOf recognises. An error is a *documents.Error,
// or that of ctx. It is called concurrently, and may block.
type DocumentReader interface {
	Read(ctx context.Context, contentType string, body []byte) (extract.Page, error)
}

// Renderer renders a page in a browser. An error is a *render.Error, or that of ctx. It is called concurrently, and may
// block.
type Renderer interface {
	Render(ctx context.Context, p render.Page) (render.Rendered, error)
}

// Convert runs an external program to read a body. Its contract is that of DocumentReader.
type Convert func(ctx context.Context, c extract.Converter, body []byte) (extract.Page, error)

// Taken reports whether a target takes documents of a push source.
func (s *Settings) Taken(source string) bool {
	return s.OnlySources == nil || slices.Contains(s.OnlySources, source)
}

// untaken names a push source that no target accepts, and the sources that targets accept.
func (s *Settings) untaken(source string) string {
	taken := make([]string, len(s.OnlySources))
	for i, name := range s.OnlySources {
		taken[i] = strconv.Quote(name)
	}
	return fmt.Sprintf("source %q: targets accept only %s", source, strings.Join(taken, ", "))
}
