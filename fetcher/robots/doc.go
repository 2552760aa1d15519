// Package robots reads, keeps and asks robots.txt (RFC 9309), with the semantics
// of Google's open parser (github.com/google/robotstxt).
//
// The crawler's loop for a URL u is:
//
//	v, err := cache.Verdict(ctx, agent, u)
//	if v.State == robots.NeedsFetch {
//		resp, fetchErr := fetcher.Fetch(ctx, v.Request())
//		err = cache.Record(ctx, u, resp, fetchErr)
//		// give u back: the request counted for the politeness of v.URL's host
//	}
package robots
