package importer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/weburl"
)

// smartsite collects the translation of a list of settings.
type smartsite struct {
	*document
	before     []attribute // attributes of Discovery
	extensions []attribute
	usual      string // extensions of Web.config, where the form has no list
	removed    []attribute
	maps       []string // from:to
	keep       string   // of QueryFilter
	contain    []string // elements MustContain and MustNotContain
	roots      []string
	off        bool // Discovery is
}

// smartsiteKeys returns the settings of the web crawler (Smartsite, "Web crawler"), by names made of their titles, and
// those of Web.config by their own. A complaint describes the fault.
func smartsiteKeys() map[string]func(s *smartsite, value string) (complaint string) {
	text := func(element string) func(*smartsite, string) string {
		return func(s *smartsite, v string) string {
			for _, part := range split(v) {
				s.contain = append(s.contain, "<"+element+">"+value(part)+"</"+element+">")
			}
			return ""
		}
	}
	list := func(of func(*smartsite) *[]attribute, name string) func(*smartsite, string) string {
		return func(s *smartsite, v string) string {
			*of(s) = replaced(*of(s), name, strings.Join(split(v), ","))
			return ""
		}
	}
	extensions := func(s *smartsite) *[]attribute { return &s.extensions }
	removed := func(s *smartsite) *[]attribute { return &s.removed }
	const webCrawler = "enterprisesearch.providers.webcrawler."
	return map[string]func(*smartsite, string) string{
		"name":                       (*smartsite).crawlerName,
		"start_urls":                 smartsiteRoots,
		"url_discovery":              smartsiteDiscovery,
		"discovery_interval_minutes": scaled("Discovery", "intervalS", 60, func(s *smartsite, a attribute) { s.before = append(s.before, a) }),
		"aged_check_hours":           scaled("Crawler", "minimumAgedS", 3600, func(s *smartsite, a attribute) { s.set(a.name, a.value) }),
		"sleep_after_load_ms":        scaled("Crawler", "sleepAfterLoadMS", 1, func(s *smartsite, a attribute) { s.set(a.name, a.value) }),
		"threads":                    scaled("Crawler", "nthreads", 1, func(s *smartsite, a attribute) { s.set(a.name, a.value) }),
		"uri_must_contain":           text("MustContain"),
		"uri_must_not_contain":       text("MustNotContain"),
		"ignored_extensions":         list(extensions, "list"),
		webCrawler + "defaultignoredextensions": func(s *smartsite, v string) string {
			s.usual = strings.Join(split(v), ",")
			return ""
		},
		webCrawler + "extraignoredextensions":  list(extensions, "extra"),
		webCrawler + "alwaysignoredextensions": list(extensions, "always"),
		"remove_elements":                      list(removed, "names"),
		"remove_classes":                       list(removed, "classes"),
		"enterprisesearch.querystringfilter.exclude": func(s *smartsite, v string) string {
			s.keep = strings.Join(split(v), ",")
			return ""
		},
		"metadata_mapping": func(s *smartsite, v string) string {
			s.maps = append(s.maps, split(v)...)
			if slices.ContainsFunc(s.maps, func(m string) bool { from, to, ok := strings.Cut(m, ":"); return !ok || from == "" || to == "" }) {
				s.maps = nil
				return "write metadata name:field name"
			}
			return ""
		},
	}
}

// smartsiteList translates a list of key=value.
func smartsiteList(d *document, file *crawlspace.File) (errs []error) {
	s := &smartsite{document: d}
	known := smartsiteKeys()
	seen := map[string]bool{}
	for _, l := range lines(file) {
		key, v, ok := strings.Cut(l.text, "=")
		key, v = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(v)
		translate := known[key]
		switch {
		case !ok || key == "":
			errs = append(errs, l.errorf("%s is not of the form key=value", clip(l.text)))
		case seen[key]:
			errs = append(errs, l.errorf("%s is written twice: write all values in one line", key))
		case translate == nil:
			d.comment("Not translated: %s=%s", key, shown(key, v))
			d.untranslated = append(d.untranslated, l.errorf("%s: it has no counterpart", key))
		case v != "":
			if complaint := translate(s, v); complaint != "" {
				errs = append(errs, l.errorf("%s: %s", key, complaint))
			}
		}
		seen[key] = true
	}
	if len(errs) == 0 && len(s.roots) == 0 {
		errs = append(errs, line{}.errorf("there is no start URL: write start_urls=http://..."))
	}
	if len(errs) > 0 {
		return errs
	}
	s.write()
	return nil
}

// write puts all that was translated into the document. Start URLs are accepted, with what matches
// one of them.
func (s *smartsite) write() {
	s.set("errorPolicy", "smartsite")
	if !slices.ContainsFunc(s.attributes, func(a attribute) bool { return a.name == "minimumAgedS" }) {
		s.set("minimumAgedS", strconv.Itoa(48*3600))
	}
	s.add("StartURLMatch")
	if len(s.before) > 0 {
		s.add("Discovery", s.before...)
	}
	if s.off {
		s.comment("Not in these settings: whether a start URL is an RSS feed, a sitemap or an XML file. Nothing that such a Root lists is crawled: write one of these in its place, which the interval reads again, and no StartURLMatch if no Root is left.")
		for _, kind := range []string{"Feed", "Sitemap"} {
			s.comment("%s", element(kind, attribute{"url", s.roots[0]}))
		}
	}
	s.lines = append(s.lines, s.contain...)
	filter := []attribute{}
	if s.keep != "" {
		filter = append(filter, attribute{"keep", s.keep})
	}
	s.add("QueryFilter", filter...)
	if s.usual != "" && !slices.ContainsFunc(s.extensions, func(a attribute) bool { return a.name == "list" }) {
		s.extensions = replaced(s.extensions, "list", s.usual)
	}
	s.add("IgnoredExtensions", s.extensions...)
	s.add("RemoveElements", s.removed...)
	if len(s.maps) > 0 {
		s.lines = append(s.lines, "<MetadataMapping>")
		for _, m := range s.maps {
			from, to, _ := strings.Cut(m, ":")
			s.lines = append(s.lines, "  "+element("Map", attribute{"from", from}, attribute{"to", to}))
		}
		s.lines = append(s.lines, "</MetadataMapping>")
	}
}

// split separates values by commas, semicolons or blanks.
func split(v string) []string {
	return strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\t' })
}

func smartsiteRoots(s *smartsite, v string) string {
	for _, raw := range split(v) {
		u, err := weburl.Parse(raw)
		if err != nil {
			return clip(raw) + " is not an absolute URL"
		}
		s.add("Root", attribute{"url", u.String()}, attribute{"site", "false"})
		s.roots = append(s.roots, u.String())
	}
	return ""
}

func smartsiteDiscovery(s *smartsite, v string) string {
	if v = strings.ToLower(v); v != "true" && v != "false" {
		return "it is neither true nor false"
	}
	s.before, s.off = append(s.before, attribute{"enabled", v}), v == "false"
	return ""
}

// scaled hands a number in units over as an attribute, if it is in its range.
func scaled(elementName, name string, unit int64, set func(*smartsite, attribute)) func(*smartsite, string) string {
	return func(s *smartsite, v string) string {
		n, err := strconv.ParseInt(v, 10, 64)
		least, most := limits(elementName, name)
		if err != nil || n < 0 || n > most/unit || n*unit < least {
			return "it is not a number in range"
		}
		set(s, attribute{name, strconv.FormatInt(n*unit, 10)})
		return ""
	}
}
