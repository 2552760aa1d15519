package crawlspace

import "github.com/sextant-crawler/sextant/actionrules"

// File is a file that has been read. Name stands in errors, in reasons and in
// explain's output.
type File struct {
	Name    string
	Content []byte
}

// Text is a value of the configuration with the place where it begins.
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
	// MaxPathDepth is the most slashes in the path after the first, MaxLinkDepth
	// the most links from a start URL; both maxima are inside.
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

	// Proxy says that pages are fetched through a proxy. It only makes a warning.
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
	// Pairs say to which extensions MIME types belong, beside the usual ones.
	Pairs []Pair
	At    actionrules.Position
}

// Pair says that a MIME type belongs to an extension.
type Pair struct{ Type, Extension Text }

// MIMETypes are the types that are left out or, with Include, all that are
// taken. A type is written type/subtype or type/*.
type MIMETypes struct {
	Include bool
	Types   []Text
	At      actionrules.Position
}
