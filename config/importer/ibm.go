package importer

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/weburl"
)

// crawlRules names the file in CrawlSpace. IBM keeps start URLs elsewhere: those which the rules
// suggest are taken.
func crawlRules(d *document, file *crawlspace.File) []error {
	attr, settings := "rules", crawlspace.Settings{CrawlRules: file}
	if filepath.Base(file.Name) == config.GlobalRulesName {
		attr, settings = "global", crawlspace.Settings{GlobalRules: file}
	}
	if _, errs := crawlspace.Compile(settings, nil); len(errs) > 0 {
		return errs
	}
	d.set("errorPolicy", "cautious")
	d.set("smartRefresh", "true")
	if attr == "rules" && !suggestRoots(d, file) {
		d.untranslated = append(d.untranslated, &actionrules.Error{At: actionrules.Position{File: file.Name}, Rule: -1,
			Err: errors.New("IBM keeps start URLs elsewhere, and the rules allow no host by name: write a <Root url=\"http://...\" site=\"false\"/> for each")})
	}
	d.add("CrawlSpace", attribute{attr, file.Name})
	d.add("IgnoredExtensions")
	d.add("Traps")
	d.comment("Not in this file: maximum depths, file extensions, MIME types and recrawl intervals. Write them as CrawlSpace maxPathDepth and maxLinkDepth, IgnoredExtensions, MimeTypes, smartRefreshMinAgeS and smartRefreshMaxAgeS.")
	return nil
}

// suggestRoots makes start URLs of the home pages of hosts that are allowed by name, and of the
// URLs of prefixes up to their first asterisk; false if there are none.
func suggestRoots(d *document, file *crawlspace.File) bool {
	d.comment("IBM keeps start URLs elsewhere: these are what the rules allow by name. Look them through.")
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
		d.add("Root", attribute{"url", u.String()}, attribute{"site", "false"})
	}
	return len(seen) > 0
}
