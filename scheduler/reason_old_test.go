package scheduler

import (
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// TestOldReason: the phrases by which records were told apart before there were reasons,
// as the program wrote them then.
func TestOldReason(t *testing.T) {
	ignored := func(status int, words string) Record { return Record{Class: Ignored, Status: status, LastError: words} }
	ok := func(words string) Record { return Record{Class: OK, Status: 200, LastError: words} }
	for _, c := range []struct {
		name string
		r    Record
		want Reason
	}{
		{"rule", ignored(760, "rule 3 at CrawlConfig.xml:12:5"), ReasonRules},
		{"many rules", ignored(760, "the rules ignore it; explain names the one that does"), ReasonRules},
		{"no rule", ignored(760, "no rule accepts it"), ReasonRules},
		{"gate", ignored(760, "domain gate, crawl.rules:3: forbid domain *"), ReasonCrawlSpace},
		{"gate without a rule", ignored(760, "start-url gate"), ReasonCrawlSpace},
		{"trap", ignored(760, "repetition gate"), ReasonCrawlSpace},
		{"address", ignored(760, "dial 10.0.0.1: address gate, crawl.rules:3: forbid ip 10.0.0.0/8"), ReasonCrawlSpace},
		{"another name", ignored(760, `canonical gate, CrawlConfig.xml:8: dropWWW="true"`), ReasonRenamed},
		{"query filter", ignored(760, `query-filter gate, CrawlConfig.xml:8: keep="id"`), ReasonCrawlSpace},
		{"another crawler's", ignored(761, "domain gate, crawl.rules:3: forbid domain *"), ReasonElsewhere},
		{"robots.txt", ignored(0, "robots.txt forbids it"), ReasonRobots},
		{"sitemap not named", ignored(0, "neither the configuration nor a robots.txt names it any more"), ReasonNotNamed},
		{"guarded", Record{Class: Ignored, Fault: fault.Address, LastError: "127.0.0.1 is loopback"}, ReasonAddress},

		{"good", ok(""), NoReason},
		{"not indexed", ok("not indexed by rule"), ReasonNotIndexed},
		{"killed", ok("kill gate, kill.txt:17: /old/*"), ReasonKilled},
		{"noindex", ok("noindex"), ReasonNoIndex},
		{"unavailable", ok("unavailable_after 25 Jun 2026 15:00:00 PST"), ReasonUnavailable},
		{"unavailable since", ok("unavailable_after is over"), ReasonUnavailable},
		{"canonical", Record{Class: OK, LastError: "its canonical is http://a.test/1", DuplicateOf: "http://a.test/1"}, ReasonCanonical},
		{"canonical, words lost", Record{Class: OK, LastError: "304 Not Modified", DuplicateOf: "http://a.test/1"}, ReasonCanonical},
		{"copy", Record{Class: OK, LastError: "it has the content of http://a.test/1", DuplicateOf: "http://a.test/1"}, ReasonCopy},
		{"near copy", Record{Class: OK, LastError: "it has nearly the content of http://a.test/1", DuplicateOf: "http://a.test/1"}, ReasonNearCopy},
		{"empty", ok("empty"), ReasonEmpty},
		{"MIME type", ok("mime gate, crawl.rules:4: forbid mime image/*"), ReasonMediaType},
		{"no words for it", ok("304 Not Modified"), NoReason},
		{"too long", ok("longer than maxBodyBytes or maxPDFBytes: the rest is not read"), ReasonTruncated},
		{"page cannot be read", ok("the page cannot be read: unknown encoding"), ReasonUnreadable},
		{"document cannot be read", ok("the document cannot be read: it is encrypted"), ReasonUnreadFile},
		{"item gone", Record{Class: OK, Kind: KindItem, LastError: "its element is gone from the XML file"}, ReasonItemGone},
		{"too long, indexed", Record{Class: OK, Indexed: true, LastError: "longer than maxBodyBytes or maxPDFBytes: the rest is not read"}, ReasonTruncated},
		{"deletion held", Record{Class: OK, Indexed: true, LastError: "noindex"}, ReasonNoIndex},

		{"waits for robots.txt", Record{LastError: "robots.txt cannot be had"}, ReasonRobotsUnreachable},
		{"waits for a session", Record{LastError: "intranet: log-in failed: status 500"}, NoReason},
		{"never fetched", Record{}, NoReason},

		{"redirect", Record{Class: Redirect, Status: 301, LastError: "301 Moved Permanently"}, ReasonRedirect},
		{"sitemap", Record{Class: OK, Kind: KindSitemap, LastError: "sitemap: 12 entries"}, ReasonSource},
		{"feed that fails", Record{Class: Permanent, Kind: KindFeed, Status: 404, LastError: "404 Not Found"}, ReasonNotFound},

		{"404", Record{Class: Permanent, Status: 404, LastError: "404 Not Found"}, ReasonNotFound},
		{"410", Record{Class: Permanent, Status: 410}, ReasonNotFound},
		{"403", Record{Class: Permanent, Status: 403}, ReasonClientError},
		{"500", Record{Class: Temporary, Status: 500}, ReasonServerError},
		{"206", Record{Class: Permanent, Status: 206}, ReasonOtherStatus},
		{"401", Record{Class: Permanent, Status: 401}, ReasonLogin},
		{"407", Record{Class: Permanent, Status: 407}, ReasonLogin},
		{"leads to a log-in", Record{Class: Temporary, Status: 302, LastError: "logged in, but status 302 leads to a log-in page"}, ReasonLogin},
		{"logged out", Record{Class: Temporary, Status: 403, LastError: "logged in and other pages work, but status 403"}, ReasonLogin},
		{"time-out in a log-in", Record{Class: Temporary, Fault: fault.Timeout, LastError: "the log-in page http://a.test/login: time-out"}, ReasonTimeout},
		{"connection refused", Record{Class: Temporary, Fault: fault.Refused}, ReasonConnect},
		{"unknown class", Record{Class: 99, LastError: "noindex"}, NoReason},
	} {
		if got := OldReason(&c.r); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
