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
		p.errorf(a.value, "crawlLog=%s does not name a file: write one, such as \"/var/log/sextant/crawl.log\"", quote(a.text))
		return ""
	}
	path := filepath.Clean(p.resolvePath(a.text))
	file := p.lookups.RealPath(path)
	if file == p.lookups.RealPath(filepath.Clean(p.src.file)) {
		p.errorf(a.value, "crawlLog=%s is this configuration, which the log would overwrite: name another file, such as \"/var/log/sextant/crawl.log\"", quote(a.text))
		return ""
	}
	if owner := p.lookups.Owner(file); owner != "" {
		p.errorf(a.value, "crawlLog=%s is %s, which the log would overwrite: name another file, such as \"/var/log/sextant/crawl.log\"", quote(a.text), owner)
		return ""
	}
	if first, twice := p.crawlLogs[file]; twice {
		p.errorf(a.value, "crawlLog=%s is also the log of another Crawler (at %s), and lines do not name their Crawler: name another file", quote(a.text), p.lineAndColumn(first))
		return ""
	}
	p.crawlLogs[file] = a.value
	if folder := filepath.Dir(path); !p.lookups.Exists(folder) {
		p.warnf(a.value, "crawlLog=%s: the folder %s does not exist, and the service does not start without it: create it, writable for the service", quote(a.text), folder)
	}
	return path
}
