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
