package scheduler

import (
	"fmt"

	"github.com/sextant-crawler/sextant/fault"
)

// Reason is why a URL is not in the index, why its document is to leave it, or what was
// wrong with its last answer. It decides; the text beside it (Record.LastError) is for
// people and may be worded anew at any time. Numbers are stored: a new reason goes to
// the end, and none is used again.
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
	ReasonMediaType  // its MIME type is not wanted
	ReasonRemoved    // sextant remove

	// What a site asks for.
	ReasonRobots            // robots.txt forbids it
	ReasonRobotsUnreachable // robots.txt cannot be had: it waits
	ReasonNoIndex           // robots meta or X-Robots-Tag
	ReasonUnavailable       // unavailable_after is over
	ReasonCanonical         // the page names another URL

	// What a page is.
	ReasonEmpty        // nothing to index
	ReasonSource       // a sitemap, feed or XML file
	ReasonNotNamed     // a sitemap that neither robots.txt nor the configuration names any more
	ReasonItemGone     // the feed or XML file does not list it any more
	ReasonCopy         // another document has its content
	ReasonNearCopy     // another document has nearly its content
	ReasonRedirect     // it redirects
	ReasonMoved        // its site moved, and the rules with it
	ReasonTruncated    // longer than maxBodyBytes: the rest was not read
	ReasonUnreadable   // the page cannot be read
	ReasonUnreadFile   // a document that is damaged, encrypted or the like
	ReasonNotProcessed // an answer 2xx that is neither 200 nor 204 nor 206

	// What went wrong.
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
	ReasonProxy        // its proxy does not answer: it waits
	ReasonSessionWaits // its log-in does not work at present: it waits

	reasonsEnd
)

// reasonNames are the reasons' words in all output, by number: a contract.
func reasonNames() [reasonsEnd]string {
	return [reasonsEnd]string{
		NoReason: "", ReasonRules: "rules", ReasonCrawlSpace: "crawl_space", ReasonElsewhere: "elsewhere", ReasonRenamed: "renamed",
		ReasonNotIndexed: "noindex_rule", ReasonKilled: "kill_list", ReasonMediaType: "media_type", ReasonRemoved: "removed",
		ReasonRobots: "robots", ReasonRobotsUnreachable: "robots_unreachable", ReasonNoIndex: "noindex", ReasonUnavailable: "unavailable_after",
		ReasonCanonical: "canonical", ReasonEmpty: "empty", ReasonSource: "source", ReasonNotNamed: "not_named", ReasonItemGone: "item_gone",
		ReasonCopy: "duplicate", ReasonNearCopy: "near_duplicate", ReasonRedirect: "redirect", ReasonMoved: "site_moved",
		ReasonTruncated: "too_large", ReasonUnreadable: "unreadable", ReasonUnreadFile: "unreadable_document", ReasonNotProcessed: "no_content",
		ReasonNotFound: "not_found", ReasonClientError: "4xx", ReasonServerError: "5xx", ReasonOtherStatus: "status", ReasonLogin: "login",
		ReasonDNS: "dns", ReasonConnect: "connect", ReasonTLS: "tls", ReasonTimeout: "timeout", ReasonProtocol: "protocol",
		ReasonBadRedirect: "bad_redirect", ReasonAddress: "address", ReasonProxy: "proxy", ReasonSessionWaits: "session",
	}
}

// String is the reason's word in all output, "" for NoReason.
func (r Reason) String() string {
	if r >= reasonsEnd {
		return fmt.Sprintf("reason %d", uint8(r))
	}
	return reasonNames()[r]
}

// Known says that this version has a word for the reason.
func (r Reason) Known() bool { return r < reasonsEnd }

// ParseReason reads a reason's word.
func ParseReason(word string) (Reason, error) {
	for r, name := range reasonNames() {
		if name == word && r != int(NoReason) {
			return Reason(r), nil //nolint:gosec // fewer than 256
		}
	}
	return NoReason, fmt.Errorf("%q is no reason: sextant deletions lists those that there are", word)
}

// Operators says that the reason is the operator's own rules and lists: such deletions
// belong to the edit that made them.
func (r Reason) Operators() bool {
	switch r {
	case ReasonRules, ReasonCrawlSpace, ReasonElsewhere, ReasonRenamed, ReasonNotIndexed, ReasonKilled:
		return true
	default:
		return false
	}
}

// Asks says that the page or its site wants the document gone and says so itself, in
// place of failing: an answer that can be believed when it is given twice.
func (r Reason) Asks() bool {
	switch r {
	case ReasonNotFound, ReasonNoIndex, ReasonUnavailable, ReasonCanonical, ReasonRobots, ReasonRedirect, ReasonItemGone:
		return true
	default:
		return false
	}
}

// waits says that the reason is why a URL could not be asked for yet.
func (r Reason) waits() bool {
	switch r {
	case ReasonRobotsUnreachable, ReasonProxy, ReasonSessionWaits:
		return true
	default:
		return false
	}
}

// reasonOf is why a failed visit failed, by what went wrong below HTTP or by its status.
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
