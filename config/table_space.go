package config

// gateElements are the gates before the rules.
func gateElements() []Element {
	crawler := []string{"Crawler"}
	return []Element{
		{Name: "CrawlSpace", Parents: crawler, Once: true, Attributes: []Attribute{
			text("rules", Path, "", "File of crawl-space rules; crawl.rules beside this file where absent, if the file has one Crawler."),
			text("global", Path, "", "File of global crawl-space rules, which tell URLs that another crawler has; global.rules beside this file where absent."),
			{Name: "hostCase", Type: Enum, Default: "exact", Values: []string{"exact", "fold"}, Doc: "Whether domain rules tell hosts apart by the case in which links write them."},
			ranged("maxPathDepth", Int, "", 0, 1000, "Most slashes in the path after the first; no limit where absent."),
			ranged("maxLinkDepth", Int, "", 0, 1_000_000, "Most links from a start URL; no limit where absent."),
		}, Doc: "Crawl-space rules by domain, prefix and address, and depth limits."},
		{Name: "Patterns", Parents: crawler, Once: true, Attributes: []Attribute{
			text("include", String, "", "Substrings separated by commas of which a URL must contain one, or regexp: and an expression."),
			text("exclude", String, "", "Substrings of which a URL must contain none, or regexp: and an expression."),
		}, Doc: "Include and exclude patterns."},
		{Name: "RejectList", Parents: crawler, Once: true, Attributes: []Attribute{
			required("file", Path, "File with one pattern a line."),
			ranged("checkpointS", Seconds, "60", 1, day, "How often it is read again."),
		}, Doc: "Patterns that are excluded while the crawl goes on."},
		{Name: "Kill", Parents: crawler, Once: true, Attributes: []Attribute{
			text("exact", Path, "", "File with one URL a line."),
			text("patterns", Path, "", "File with one substring or regexp: a line."),
		}, Doc: "URLs that are crawled and followed and kept out of the index."},
		{Name: "StartURLMatch", Parents: crawler, Once: true, Attributes: []Attribute{
			boolean("host", "true", "A URL must share the host of a start URL."),
			boolean("scheme", "true", "A URL must share its scheme, too."),
		}, Doc: "Keeps the crawl on the hosts of its start URLs."},
		{Name: "Discovery", Parents: crawler, Once: true, Attributes: []Attribute{
			boolean("enabled", "true", "Whether links are followed at all."),
			ranged("intervalS", Seconds, "", 1, year, "Time from the end of one round over the start URLs to the begin of the next, in which they are asked for again; one round only where absent."),
		}, Doc: "Whether links are followed; if not, only start URLs are visited, and what redirects lead to."},
		{Name: "MustContain", Parents: crawler, Text: true, Doc: "A substring; a URL must contain one of them."},
		{Name: "MustNotContain", Parents: crawler, Text: true, Doc: "A substring; a URL must contain none of them."},
		{Name: "CanonicalURL", Parents: crawler, Once: true, Attributes: []Attribute{
			boolean("dropWWW", "false", "Whether a leading www. of the host is dropped. Only for sites that answer without it and do not redirect back."),
			boolean("dropSessionIDs", "false", "Whether ;jsessionid= in the path and the parameters jsessionid, PHPSESSID, sid and aspsessionid* are dropped."),
			boolean("dropTracking", "false", "Whether the parameters utm_*, gclid, fbclid, mc_cid and mc_eid are dropped."),
			boolean("sortQuery", "false", "Whether query parameters are put into the order of their names."),
		}, Doc: "What is dropped from every URL, so that several spellings are one page. A change gives stored URLs their new names: their documents are deleted under the old one and pushed under the new."},
		{Name: "QueryFilter", Parents: crawler, Once: true, Attributes: []Attribute{
			text("keep", String, "", "Query parameters that stay, separated by commas; id always stays."),
		}, Doc: "Drops all other query parameters from URLs."},
		{Name: "IgnoredExtensions", Parents: crawler, Once: true, Attributes: []Attribute{
			text("list", String, "", "Replaces the default list (7z, asf, avi ... zip); separated by , or ;."),
			text("extra", String, "", "Added to the list."),
			text("always", String, "", "Added to the list."),
		}, Doc: "URLs whose path ends in one of these extensions are not visited."},
		{Name: "MimeTypes", Parents: crawler, Once: true, Doc: "MIME types that mimeTypesMode includes or excludes."},
		{Name: "MimeType", Parents: []string{"MimeTypes", "IgnoredExtensions"}, Attributes: []Attribute{
			required("type", String, "MIME type, such as video/mp4."),
			text("extension", String, "", "The extension that belongs to it; required in IgnoredExtensions."),
		}, Doc: "A MIME type."},
		{Name: "Traps", Parents: crawler, Once: true, Attributes: []Attribute{
			ranged("maxRepeats", Int, "3", 1, 1000, "How often one segment may stand in a path, or one pair of name and value in a query."),
			ranged("maxURLsPerPattern", Int, "10000", 1, 1_000_000_000, "Budget of URLs that differ in digits alone, as those of a calendar do."),
			ranged("maxURLsPerHost", Int, "", 1, 1_000_000_000, "Budget of known URLs for a scheme, host and port; no limit where absent. With it all known URLs are counted before the crawl begins."),
		}, Doc: "Refuses new links that look like endless loops and calendars; known URLs, start URLs and submitted ones are not asked about. Off without it."},
	}
}
