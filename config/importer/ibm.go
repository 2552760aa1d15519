package importer

import (
	"path/filepath"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/weburl"
)

// crawlRules names the file in CrawlSpace. IBM keeps start URLs elsewhere, so
// that those which the rules suggest stand in comments.
func crawlRules(d *document, file *crawlspace.File) []error {
	attr, settings := "rules", crawlspace.Settings{CrawlRules: file}
	if filepath.Base(file.Name) == config.GlobalRulesName {
		attr, settings = "global", crawlspace.Settings{GlobalRules: file}
	}
	if _, errs := crawlspace.Compile(settings, nil); len(errs) > 0 {
		return errs
	}
	if attr == "rules" {
		suggestRoots(d, file)
	}
	d.add("CrawlSpace", attribute{attr, file.Name})
	d.comment("Not in this file: start URLs, maximum depths, file extensions and MIME types. Write them as Root, CrawlSpace maxPathDepth and maxLinkDepth, IgnoredExtensions and MimeTypes.")
	return nil
}

// suggestRoots lists the home pages of hosts that are allowed by name, and the
// URLs of prefixes up to their first asterisk.
func suggestRoots(d *document, file *crawlspace.File) {
	const most = 20
	seen := make(map[string]bool)
	for _, l := range lines(file) {
		words := strings.Fields(l.text)
		if words[0] != "allow" || len(seen) == most {
			continue
		}
		target := words[len(words)-1]
		switch {
		case len(words) > 2 && words[1] == "domain" && !strings.Contains(target, "*"):
			scheme := "http://"
			if strings.HasSuffix(target, ":443") {
				scheme = "https://"
			}
			target = scheme + target + "/"
		case len(words) == 2 || words[1] == "prefix":
			target, _, _ = strings.Cut(target, "*")
		default:
			continue
		}
		u, err := weburl.Parse(target)
		if err != nil || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		d.comment("a start URL? %s", element("Root", attribute{"url", u.String()}, attribute{"site", "false"}))
	}
}
