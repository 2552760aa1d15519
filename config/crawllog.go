package config

import (
	"path/filepath"
	"strings"
)

// crawlLog returns the path of a Crawler's log of URLs, "" for none.
func (p *parser) crawlLog(n *node) string {
	a := n.attr("crawlLog")
	switch {
	case a == nil || a.text == "":
		return ""
	case a.text == "-" || strings.HasSuffix(a.text, "/"):
		p.errorf(a.value, "crawlLog=%s must name a file, for example \"/var/log/sextant/crawl.log\"", quote(a.text))
		return ""
	}
	path := filepath.Clean(p.resolvePath(a.text))
	file := p.lookups.RealPath(path)
	if file == p.lookups.RealPath(filepath.Clean(p.src.file)) {
		p.errorf(a.value, "crawlLog=%s is this configuration: lines would be written into it; name another file, for example \"/var/log/sextant/crawl.log\"", quote(a.text))
		return ""
	}
	if owner := p.lookups.Owner(file); owner != "" {
		p.errorf(a.value, "crawlLog=%s is %s: lines would be written into it; name another file, for example \"/var/log/sextant/crawl.log\"", quote(a.text), owner)
		return ""
	}
	if first, twice := p.crawlLogs[file]; twice {
		p.errorf(a.value, "crawlLog=%s is the file of another Crawler (at %s), and lines do not say whose they are: name another file", quote(a.text), p.lineAndColumn(first))
		return ""
	}
	p.crawlLogs[file] = a.value
	if folder := filepath.Dir(path); !p.lookups.Exists(folder) {
		p.warnf(a.value, "crawlLog=%s: there is no folder %s: make it, writable for the service, which does not start without it", quote(a.text), folder)
	}
	return path
}
