package crawlspace

import "github.com/sextant-crawler/sextant/actionrules"

// File is the content of a file. Name is used in errors, in reasons and by explain.
type File struct {
	Name    string
	Content []byte
}

// Text is a value of the configuration with its position.
type Text struct {
	Value string
	At    actionrules.Position
}

// Settings are the gates of one Crawler. A gate whose field is nil or empty is off.
type Settings struct {
	// CrawlRules and GlobalRules are crawl.rules and global.rules (IBM, "Rules to
	// limit the Web crawl space", "Global Web crawl space configuration"). An
	// empty global.rules allows nothing, nil is no global crawl space.
	CrawlRules, GlobalRules *File
	// FoldHost compares hosts without case (hostCase="fold").
	FoldHost bool
	// MaxPathDepth is the maximum number of slashes in the path after the first, MaxLinkDepth the maximum number of links
	// from a start URL, both inclusive.
	MaxPathDepth, MaxLinkDepth *Limit

	// Include and Exclude are values of Patterns (Funnelback, "Include/exclude
	// rules"): substrings separated by commas, or regexp: and one expression.
	Include, Exclude Text
	// RejectList, KillExact and KillPatterns hold one entry a line.
	RejectList, KillExact, KillPatterns *File

	// The fields from here on are those of Smartsite's web crawler.

	StartURLMatch *StartURLMatch
	// A URL contains one of MustContain, if there are any, and none of MustNotContain.
	MustContain, MustNotContain []Text
	// QueryFilter lists the query parameters that stay, separated by commas.
	QueryFilter *Text
	// Canonical, if not nil, drops more before.
	Canonical  *Canonical
	Extensions *Extensions
	MIME       *MIMETypes

	// Proxy is set if pages are fetched through a proxy. It only causes a warning.
	Proxy bool
}

// Limit is a maximum, 0 or more.
type Limit struct {
	Max int
	At  actionrules.Position
}

// StartURLMatch keeps the crawl on the hosts, the schemes, or both together, of
// the start URLs. The port is not part of the host here.
type StartURLMatch struct {
	Host, Scheme bool
	At           actionrules.Position
}

// Extensions are the ignored file extensions. Lists are separated by commas or
// semicolons; a leading dot is optional, case is ignored. In force is List, or
// DefaultExtensions where that is empty, with Extra and Always.
type Extensions struct {
	List, Extra, Always Text
	// Pairs map MIME types to extensions, in addition to the usual ones.
	Pairs []Pair
	At    actionrules.Position
}

// Pair maps a MIME type to an extension.
type Pair struct{ Type, Extension Text }

// MIMETypes are the types that are left out or, with Include, all that are
// taken. A type is written type/subtype or type/*.
type MIMETypes struct {
	Include bool
	Types   []Text
	At      actionrules.Position
}
