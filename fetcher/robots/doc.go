// Package robots parses, stores and applies robots.txt (RFC 9309), with the semantics of Google's open parser
// (github.com/google/robotstxt).
//
// The crawler's loop for a URL u is:
//
//	v, err := cache.Verdict(ctx, agent, u)
//	if v.State == robots.NeedsFetch {
//		resp, fetchErr := fetcher.Fetch(ctx, v.Request())
//		err = cache.Record(ctx, u, resp, fetchErr)
//		// give u back: the request counted for the politeness of v.URL's host
//	}
//	if !v.Changed.IsZero() {
//		// ask Forbids for each stored URL of u's origin, take out those that it
//		// names, and then, after a crash from the beginning:
//		err = cache.Judged(ctx, u, v.Changed)
//	}
//
// If robots.txt is ignored, the loop continues with v.WithoutRules(): the file is fetched, its Crawl-delay and Sitemap
// lines apply, and no URL is forbidden.
//
// A Cache owns the copies. It starts no goroutine; its one mutex is held neither over a request nor over a call of
// Memory.
package robots
