package config

// contentElements say what becomes of a page that was read.
func contentElements() []Element {
	crawler := []string{"Crawler"}
	return []Element{
		{Name: "RemoveElements", Parents: crawler, Once: true, Rereads: true, Attributes: []Attribute{
			text("names", String, "header,footer", "Elements whose text is left out, separated by commas."),
			text("classes", String, "noindex", "Classes of elements whose text is left out."),
			text("selectors", String, "", "More of them, each written as name, name.class, .class, #id or name#id."),
		}, Doc: "Parts of pages that are not indexed; their links are still found. Page bytes are pushed without them, too."},
		{Name: "MetadataMapping", Parents: crawler, Once: true, Rereads: true, Attributes: []Attribute{
			boolean("keepUnmapped", "false", "Whether metas that no Map names pass under their own names; description, author, date, keywords and what documents that are no pages say of themselves, always do."),
		}, Doc: "Renames the metas of pages; those of rules, roots and the crawl itself stay as they are."},
		{Name: "Map", Parents: []string{"MetadataMapping"}, Attributes: []Attribute{
			required("from", String, "Name or property of the meta in the page, in any case."),
			{Name: "to", Required: true, MayBeEmpty: true, Doc: "Name in the document; empty drops the meta. Several may feed one name."},
			text("join", String, "", "Stands between several values, which become one; without it they stay several."),
			text("default", String, "", "The value of pages that have none."),
		}, Doc: "Where the values of one meta go."},
		{Name: "MapHeader", Parents: []string{"MetadataMapping"}, Attributes: []Attribute{
			required("field", HeaderValue, "Field of the answer's header, such as Content-Language."),
			required("to", String, "Name in the document."),
			text("join", String, "", "As in Map."),
			text("default", String, "", "As in Map."),
		}, Doc: "Makes metas of a field of the answer's header."},
	}
}

// sourceElements are further sources of URLs.
func sourceElements() []Element {
	crawler := []string{"Crawler"}
	return []Element{
		{Name: "Sitemap", Parents: crawler, Attributes: []Attribute{
			required("url", HTTPURL, "Where the sitemap is: urlset, index, list of URLs or feed, gzip or not."),
		}, Doc: "A sitemap that robots.txt does not name; its entries are links."},
		{Name: "Feed", Parents: crawler, Attributes: []Attribute{
			required("url", HTTPURL, "Where the feed is."),
			boolean("indexItems", "false", "Whether its items are the documents; their pages are not fetched then."),
		}, Doc: "An RSS or Atom feed, the items of which are links."},
		{Name: "XMLDocuments", Parents: crawler, Attributes: []Attribute{
			required("url", HTTPURL, "Where the file is."),
			required("path", String, "Elements that are documents, from the root on, such as /catalog/book, or //book at any depth."),
			required("link", String, "Path inside of one to its URL, such as link, or @href."),
			{Name: "title", Default: "title", NotEmpty: true, Doc: "Path to its title."},
			{Name: "text", Default: ".", NotEmpty: true, Doc: "Path to its text, or HTML; by default all text of the element."},
			{Name: "date", NotEmpty: true, Doc: "Path to its date, which becomes the meta date."},
			boolean("html", "false", "Whether its text is HTML."),
		}, Doc: "An XML file with one document an element; what is gone from the file is deleted."},
		{Name: "XMLMeta", Parents: []string{"XMLDocuments"}, Attributes: []Attribute{
			required("name", String, "Name of the meta; several may have the same one."),
			required("path", String, "Path inside of the element to its values."),
		}, Doc: "A meta of the documents of an XML file."},
	}
}

// sitemapAttributes are those of Crawler about all sitemaps.
func sitemapAttributes() []Attribute {
	return []Attribute{
		boolean("crawlSitemaps", "true", "Reads the sitemaps that robots.txt names.").into(func(c *Crawler) any { return &c.CrawlSitemaps }),
		ranged("sitemapMaxBytes", Bytes, "52428800", 1024, 52_428_800, "Largest sitemap that is read, after decompression; the rest is cut off.").into(func(c *Crawler) any { return &c.SitemapMaxBytes }),
		ranged("sitemapMaxLinks", Int, "50000", 1, 50_000, "Most entries of one sitemap or feed that are read.").into(func(c *Crawler) any { return &c.SitemapMaxLinks }),
		ranged("sitemapMaxPerHost", Int, "10000", 1, 1_000_000_000, "Most sitemaps of a scheme, host and port that are known at once, of those that robots.txt and sitemap indexes name; what is beyond is told in the log.").into(func(c *Crawler) any { return &c.SitemapMaxPerHost }),
		boolean("sitemapHints", "true", "Whether lastmod of sitemaps makes documents due that have changed since they were fetched.").into(func(c *Crawler) any { return &c.Frontier.SitemapHints }),
	}
}
