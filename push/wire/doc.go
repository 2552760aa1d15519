// Package wire is what push targets over HTTP have in common: a client with
// retries, credentials and limits; the way in which a batch is spread over requests
// so that the order of each URL is kept; the search for the one entry that a server
// cannot take; and the names under which a target gets the parts of a document.
//
// A Client belongs to the goroutine of its target's delivery. Only Spread starts
// goroutines, one a request, and waits for them; a mutex guards what they gather.
package wire
