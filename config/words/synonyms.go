package words

import "strings"

// Synonym maps names of other products, in lower case, to the name here.
type Synonym struct {
	names string // separated by blanks
	write string
}

// Elements returns synonyms of elements; a key with an element's name and a dot applies only inside that element.
func Elements() []Synonym {
	return []Synonym{
		{"rule.exclude rule.deny rule.disallow rule.skip rule.block rule.forbid rule.reject", `write <Ignore/>`},
		{"rule.include rule.allow rule.permit", `write <Accept/>`},
		{"exclude deny disallow skip block forbid reject blacklist excludepatterns", `write a <Rule> with a condition and <Ignore/>, or <Patterns exclude="..."/>`},
		{"include allow permit whitelist includepatterns", `write a <Rule> with a condition and <Accept/>, or <Patterns include="..."/>`},
		{"delay crawldelay requestdelay politeness politenessdelay", `write throttleTimeMS="..." in <Crawler>, or <Throttle> for some URLs`},
		{"maxdepth depth crawldepth maxlinkdepth maxpathdepth", `write <CrawlSpace maxLinkDepth="..."/>`},
		{"starturl starturls start_url seed seeds entrypoint url urls", `write <Root url="..."/>, or <Roots file="..."/>`},
		{"obeyrobots robots robotstxt ignorerobots ignorerobotstxt", `write ignoreRobotsTxt="..." in <Crawler>`},
		{"useragent agent", `write userAgent="..." in <Crawler>`},
		{"threads numthreads nthreads", `write nthreads="..." in <Crawler>`},
		{"proxy proxysettings", `write <Fetch proxy="..."> with a condition`},
		{"login auth authentication credentials header headers cookie", `write <Fetch auth="..."> or a <Header> in <Fetch>`},
		{"schedule cron interval", `write <Refresh schedule="..."/>`},
		{"filter filters referencefilter referencefilters pattern regex regexp match", `write a <Rule> with a condition such as <Path>, and <Accept/> or <Ignore/>`},
		{"ignoreextensions extensions extensionfilter", `write <IgnoredExtensions list="..."/>`},
		{"sitemaps sitemapurl", `write <Sitemap url="..."/>`},
		{"output committer target indexer elasticsearch solr", `write <Push kind="..." url="..."/>`},
		{"meta addfield field constant", `write <AddMeta name="..." value="..."/>`},
	}
}

// Attributes returns synonyms of attributes; a key with an element's name and a dot applies only to that element.
func Attributes() []Synonym {
	return []Synonym{
		{"crawler.maxdepth crawler.depth crawler.crawldepth crawler.maxlinkdepth", `write <CrawlSpace maxLinkDepth="..."/> in it`},
		{"crawler.maxpages crawler.maxurls crawler.maxdocuments crawler.pagelimit", `write <Traps maxURLsPerHost="..."/> in it, or end a trial by sextant run --once --max-pages N`},
		{"crawler.maxpathdepth", `write <CrawlSpace maxPathDepth="..."/> in it`},
		{"crawlspace.maxdepth crawlspace.depth", `write maxLinkDepth`},
		{"obeyrobots obeyrobotstxt respectrobots robotstxt userobots ignorerobots", `write ignoreRobotsTxt, which is true where robots.txt is not obeyed`},
		{"delay crawldelay requestdelay politeness politenessdelay throttle", `write throttleTimeMS, in milliseconds`},
		{"threads numthreads maxthreads workers", `write nthreads`},
		{"timeout requesttimeout", `write downloadTimeoutMS, or one of the other time limits`},
		{"maxsize maxfilesize maxdocumentsize", `write maxBodyBytes`},
		{"agent", `write userAgent`},
		{"crawler.starturl crawler.url crawler.seed crawler.root", `write <Root url="..."/> in it`},
		{"refresh.match refresh.url refresh.pattern refresh.path", `write a condition inside: <Refresh schedule="@hourly"><Path val="/news/"/></Refresh>`},
		{"refresh.interval refresh.every refresh.cron refresh.intervals", `write schedule="@every 1h", or minimumAgedS="3600" with a condition inside`},
		{"refresh.minages refresh.minage", `write smartRefreshMinAgeS`},
		{"refresh.maxages refresh.maxage", `write smartRefreshMaxAgeS`},
		{"href src location", `write url`},
		{"pattern regex regexp expression match", `write val, and litteral="false" for an ordinary regular expression`},
		{"converter.mimetype converter.type converter.contenttype", `write mediaType`},
		{"converter.cmd converter.program converter.exec", `write command`},
		{"converter.timeout", `write timeoutS, in seconds`},
		{"atom.type atom.match", `write kind`},
		{"literal", `write litteral, with two t`},
		{"casesensitive ignorecase case", `write norm="none", lower or norm`},
		{"proxyhost", `write <Fetch proxy="...">`},
	}
}

// Values returns synonyms of values.
func Values() []Synonym {
	return []Synonym{
		{"elastic es elk", "elasticsearch"},
		{"exalead cloudview papi4", "papi"},
		{"http hook rest", "webhook"},
		{"disk json jsonl files", "file"},
		{"contains", "inside"}, {"begins startswith begin", "prefix"}, {"ends endswith end", "suffix"}, {"equals is full", "exact"},
		{"careful safe", "cautious"},
	}
}

// MeantIn is Meant for a word inside an element, which may have a meaning of its own there.
func MeantIn(element, word string, known []Synonym) string {
	if write := Meant(element+"."+word, known); write != "" {
		return write
	}
	return Meant(word, known)
}

// Meant returns the name that a word stands for; "" if there is none.
func Meant(word string, known []Synonym) string {
	word = strings.ToLower(word)
	for _, s := range known {
		for name := range strings.FieldsSeq(s.names) {
			if name == word {
				return s.write
			}
		}
	}
	return ""
}
