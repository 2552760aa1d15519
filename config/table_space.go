package config

// gateElements returns the gates before the rules.
func gateElements() []Element {
	crawler := []string{"Crawler"}
	return []Element{
		{Name: "CrawlSpace", Parents: crawler, Once: true, Attributes: []Attribute{
			text("rules", Path, "", "File of crawl-space rules; if absent, crawl.rules beside this file if that has one Crawler."),
			text("global", Path, "", "File of global crawl-space rules, for URLs that belong to another crawler; global.rules beside this file if absent."),
			{Name: "hostCase", Type: Enum, Default: "exact", Values: []string{"exact", "fold"}, Doc: "Whether domain rules compare hosts exactly as written in links, or ignore case (fold)."},
			ranged("maxPathDepth", Int, "", 0, 1000, "Maximum number of slashes in the path after the first; no limit if absent."),
			ranged("maxLinkDepth", Int, "", 0, 1_000_000, "Maximum number of links from a start URL; no limit if absent."),
		}, Doc: "Crawl-space rules by domain, prefix and address, and depth limits."},
		{Name: "Patterns", Parents: crawler, Once: true, Attributes: []Attribute{
			text("include", String, "", "Substrings, separated by commas; a URL must contain at least one. Or regexp: and an expression."),
			text("exclude", String, "", "Substrings that a URL must not contain; or regexp: and an expression."),
		}, Doc: "Include and exclude patterns."},
		{Name: "RejectList", Parents: crawler, Once: true, Attributes: []Attribute{
			required("file", Path, "File with one pattern per line."),
			ranged("checkpointS", Seconds, "60", 1, day, "How often it is read again."),
		}, Doc: "Patterns to exclude from a running crawl without changing the configuration."},
		{Name: "Kill", Parents: crawler, Once: true, Attributes: []Attribute{
			text("exact", Path, "", "File with one URL per line."),
			text("patterns", Path, "", "File with one substring, or regexp: and an expression, per line."),
		}, Doc: "URLs that are crawled and followed, but kept out of the index."},
		{Name: "StartURLMatch", Parents: crawler, Once: true, Attributes: []Attribute{
			boolean("host", "true", "A URL must share the host of a start URL."),
			boolean("scheme", "true", "A URL must also share its scheme."),
		}, Doc: "Keeps the crawl on the hosts and schemes of its start URLs."},
		{Name: "Discovery", Parents: crawler, Once: true, Attributes: []Attribute{
			boolean("enabled", "true", "Whether links are followed at all."),
			ranged("intervalS", Seconds, "", 1, year, "Time from the end of one round over start URLs, sitemaps, feeds and XML files to the start of the next; only one round if absent. With enabled=\"false\", rounds skip start URLs."),
		}, Doc: "Whether links are followed; if not, only start URLs and the targets of their redirects are visited."},
		{Name: "MustContain", Parents: crawler, Text: true, Doc: "A substring; a URL must contain one of them."},
		{Name: "MustNotContain", Parents: crawler, Text: true, Doc: "A substring; a URL must contain none of them."},
		{Name: "CanonicalURL", Parents: crawler, Once: true, Attributes: []Attribute{
			boolean("dropWWW", "false", "Whether a leading www. is removed from the host. Only for sites that work without it and do not redirect back."),
			boolean("dropSessionIDs", "false", "Whether ;jsessionid= in the path and the parameters jsessionid, PHPSESSID, sid and aspsessionid* are removed."),
			boolean("dropTracking", "false", "Whether the parameters utm_*, gclid, fbclid, mc_cid and mc_eid are removed."),
			boolean("sortQuery", "false", "Whether query parameters are sorted by name."),
		}, Doc: "Parts to remove from every URL, so that several spellings are one page. A change renames stored URLs: their documents are deleted under the old URL and pushed under the new one."},
		{Name: "QueryFilter", Parents: crawler, Once: true, Attributes: []Attribute{
			text("keep", String, "", "Query parameters to retain, separated by commas; id is always retained."),
		}, Doc: "Removes all other query parameters from URLs."},
		{Name: "IgnoredExtensions", Parents: crawler, Once: true, Attributes: []Attribute{
			text("list", String, "", "Replaces the default list (7z, asf, avi ... zip); separated by , or ;."),
			text("extra", String, "", "Added to the list."),
			text("always", String, "", "Added to the list."),
		}, Doc: "Extensions of URLs that are not visited."},
		{Name: "MimeTypes", Parents: crawler, Once: true, Doc: "MIME types that mimeTypesMode includes or excludes."},
		{Name: "MimeType", Parents: []string{"MimeTypes", "IgnoredExtensions"}, Attributes: []Attribute{
			required("type", String, "MIME type, such as video/mp4."),
			text("extension", String, "", "Its extension; required in IgnoredExtensions."),
		}, Doc: "A MIME type."},
		{Name: "Traps", Parents: crawler, Once: true, Attributes: []Attribute{
			ranged("maxRepeats", Int, "3", 1, 1000, "How often a path segment, or a pair of name and value in the query, may occur in a URL."),
			ranged("maxURLsPerPattern", Int, "10000", 1, 1_000_000_000, "Maximum number of URLs that differ only in digits, such as a calendar's."),
			ranged("maxURLsPerHost", Int, "", 1, 1_000_000_000, "Maximum number of known URLs for a scheme, host and port; no limit if absent. If set, each start counts all known URLs."),
		}, Doc: "Refuses new links that look like endless loops and calendars. It never refuses known, start or submitted URLs. Off if the element is absent."},
	}
}
