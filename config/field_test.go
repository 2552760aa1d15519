package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
)

// readInside reads elements of a Crawler, each on a line of its own.
func readInside(lines ...string) (*File, Report) {
	text := "<CrawlConfig><Crawler name=\"a\" smartRefresh=\"true\"><Root url=\"http://a/\"/><Traps/>\n" + strings.Join(lines, "\n") + "</Crawler></CrawlConfig>"
	return Parse(FileName, []byte(text), Lookups{})
}

// TestPageFields: what is written of a Field and a MainContent is what is looked for.
func TestPageFields(t *testing.T) {
	file, report := readInside(
		`<Field name="price" select="css:.price"><Path val="/shop/"/></Field>`,
		`<Field name="picture" select=" xpath: //img[1]" attribute="src" multiple="true"/>`,
		`<MainContent><Path val="/news/"/></MainContent>`,
	)
	if report.Err() != nil || len(report.Warnings) > 0 {
		t.Fatal(report.Err(), report.Warnings)
	}
	in := file.Crawlers[0].Inside
	price, picture := in.Fields[0], in.Fields[1]
	shop, news := mustURL(t, "http://a/shop/b"), mustURL(t, "http://a/news/b")
	if !price.Match(shop) || price.Match(news) || picture.Match != nil || in.WantsMain(shop) || !in.WantsMain(news) {
		t.Error("a condition is not what is written")
	}
	if price.Kind != tree.CSS || price.Key != ".price" || price.Multiple || picture.Key != "//img[1]" || picture.Attribute != "src" || !picture.Multiple || !picture.IsAddress() {
		t.Errorf("%+v, %+v", price, picture)
	}
	file, report = readInside(`<Field name="body" select="content:main/html" maxBytes="2000"/>`, `<Field name="title" select="css:h1"/>`,
		`<Push kind="solr" url="http://b" collection="c"><PushField name="meta:body" as="body_t"/></Push><Push kind="papi" url="http://b" connector="c"/>`)
	if body := file.Crawlers[0].Inside.Fields[0]; report.Err() != nil || len(report.Warnings) > 0 || body.Kind != tree.Content || body.MaxBytes != 2000 {
		t.Errorf("%+v: %v, %v", body, report.Err(), report.Warnings)
	}
	file, report = readInside(`<Field name="acl_deny" select="header:X-Deny" split=","/>`,
		`<Chunks words="50"><Path val="/shop/"/></Chunks>`,
		`<Push kind="elasticsearch" url="http://b" index="i" chunks="documents"><PushField name="chunks" as="parts"/></Push>`)
	if report.Err() != nil || len(report.Warnings) > 0 {
		t.Fatal(report.Err(), report.Warnings)
	}
	in = file.Crawlers[0].Inside
	if deny := in.Fields[0]; !deny.Multiple || deny.Split != "," {
		t.Errorf("%+v", deny)
	}
	if in.ChunkWords(shop) != 50 || in.ChunkWords(news) != 0 || !in.WantsKept(shop) {
		t.Errorf("%+v", in)
	}
	if _, report := readInside(`<MainContent/>`); report.Err() != nil {
		t.Error(report.Err())
	}
	if file, _ := readInside(); file.Crawlers[0].Inside != nil || file.Crawlers[0].ReadingKey != "" {
		t.Error("without Fields something is looked for in pages")
	}
}

// TestFaultyPageFields: each fault is told at its place, with what to write instead.
func TestFaultyPageFields(t *testing.T) {
	for line, want := range map[string]string{
		`<Field name="a" select=".price"/>`:                                                        `2:25: select=".price" does not begin with css:, xpath:, jsonld:, meta:, header: or content:, followed by a selector`,
		`<Field name="a" select="css:p["/>`:                                                        `2:25: select="css:p[" is not a CSS selector: `,
		`<Field name="a" select="css:p::text"/>`:                                                   `2:25: select="css:p::text" ends with ::text: `,
		`<Field name="a" select="xpath://p["/>`:                                                    `2:25: select="xpath://p[" is not an XPath 1.0 expression: `,
		`<Field name="a" select="jsonld:b[0]"/>`:                                                   `2:25: select="jsonld:b[0]" has "b[0]" in the place of a property name`,
		`<Field name="a" select="meta:b" attribute="c"/>`:                                          `2:33: attribute has no meaning for meta: remove it`,
		`<Field name="a"/>`:                                                                        `2:1: <Field> needs the attribute select`,
		`<Field select="css:p"/>`:                                                                  `2:1: <Field> needs the attribute name`,
		`<Field name="a" value="b"/>`:                                                              `2:1: <Field> needs the attribute select`,
		`<Field name="a" select="css:img"/>`:                                                       `warning: 2:25: select="css:img" finds nothing: img never contains text: write attribute="src", too`,
		`<Field name="a" select="xpath://DIV"/>`:                                                   `warning: 2:25: select="xpath://DIV" finds nothing: element names are in lower case in a page's tree: write div`,
		`<Field name="a" select="content:md"/>`:                                                    `2:25: select="content:md" has the unknown form of content "md": write content:text, content:markdown, content:html`,
		`<Field name="a" select="content:text" attribute="b"/>`:                                    `2:39: attribute has no meaning for content: remove it`,
		`<Field name="a" select="content:text" multiple="true"/>`:                                  `warning: 2:39: multiple has no effect for content: a page has only one`,
		`<Field name="a" select="css:p" maxBytes="2000"/>`:                                         `warning: 2:32: maxBytes has no effect for css: it is for content`,
		`<Field name="a" select="content:text" maxBytes="1"/>`:                                     `2:49: maxBytes="1" is out of range: write 1024 to 4194304`,
		`<Field name="a" select="content:html"/><Push kind="solr" url="http://b" collection="c"/>`: `warning: 2:25: the target of kind solr at 2:40 does not accept metas as long as this Field allows: write <PushField name="meta:a" as="..."/>`,
		`<Field name="source" select="css:p"/><Push kind="papi" url="http://b" connector="c"/>`:    `warning: 2:14: the target of kind papi at 2:38 sets the meta source itself and ignores that of this Field: write another name`,
		`<Field name="a" select="css:p"><And><Host val="a"/><Host val="b"/></And></Field>`:         `warning: 2:1: the Field can never match: its conditions exclude each other`,
		`<Field name="a" select="content:text" split=","/>`:                                        `warning: 2:39: split has no effect for content: a page has only one`,
		`<Field name="acl_deny" select="css:p"/><Push kind="papi" url="http://b" connector="c"/>`:  `warning: 2:14: the target of kind papi at 2:40 does not enforce acl_deny: `,
		`<Push kind="solr" url="http://b" collection="c"><PushField name="chunks" as="d"/></Push>`: `2:49: chunks is a list of objects, which kind="solr" does not take: remove it`,
		`<MainContent><And><Host val="a"/><Host val="b"/></And></MainContent>`:                     `warning: 2:1: the MainContent can never match: its conditions exclude each other`,

		`<Chunks words="5"/>`: `2:16: words="5" is out of range: write 20 to 2000`,

		`<Rules><Rule><Path val="/a/"/><AddMeta name="acl_deny" value="a"/></Rule></Rules>` +
			`<Push kind="papi" url="http://b" connector="c"/>`: `warning: 2:46: the target of kind papi at 2:82 does not enforce acl_deny:`,
		`<MetadataMapping><MapHeader field="a" to="acl_deny"/></MetadataMapping>` +
			`<Push kind="funnelback" url="http://b" collection="c"/>`: `warning: 2:43: the target of kind funnelback at 2:72 does not enforce acl_deny:`,
	} {
		_, report := readInside(line)
		var said []string
		for _, p := range report.Errors {
			said = append(said, strings.TrimPrefix(p.String(), FileName+":"))
		}
		for _, p := range report.Warnings {
			said = append(said, "warning: "+strings.TrimPrefix(p.String(), FileName+":"))
		}
		if len(said) == 0 || !strings.HasPrefix(said[0], want) {
			t.Errorf("%s\n%s", line, cmp.Diff(want, strings.Join(said, "\n")))
		}
	}
}
