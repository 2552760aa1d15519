package scheduler

import (
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// Reason is the reason why a URL is not in the index, why its document leaves it, or why its last response was bad.
// Code decides by it; the accompanying text (Record.LastError) is for display and may change at any time. Numbers are
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
	ReasonNotIndexed // a rule with NoIndex
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

// reasonKind is the consequence of a reason.
type reasonKind uint8

const (
	noRemoval    reasonKind = iota + 1 // no consequence
	byOperator                         // Operators
	byPage                             // RequestsRemoval
	notRequested                       // the URL could not be requested yet
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
	NoReason:                {"", noRemoval, byClass},
	ReasonRules:             {"rules", byOperator, byClass},
	ReasonCrawlSpace:        {"crawl_space", byOperator, byClass},
	ReasonElsewhere:         {"elsewhere", byOperator, FateElsewhere},
	ReasonRenamed:           {"renamed", byOperator, byClass},
	ReasonNotIndexed:        {"noindex_rule", byOperator, FateNoindexRule},
	ReasonKilled:            {"kill_list", byOperator, FateKilled},
	ReasonMediaType:         {"media_type", noRemoval, byClass},
	ReasonRemoved:           {"removed", noRemoval, byClass},
	ReasonRobots:            {"robots", byPage, FateRobots},
	ReasonRobotsUnreachable: {"robots_unreachable", notRequested, byClass},
	ReasonNoIndex:           {"noindex", byPage, FateNoindexPage},
	ReasonUnavailable:       {"unavailable_after", byPage, FateNoindexPage},
	ReasonCanonical:         {"canonical", byPage, FateCanonical},
	ReasonEmpty:             {"empty", noRemoval, byClass},
	ReasonSource:            {"source", noRemoval, byClass},
	ReasonNotNamed:          {"not_named", noRemoval, byClass},
	ReasonItemGone:          {"item_gone", byPage, byClass},
	ReasonCopy:              {"duplicate", noRemoval, FateDuplicate},
	ReasonNearCopy:          {"near_duplicate", noRemoval, FateNearDuplicate},
	ReasonRedirect:          {"redirect", byPage, byClass},
	ReasonMoved:             {"site_moved", noRemoval, byClass},
	ReasonTruncated:         {"too_large", noRemoval, byClass},
	ReasonUnreadable:        {"unreadable", noRemoval, byClass},
	ReasonUnreadFile:        {"unreadable_document", noRemoval, byClass},
	ReasonNotProcessed:      {"no_content", noRemoval, byClass},
	ReasonNotFound:          {"not_found", byPage, byClass},
	ReasonClientError:       {"4xx", noRemoval, byClass},
	ReasonServerError:       {"5xx", noRemoval, byClass},
	ReasonOtherStatus:       {"status", noRemoval, byClass},
	ReasonLogin:             {"login", noRemoval, byClass},
	ReasonDNS:               {"dns", noRemoval, byClass},
	ReasonConnect:           {"connect", noRemoval, byClass},
	ReasonTLS:               {"tls", noRemoval, byClass},
	ReasonTimeout:           {"timeout", noRemoval, byClass},
	ReasonProtocol:          {"protocol", noRemoval, byClass},
	ReasonBadRedirect:       {"bad_redirect", noRemoval, byClass},
	ReasonAddress:           {"address", noRemoval, FateAddress},
	ReasonProxy:             {"proxy", notRequested, byClass},
	ReasonSessionWaits:      {"session", notRequested, byClass},
	ReasonNoText:            {"no_text", noRemoval, byClass},
	ReasonAppShell:          {"app_shell", noRemoval, byClass},
	ReasonNoField:           {"no_field", noRemoval, byClass},
	ReasonRendering:         {"rendering", noRemoval, byClass},
	ReasonNoBrowser:         {"no_browser", notRequested, byClass},
	ReasonBodyLost:          {"body_lost", noRemoval, byClass},
	ReasonNewText:           {"new_text", noRemoval, byClass},
	ReasonTarget:            {"target", byOperator, byClass},
	ReasonReader:            {"reader", noRemoval, byClass},
	ReasonListGone:          {"list_gone", byOperator, byClass},
	ReasonNoTarget:          {"no_target", byOperator, byClass},
	ReasonBotWall:           {"bot_wall", notRequested, byClass},
}

// row returns a reason's row; its word is empty if this version does not know the reason.
func (r Reason) row() reasonRow {
	if !r.Known() {
		return reasonRow{"", noRemoval, byClass}
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

// RequestsRemoval reports whether the page or its site explicitly requests that the document leave the index. Such a
// response takes effect when it is received twice.
func (r Reason) RequestsRemoval() bool { return r.row().kind == byPage }

// Waits reports whether the reason is that a URL could not be requested yet.
func (r Reason) Waits() bool { return r.row().kind == notRequested }

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
