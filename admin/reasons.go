package admin

import (
	"github.com/sextant-crawler/sextant/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// reasonText is a reason in words.
type reasonText struct {
	words string // a sentence without its full stop
	more  more
	note  string // what follows by itself, or stands elsewhere; may be empty
	help  string // what an operator can do; empty for nothing
}

// more is what of a stored URL says more than a reason does.
type more uint8

const (
	noMore     more = iota
	itsText         // the text, which names a rule, a status or the like
	textAlone       // the text, which says all
	duplicate       // the URL that has the content
	redirected      // the URL that it leads to
)

// The help that several reasons share.
const (
	changeRules = "If it is to be crawled, change what stands at the named place. Try the URL in the editor of the console, or with sextant explain, before you save."
	lookAgain   = "See with a dry run what the site answers now. When the site is mended, have the URL fetched again."
	otherURL    = "The document stands under the other URL."
)

// reasonWords words every scheduler.Reason: the only place that does.
func reasonWords(r scheduler.Reason) reasonText {
	switch r {
	case scheduler.ReasonRules:
		return reasonText{"the rules ignore it", itsText, "", changeRules}
	case scheduler.ReasonCrawlSpace:
		return reasonText{"it is outside of the crawl space", itsText, "", changeRules}
	case scheduler.ReasonElsewhere:
		return reasonText{"global.rules leave it to another crawler", itsText, "", changeRules}
	case scheduler.ReasonRenamed:
		return reasonText{"it is crawled under another name", itsText, "", "Look at the other URL."}
	case scheduler.ReasonNotIndexed:
		return reasonText{"a rule has it crawled for its links only", noMore, "", "If it is to be found, let a later rule say Index."}
	case scheduler.ReasonKilled:
		return reasonText{"the kill list names it", itsText, "", "If it is to be found, take it out of the kill list."}
	case scheduler.ReasonMediaType:
		return reasonText{"its media type is not wanted", itsText, "", changeRules}
	case scheduler.ReasonRemoved:
		return reasonText{"the operator removed it", noMore, "", "Add it to have it back."}
	default:
		return siteWords(r)
	}
}

// siteWords are the reasons that a site or a page gives.
func siteWords(r scheduler.Reason) reasonText {
	switch r {
	case scheduler.ReasonRobots:
		return reasonText{"robots.txt forbids it", noMore, "The URL is asked for again by itself.", "Ask the owner of the site to allow this crawler in robots.txt."}
	case scheduler.ReasonRobotsUnreachable:
		return reasonText{"its robots.txt cannot be had", noMore, "It goes on by itself when the site answers for its robots.txt.", ""}
	case scheduler.ReasonNoIndex:
		return reasonText{"the page says noindex", noMore, "", "Take noindex out of the page's robots meta or its X-Robots-Tag header, then have it fetched again."}
	case scheduler.ReasonUnavailable:
		return reasonText{"the page says that its time is over", itsText, "", "Change unavailable_after in the page, then have it fetched again."}
	case scheduler.ReasonCanonical:
		return reasonText{"the page names another URL as its canonical one", duplicate, otherURL, ""}
	case scheduler.ReasonEmpty:
		return reasonText{"there is nothing to index in it", noMore, "", lookAgain}
	case scheduler.ReasonSource:
		return reasonText{"it is a sitemap, feed or XML file", noMore, "", ""}
	case scheduler.ReasonNotNamed:
		return reasonText{"neither the configuration nor a robots.txt names it any more", noMore, "", ""}
	case scheduler.ReasonItemGone:
		return reasonText{"its feed or XML file does not list it any more", noMore, "", ""}
	case scheduler.ReasonCopy:
		return reasonText{"another document has its content", duplicate, otherURL, ""}
	case scheduler.ReasonNearCopy:
		return reasonText{"another document has nearly its content", duplicate, otherURL, ""}
	case scheduler.ReasonRedirect:
		return reasonText{"it redirects", redirected, "The document stands under the URL that it leads to.", ""}
	case scheduler.ReasonMoved:
		return reasonText{"its site has moved", redirected, "", "Write the new address of the site in the configuration."}
	case scheduler.ReasonTruncated:
		return reasonText{"it is longer than maxBodyBytes or maxPDFBytes, and the rest was not read", noMore, "", "Raise the limit if the rest is to be found."}
	case scheduler.ReasonUnreadable, scheduler.ReasonUnreadFile:
		return reasonText{"it cannot be read", textAlone, "", lookAgain}
	case scheduler.ReasonNotProcessed:
		return reasonText{"the answer has nothing to index", itsText, "", lookAgain}
	default:
		return failureWords(r)
	}
}

// failureWords are the reasons of visits that failed, or could not be made.
func failureWords(r scheduler.Reason) reasonText {
	switch r {
	case scheduler.ReasonNotFound:
		return reasonText{"the site does not have it", itsText, "", "Mend the links to it, or the site; then have it fetched again."}
	case scheduler.ReasonClientError:
		return reasonText{"the site refuses it", itsText, "", lookAgain}
	case scheduler.ReasonServerError:
		return reasonText{"the site fails", itsText, "", lookAgain}
	case scheduler.ReasonOtherStatus:
		return reasonText{"the site's answer makes no sense", itsText, "", lookAgain}
	case scheduler.ReasonLogin:
		return reasonText{"the site wants a log-in", itsText, "", "See that the log-in of the configuration works; sextant status names those that fail."}
	case scheduler.ReasonDNS:
		return reasonText{"the name of its host cannot be resolved", itsText, "", lookAgain}
	case scheduler.ReasonConnect:
		return reasonText{"its host cannot be reached", itsText, "", lookAgain}
	case scheduler.ReasonTLS:
		return reasonText{"no secure connection to its host can be made", itsText, "", lookAgain}
	case scheduler.ReasonTimeout:
		return reasonText{"its host takes too long", itsText, "", lookAgain}
	case scheduler.ReasonProtocol:
		return reasonText{"its host does not speak HTTP as it should", itsText, "", lookAgain}
	case scheduler.ReasonBadRedirect:
		return reasonText{"its redirects lead nowhere", itsText, "", lookAgain}
	case scheduler.ReasonAddress:
		return reasonText{"the address of its host is refused", itsText, "", "If its host is to be crawled, allow the address in the configuration."}
	case scheduler.ReasonProxy:
		return reasonText{"its proxy does not answer", itsText, "It goes on by itself when the proxy answers.", ""}
	case scheduler.ReasonSessionWaits:
		return reasonText{"its log-in does not work at present", itsText, "It goes on by itself when the log-in works; sextant status names those that fail.", ""}
	default:
		return reasonText{}
	}
}

// because words the reason of one URL.
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

// other is the URL that has the document.
func (t *reasonText) other(s *report.StoredURL) string {
	switch t.more {
	case duplicate:
		return s.DuplicateOf
	case redirected:
		return s.RedirectTo
	default:
		return ""
	}
}
