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

// crawlRules refers to the file in CrawlSpace. IBM stores start URLs elsewhere, so it uses those that the rules
// suggest.
func crawlRules(d *document, file *crawlspace.File) []error {
	attr, settings := "rules", crawlspace.Settings{CrawlRules: file}
	if filepath.Base(file.Name) == config.GlobalRulesName {
		attr, settings = "global", crawlspace.Settings{GlobalRules: file}
	}
	space, errs := crawlspace.Compile(settings, nil)
	if len(errs) > 0 {
		return errs
	}
	d.set("errorPolicy", "cautious")
	d.set("smartRefresh", "true")
	if attr == "rules" && !suggestRoots(d, file, space) {
		d.untranslated = append(d.untranslated, &actionrules.Error{At: actionrules.Position{File: file.Name}, Rule: -1,
			Err: errors.New("IBM stores start URLs elsewhere, and the rules allow no host by name that they do not also forbid: write a <Root url=\"http://...\" site=\"false\"/> for each")})
	}
	d.add("CrawlSpace", attribute{attr, file.Name})
	d.add("IgnoredExtensions")
	d.add("Traps")
	d.comment("Not in this file: maximum depths, file extensions, MIME types and recrawl intervals. Write them as CrawlSpace maxPathDepth and maxLinkDepth, IgnoredExtensions, MimeTypes, smartRefreshMinAgeS and smartRefreshMaxAgeS.")
	return nil
}

// suggestRoots adds as start URLs the home pages of hosts that are allowed by name, and the prefixes of URLs up to
// their first asterisk; false if there are none. It reports and omits those that other rules forbid.
func suggestRoots(d *document, file *crawlspace.File, space *crawlspace.Space) bool {
	d.comment("IBM stores start URLs elsewhere: these are the hosts that the rules allow by name. Review them.")
	const most = 20
	seen, roots := make(map[string]bool), 0
	for _, l := range lines(file) {
		if len(seen) == most {
			break
		}
		u, ok := allowedByName(l.text)
		if !ok || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		if v := space.Judge(crawlspace.Link{URL: u}); !v.Allowed {
			d.comment("Left out: %s, because line %d forbids it (%s).", u, v.Reason.Line, v.Reason.Rule)
			continue
		}
		roots++
		d.add("Root", attribute{"url", u.String()}, attribute{"site", "false"})
	}
	return roots > 0
}

// allowedByName returns the URL that a line of crawl.rules allows by name, if any.
func allowedByName(line string) (u weburl.URL, ok bool) {
	words := strings.Fields(line)
	if words[0] != "allow" {
		return u, false
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
		return u, false
	}
	u, err := weburl.Parse(target)
	return u, err == nil
}
