package config

// contentElements returns settings for page content.
func contentElements() []Element {
	crawler := []string{"Crawler"}
	return []Element{
		converterElement(),
		{Name: "RemoveElements", Parents: crawler, Once: true, Rereads: true, Attributes: []Attribute{
			text("names", String, "header,footer", "Elements whose text is removed, separated by commas."),
			text("classes", String, "noindex", "Classes of elements whose text is removed."),
			text("selectors", String, "", "Further elements, as name, name.class, .class, #id or name#id."),
		}, Doc: "Parts of pages that are neither indexed nor pushed; their links are still found."},
		{Name: "Field", Key: "PageField", Parents: crawler, Rereads: true, Attributes: []Attribute{
			required("name", String, "Name of the meta in documents. Of several Fields with one name, the first that finds a value counts."),
			required("select", Selector, "What to extract: css:, xpath:, jsonld:, meta: or header:, then a selector, an expression, a path or a name ([fields](fields.md)); or content: and a form, for the whole page as text, Markdown or clean HTML ([forms of content](content.md))."),
			{Name: "attribute", NotEmpty: true, Doc: "Attribute of the selected elements to read instead of their text; for css and xpath."},
			boolean("multiple", "false", "Whether all values are taken; otherwise the first."),
			{Name: "split", NotEmpty: true,
				Doc: "Separator at which values are split into several, such as a comma. All values are taken then."},
			ranged("maxBytes", Bytes, "1048576", 1024, 4*giB/1024, "Maximum length with content:; the rest is cut off."),
		}, Doc: "Extracts a value from the pages that its condition matches, or from all, as a meta of their documents."},
		{Name: "MainContent", Parents: crawler, Rereads: true,
			Doc: "Indexes only the [main content](fields.md#main-content) of the pages that its condition matches, or of all, without menus and side columns."},
		{Name: "Chunks", Parents: crawler, Rereads: true, Attributes: []Attribute{
			ranged("words", Int, "200", 20, 2000, "Maximum number of words of a chunk."),
		}, Doc: "Divides the content of the pages that its condition matches, or of all, into [chunks](content.md#chunks) " +
			"by its headings. If several match, the first one counts."},
		{Name: "MetadataMapping", Parents: crawler, Once: true, Rereads: true, Attributes: []Attribute{
			boolean("keepUnmapped", "false", "Whether metas that no Map names keep their own names. Description, author, date and keywords, and the properties of PDF and office documents, are always kept."),
		}, Doc: "Renames the metas of pages; those of rules, roots and the crawl itself do not change."},
		{Name: "Map", Parents: []string{"MetadataMapping"}, Attributes: []Attribute{
			required("from", String, "Name or property of the meta in the page, in any case."),
			{Name: "to", Required: true, MayBeEmpty: true, Doc: "Name in the document; empty drops the meta. Several metas may go into one name."},
			text("join", String, "", "Joins several values into one with this separator; if absent, they stay separate."),
			text("default", String, "", "Value for pages that have none."),
		}, Doc: "Renames, joins or drops one meta."},
		{Name: "MapHeader", Parents: []string{"MetadataMapping"}, Attributes: []Attribute{
			required("field", HeaderValue, "Name of the response header, such as Content-Language."),
			required("to", String, "Name in the document."),
			text("join", String, "", "As in Map."),
			text("default", String, "", "As in Map."),
		}, Doc: "Turns a response header into a meta."},
	}
}

func converterElement() Element {
	return Element{Name: "Converter", Parents: []string{"Crawler"}, Rereads: true, Attributes: []Attribute{
		required("mediaType", String, "Media type that it reads, such as image/tiff, or image/* for all images."),
		{Name: "command", Type: Command, Required: true, Doc: "Absolute path of a program and its arguments, separated by spaces. No shell is involved. {file} stands for the file with the document; without it, the document is the program's standard input."},
		{Name: "when", Type: Enum, Default: "always", Values: []string{"always", "no-text"},
			Doc: "Whether it reads all documents of the type in place of Sextant, or only those in which Sextant finds no text."},
		{Name: "output", Type: Enum, Default: "text", Values: []string{"text", "html"}, Doc: "Format of the program's output, in UTF-8."},
		ranged("timeoutS", Seconds, "60", 1, 3600, "Time for one document, after which the program and its children are killed."),
		ranged("maxMemoryMB", Int, "1024", 16, 65_536, "Memory of each of its processes, in MiB."),
		ranged("maxOutputBytes", Bytes, "10485760", 1024, giB, "Maximum output that is read; the rest is cut off."),
	}, Doc: "An external program that reads the documents of a media type, such as one for OCR. If several match, the first one counts. A configuration sent over the network can name only programs that the file on the machine names."}
}

// sourceElements returns further sources of URLs.
func sourceElements() []Element {
	crawler := []string{"Crawler"}
	return []Element{
		{Name: "Sitemap", Parents: crawler, Attributes: []Attribute{
			required("url", HTTPURL, "URL of a urlset, sitemap index, list of URLs or feed, gzip or not."),
		}, Doc: "A sitemap that robots.txt does not name; its entries are links."},
		{Name: "Feed", Parents: crawler, Attributes: []Attribute{
			required("url", HTTPURL, "URL of the feed."),
			boolean("indexItems", "false", "Whether the items themselves are the documents; then their pages are not fetched."),
		}, Doc: "An RSS or Atom feed; its items are links."},
		{Name: "XMLDocuments", Parents: crawler, Attributes: []Attribute{
			required("url", HTTPURL, "URL of the file."),
			required("path", String, "Path of the elements that are documents, such as /catalog/book, or //book at any depth."),
			required("link", String, "Path inside the element to the document's URL, such as link or @href."),
			{Name: "title", Default: "title", NotEmpty: true, Doc: "Path to its title."},
			{Name: "text", Default: ".", NotEmpty: true, Doc: "Path to its text or HTML; by default all text of the element."},
			{Name: "date", NotEmpty: true, Doc: "Path to its date, which becomes the meta date."},
			boolean("html", "false", "Whether its text is HTML."),
		}, Doc: "An XML file in which each element of a path is a document. A document that disappears from the file is deleted."},
		{Name: "XMLMeta", Parents: []string{"XMLDocuments"}, Attributes: []Attribute{
			required("name", String, "Name of the meta; several may have the same one."),
			required("path", String, "Path inside the element to its values."),
		}, Doc: "A meta of the documents of an XML file."},
	}
}

// sitemapAttributes returns the attributes of Crawler about all sitemaps.
func sitemapAttributes() []Attribute {
	return []Attribute{
		boolean("crawlSitemaps", "true", "Whether to read the sitemaps that robots.txt names.").into(func(c *Crawler) any { return &c.CrawlSitemaps }),
		ranged("sitemapMaxBytes", Bytes, "52428800", 1024, 52_428_800, "Maximum size of a sitemap after decompression; the rest is cut off.").into(func(c *Crawler) any { return &c.SitemapMaxBytes }),
		ranged("sitemapMaxLinks", Int, "50000", 1, 50_000, "Maximum number of entries read from one sitemap or feed.").into(func(c *Crawler) any { return &c.SitemapMaxLinks }),
		ranged("sitemapMaxPerHost", Int, "10000", 1, 1_000_000_000, "Maximum number of sitemaps of a scheme, host and port that robots.txt and sitemap indexes can add; the log reports any beyond.").into(func(c *Crawler) any { return &c.SitemapMaxPerHost }),
		boolean("sitemapHints", "true", "Whether a document is due for refresh if lastmod in a sitemap is later than its last fetch.").into(func(c *Crawler) any { return &c.Frontier.SitemapHints }),
	}
}
