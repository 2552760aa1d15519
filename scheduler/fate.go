package scheduler

import (
	"fmt"
	"slices"
	"strings"
)

// Fate is the final state of a URL: whether it is in the index, and if not, the kind of reason.
type Fate uint8

// The fates, in the order of reports.
const (
	FateIndexed       Fate = iota
	FatePendingLoss        // in the index; a loss of the document or its text is pending
	FateBodyLost           // the document was lost before it was sent, and is fetched again
	FatePending            // not visited yet
	FateNoindexPage        // by the page's directive
	FateNoindexRule        // by a rule
	FateKilled             // by the kill list
	FateExcluded           // by rules or crawl space, as 760
	FateElsewhere          // by global.rules, as 761
	FateRobots             // by robots.txt
	FateAddress            // the address guard refuses its host
	FateDuplicate          // another document has its content
	FateNearDuplicate      // another document has nearly its content
	FateCanonical          // the page names another URL
	FateRedirect           // the page redirects
	FateTemporary          // a temporary error
	FatePermanent          // a permanent error
	FateSource             // a sitemap, feed or XML file
	FateNoDocument         // it has no content to index

	fatesEnd
)

func fateNames() [fatesEnd]string {
	return [fatesEnd]string{
		"indexed", "deletion_pending", "body_lost", "pending", "noindex_page", "noindex_rule", "kill_list", "excluded", "elsewhere",
		"robots", "address", "duplicate", "near_duplicate", "canonical", "redirect", "temporary_error", "permanent_error", "feed", "no_document",
	}
}

// String returns the fate's word in all output, a contract.
func (f Fate) String() string {
	if f >= fatesEnd {
		return "unknown"
	}
	return fateNames()[f]
}

// Fates returns all fates, in the order of reports.
func Fates() []Fate {
	all := make([]Fate, fatesEnd)
	for i := range all {
		all[i] = Fate(i) //nolint:gosec // fewer than 256
	}
	return all
}

// FateWords returns the words for all fates, in the order of reports.
func FateWords() []string {
	names := fateNames()
	return names[:]
}

// ParseFate reads the word for a fate. For an unknown word it returns FateNoDocument and an error.
func ParseFate(word string) (Fate, error) {
	if i := slices.Index(FateWords(), word); i >= 0 {
		return Fate(i), nil //nolint:gosec // fewer than 256
	}
	return FateNoDocument, fmt.Errorf("%q: write one of %s", word, strings.Join(FateWords(), ", "))
}

// InIndex reports whether the target has a document of the URL, or will have.
func (f Fate) InIndex() bool { return f <= FatePendingLoss }

// Fate returns whether a URL is in the index, and why or why not. All output uses it. If a loss of a document is
// pending, the reason is that of the loss.
func (n *Record) Fate() (Fate, Reason) {
	switch {
	case n.Indexed && n.LossPending:
		return FatePendingLoss, n.Reason
	case n.BodyLost():
		return FateBodyLost, n.Reason
	case n.Indexed:
		return FateIndexed, n.Reason
	}
	if n.Kind.IsSource() {
		return FateSource, n.Reason
	}
	switch n.Class {
	case Pending:
		return FatePending, n.Reason
	case Redirect:
		if n.Reason == ReasonBadRedirect { // not stored: a report found it
			return FateRedirect, n.Reason
		}
		return FateRedirect, ReasonRedirect
	case Temporary:
		return FateTemporary, n.Reason
	case Permanent:
		return FatePermanent, n.Reason
	case OK, Ignored:
	}
	return fateOf(n.Reason, n.Class), n.Reason
}

// fateOf returns the fate of a page that was read, or excluded, and has no document.
func fateOf(r Reason, c Class) Fate {
	switch fate := r.row().fate; {
	case fate != byClass:
		return fate
	case c == Ignored:
		return FateExcluded
	}
	return FateNoDocument
}
