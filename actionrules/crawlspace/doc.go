// Package crawlspace holds the gates that a URL passes before the action rules are evaluated: the query filter,
// start-URL match, substrings, include and exclude patterns, the reject list, extensions, depths, domain and prefix
// rules; and those of the fetch, for the dialled address and for the response's MIME type. They are those of IBM's Web
// crawler (crawl.rules, global.rules), Funnelback (patterns, kill lists) and Smartsite (site crawler settings).
//
// Traps follow the gates and apply only to new links; they count, so they are not part of a Space.
//
// The package does no I/O: callers pass the contents of files.
//
// It starts no goroutine. A Space is immutable; Traps has a lock for each part of its counters.
package crawlspace
