// Package trust tests that Sextant's reports about a crawl match the crawl. It draws small sites and configurations at
// random, crawls them over an in-memory network in virtual time, and then compares everything reported about every URL:
// the stored fate, explain, preview, the list of URLs, the report of documents, and the target's actual content.
//
// It consists of tests only. Its goroutines are those of the crawl, which each case ends.
package trust
