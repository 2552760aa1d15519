// Package wire contains the common parts of push targets over HTTP: a client with retries, credentials and limits; the
// division of a batch into requests that preserves the order of each URL; the search for the single entry that a server
// refuses; and the target's names for the parts of a document.
//
// A Client belongs to the goroutine of its target's delivery. Only Spread starts goroutines, one per request, and waits
// for them; a mutex guards their results.
package wire
