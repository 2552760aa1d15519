package config

import (
	"slices"
	"strings"
)

// file builds the File; what was reported already is left out.
func (p *parser) file(root *node) *File {
	f := &File{Notify: p.notify(root)}
	names := make(map[string]int)
	p.crawlLogs = make(map[string]int)
	crawlers := slices.DeleteFunc(root.children, func(n *node) bool { return n.spec.Name != "Crawler" })
	for _, n := range crawlers {
		p.checkName(n, names)
		f.Crawlers = append(f.Crawlers, p.crawler(n, len(crawlers) == 1))
	}
	p.unusedRules(f.Crawlers)
	if len(f.Crawlers) == 0 && len(p.report.Errors) == 0 {
		p.errorf(root.at, "<CrawlConfig> has no <Crawler>")
	}
	return f
}

// checkName sees to names that are unique and can be those of folders.
func (p *parser) checkName(n *node, names map[string]int) {
	a := n.attr("name")
	if a == nil {
		return
	}
	if strings.ContainsAny(a.text, `/\`) || strings.ContainsFunc(a.text, func(r rune) bool { return r < ' ' }) ||
		strings.HasPrefix(a.text, ".") || len(a.text) > 200 {
		p.errorf(a.value, "name=%s cannot be the name of a folder: write up to 200 characters without / and \\, the first no dot", quote(a.text))
	}
	if first, twice := names[a.text]; twice {
		p.errorf(a.value, "name=%s is the name of another Crawler (at %s): names are unique", quote(a.text), p.lineAndColumn(first))
		return
	}
	names[a.text] = a.value
}

func (p *parser) crawler(n *node, alone bool) Crawler {
	c := Crawler{
		Name:                  n.str("name"),
		At:                    p.position(n.at),
		Threads:               int(n.number("nthreads")),
		Aggressive:            n.boolean("aggressive"),
		Throttle:              n.duration("throttleTimeMS") + n.duration("sleepAfterLoadMS"),
		MaxConnectionsPerHost: int(n.number("maxConnectionsPerHost")),
		IgnoreRobotsTxt:       n.boolean("ignoreRobotsTxt"),
		OriginalRobots:        n.str("robots") == "original",
		IndexRedirectSources:  n.boolean("indexRedirectSources"),
		LinkGraph:             n.boolean("linkGraph"),
		DisableConditionalGet: n.boolean("disableConditionalGet"),
		SmartRefresh:          n.boolean("smartRefresh"),
		SmartRefreshMinAge:    n.duration("smartRefreshMinAgeS"),
		SmartRefreshMaxAge:    n.duration("smartRefreshMaxAgeS"),
		PushUnchanged:         n.boolean("pushUnchanged"),
		MaxTemporaryErrors:    int(n.number("maxTemporaryErrors")),
		TemporaryErrorMin:     n.duration("temporaryErrorMinS"),
		ErrorRefresh:          n.duration("errorRefreshS"),
		ForgetDeleted:         n.boolean("forgetDeleted"),
		ErrorPolicy:           ErrorPolicy(n.choice("errorPolicy")),
		Durability:            Durability(n.choice("durability")),
		UserAgent:             n.str("userAgent"),
		RobotsAgent:           n.str("robotsAgent"),
		From:                  n.str("from"),
		MaxBodyBytes:          n.number("maxBodyBytes"),
		MaxPDFBytes:           n.number("maxPdfBytes"),
		MaxRedirects:          int(n.number("maxRedirects")),
		EmbeddedLinks:         n.boolean("embeddedLinks"),
		IgnoreNofollow:        n.boolean("ignoreNofollow"),
		IgnoreNoindex:         n.boolean("ignoreNoindex"),
		NearDuplicates:        n.boolean("nearDuplicateDetector"),
		DetectPatterns:        n.boolean("patternsDetector"),
		Collapse:              n.boolean("enableSimpleSiteCollapsing"),
		CollapseDepth:         int(n.number("simpleSiteCollapsingDepth")),
		EnableCookies:         n.boolean("enableCookies"),
		OutboxMaxBytes:        n.number("outboxMaxBytes"),
		PerAddress:            n.boolean("perAddress"),
		MaxRequestsPerS:       int(n.number("maxRequestsPerS")),
		MaxBytesPerS:          n.number("maxBytesPerS"),
		MinimumAged:           n.duration("minimumAgedS"),
		SitemapHints:          n.boolean("sitemapHints"),
		CrawlLog:              p.crawlLog(n),
		Weights:               p.weights(n),
		Push:                  p.pushTargets(n),
	}
	c.Brake = Brake{
		On:      n.str("deletionBrake") == "on",
		Rest:    n.duration("deletionRestS"),
		Min:     int(n.number("deletionBrakeMin")),
		Percent: int(n.number("deletionBrakePercent")),
		Window:  n.duration("deletionWindowS"),
	}
	c.Documents = Documents{
		On:        n.boolean("readDocuments"),
		Workers:   int(n.number("documentWorkers")),
		Timeout:   n.duration("documentTimeoutS"),
		MaxMemory: n.number("documentMaxMemoryMB") << 20,
	}
	c.Timeouts = Timeouts{
		Connect:   n.duration("connectTimeoutMS"),
		TLS:       n.duration("tlsTimeoutMS"),
		FirstByte: n.duration("firstByteTimeoutMS"),
		Idle:      n.duration("idleTimeoutMS"),
		Download:  n.duration("downloadTimeoutMS"),
	}
	c.Written.Accept = n.written("defaultAccept")
	c.Written.Index = n.written("defaultIndex")
	c.Written.Follow = n.written("defaultFollow")
	p.checkAges(n, &c)
	p.checkBrake(n, &c)
	p.space(n, &c, alone)
	p.rules(n, &c)
	p.compileSpace(&c)
	p.warnOfRobots(n)
	p.throttles(n, &c)
	p.fetches(n, &c)
	p.refreshes(n, &c)
	p.content(n, &c)
	p.urlSources(n, &c)
	p.warnings(&c)
	return c
}

// checkAges sees to ages that are in order.
func (p *parser) checkAges(n *node, c *Crawler) {
	if !n.written("errorRefreshS") {
		c.ErrorRefresh = c.SmartRefreshMaxAge
	}
	if c.SmartRefresh && c.MinimumAged > 0 {
		p.errorf(n.attr("minimumAgedS").name, "minimumAgedS is a fixed age and smartRefresh=\"true\" an estimated one: remove one of the two")
	}
	if c.SmartRefreshMinAge <= c.SmartRefreshMaxAge {
		return
	}
	at := n.valueAt("smartRefreshMinAgeS")
	if !n.written("smartRefreshMinAgeS") {
		at = n.valueAt("smartRefreshMaxAgeS")
	}
	p.errorf(at, "smartRefreshMinAgeS (%s) is above smartRefreshMaxAgeS (%s): write a least age that is not above the greatest",
		n.str("smartRefreshMinAgeS"), n.str("smartRefreshMaxAgeS"))
}

// checkBrake warns of a part of the brake that does nothing.
func (p *parser) checkBrake(n *node, c *Crawler) {
	if c.Brake.On {
		return
	}
	for _, name := range []string{"deletionRestS", "deletionBrakeMin", "deletionBrakePercent", "deletionWindowS"} {
		if a := n.attr(name); a != nil {
			p.warnf(a.name, "%s has no effect with deletionBrake=\"off\", which sends every deletion at once", name)
		}
	}
}

// weights reads CrawlSchedulerConfig over the manual's defaults.
func (p *parser) weights(crawler *node) [6]int {
	weights := [6]int{10000, 2000, 1000, 100, 10, 1}
	for _, config := range crawler.children {
		if config.spec.Name != "CrawlSchedulerConfig" {
			continue
		}
		first := make(map[string]int)
		for _, fifo := range config.children {
			name := fifo.attr("name")
			if name == nil {
				continue
			}
			if at, twice := first[name.text]; twice {
				p.errorf(name.value, "the weight of %s is written twice (first at %s): remove one", name.text, p.lineAndColumn(at))
				continue
			}
			first[name.text] = name.value
			if !fifo.written("weight") {
				continue
			}
			w := int(fifo.number("weight"))
			weights[fifo.choice("name")] = w
			if w == 0 {
				p.warnf(fifo.valueAt("weight"), "weight 0 switches %s off: URLs that wait in it are not fetched", name.text)
			}
		}
	}
	return weights
}
