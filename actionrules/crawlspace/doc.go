// Package crawlspace holds the gates that a URL passes before the action rules
// are asked: the query filter, start-URL match, substrings, include and exclude
// patterns, the reject list, extensions, depths, domain and prefix rules; and
// those of the fetch, for the address dialled and for the answer's MIME type.
// They are those of IBM's Web crawler (crawl.rules, global.rules), Funnelback
// (patterns, kill lists) and Smartsite (site crawler settings).
//
// Traps stand behind the gates, for new links alone: they count, and so are not part
// of a Space.
//
// The package does no input and output: it is given the contents of files.
//
// It starts no goroutine. A Space is immutable; a Traps has a lock for each part of its
// counters.
package crawlspace
