package config

import (
	"slices"
)

// The attribute of CrawlConfig that makes unknown settings be ignored.
const (
	unknownAttributeName = "unknown"
	unknownWarn          = "warn"
)

const (
	day  = 86_400
	year = 366 * day
	giB  = 1 << 30
)

// frameElements returns CrawlConfig, Crawler, and the elements for roots and weights.
func frameElements() []Element {
	own := noEffect("crawlerServer", "connectorServer", "buildGroup", "documentsType", "dataModel",
		"enableConvertProcessor", "verbose", "version")
	own = append(own, Attribute{Name: "storeTextOnly", Status: NoEffect, InsteadOf: "false", Instead: "write content=\"true\" in <Push> for the bytes of pages, too",
		Doc: "CloudView's own: accepted, without effect; instead of false write content=\"true\" in Push."})
	return []Element{
		{Name: "CrawlConfig", Attributes: append([]Attribute{{
			Name: unknownAttributeName, Type: Enum, Default: "error", Values: []string{"error", unknownWarn},
			Doc: "Whether an unknown element or attribute in CloudView's namespaces, such as one of a newer release, is an error or a warning. Unknown conditions in rules are always errors.",
		}}, own...),
			Doc: "The outermost element."},
		{Name: "CustomCrawlConfig", Parents: []string{"CrawlConfig", "Crawler"}, Open: true, Status: NoEffect,
			Doc: "CloudView's own: accepted with everything inside it, without effect."},
		{Name: "Crawler", Parents: []string{"CrawlConfig"}, Needed: true,
			Attributes: slices.Concat(crawlerAttributes(), politenessAttributes(), failureAttributes(),
				fetchAttributes(), sitemapAttributes(), readAttributes(), own),
			Doc: "One crawl with its own roots, rules and store; a file has one or several."},
		{Name: "Root", Parents: []string{"Crawler"}, Attributes: []Attribute{
			required("url", String, "Start URL, absolute, http or https."),
			boolean("site", "true", "Whether all URLs of the root's site start accepted, indexed and followed."),
			ranged("priority", Int, "0", -2, 2, "Added to the number of the fifo: -2 is most urgent, 2 least."),
			text("group", String, "default", "Label for refresh, and for checks of Rules of the same group; it does not isolate them."),
			text("kvs", KeyValues, "", "Metas of the documents of the root's site, as k1=v1;k2=v2; at most 4,096 bytes."),
		}, Doc: "A start URL."},
		{Name: "Roots", Parents: []string{"Crawler"}, Attributes: []Attribute{
			required("file", Path, "File with one start URL a line; empty lines and lines that begin with # are skipped."),
		}, Doc: "Start URLs from a file, like Roots without further attributes."},
		{Name: "CrawlSchedulerConfig", Parents: []string{"Crawler"}, Once: true,
			Doc: "The weights of the frontier's six fifos."},
		{Name: "Fifo", Parents: []string{"CrawlSchedulerConfig"}, Attributes: []Attribute{
			{Name: "name", Type: Enum, Required: true, Unique: true, Values: sourceNames(), Doc: "The fifo."},
			{Name: "weight", Type: Int, Required: true, Max: 1_000_000, Doc: "Its share of the picks; 0 turns it off."},
		}, Doc: "The weight of one fifo; the others keep their defaults (10000, 2000, 1000, 100, 10, 1)."},
	}
}

// sourceNames returns the six URL sources by their numbers.
func sourceNames() []string {
	return []string{"user", "redir", "index", "index_follow", "follow", "refresh"}
}

func crawlerAttributes() []Attribute {
	return []Attribute{
		unique(required("name", String, "Name of the Crawler, unique in the file. It also names a folder: no slashes.")),
		ranged("nthreads", Int, "1", 1, 10_000, "Number of URLs fetched concurrently.").into(func(c *Crawler) any { return &c.Workers }),
		boolean("defaultAccept", "false", "Whether a URL outside all sites starts as accepted."),
		boolean("defaultIndex", "false", "Whether a URL outside all sites starts as indexed."),
		boolean("defaultFollow", "false", "Whether a URL outside all sites starts as followed."),
		boolean("defaultFollowRoots", "true", "Whether roots start as followed.").into(func(c *Crawler) any { return &c.Rules.DefaultFollowRoots }),
		boolean("indexRedirectSources", "true", "Whether the source of a redirect becomes an alias meta of its target.").into(func(c *Crawler) any { return &c.Frontier.IndexRedirectSources }),
		boolean("linkGraph", "true", "Whether links are stored, at 6 bytes each, so that `sextant report broken` and `sextant urls --links-to` can list all pages that link to a URL (reports.md).").into(func(c *Crawler) any { return &c.Frontier.LinkGraph }),
		boolean("smartRefresh", "false", "Whether documents are refetched by an estimate of how often they change.").into(func(c *Crawler) any { return &c.Frontier.SmartRefresh }),
		ranged("smartRefreshMinAgeS", Seconds, "86400", 0, 100*year, "Minimum age of a document before smart refresh.").into(func(c *Crawler) any { return &c.Frontier.MinAge }),
		ranged("smartRefreshMaxAgeS", Seconds, "604800", 0, 100*year, "Maximum age of a document before smart refresh.").into(func(c *Crawler) any { return &c.Frontier.MaxAge }),
		boolean("pushUnchanged", "false", "Whether documents with the same hash are pushed again.").into(func(c *Crawler) any { return &c.Frontier.PushUnchanged }),
		ranged("outboxMaxBytes", Bytes, "4294967296", 1<<20, 1<<50, "Total size of unsent documents at which the crawl waits.").into(func(c *Crawler) any { return &c.OutboxMaxBytes }),
		Attribute{Name: "durability", Type: Enum, Default: "sync", Values: []string{"sync", "os"},
			Doc: "sync: a commit survives a power failure; os: it survives only the end of the process."}.into(func(c *Crawler) any { return &c.Durability }),
		text("crawlLog", Path, "", "File that gets one line for each fetched URL; no log if empty."),
		text("fetcher", String, "", "Name of a Fetch without a condition, for all URLs that no other Fetch matches."),
		ranged("minimumAgedS", Seconds, "0", 0, 100*year, "Fixed age at which documents are refetched, in place of smartRefresh; 0: never.").into(func(c *Crawler) any { return &c.Frontier.MinimumAged }),
	}
}

func politenessAttributes() []Attribute {
	return []Attribute{
		boolean("aggressive", "false", "Removes the pause between requests to a host, and allows maxConnectionsPerHost of them at once.").into(func(c *Crawler) any { return &c.Frontier.Aggressive }),
		ranged("throttleTimeMS", Milliseconds, "2500", 0, day*1000, "Pause between the end of a request to a host and the start of the next.").into(func(c *Crawler) any { return &c.Frontier.Throttle }),
		ranged("maxConnectionsPerHost", Int, "6", 1, 1000, "Concurrent requests to a host; only with aggressive.").into(func(c *Crawler) any { return &c.Frontier.MaxConnectionsPerHost }),
		boolean("perAddress", "false", "Whether hosts that share an IP address take turns: one request at a time to an address.").into(func(c *Crawler) any { return &c.Frontier.PerAddress }),
		ranged("sleepAfterLoadMS", Milliseconds, "0", 0, day*1000, "Added to throttleTimeMS."),
		ranged("maxRequestsPerS", Int, "0", 0, 1_000_000, "Requests per second of the whole crawl; 0 is no limit.").into(func(c *Crawler) any { return &c.MaxRequestsPerS }),
		ranged("maxBytesPerS", Bytes, "0", 0, 1<<40, "Bytes per second of the whole crawl; 0 is no limit.").into(func(c *Crawler) any { return &c.MaxBytesPerS }),
		boolean("ignoreRobotsTxt", "false", "Whether to fetch URLs that robots.txt forbids: only with the owner's permission.").into(func(c *Crawler) any { return &c.IgnoreRobots }),
		Attribute{Name: "robots", Type: Enum, Default: "standard", Values: []string{"standard", "original"},
			Doc: "standard is RFC 9309; original is the 1994 text without Allow and wildcards."}.into(func(c *Crawler) any { return &c.Robots.Original }).on("original"),
		ranged("maxCrawlDelayS", Seconds, "60", 1, day, "Maximum Crawl-delay of a robots.txt; a longer one is cut to this.").into(func(c *Crawler) any { return &c.Robots.MaxDelay }),
	}
}

func failureAttributes() []Attribute {
	return []Attribute{
		Attribute{Name: "errorPolicy", Type: Enum, Default: "cloudview", Values: []string{"cloudview", "cautious", "smartsite"},
			Doc: "Which failures delete a document: cloudview follows CloudView's manual, cautious treats server and TLS errors as temporary, smartsite deletes on any failure."}.into(func(c *Crawler) any { return &c.Frontier.Policy }),
		ranged("maxTemporaryErrors", Int, "5", 1, 1000, "Number of consecutive temporary errors after which a URL counts as permanently failed.").into(func(c *Crawler) any { return &c.Frontier.MaxTemporaryErrors }),
		ranged("temporaryErrorMinS", Seconds, "86400", 0, year, "Minimum time from the first of these errors to the last.").into(func(c *Crawler) any { return &c.Frontier.TemporaryErrorMin }),
		ranged("errorRefreshS", Seconds, "", 1, 100*year, "Age at which failed documents are retried; smartRefreshMaxAgeS if absent.").into(func(c *Crawler) any { return &c.Frontier.ErrorRefresh }),
		Attribute{Name: "deletionBrake", Type: Enum, Default: "on", Values: []string{"on", "off"},
			Doc: "on: a deletion, or a text unlike the old one, waits until it is confirmed, and a large edit of the rules until you confirm it. off: all are carried out at once, and deleted pages are not soon fetched again."}.into(func(c *Crawler) any { return &c.Frontier.Deletions.Off }).on("off"),
		ranged("deletionRestS", Seconds, "60", 0, day, "Minimum time until a loss (a deletion or new text) is confirmed if it is one of few: at most two of a host's documents, or 1 %.").into(func(c *Crawler) any { return &c.Frontier.Deletions.Rest }),
		ranged("deletionConfirmS", Seconds, "86400", 1, year, "The same if it is one of some, at most 20 %; also the time between two visits that count.").into(func(c *Crawler) any { return &c.Frontier.Deletions.Confirm }),
		ranged("deletionHoldS", Seconds, "604800", 1, year, "The same if it is one of most, and the page or its site states it.").into(func(c *Crawler) any { return &c.Frontier.Deletions.Hold }),
		ranged("deletionGoneS", Seconds, "2592000", 1, 10*year, "The same if it is one of most, and no page states it. A host without a good response for so long is gone: its documents are deleted.").into(func(c *Crawler) any { return &c.Frontier.Deletions.Gone }),
		boolean("forgetDeleted", "false", "Whether a URL is forgotten when its document is deleted for an error, until a new link to it is found. Roots are never forgotten.").into(func(c *Crawler) any { return &c.Frontier.ForgetDeleted }),
	}
}

func fetchAttributes() []Attribute {
	return []Attribute{
		boolean("disableConditionalGet", "false", "Whether pages are always fetched in full, without If-None-Match and If-Modified-Since.").into(func(c *Crawler) any { return &c.Unconditional }),
		text("userAgent", HeaderValue, "", "User-Agent header, best with a contact URL; the program's own if empty.").into(func(c *Crawler) any { return &c.Fetcher.UserAgent }),
		text("robotsAgent", Product, "Sextant", "Product token to look for in robots.txt, robots metas and X-Robots-Tag.").into(func(c *Crawler) any { return &c.RobotsAgent }),
		text("from", HeaderValue, "", "From header: an e-mail address of the operator.").into(func(c *Crawler) any { return &c.Fetcher.From }),
		ranged("maxBodyBytes", Bytes, "10485760", 1024, giB, "Maximum size of a body after decompression; the rest is cut off.").into(func(c *Crawler) any { return &c.Fetcher.MaxBodyBytes }),
		ranged("maxPdfBytes", Bytes, "33554432", 1024, giB, "The same for a PDF file, in place of maxBodyBytes; a truncated file can seldom be read.").into(func(c *Crawler) any { return &c.MaxPDFBytes }),
		ranged("maxRedirects", Int, "10", 0, 100, "Maximum number of consecutive redirects.").into(func(c *Crawler) any { return &c.MaxRedirects }),
		ranged("connectTimeoutMS", Milliseconds, "10000", 1, 3_600_000, "Time to connect, DNS included.").into(func(c *Crawler) any { return &c.Fetcher.ConnectTimeout }),
		ranged("tlsTimeoutMS", Milliseconds, "10000", 1, 3_600_000, "Time for the TLS handshake.").into(func(c *Crawler) any { return &c.Fetcher.TLSTimeout }),
		ranged("firstByteTimeoutMS", Milliseconds, "30000", 1, 3_600_000, "Time from the request to the response's header.").into(func(c *Crawler) any { return &c.Fetcher.FirstByteTimeout }),
		ranged("idleTimeoutMS", Milliseconds, "30000", 1, 3_600_000, "Time without a byte of the body.").into(func(c *Crawler) any { return &c.Fetcher.IdleTimeout }),
		ranged("downloadTimeoutMS", Milliseconds, "300000", 1, day*1000, "Time for the whole request.").into(func(c *Crawler) any { return &c.Fetcher.DownloadTimeout }),
		boolean("enableCookies", "false", "Whether cookies are kept for all sites, until the process ends unless keepCookies is set. With auth they always are.").into(func(c *Crawler) any { return &c.EnableCookies }),
		boolean("keepCookies", "false", "Whether the cookies of enableCookies survive a restart, in a file of the data directory that only the service reads.").into(func(c *Crawler) any { return &c.KeepCookies }),
	}
}

func readAttributes() []Attribute {
	return []Attribute{
		boolean("readDocuments", "true", "Whether PDF, docx, xlsx, pptx, odt, ods, odp, rtf, doc, xls and ppt are read; otherwise they are indexed by URL and metas alone.").into(func(c *Crawler) any { return &c.ReadDocuments }),
		ranged("documentWorkers", Int, "1", 1, 64, "Number of processes that read such documents; a change takes effect after a restart.").into(func(c *Crawler) any { return &c.Reading.Workers }),
		ranged("documentTimeoutS", Seconds, "30", 1, 3600, "CPU time to read one such document; the elapsed time may be ten times that.").into(func(c *Crawler) any { return &c.Reading.Timeout }),
		ranged("documentMaxMemoryMB", Int, "512", 384, 65_536, "Memory of one such process, in MiB.").into(func(c *Crawler) any { return &c.Reading.MaxMemory }),
		boolean("embeddedLinks", "false", "Whether images, media and other objects in pages, and forms with method GET, count as links.").into(func(c *Crawler) any { return &c.EmbeddedLinks }).rereads(),
		boolean("ignoreNofollow", "false", "Ignores nofollow in pages, links and X-Robots-Tag.").into(func(c *Crawler) any { return &c.IgnoreNoFollow }).rereads(),
		boolean("ignoreNoindex", "false", "Ignores noindex in pages and X-Robots-Tag.").into(func(c *Crawler) any { return &c.IgnoreNoIndex }).rereads(),
		{Name: "mimeTypesMode", Type: Enum, Default: "exclude", Values: []string{"exclude", "include"},
			Doc: "Whether MimeTypes lists the types to leave out (exclude) or the only ones to index (include)."},
		boolean("nearDuplicateDetector", "true", "Whether a document is left out if another one of its source has the same or nearly the same content; takes 40 bytes of memory and 127 on disk per document.").into(func(c *Crawler) any { return &c.NearDuplicates }),
		boolean("patternsDetector", "true", "Whether to learn which parameters (such as session ids) and paths (such as calendars) lead to duplicates, and to follow no such links after 100; needs nearDuplicateDetector.").into(func(c *Crawler) any { return &c.DetectPatterns }),
		boolean("enableSimpleSiteCollapsing", "false", "Gives documents the site's URL as meta collapse_key.").into(func(c *Crawler) any { return &c.Collapse }).rereads(),
		boolean("detectLanguage", "false", "Finds the [language](fields.md#language) of documents in their text "+
			"if their page declares none, or plainly a wrong one.").into(func(c *Crawler) any { return &c.DetectLanguage }).rereads(),
		ranged("simpleSiteCollapsingDepth", Int, "0", 0, 1000, "Number of path segments that belong to the site's URL.").into(func(c *Crawler) any { return &c.CollapseDepth }).rereads(),
	}
}

// crawlElements returns the targets, and when and how fast pages are requested.
func crawlElements() []Element {
	return append(pushElements(), []Element{
		{Name: "Throttle", Parents: []string{"Crawler"}, Attributes: []Attribute{
			ranged("throttleTimeMS", Milliseconds, "", 0, day*1000, "Pause for the hosts of these URLs, in place of the Crawler's; sleepAfterLoadMS is added to it."),
			ranged("maxConnectionsPerHost", Int, "", 1, 1000, "Concurrent requests to such a host if there is no pause, that is with aggressive or throttleTimeMS 0."),
			text("hours", HourRanges, "", "Hours of the day, in local time, in which requests are allowed, such as 22-6, or 22:30-06:00,12-13, excluding the end."),
		}, Doc: "Pace for the URLs that its one condition matches. If several match, the first one counts."},
		{Name: "Refresh", Parents: []string{"Crawler"}, Attributes: []Attribute{
			{Name: "schedule", NotEmpty: true, Doc: "When, in local time: minute, hour, day of the month, month and day of the week, as in \"0 3 * * *\"; or @hourly, @daily, @weekly, @monthly, @yearly; or @every and a time of at least a minute, such as @every 90m."},
			text("group", String, "", "For a schedule: only the sites of this group's roots, and the URLs found from its roots without a site; all documents if absent."),
			boolean("smartRefresh", "false", "Whether these documents are refetched by an estimate of how often they change; true if one of the next two is written."),
			ranged("smartRefreshMinAgeS", Seconds, "", 0, 100*year, "Least age of these documents, in place of the Crawler's."),
			ranged("smartRefreshMaxAgeS", Seconds, "", 0, 100*year, "Greatest age of these documents, in place of the Crawler's."),
			ranged("minimumAgedS", Seconds, "", 0, 100*year, "Fixed age of these documents, in place of the Crawler's ages; 0: never."),
		}, Doc: "When to refetch the documents that its condition matches, or all: at fixed times, or at certain ages. A time that was missed while no service ran is made up for once. All schedules that match apply; of several ages, the first one counts."},
	}...)
}
