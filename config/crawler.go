package config

import (
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
)

// file builds the File; it omits elements with reported errors.
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

// checkName checks that names are unique and valid as folder names.
func (p *parser) checkName(n *node, names map[string]int) {
	a := n.attr("name")
	if a == nil {
		return
	}
	if strings.ContainsAny(a.text, `/\`) || strings.ContainsFunc(a.text, func(r rune) bool { return r < ' ' }) ||
		strings.HasPrefix(a.text, ".") || len(a.text) > 200 {
		p.errorf(a.value, "name=%s cannot be the name of a folder: write up to 200 characters without / and \\, and without a dot at the beginning", quote(a.text))
	}
	if first, twice := names[a.text]; twice {
		p.errorf(a.value, "name=%s is the name of another Crawler (at %s): names are unique", quote(a.text), p.lineAndColumn(first))
		return
	}
	names[a.text] = a.value
}

func (p *parser) crawler(n *node, alone bool) Crawler {
	c := Crawler{At: p.position(n.at)}
	c.Name = n.str("name")
	c.Frontier, c.Fetcher = scheduler.DefaultSettings(), fetcher.DefaultSettings()
	n.fill(&c)
	c.Frontier.Throttle += n.duration("sleepAfterLoadMS")
	c.Frontier.Weights = p.weights(n)
	c.Fetcher.MaxConnectionsPerHost = c.Frontier.MaxConnectionsPerHost
	c.Robots.Agent = c.RobotsAgent
	c.Reading.MaxMemory <<= 20
	c.CrawlLog = p.crawlLog(n)
	c.ReadingKey = n.readingKey()
	c.Push = p.pushTargets(n)
	c.PushContent = slices.ContainsFunc(c.Push, func(t Push) bool { return t.Content })
	c.Frontier.LeavesTarget = leavesTarget(c.Push)
	c.OnlySources = onlySources(c.Push)
	c.Written.Accept = n.written("defaultAccept")
	c.Written.Index = n.written("defaultIndex")
	c.Written.Follow = n.written("defaultFollow")
	p.checkAges(n, &c)
	p.checkDeletions(n, &c)
	p.space(n, &c, alone)
	p.rules(n, &c)
	p.compileSpace(&c)
	p.warnOfPermission(n)
	p.throttles(n, &c)
	p.fetches(n, &c)
	p.refreshes(n, &c)
	p.content(n, &c)
	p.urlSources(n, &c)
	p.warnings(&c)
	return c
}

// checkAges checks the order of ages.
func (p *parser) checkAges(n *node, c *Crawler) {
	if !n.written("errorRefreshS") {
		c.Frontier.ErrorRefresh = c.Frontier.MaxAge
	}
	if c.Frontier.SmartRefresh && c.Frontier.MinimumAged > 0 {
		p.errorf(n.attr("minimumAgedS").name, "minimumAgedS sets a fixed age, and smartRefresh=\"true\" estimates it: remove one of the two")
	}
	if c.Frontier.MinAge <= c.Frontier.MaxAge {
		return
	}
	at := n.valueAt("smartRefreshMinAgeS")
	if !n.written("smartRefreshMinAgeS") {
		at = n.valueAt("smartRefreshMaxAgeS")
	}
	p.errorf(at, "smartRefreshMinAgeS (%s) is greater than smartRefreshMaxAgeS (%s): lower the first or raise the second",
		n.str("smartRefreshMinAgeS"), n.str("smartRefreshMaxAgeS"))
}

// checkDeletions checks the order of times, and warns of those without effect.
func (p *parser) checkDeletions(n *node, c *Crawler) {
	d := &c.Frontier.Deletions
	times := []struct {
		name string
		is   time.Duration
	}{{"deletionRestS", d.Rest}, {"deletionConfirmS", d.Confirm}, {"deletionHoldS", d.Hold}, {"deletionGoneS", d.Gone}}
	value := func(name string) string {
		if n.attr(name) == nil {
			return n.str(name) + ", the default"
		}
		return n.str(name)
	}
	for i, t := range times {
		a := n.attr(t.name)
		if d.Off {
			if a != nil {
				p.warnf(a.name, "%s has no effect with deletionBrake=\"off\", which carries out every deletion at once", t.name)
			}
			continue
		}
		if i == 0 || times[i-1].is <= t.is {
			continue
		}
		before := times[i-1].name
		at := n.valueAt(before)
		if a != nil {
			at = a.value
		}
		p.errorf(at, "%s (%s) is greater than %s (%s): write times that increase from deletionRestS to deletionConfirmS, deletionHoldS and deletionGoneS",
			before, value(before), t.name, value(t.name))
	}
}

// weights reads CrawlSchedulerConfig over the manual's defaults.
func (p *parser) weights(crawler *node) [6]int {
	weights := [6]int{10000, 2000, 1000, 100, 10, 1}
	for config := range crawler.all("CrawlSchedulerConfig") {
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
				p.warnf(fifo.valueAt("weight"), "weight 0 turns %s off: URLs in this fifo are not fetched", name.text)
			}
		}
	}
	return weights
}
