package scheduler

import (
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// Reason is why a URL is not in the index, why its document is to leave it, or what was wrong with its last response.
// Code decides by it; the text beside it (Record.LastError) is for people and may change at any time. Numbers are
// stored: a new reason goes to the end, and no number is reused.
type Reason uint8

// The reasons.
const (
	NoReason Reason = iota

	// The operator's rules.
	ReasonRules      // the action rules ignore it
	ReasonCrawlSpace // a gate of the crawl space refuses it
	ReasonElsewhere  // global.rules give it to another crawler (761)
	ReasonRenamed    // it is known under another name
	ReasonNotIndexed // a rule says NoIndex
	ReasonKilled     // the kill list names it
	ReasonMediaType  // the rules do not take its MIME type
	ReasonRemoved    // sextant remove

	// A site's requests.
	ReasonRobots            // robots.txt forbids it
	ReasonRobotsUnreachable // robots.txt is unreachable: the URL waits
	ReasonNoIndex           // robots meta or X-Robots-Tag
	ReasonUnavailable       // unavailable_after is over
	ReasonCanonical         // the page names another URL

	// Properties of a page.
	ReasonEmpty        // nothing to index
	ReasonSource       // a sitemap, feed or XML file
	ReasonNotNamed     // a sitemap that robots.txt and the configuration no longer name
	ReasonItemGone     // the feed or XML file no longer lists it
	ReasonCopy         // another document has its content
	ReasonNearCopy     // another document has nearly its content
	ReasonRedirect     // it redirects
	ReasonMoved        // its site moved, and the rules follow
	ReasonTruncated    // longer than maxBodyBytes: the rest was not read
	ReasonUnreadable   // the page cannot be read
	ReasonUnreadFile   // a file that is damaged, encrypted or the like
	ReasonNotProcessed // a 2xx response other than 200, 204 and 206

	// Failures.
	ReasonNotFound     // 404 or 410
	ReasonClientError  // another 4xx
	ReasonServerError  // 5xx
	ReasonOtherStatus  // 304 unasked, 205, 206 and the like
	ReasonLogin        // a log-in page, 401, 407, or a log-in that failed
	ReasonDNS          // the host's name
	ReasonConnect      // refused or reset
	ReasonTLS          // handshake or certificate
	ReasonTimeout      // connect or read time-out
	ReasonProtocol     // not HTTP, bad framing, body too short
	ReasonBadRedirect  // a loop, too many, or to nowhere
	ReasonAddress      // the address guard refuses the host's address
	ReasonProxy        // its proxy does not respond: it waits
	ReasonSessionWaits // its log-in is failing: it waits

	ReasonNoText   // a document without text, or of a type without a reader
	ReasonAppShell // a page that only its scripts fill
	ReasonNoField  // a page without a field that the configuration requires

	ReasonRendering // the browser failed with the page, or timed out
	ReasonNoBrowser // no browser is available: it waits

	ReasonBodyLost // the document was lost before it was sent, and is fetched again
	ReasonNewText  // its text shares next to nothing with the one in the index
	ReasonTarget   // a target does not take the source that the rules give it now

	ReasonReader // this machine failed to read its document, and retries

	ReasonListGone // the configuration no longer names its XML file
	ReasonNoTarget // no target takes its source

	ReasonBotWall // a product for bot management responds in place of the site: it waits

	reasonsEnd
)

// reasonKind is what follows from a reason.
type reasonKind uint8

const (
	itFails    reasonKind = iota + 1 // nothing: the page, or the way to it, is as it is
	byOperator                       // Operators
	itAsks                           // Asks
	itWaits                          // the URL could not be requested yet
)

// byClass marks a reason whose fate depends on the record's class.
const byClass = fatesEnd

// reasonRow describes a reason. fate is that of a page that was read, or excluded, and has no document.
type reasonRow struct {
	word string // in all output: a contract
	kind reasonKind
	fate Fate
}

// reasonRows has a row for each reason, by number.
var reasonRows = [reasonsEnd]reasonRow{
	NoReason:                {"", itFails, byClass},
	ReasonRules:             {"rules", byOperator, byClass},
	ReasonCrawlSpace:        {"crawl_space", byOperator, byClass},
	ReasonElsewhere:         {"elsewhere", byOperator, FateElsewhere},
	ReasonRenamed:           {"renamed", byOperator, byClass},
	ReasonNotIndexed:        {"noindex_rule", byOperator, FateNoindexRule},
	ReasonKilled:            {"kill_list", byOperator, FateKilled},
	ReasonMediaType:         {"media_type", itFails, byClass},
	ReasonRemoved:           {"removed", itFails, byClass},
	ReasonRobots:            {"robots", itAsks, FateRobots},
	ReasonRobotsUnreachable: {"robots_unreachable", itWaits, byClass},
	ReasonNoIndex:           {"noindex", itAsks, FateNoindexPage},
	ReasonUnavailable:       {"unavailable_after", itAsks, FateNoindexPage},
	ReasonCanonical:         {"canonical", itAsks, FateCanonical},
	ReasonEmpty:             {"empty", itFails, byClass},
	ReasonSource:            {"source", itFails, byClass},
	ReasonNotNamed:          {"not_named", itFails, byClass},
	ReasonItemGone:          {"item_gone", itAsks, byClass},
	ReasonCopy:              {"duplicate", itFails, FateDuplicate},
	ReasonNearCopy:          {"near_duplicate", itFails, FateNearDuplicate},
	ReasonRedirect:          {"redirect", itAsks, byClass},
	ReasonMoved:             {"site_moved", itFails, byClass},
	ReasonTruncated:         {"too_large", itFails, byClass},
	ReasonUnreadable:        {"unreadable", itFails, byClass},
	ReasonUnreadFile:        {"unreadable_document", itFails, byClass},
	ReasonNotProcessed:      {"no_content", itFails, byClass},
	ReasonNotFound:          {"not_found", itAsks, byClass},
	ReasonClientError:       {"4xx", itFails, byClass},
	ReasonServerError:       {"5xx", itFails, byClass},
	ReasonOtherStatus:       {"status", itFails, byClass},
	ReasonLogin:             {"login", itFails, byClass},
	ReasonDNS:               {"dns", itFails, byClass},
	ReasonConnect:           {"connect", itFails, byClass},
	ReasonTLS:               {"tls", itFails, byClass},
	ReasonTimeout:           {"timeout", itFails, byClass},
	ReasonProtocol:          {"protocol", itFails, byClass},
	ReasonBadRedirect:       {"bad_redirect", itFails, byClass},
	ReasonAddress:           {"address", itFails, FateAddress},
	ReasonProxy:             {"proxy", itWaits, byClass},
	ReasonSessionWaits:      {"session", itWaits, byClass},
	ReasonNoText:            {"no_text", itFails, byClass},
	ReasonAppShell:          {"app_shell", itFails, byClass},
	ReasonNoField:           {"no_field", itFails, byClass},
	ReasonRendering:         {"rendering", itFails, byClass},
	ReasonNoBrowser:         {"no_browser", itWaits, byClass},
	ReasonBodyLost:          {"body_lost", itFails, byClass},
	ReasonNewText:           {"new_text", itFails, byClass},
	ReasonTarget:            {"target", byOperator, byClass},
	ReasonReader:            {"reader", itFails, byClass},
	ReasonListGone:          {"list_gone", byOperator, byClass},
	ReasonNoTarget:          {"no_target", byOperator, byClass},
	ReasonBotWall:           {"bot_wall", itWaits, byClass},
}

// row returns a reason's row; its word is empty if this version does not know the reason.
func (r Reason) row() reasonRow {
	if !r.Known() {
		return reasonRow{"", itFails, byClass}
	}
	return reasonRows[r]
}

// String returns the reason's word in all output, "" for NoReason.
func (r Reason) String() string {
	if !r.Known() {
		return fmt.Sprintf("reason %d", uint8(r))
	}
	return reasonRows[r].word
}

// Known reports whether this version has a word for the reason.
func (r Reason) Known() bool { return r < reasonsEnd }

// ParseReason reads a reason's word.
func ParseReason(word string) (Reason, error) {
	for r, row := range reasonRows {
		if row.word == word && r != int(NoReason) {
			return Reason(r), nil //nolint:gosec // fewer than 256
		}
	}
	return NoReason, fmt.Errorf("%q: write one of %s", word, strings.Join(ReasonWords(), ", "))
}

// ReasonWords returns the words of all reasons, in order.
func ReasonWords() []string {
	var words []string
	for _, row := range reasonRows[NoReason+1:] {
		words = append(words, row.word)
	}
	return words
}

// Operators reports whether the reason is the operator's own rules and lists. Such deletions belong to the edit that
// caused them.
func (r Reason) Operators() bool { return r.row().kind == byOperator }

// Asks reports whether the page or its site explicitly asks for the document to go. Such a response is believed when it
// is given twice.
func (r Reason) Asks() bool { return r.row().kind == itAsks }

// Waits reports whether the reason is that a URL could not be requested yet.
func (r Reason) Waits() bool { return r.row().kind == itWaits }

// reasonOf returns why a visit failed: by its fault below HTTP, or by its status.
func reasonOf(f fault.Fault, status int) Reason {
	switch f {
	case fault.None:
		return reasonOfStatus(status)
	case fault.DNSNotFound, fault.DNSNoAnswer:
		return ReasonDNS
	case fault.Reset, fault.Refused:
		return ReasonConnect
	case fault.TLS:
		return ReasonTLS
	case fault.Timeout:
		return ReasonTimeout
	case fault.Address, fault.AddressForbidden:
		return ReasonAddress
	case fault.TooManyHops, fault.BadRedirect:
		return ReasonBadRedirect
	case fault.Proxy:
		return ReasonProxy
	case fault.Render, fault.RenderTimeout:
		return ReasonRendering
	case fault.Reading:
		return ReasonReader
	case fault.Protocol, fault.ShortBody:
	}
	return ReasonProtocol
}

func reasonOfStatus(status int) Reason {
	switch {
	case status == 404 || status == 410:
		return ReasonNotFound
	case status == 401 || status == 407:
		return ReasonLogin
	case 400 <= status && status <= 499:
		return ReasonClientError
	case 500 <= status && status <= 599:
		return ReasonServerError
	}
	return ReasonOtherStatus
}
