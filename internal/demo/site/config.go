package site

import (
	_ "embed" // for the sample configuration
	"encoding/xml"
	"strings"
	"text/template"
	"time"
)

//go:embed CrawlConfig.xml
var crawlConfig string

// SampleQuery is a search whose answers show something: several pages have it.
const SampleQuery = "barnacles"

// Places are where the sample sites and the indexer run: a scheme and host each, with or
// without closing slash. Without Library and Harbour the main site is alone.
type Places struct {
	Site, Library, Harbour, Indexer string
	// Pace is the pause between two requests to a host; 0 is the sample's own.
	Pace time.Duration
	// Unread says that PDF files are not read: to start their reader takes seconds of work.
	Unread bool
}

// ownPace is the pause of the sample configuration.
const ownPace = 5 * time.Millisecond

// Config returns the CrawlConfig.xml for the sites. Documents are pushed to the indexer by PAPI,
// and to the file target.
func Config(p Places) string {
	if p.Pace == 0 {
		p.Pace = ownPace
	}
	for _, at := range []*string{&p.Site, &p.Library, &p.Harbour} {
		*at = attribute(strings.TrimSuffix(*at, "/"))
	}
	p.Indexer = attribute(p.Indexer)
	var b strings.Builder
	if err := template.Must(template.New("").Parse(crawlConfig)).Execute(&b, p); err != nil {
		panic("site: " + err.Error()) // a strings.Builder takes everything
	}
	return b.String()
}

// attribute escapes s for the value of an attribute.
func attribute(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
