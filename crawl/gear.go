package crawl

import (
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/robots"
)

// rules are what is in force at a moment: what decides about URLs, and what fetches them.
// They are immutable; a page keeps those that it began under.
type rules struct {
	policy *policy.Policy
	gear   *gear
}

// gear is what pages are fetched with by a policy. Policies that differ only in rules may
// share it.
type gear struct {
	accesses accesses
	robots   *robots.Cache
	traps    *crawlspace.Traps // nil: off
}
