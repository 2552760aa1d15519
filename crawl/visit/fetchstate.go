package visit

import (
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/robots"
)

// Rules are the rules in force: the policy and its fetchers. They are immutable; a page keeps those that it began
// under.
type Rules struct {
	Policy     *policy.Policy
	FetchState *FetchState
}

// FetchState holds the fetching parts of a policy. Policies that differ only in rules may share it.
type FetchState struct {
	Accesses Accesses
	Robots   *robots.Cache
	Traps    *crawlspace.Traps // nil: off
}
