package config

// sourceElements are further sources of URLs.
func sourceElements() []Element {
	crawler := []string{"Crawler"}
	return append([]Element{
		{Name: "Sitemap", Parents: crawler, Attributes: []Attribute{
			required("url", HTTPURL, "Where the sitemap is: urlset, index, list of URLs or feed, gzip or not."),
		}, Doc: "A sitemap that robots.txt does not name; its entries are links."},
		{Name: "Feed", Parents: crawler, Attributes: []Attribute{
			required("url", HTTPURL, "Where the feed is."),
			boolean("indexItems", "false", "Whether its items are the documents; their pages are not fetched then."),
		}, Doc: "An RSS or Atom feed, the items of which are links."},
	}, refuseAll([]Element{
		{Name: "XMLDocuments", Parents: crawler, Attributes: []Attribute{
			required("url", String, "Where the file is."),
			required("path", String, "Elements that are documents, such as //item."),
		}, Doc: "An XML file with one document an element."},
	})...)
}

func refuseAll(elements []Element) []Element {
	for i := range elements {
		elements[i].Status = Refused
	}
	return elements
}

// sitemapAttributes are those of Crawler about all sitemaps.
func sitemapAttributes() []Attribute {
	return []Attribute{
		boolean("crawlSitemaps", "true", "Reads the sitemaps that robots.txt names."),
		ranged("sitemapMaxBytes", Bytes, "52428800", 1024, 52_428_800, "Largest sitemap that is read, after decompression; the rest is cut off."),
		ranged("sitemapMaxLinks", Int, "50000", 1, 50_000, "Most entries of one sitemap or feed that are read."),
		boolean("sitemapHints", "true", "Whether lastmod of sitemaps makes documents due that have changed since they were fetched."),
	}
}
