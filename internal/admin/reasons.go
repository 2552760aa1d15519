package admin

import (
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// reasonText is the text of a reason.
type reasonText struct {
	words string // a sentence without its full stop
	more  more
	note  string // automatic consequences, or references; may be empty
	help  string // remedies for the operator; may be empty
}

// more selects the details that a stored URL adds to the text of a reason.
type more uint8

const (
	noMore     more = iota
	itsText         // its text, which names a rule, a status or the like
	textAlone       // its text alone
	duplicate       // the URL with the same content
	redirected      // the redirect's target
)

// Help texts that several reasons share.
const (
	changeRules = "To crawl it, change the setting at the named place. Try the URL in the editor of the console, or with sextant explain, before you save."
	lookAgain   = "A dry run shows how the site responds now. When the site works again, recrawl the URL."
	otherURL    = "The document is indexed under the other URL."
)

// reasonWords returns the text of a reason, the only one there is.
func reasonWords(r scheduler.Reason) reasonText {
	words := reasonTexts()
	if int(r) >= len(words) {
		return reasonText{}
	}
	return words[r]
}

// reasonTexts returns the texts of all reasons, by number.
func reasonTexts() []reasonText {
	return []reasonText{
		scheduler.ReasonRules:      {"the rules ignore it", itsText, "", changeRules},
		scheduler.ReasonCrawlSpace: {"it is outside the crawl space", itsText, "", changeRules},
		scheduler.ReasonElsewhere:  {"global.rules assigns it to another crawler", itsText, "", changeRules},
		scheduler.ReasonRenamed:    {"it is crawled under another URL", itsText, "", "Look at the other URL."},
		scheduler.ReasonNotIndexed: {"it is crawled only for its links", noMore, "", "To index it, add a later rule with Index."},
		scheduler.ReasonListGone:   {"the configuration no longer has its <XMLDocuments>", noMore, "", "To index it, write its <XMLDocuments> again."},
		scheduler.ReasonNoTarget:   {"no target accepts its push source", itsText, "", "Correct the name in <Source>, or write a <Push> that accepts it."},
		scheduler.ReasonKilled:     {"the kill list names it", itsText, "", "To index it, remove it from the kill list."},
		scheduler.ReasonMediaType:  {"its media type is excluded", itsText, "", changeRules},
		scheduler.ReasonRemoved:    {"the operator removed it", noMore, "", "Add it to crawl it again."},

		// A site's or page's requests.
		scheduler.ReasonRobots:            {"robots.txt forbids it", noMore, "The URL is requested again automatically.", "Ask the owner of the site to allow this crawler in robots.txt."},
		scheduler.ReasonRobotsUnreachable: {"its robots.txt is unreachable", noMore, "The crawl continues automatically when the site serves its robots.txt.", ""},
		scheduler.ReasonNoIndex:           {"the page has noindex", noMore, "", "Remove noindex from the page's robots meta or its X-Robots-Tag header, then recrawl it."},
		scheduler.ReasonUnavailable:       {"the page's unavailable_after has passed", itsText, "", "Change unavailable_after in the page, then recrawl it."},
		scheduler.ReasonCanonical:         {"the page names another URL as its canonical one", duplicate, otherURL, ""},
		scheduler.ReasonEmpty:             {"there is nothing to index in it", noMore, "", lookAgain},
		scheduler.ReasonSource:            {"it is a sitemap, feed or XML file", noMore, "", ""},
		scheduler.ReasonNotNamed:          {"no longer named by the configuration or a robots.txt", noMore, "", ""},
		scheduler.ReasonItemGone:          {"its feed or XML file no longer lists it", noMore, "", ""},
		scheduler.ReasonCopy:              {"another document has the same content", duplicate, otherURL, ""},
		scheduler.ReasonNearCopy:          {"another document has nearly the same content", duplicate, otherURL, ""},
		scheduler.ReasonRedirect:          {"it redirects", redirected, "The document is indexed under the target's URL.", ""},
		scheduler.ReasonMoved:             {"its site has moved", redirected, "", "Write the new address of the site in the configuration."},
		scheduler.ReasonTruncated:         {"it is longer than maxBodyBytes or maxPDFBytes, and the rest was not read", noMore, "", "To index the rest, raise the limit."},
		scheduler.ReasonUnreadable:        {"it cannot be read", textAlone, "", lookAgain},
		scheduler.ReasonUnreadFile:        {"it cannot be read", textAlone, "", lookAgain},
		scheduler.ReasonNoText:            {"it has no text, or no reader supports its type", noMore, "", "Exclude unwanted types with MimeTypes."},
		scheduler.ReasonNoField:           {"a Field of the configuration was not found", noMore, "", "Inspect it with sextant fetch; change the selector, or narrow the Field's condition to the pages that have it."},
		scheduler.ReasonAppShell:          {"only scripts fill the page, and they were not run or added hardly any text", noMore, "", "Have a browser render it (Fetch render=\"auto\"); if it already does, check which requests were refused. Or crawl pages that the site's server renders, such as a sitemap, feed or printable version."},
		scheduler.ReasonNotProcessed:      {"the response contains nothing to index", itsText, "", lookAgain},

		// Visits that failed, or could not be made.
		scheduler.ReasonNewText: {"its text shares almost nothing with that in the index", noMore, "", lookAgain},
		scheduler.ReasonTarget: {"its push source changed, and a target does not accept the new one", noMore, "",
			changeRules},
		scheduler.ReasonNotFound: {"the site does not have it", itsText, "",
			"Fix the links to it, or the site; then recrawl it."},
		scheduler.ReasonClientError: {"the site refuses access", itsText, "", lookAgain},
		scheduler.ReasonServerError: {"the site fails", itsText, "", lookAgain},
		scheduler.ReasonOtherStatus: {"the site's response is invalid", itsText, "", lookAgain},
		scheduler.ReasonLogin: {"the site requires a log-in", itsText, "",
			"Check that the log-in of the configuration works; sextant status lists those that fail."},
		scheduler.ReasonDNS:         {"the name of its host cannot be resolved", itsText, "", lookAgain},
		scheduler.ReasonConnect:     {"its host cannot be reached", itsText, "", lookAgain},
		scheduler.ReasonTLS:         {"no secure connection to its host can be made", itsText, "", lookAgain},
		scheduler.ReasonTimeout:     {"its host takes too long", itsText, "", lookAgain},
		scheduler.ReasonProtocol:    {"its host violates HTTP", itsText, "", lookAgain},
		scheduler.ReasonBadRedirect: {"its redirects lead to no page", itsText, "", lookAgain},
		scheduler.ReasonAddress: {"the address of its host is refused", itsText, "",
			"To crawl its host, allow the address in the configuration."},
		scheduler.ReasonProxy: {"its proxy does not respond", itsText, "The crawl continues automatically when the proxy responds.",
			""},
		scheduler.ReasonRendering: {"it cannot be rendered", itsText, "",
			"A dry run with rendering shows the result of the browser."},
		scheduler.ReasonNoBrowser: {"no browser can be started to render it", itsText,
			"The crawl continues automatically when one can.", "See the page on rendering in the manual."},
		scheduler.ReasonBodyLost: {"its document was damaged on disk before it was sent", itsText,
			"It is fetched again before new URLs; until then the indexer has an older version, or none.", ""},
		scheduler.ReasonReader: {"this machine failed to read it", itsText,
			"It is retried automatically; its document stays.", "If that persists, give the workers more time or memory: " +
				"documentTimeoutS, documentMaxMemoryMB."},
		scheduler.ReasonBotWall: {"a bot wall refuses this crawler", itsText,
			"It is requested again every hour; its document stays.", "Ask the owner of the site to admit this " +
				"crawler there, by its User-Agent and the address that it comes from. Sextant solves no challenge and shows " +
				"no other name."},
		scheduler.ReasonSessionWaits: {"its log-in currently fails", itsText, "The crawl continues automatically when the log-in works; sextant status lists those that fail.", ""},
	}
}

// because describes the reason for one URL.
func (t *reasonText) because(s *report.StoredURL) string {
	detail := ""
	switch t.more {
	case noMore:
	case itsText:
		detail = s.LastError
	case textAlone:
		if s.LastError != "" {
			return s.LastError
		}
	case duplicate, redirected:
		detail = t.other(s)
	}
	switch {
	case t.words == "" || detail == "":
		return t.words
	case t.more == itsText:
		return t.words + " (" + detail + ")"
	}
	return t.words + ": " + detail
}

// other returns the URL that has the document.
func (t *reasonText) other(s *report.StoredURL) string {
	switch t.more {
	case duplicate:
		return s.DuplicateOf
	case redirected:
		return s.RedirectTo
	case noMore, itsText, textAlone:
	}
	return ""
}
