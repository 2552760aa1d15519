package admin

import (
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// reasonText is the text of a reason.
type reasonText struct {
	words string // a sentence without its full stop
	more  more
	note  string // what follows by itself, or is found elsewhere; may be empty
	help  string // what an operator can do; empty for nothing
}

// more selects what a stored URL adds to the text of a reason.
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
	changeRules = "If it is to be crawled, change what stands at the named place. Try the URL in the editor of the console, or with sextant explain, before you save."
	lookAgain   = "A dry run shows what the site answers now. When the site works again, recrawl the URL."
	otherURL    = "The document stands under the other URL."
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
		scheduler.ReasonCrawlSpace: {"it is outside of the crawl space", itsText, "", changeRules},
		scheduler.ReasonElsewhere:  {"global.rules leave it to another crawler", itsText, "", changeRules},
		scheduler.ReasonRenamed:    {"it is crawled under another name", itsText, "", "Look at the other URL."},
		scheduler.ReasonNotIndexed: {"it is crawled for its links only", noMore, "", "If it is to be found, let a later rule say Index."},
		scheduler.ReasonListGone:   {"its <XMLDocuments> is not in the configuration any more", noMore, "", "If it is to be found, write its <XMLDocuments> again."},
		scheduler.ReasonNoTarget:   {"no target takes its push source", itsText, "", "Correct the name in <Source>, or write a <Push> that takes it."},
		scheduler.ReasonKilled:     {"the kill list names it", itsText, "", "If it is to be found, take it out of the kill list."},
		scheduler.ReasonMediaType:  {"its media type is not wanted", itsText, "", changeRules},
		scheduler.ReasonRemoved:    {"the operator removed it", noMore, "", "Add it to have it back."},

		// A site's or page's requests.
		scheduler.ReasonRobots:            {"robots.txt forbids it", noMore, "The URL is asked for again by itself.", "Ask the owner of the site to allow this crawler in robots.txt."},
		scheduler.ReasonRobotsUnreachable: {"its robots.txt is unreachable", noMore, "It goes on by itself when the site answers for its robots.txt.", ""},
		scheduler.ReasonNoIndex:           {"the page says noindex", noMore, "", "Take noindex out of the page's robots meta or its X-Robots-Tag header, then recrawl it."},
		scheduler.ReasonUnavailable:       {"the page's unavailable_after has passed", itsText, "", "Change unavailable_after in the page, then recrawl it."},
		scheduler.ReasonCanonical:         {"the page names another URL as its canonical one", duplicate, otherURL, ""},
		scheduler.ReasonEmpty:             {"there is nothing to index in it", noMore, "", lookAgain},
		scheduler.ReasonSource:            {"it is a sitemap, feed or XML file", noMore, "", ""},
		scheduler.ReasonNotNamed:          {"neither the configuration nor a robots.txt names it any more", noMore, "", ""},
		scheduler.ReasonItemGone:          {"its feed or XML file does not list it any more", noMore, "", ""},
		scheduler.ReasonCopy:              {"another document has its content", duplicate, otherURL, ""},
		scheduler.ReasonNearCopy:          {"another document has nearly its content", duplicate, otherURL, ""},
		scheduler.ReasonRedirect:          {"it redirects", redirected, "The document stands under the URL that it leads to.", ""},
		scheduler.ReasonMoved:             {"its site has moved", redirected, "", "Write the new address of the site in the configuration."},
		scheduler.ReasonTruncated:         {"it is longer than maxBodyBytes or maxPDFBytes, and the rest was not read", noMore, "", "Raise the limit if the rest is to be found."},
		scheduler.ReasonUnreadable:        {"it cannot be read", textAlone, "", lookAgain},
		scheduler.ReasonUnreadFile:        {"it cannot be read", textAlone, "", lookAgain},
		scheduler.ReasonNoText:            {"there is no text in it, or nothing reads its type", noMore, "", "Exclude types that are not wanted by MimeTypes."},
		scheduler.ReasonNoField:           {"a Field that the configuration looks for is not there", noMore, "", "Look at it with sextant fetch; change the selector, or narrow the Field's condition to the pages that have it."},
		scheduler.ReasonAppShell:          {"only its scripts fill the page, and they were not run or wrote hardly anything", noMore, "", "Have it rendered by a browser (Fetch render=\"auto\"); where it is, see which requests were refused. Or crawl a form of the site that its server renders, such as its sitemap, feed or printable pages."},
		scheduler.ReasonNotProcessed:      {"the answer has nothing to index", itsText, "", lookAgain},

		// Visits that failed, or could not be made.
		scheduler.ReasonNewText: {"its text shares next to nothing with that in the index", noMore, "", lookAgain},
		scheduler.ReasonTarget: {"its push source is another one, and a target does not take that", noMore, "",
			changeRules},
		scheduler.ReasonNotFound: {"the site does not have it", itsText, "",
			"Fix the links to it, or the site; then recrawl it."},
		scheduler.ReasonClientError: {"the site refuses it", itsText, "", lookAgain},
		scheduler.ReasonServerError: {"the site fails", itsText, "", lookAgain},
		scheduler.ReasonOtherStatus: {"the site's answer makes no sense", itsText, "", lookAgain},
		scheduler.ReasonLogin: {"the site requires a log-in", itsText, "",
			"See that the log-in of the configuration works; sextant status names those that fail."},
		scheduler.ReasonDNS:         {"the name of its host cannot be resolved", itsText, "", lookAgain},
		scheduler.ReasonConnect:     {"its host cannot be reached", itsText, "", lookAgain},
		scheduler.ReasonTLS:         {"no secure connection to its host can be made", itsText, "", lookAgain},
		scheduler.ReasonTimeout:     {"its host takes too long", itsText, "", lookAgain},
		scheduler.ReasonProtocol:    {"its host does not speak HTTP as it should", itsText, "", lookAgain},
		scheduler.ReasonBadRedirect: {"its redirects lead to no page", itsText, "", lookAgain},
		scheduler.ReasonAddress: {"the address of its host is refused", itsText, "",
			"If its host is to be crawled, allow the address in the configuration."},
		scheduler.ReasonProxy: {"its proxy does not answer", itsText, "It goes on by itself when the proxy answers.",
			""},
		scheduler.ReasonRendering: {"it cannot be rendered", itsText, "",
			"A dry run with rendering shows what the browser makes of it."},
		scheduler.ReasonNoBrowser: {"no browser can be started to render it", itsText,
			"It goes on by itself when one can.", "See the page on rendering in the manual."},
		scheduler.ReasonBodyLost: {"its document was lost before it was sent, because the disk damaged it", itsText,
			"It is fetched again, before what is new; until then the indexer has an older version, or none.", ""},
		scheduler.ReasonReader: {"this machine could not read it", itsText,
			"It is tried again by itself; its document stays.", "If it stays so, give the workers more time or memory: " +
				"documentTimeoutS, documentMaxMemoryMB."},
		scheduler.ReasonBotWall: {"a bot wall refuses this crawler", itsText,
			"It is asked for again every hour; its document stays.", "Ask the owner of the site to admit this " +
				"crawler there, by its User-Agent and the address that it comes from. Sextant solves no challenge and shows " +
				"no other name."},
		scheduler.ReasonSessionWaits: {"its log-in does not work at present", itsText, "It goes on by itself when the log-in works; sextant status names those that fail.", ""},
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
