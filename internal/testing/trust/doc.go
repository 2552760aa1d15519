// Package trust tests that what Sextant says of a crawl is what the crawl does. Small sites
// and configurations are drawn at random, crawled over a network in memory and in virtual
// time, and then every answer about every URL is compared: the stored fate, explain, preview,
// the list of URLs, the report of documents, and what the target really has.
//
// It has no code of its own besides its tests. Its goroutines are those of the crawl, which
// each case ends.
package trust
