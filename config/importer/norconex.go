package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/weburl"
)

// norconex holds the translation of a Norconex crawler.
type norconex struct {
	*document
	scope     []string // a URL must meet one of these conditions; nil is any URL
	refs      filters  // decide which URLs are crawled
	docs      filters  // decide which are indexed
	pause     string   // milliseconds
	space     []attribute
	roots     map[string]bool
	hasSource bool
	notes     []string
	errs      []error
}

// norconexDelay is Norconex's default pause, in milliseconds.
const norconexDelay = "3000"

// norconexElements returns the supported elements of a crawler.
func norconexElements() map[string]func(*norconex, *node) {
	filterList := func(of func(*norconex) *filters) func(*norconex, *node) {
		return func(x *norconex, n *node) { x.readFilters(of(x), n) }
	}
	docs := filterList(func(x *norconex) *filters { return &x.docs })
	return map[string]func(*norconex, *node){
		"crawler":                (*norconex).id,
		"startURLs":              (*norconex).startURLs,
		"maxDepth":               (*norconex).depth,
		"numThreads":             (*norconex).threads,
		"delay":                  (*norconex).delay,
		"userAgent":              (*norconex).agent,
		"httpFetchers":           (*norconex).fetchers,
		"referenceFilters":       filterList(func(x *norconex) *filters { return &x.refs }),
		"metadataFilters":        docs, // both apply after the links were extracted
		"documentFilters":        docs,
		"committers":             (*norconex).committers,
		"committer":              (*norconex).committer,
		"robotsTxt":              ignoring(attribute{"ignoreRobotsTxt", "true"}),
		"robotsMeta":             ignoring(attribute{"ignoreNoindex", "true"}, attribute{"ignoreNofollow", "true"}),
		"canonicalLinkDetector":  (*norconex).canonical,
		"sitemapResolver":        ignoring(attribute{"crawlSitemaps", "false"}),
		"sitemapResolverFactory": ignoring(attribute{"crawlSitemaps", "false"}),
	}
}

// norconexWorkings returns the elements about Norconex's operation, which do not affect what is crawled.
func norconexWorkings() []string {
	return []string{"workDir", "tempDir", "logsDir", "progressDir", "maxConcurrentCrawlers", "crawlersStartInterval", "maxMemoryPool", "maxMemoryInstance",
		"dataStoreEngine", "crawlDataStoreFactory", "keepDownloads", "keepReferencedLinks", "documentChecksummer", "metadataChecksummer"}
}

// httpCollector translates the XML of Norconex's HTTP Collector or Web Crawler, version 3.
func httpCollector(d *document, file *crawlspace.File) []error {
	top, errs := parseNodes(file)
	if len(errs) > 0 {
		return errs
	}
	elements, err := crawlerElements(top)
	if err != nil {
		return []error{err}
	}
	x := &norconex{document: d, roots: make(map[string]bool), pause: norconexDelay}
	known := norconexElements()
	for _, n := range elements {
		if translate := known[n.name]; translate != nil {
			translate(x, n)
		} else {
			x.leaveOut(n, "it has no counterpart")
		}
	}
	if len(x.errs) == 0 && !x.hasSource {
		x.errs = append(x.errs, top.errorf("there is no start URL: write <startURLs><url>http://...</url></startURLs>"))
	}
	if len(x.errs) > 0 {
		return x.errs
	}
	x.write()
	return nil
}

// crawlerElements returns the crawler itself, as <crawler>, and its elements, with defaults from crawlerDefaults.
// Elements beside the crawler come last.
func crawlerElements(top *node) ([]*node, error) {
	if len(top.kids) != 1 {
		return nil, top.errorf("one element <httpcollector> or <crawler> is expected")
	}
	root := top.kids[0]
	var crawler *node
	var elements, defaults, beside []*node
	for _, n := range root.kids {
		switch n.name {
		case "crawlers":
			for _, c := range n.all("crawler") {
				if crawler != nil {
					return nil, c.errorf("this is a second crawler: write each to a separate file, and import the files one by one")
				}
				crawler = c
			}
		case "crawlerDefaults":
			defaults = n.kids
		default:
			beside = append(beside, n)
		}
	}
	switch {
	case root.name == "crawler":
		crawler, beside = root, nil
	case crawler == nil:
		return nil, root.errorf("<crawlers> with a <crawler> inside is missing")
	}
	elements = append([]*node{{line: crawler.line, name: "crawler", attr: crawler.attr}}, crawler.kids...)
	for _, n := range defaults {
		if len(crawler.all(n.name)) == 0 {
			elements = append(elements, n)
		}
	}
	return append(elements, beside...), nil
}

// leaveOut records an element without a counterpart, without its content, which may be secret. Elements that keep
// documents out are never left out.
func (x *norconex) leaveOut(n *node, why string) {
	switch {
	case strings.EqualFold(n.attr["onMatch"], "exclude"), n.attr["onMatch"] == "" && n.excludes() && !strings.HasSuffix(n.class(), "Filter"):
		x.errs = append(x.errs, n.errorf("%s excludes documents and cannot be imported: %s", n.label(), why))
		return
	}
	x.notes = append(x.notes, "Not translated: "+n.label()+" of line "+strconv.Itoa(n.at.Line)+": "+why)
	if !slices.Contains(norconexWorkings(), n.name) {
		x.untranslated = append(x.untranslated, n.errorf("%s: %s", n.label(), why))
	}
}

func (x *norconex) id(n *node) {
	id := n.attr["id"]
	switch {
	case id == "":
	case !printable(id):
		x.leaveOut(n, "its id contains control characters")
	default:
		if complaint := x.crawlerName(id); complaint != "" {
			x.leaveOut(n, complaint)
		}
	}
}

func (x *norconex) startURLs(n *node) {
	scope, err := scopeOf(n)
	if err != nil {
		x.errs = append(x.errs, err)
		return
	}
	for _, k := range n.kids {
		u, err := weburl.Parse(k.text)
		switch {
		case k.name == "provider":
			x.leaveOut(k, "it has no counterpart")
		case k.name == "urlsFile" && scope.domain: // its hosts are unknown here
			x.errs = append(x.errs, k.errorf("with stayOnDomain, write the start URLs of the file as <url>: the crawl stays on their hosts"))
		case k.name == "urlsFile" && printable(k.text):
			x.hasSource = true
			x.add("Roots", attribute{"file", k.text})
		case (k.name == "url" || k.name == "sitemap") && err == nil:
			x.hasSource = true
			x.start(scope, k.name, u)
		default:
			x.errs = append(x.errs, k.errorf("unknown %s in startURLs: write <url>, <sitemap> with an absolute URL, <urlsFile> or <provider>", k.label()))
		}
	}
}

// start adds the URL of a start page or sitemap, and the bounds around it.
func (x *norconex) start(s scope, kind string, u weburl.URL) {
	if x.roots[kind+u.String()] {
		return
	}
	x.roots[kind+u.String()] = true
	if kind == "url" {
		x.add("Root", attribute{"url", u.String()}, attribute{"site", "false"})
	} else {
		x.add("Sitemap", attribute{"url", u.String()})
	}
	if condition := s.around(u); condition != "" && !slices.Contains(x.scope, condition) {
		x.scope = append(x.scope, condition)
	}
}

// printable reports whether text can be written unchanged in an attribute.
func printable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7F })
}

func (x *norconex) number(n *node, element, name string, set func(attribute)) {
	least, most := limits(element, name)
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v < least || v > most {
		x.leaveOut(n, fmt.Sprintf("%s must be %d to %d", name, least, most))
		return
	}
	set(attribute{name, strconv.FormatInt(v, 10)})
}

func (x *norconex) depth(n *node) {
	if n.text != "-1" { // no limit
		x.number(n, "CrawlSpace", "maxLinkDepth", func(a attribute) { x.space = []attribute{a} })
	}
}

func (x *norconex) threads(n *node) {
	x.number(n, "Crawler", "nthreads", func(a attribute) { x.set(a.name, a.value) })
}

func (x *norconex) agent(n *node) {
	if complaint := x.userAgent(n.text); complaint != "" {
		x.leaveOut(n, complaint)
	}
}

func (x *norconex) fetchers(n *node) {
	for _, f := range n.kids {
		if f.class() != "GenericHttpFetcher" && f.class() != "" {
			x.leaveOut(f, "it has no counterpart")
			continue
		}
		for _, k := range f.kids {
			if k.name == "userAgent" {
				x.agent(k)
			} else {
				x.leaveOut(k, "look at <Fetch>")
			}
		}
	}
}

// committers lists the committers and what to write in their place: the target cannot be guessed.
func (x *norconex) committers(n *node) {
	for _, k := range n.kids {
		x.committer(k)
	}
}

func (x *norconex) committer(n *node) {
	kind := "file"
	if strings.Contains(n.class(), "Elasticsearch") {
		kind = "elasticsearch"
	}
	x.notes = append(x.notes, fmt.Sprintf("Documents went to %s of line %d: write <Push kind=%q .../> or another kind.", n.label(), n.at.Line, kind))
}

// ignoring translates an element with ignore="true".
func ignoring(set ...attribute) func(*norconex, *node) {
	return func(x *norconex, n *node) {
		ignore, err := n.flag("ignore", false)
		switch {
		case err != nil:
			x.errs = append(x.errs, err)
		case ignore:
			for _, a := range set {
				x.set(a.name, a.value)
			}
		case len(n.kids) > 0:
			x.leaveOut(n, "its contents have no counterpart")
		}
	}
}

// canonical enables canonical links, which Norconex follows unless they are ignored.
func (x *norconex) canonical(n *node) {
	if ignore, err := n.flag("ignore", false); err != nil || ignore {
		x.leaveOut(n, "canonical links are always honoured")
	}
}

func (x *norconex) delay(n *node) {
	if class := n.class(); class != "" && class != "GenericDelayResolver" || len(n.kids) > 0 {
		x.leaveOut(n, "look at <Throttle>")
		return
	}
	if ignore, err := n.flag("ignoreRobotsCrawlDelay", false); err != nil || ignore {
		x.leaveOut(n, "the Crawl-delay of robots.txt is always obeyed")
	}
	if text := n.attr["default"]; text != "" {
		ms, ok := milliseconds(text)
		if least, most := limits("Crawler", "throttleTimeMS"); !ok || ms < least || ms > most {
			x.leaveOut(n, clip(text)+" is not a valid time: write milliseconds")
			return
		}
		x.pause = strconv.FormatInt(ms, 10)
	}
	if scope := n.attr["scope"]; scope != "site" {
		x.notes = append(x.notes, "The pause applies to each host, not to the crawler or a thread.")
	}
}

// write writes the translation into the document.
func (x *norconex) write() {
	for _, name := range []string{"defaultAccept", "defaultIndex", "defaultFollow"} {
		x.set(name, "true")
	}
	x.set("throttleTimeMS", x.pause)
	x.set("errorPolicy", "cautious")
	x.set("smartRefresh", "true")
	if len(x.space) > 0 {
		x.add("CrawlSpace", x.space...)
	}
	x.add("Traps")
	var rules []string
	if len(x.scope) > 0 {
		rules = append(rules, rule("<ar:Not>"+anyOf(x.scope)+"</ar:Not>", "Ignore"))
	} else {
		x.notes = append(x.notes, "Without stayOnDomain, links to any host that passes the filters are followed.")
	}
	rules = append(rules, x.refs.rules("Ignore")...)
	x.rules(append(rules, x.docs.rules("NoIndex")...))
	for _, note := range x.notes {
		x.comment("%s", note)
	}
}
