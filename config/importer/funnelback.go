package importer

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/weburl"
)

// counterpart translates a key of collection.cfg; it returns what is wrong with the value, as a continuation of the
// key, or "".
type counterpart func(c *collection, value string) (complaint string)

// What to write by hand for log-ins and proxies.
const (
	basicAuth = `write <Fetch auth="basic" origins="http://HOST" user="..." password="${ENV}"><Host val="HOST"/></Fetch>`
	viaProxy  = `write <Fetch name="proxy" proxy="http://HOST:PORT"/> and fetcher="proxy" on the Crawler; also proxyUser and proxyPassword`
)

// counterparts returns the supported keys (Funnelback, "Web crawler configuration options").
func counterparts() map[string]counterpart {
	return map[string]counterpart{
		"collection":                      (*collection).crawlerName,
		"start_url":                       startURL,
		"include_patterns":                patterns("include"),
		"exclude_patterns":                patterns("exclude"),
		"crawler.num_crawlers":            number("Crawler", "nthreads", 1),
		"crawler.request_delay":           number("Crawler", "throttleTimeMS", 1),
		"crawler.request_timeout":         number("Crawler", "downloadTimeoutMS", 1),
		"crawler.max_download_size":       number("Crawler", "maxBodyBytes", 1<<20), // megabytes
		"crawler.max_dir_depth":           number("CrawlSpace", "maxPathDepth", 1),
		"crawler.max_link_distance":       number("CrawlSpace", "maxLinkDepth", 1),
		"crawler.max_url_length":          urlLength,
		"crawler.reject_files":            rejectFiles,
		"crawler.user_agent":              (*collection).userAgent,
		"crawler.ignore_robots_txt":       boolean("ignoreRobotsTxt"),
		"crawler.ignore_nofollow":         boolean("ignoreNofollow"),
		"crawler.use_sitemap_xml":         boolean("crawlSitemaps"),
		"crawler.accept_cookies":          boolean("enableCookies"),
		"crawler.start_urls_file":         startURLsFile,
		"crawler.max_files_per_server":    filesPerServer,
		"crawler.monitor_url_reject_list": advice("write the patterns to a file, one per line, and <RejectList file=\"...\"/>"),
		"indexer_options":                 indexerOptions,
		"http_user":                       advice(basicAuth),
		"http_passwd":                     advice(basicAuth),
		"http_proxy":                      advice(viaProxy),
		"http_proxy_port":                 advice(viaProxy),
		"http_proxy_user":                 advice(viaProxy),
		"http_proxy_passwd":               advice(viaProxy),
	}
}

// collection holds the translation of a collection.cfg.
type collection struct {
	*document
	root     string
	patterns []attribute
	space    []attribute
	ignored  []attribute // of IgnoredExtensions
	traps    []attribute
	longest  int  // longest URL, 0 is any
	roots    bool // a file of start URLs is named
	notes    []string
}

// collectionConfig translates a collection.cfg. The last of duplicate keys counts, as in Java's properties.
func collectionConfig(d *document, file *crawlspace.File) (errs []error) {
	values, at := make(map[string]string), make(map[string]line)
	var keys []string
	for _, l := range lines(file) {
		key, value, ok := strings.Cut(l.text, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			errs = append(errs, l.errorf("%s is not of the form key=value", clip(l.text)))
			continue
		}
		if _, again := values[key]; !again {
			keys = append(keys, key)
		}
		values[key], at[key] = strings.TrimSpace(value), l
	}
	if len(errs) > 0 {
		return errs
	}
	c := &collection{document: d}
	known := counterparts()
	for _, key := range keys {
		value := values[key]
		switch translate := known[key]; {
		case translate == nil:
			c.leaveOut(at[key], key, value, "", strings.HasPrefix(key, "crawler.") || strings.HasPrefix(key, "http_"))
		case value == "":
		default:
			complaint := translate(c, value)
			switch {
			case complaint == "":
			case key == "exclude_patterns": // never dropped: the URLs it excludes would be crawled
				errs = append(errs, at[key].errorf("exclude_patterns cannot be imported: %s", complaint))
			default:
				c.leaveOut(at[key], key, value, complaint, key != "indexer_options")
			}
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if c.root == "" && !c.roots {
		c.untranslated = append(c.untranslated, &actionrules.Error{At: actionrules.Position{File: file.Name}, Rule: -1,
			Err: errors.New("there is no start_url: write <Root url=\"http://...\"/>")})
	}
	c.write()
	return nil
}

// leaveOut records a setting without a counterpart; if told is set it is also an error.
func (c *collection) leaveOut(l line, key, value, why string, told bool) {
	note := "Not translated: " + key + "=" + shown(key, value)
	if why != "" {
		note += ": " + why
	}
	c.notes = append(c.notes, note)
	if !told {
		return
	}
	if why == "" {
		why = "it has no counterpart"
	}
	c.untranslated = append(c.untranslated, l.errorf("%s: %s", key, why))
}

// shown returns a value for a comment, or a placeholder if the key suggests a secret.
func shown(key, value string) string {
	key = strings.ToLower(key)
	for _, word := range []string{"pass", "secret", "token", "credential", "auth", "cookie", "header", "key"} {
		if strings.Contains(key, word) && value != "" {
			return "***"
		}
	}
	return value
}

// write writes the translation into the document.
func (c *collection) write() {
	// With includes, everything that passes them starts accepted; without, only the site of the start URL does, or the
	// crawl would be unlimited.
	included := slices.ContainsFunc(c.patterns, func(a attribute) bool { return a.name == "include" })
	if !included {
		for _, name := range []string{"defaultAccept", "defaultIndex", "defaultFollow"} {
			c.set(name, "false")
		}
		c.notes = append(c.notes, "Without include_patterns, only the site of the start URL is crawled.")
	}
	// Funnelback deletes nothing after a temporary error, refreshes each night, and ignores wildcards and Allow in
	// robots.txt.
	for _, a := range []attribute{{"robotsAgent", "FunnelBack"}, {"robots", "original"}, {"errorPolicy", "cautious"}, {"smartRefresh", "true"}} {
		c.set(a.name, a.value)
	}
	if c.root != "" {
		c.add("Root", attribute{"url", c.root}, attribute{"site", strconv.FormatBool(!included)})
	}
	if len(c.space) > 0 {
		c.add("CrawlSpace", c.space...)
	}
	if len(c.patterns) > 0 {
		c.add("Patterns", c.patterns...)
	}
	c.add("IgnoredExtensions", c.ignored...)
	c.add("Traps", c.traps...)
	if c.longest > 0 {
		c.rules([]string{rule(element("ar:Length", attribute{"field", "url"}, attribute{"val", "[" + strconv.Itoa(c.longest+1) + ":]"}), "Ignore")})
	}
	for _, note := range c.notes {
		c.comment("%s", note)
	}
	c.comment("Not in this file: kill_exact.cfg, kill_pattern.cfg, a file of start URLs that is not named above. Write them as Kill and Roots.")
}

func (d *document) crawlerName(v string) string {
	if strings.ContainsAny(v, `/\`) || strings.HasPrefix(v, ".") || len(v) > 200 {
		return "the name of a Crawler names a folder, too"
	}
	d.name = v
	return ""
}

func startURL(c *collection, v string) string {
	u, err := weburl.Parse(v)
	if err != nil {
		return "it is not an absolute URL: write <Root url=\"http://...\"/>"
	}
	c.root = u.String()
	return ""
}

// patterns keeps a value of include_patterns or exclude_patterns unchanged, since it means the same here, except for
// look-ahead.
func patterns(name string) counterpart {
	return func(c *collection, v string) string {
		if expression, found := strings.CutPrefix(v, "regexp:"); found {
			v = "regexp:" + withoutLookahead(expression, false)
		}
		text := crawlspace.Text{Value: v}
		settings := crawlspace.Settings{Include: text}
		if name == "exclude" {
			settings = crawlspace.Settings{Exclude: text}
		}
		if _, errs := crawlspace.Compile(settings, nil); len(errs) > 0 {
			return errs[0].Error()
		}
		c.patterns = append(c.patterns, attribute{name, v})
		return ""
	}
}

// number sets an attribute of an element to a number in units, if it is in range.
func number(elementName, name string, unit int64) counterpart {
	return func(c *collection, v string) string {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return "it is not a whole number"
		}
		least, most := limits(elementName, name)
		if n < 0 || n > most/unit || n*unit < least {
			return name + " must be " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10)
		}
		a := attribute{name, strconv.FormatInt(n*unit, 10)}
		if elementName == "Crawler" {
			c.set(a.name, a.value)
		} else {
			c.space = append(c.space, a)
		}
		return ""
	}
}

// limits returns the range of a numeric attribute.
func limits(elementName, name string) (least, most int64) {
	for _, e := range config.Elements() {
		for _, a := range e.Attributes {
			if e.Name == elementName && a.Name == name {
				return a.Min, a.Max
			}
		}
	}
	return 0, 0
}

func boolean(name string) counterpart {
	return func(c *collection, v string) string {
		v = strings.ToLower(v)
		if v != "true" && v != "false" {
			return "it is neither true nor false"
		}
		c.set(name, v)
		return ""
	}
}

// startURLsFile refers to the file, which has one URL a line, as here.
func startURLsFile(c *collection, v string) string {
	c.roots = true
	c.add("Roots", attribute{"file", v})
	return ""
}

func filesPerServer(c *collection, v string) string {
	least, most := limits("Traps", "maxURLsPerHost")
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		return "it is not a number of 1 or more"
	}
	c.traps = []attribute{{"maxURLsPerHost", v}}
	return ""
}

func advice(words string) counterpart {
	return func(*collection, string) string { return words }
}

func urlLength(c *collection, v string) string {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return "it is not a number of 1 or more"
	}
	if n < weburl.MaxLength {
		c.longest = n
	}
	return ""
}

// rejectFiles excludes extensions.
func rejectFiles(c *collection, v string) string {
	list := crawlspace.Text{Value: v}
	if _, errs := crawlspace.Compile(crawlspace.Settings{Extensions: &crawlspace.Extensions{List: list}}, nil); len(errs) > 0 {
		return errs[0].Error()
	}
	c.ignored = []attribute{{"list", v}}
	return ""
}

func (d *document) userAgent(v string) string {
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "a header contains only printable ASCII"
	}
	d.set("userAgent", v)
	return ""
}

// indexerOptions translates -ignore_noindex; the other options concern only the indexer.
func indexerOptions(c *collection, v string) string {
	var others []string
	for option := range strings.FieldsSeq(v) {
		if option == "-ignore_noindex" {
			c.set("ignoreNoindex", "true")
		} else {
			others = append(others, option)
		}
	}
	if len(others) > 0 {
		return "the indexer's own, other than -ignore_noindex"
	}
	return ""
}
