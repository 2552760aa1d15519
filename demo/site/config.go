package site

import (
	_ "embed" // for the sample configuration
	"encoding/xml"
	"strings"
)

//go:embed CrawlConfig.xml
var crawlConfig string

// SampleQuery is a search whose answers show something: several pages have it.
const SampleQuery = "barnacles"

// Config is the CrawlConfig.xml for the site that runs at siteURL, a scheme and
// host with or without closing slash. Documents are pushed to indexerURL by PAPI,
// and to the file target.
func Config(siteURL, indexerURL string) string {
	return strings.NewReplacer(
		"SITE_URL", attribute(strings.TrimSuffix(siteURL, "/")),
		"INDEXER_URL", attribute(indexerURL),
	).Replace(crawlConfig)
}

// attribute escapes s for the value of an attribute.
func attribute(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
