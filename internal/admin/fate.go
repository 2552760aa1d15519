package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Answer describes whether a URL's document is in the index, and why or why not. There is one table of such texts, and
// scheduler.Record.Fate alone decides which apply: explain, the console and the API use it.
type Answer struct {
	Fate   scheduler.Fate
	Reason scheduler.Reason
	// Head is the short form, Why the reason; both have no full stop, and Why may be empty.
	Head, Why string
	// Notes are additional sentences, also about automatic consequences. Help suggests what an operator can do; may be
	// empty.
	Notes []string
	Help  string
	// Other is the URL of the document that replaces this one, empty if there is none.
	Other string
}

// String returns the answer in one line.
func (a Answer) String() string {
	if a.Why == "" {
		return a.Head
	}
	return a.Head + ": " + a.Why
}

// Answer returns the answer for a URL: from its stored state and the present decision. Without a store it predicts the
// fate of the URL.
func (x *Explanation) Answer() Answer {
	s := x.Stored
	switch {
	case s == nil:
		return x.foretold()
	case s.Known:
		a := AnswerOf(s)
		a.Notes = append(a.Notes, x.additions(&a)...)
		return a
	case x.ExcludedBy != nil:
		return Answer{
			Fate: scheduler.FatePending, Head: "not in the index", Why: "links to it are ignored: " + x.ExcludedBy.String(),
			Help: "To crawl it, change the setting that excludes it.",
		}
	}
	a := AnswerOf(s)
	would := x.foretold()
	if would.Why != "" { // adding it would produce no document
		a.Help = ""
	}
	a.Notes = append(a.Notes, "A link to it "+would.String()+".")
	return a
}

// foretold answers for an unknown URL, from the decision on a link to it.
func (x *Explanation) foretold() Answer {
	a := Answer{Fate: scheduler.FatePending}
	switch {
	case x.ExcludedBy != nil:
		a.Head, a.Why = "would be ignored", x.ExcludedBy.String()
	case x.KilledBy != nil:
		a.Head, a.Why = "would be crawled, but not indexed", "the kill list names it: "+x.KilledBy.String()
	case !x.Index:
		a.Head, a.Why = "would be crawled, but not indexed", reasonWords(scheduler.ReasonNotIndexed).words
	case x.Untaken:
		a.Head, a.Why = "would be crawled, but not indexed", reasonWords(scheduler.ReasonNoTarget).words
	case !x.Follow:
		a.Head = "would be crawled and indexed, but its links not followed"
	default:
		a.Head = "would be crawled and indexed"
	}
	return a
}

// Verdict answers for a dry run.
func (f *Fetched) Verdict() Answer {
	if f.ExcludedBy != "" {
		return Answer{Fate: scheduler.FateExcluded, Head: "would be ignored", Why: f.ExcludedBy}
	}
	if f.Stored == nil {
		return f.Explain.foretold()
	}
	a := AnswerOf(&StoredExplanation{Known: true, StoredURL: f.Stored})
	a.Head = "would not be indexed"
	switch {
	case a.Fate.InIndex():
		a.Head = "would be indexed"
	case a.Reason == scheduler.ReasonCanonical: // the dry run does not fetch that URL
		a.Why += "; it is indexed if that has no document"
	}
	return a
}

// renewed describes when a document gets the source that the rules set.
const renewed = "its page is fetched, or its list is read; an item that its feed no longer lists stays"

// AnswerOf answers for a URL by its stored state.
func AnswerOf(s *StoredExplanation) Answer {
	if !s.Known {
		return Answer{
			Fate: scheduler.FatePending, Head: "not in the index", Why: "no link to it was found yet, or only links beyond maxLinkDepth, or it was removed",
			Help: "Add it, or link to it from a page that is crawled.",
		}
	}
	u := s.StoredURL
	var a Answer
	a.Fate, _ = scheduler.ParseFate(u.Fate)
	a.Reason, _ = scheduler.ParseReason(u.Reason) // a word of another version gives FateNoDocument or NoReason
	a.Head = headOf(a.Fate)
	words := reasonWords(a.Reason)
	because := words.because(u)
	switch a.Fate {
	case scheduler.FateIndexed:
		switch {
		case a.Reason == scheduler.ReasonTarget: // released
			a.Notes = append(a.Notes, "It may leave a target: it is pushed under its new source when "+renewed+".")
		case because != "" && a.Reason != scheduler.ReasonNewText: // the index already has that text
			a.Notes = append(a.Notes, "At the last visit: "+because+".")
		}
	case scheduler.FatePendingLoss:
		a.Why = because
		a.addDeletion(s)
	case scheduler.FateBodyLost:
		a.Why = because
		a.addReason(words)
	case scheduler.FatePending:
		a.Why = "it waits to be fetched"
		if because != "" {
			a.Why = a.Why + ": " + because
		}
		a.addReason(words)
	case scheduler.FateTemporary:
		a.Why = because
		a.addReason(words)
		a.Notes = append(a.Notes, fmt.Sprintf("Consecutive failed visits: %d. It is retried automatically.", u.Errors))
	case scheduler.FateSource:
		a.Why = "it leads to documents, but is not a document itself"
		if because != "" && a.Reason != scheduler.ReasonSource {
			a.Notes = append(a.Notes, "At the last visit: "+because+".")
			a.addReason(words)
		}
	case scheduler.FateNoindexPage, scheduler.FateNoindexRule, scheduler.FateKilled, scheduler.FateExcluded, scheduler.FateElsewhere,
		scheduler.FateRobots, scheduler.FateAddress, scheduler.FateDuplicate, scheduler.FateNearDuplicate, scheduler.FateCanonical,
		scheduler.FateRedirect, scheduler.FatePermanent, scheduler.FateNoDocument:
		a.Why, a.Other = because, words.other(u)
		a.addReason(words)
		a.ends(s)
		if because == "" {
			a.Why, a.Help = "the reason why it has no document is unknown", "Recrawl it, or use a dry run to see what would be pushed."
		}
	}
	a.refused(s.Refused)
	return a
}

// ends describes the end of a URL's redirects, unless that is a document.
func (a *Answer) ends(s *StoredExplanation) {
	in := false
	if s.RedirectEndURL != "" && s.RedirectEndURL != s.RedirectTo {
		a.Why, a.Other = a.Why+", finally to "+s.RedirectEndURL, s.RedirectEndURL
	}
	switch end := s.RedirectEnd; {
	case end != nil:
		of := AnswerOf(&StoredExplanation{Known: true, StoredURL: end})
		if in = of.Fate.InIndex(); !in {
			a.Why += ", which is " + of.String()
			a.Notes, a.Help = nil, of.Help
		}
	case a.Reason == scheduler.ReasonRedirect:
		a.Notes = []string{"Its target is unknown, or not known yet."}
	}
	if s.LeadsOut != nil && !in {
		a.Notes = []string{"The target is not crawled, so the page is not in the index: " + s.LeadsOut.String() + "."}
		a.Help = "To index the page, accept the target in the rules, or link to its new URL."
	}
}

// refused adds that a target refused the newest order about a URL.
func (a *Answer) refused(o *push.Listed) {
	if o == nil {
		return
	}
	if a.Why != "" {
		a.Notes = append([]string{"Otherwise it would be " + a.String() + "."}, a.Notes...)
	}
	a.Head, a.Why = "not in the index, or in an older version", o.Target+" refused its document ("+o.Words+")"
	if o.Op == push.Delete {
		a.Head, a.Why = "perhaps still in the index", o.Target+" refused to delete its document ("+o.Words+")"
	}
	a.Help = "Correct the reported problem, then send it again: sextant outbox retry, or the dead letters in the console."
}

// addReason adds the consequences of a reason, and remedies.
func (a *Answer) addReason(t reasonText) {
	if t.note != "" {
		a.Notes = append(a.Notes, t.note)
	}
	a.Help = t.help
}

// headOf returns the short form of a fate.
func headOf(f scheduler.Fate) string {
	switch {
	case f == scheduler.FatePendingLoss:
		return "in the index, but its deletion is pending"
	case f == scheduler.FateBodyLost:
		return "not in the index, or in an older version"
	case f.InIndex():
		return "in the index, or on its way there"
	}
	return "not in the index"
}

// addDeletion adds a pending deletion: since when, why, and what it waits for.
func (a *Answer) addDeletion(s *StoredExplanation) {
	d := s.DeletionOrder
	if d == nil { // decided since the URL was looked up
		return
	}
	note := func(format string, args ...any) { a.Notes = append(a.Notes, fmt.Sprintf(format, args...)) }
	if d.Replaces {
		a.Head = "in the index, but its new text is pending"
	} else if d.Moves {
		a.Head = "in the index, but about to leave a target"
	}
	note("It has been pending since %s. The document %s.", clock.Stamp(d.Since), d.End())
	switch {
	case d.Edit != 0:
		note("%s", d.cancels())
	case a.Reason != scheduler.ReasonItemGone:
		note("Seen by %s, the last time at %s. %s", Count(d.Visits, "visit"), clock.Stamp(d.LastSeen), d.cancels())
	}
	a.Help = d.Help()
}

// additions describes what rules, kill list and robots.txt decide now if that differs from the stored decision, which
// stays until the URL is judged or fetched again.
func (x *Explanation) additions(a *Answer) []string {
	s := x.Stored
	var notes []string
	if s.LinkFragment != "" {
		of := "without one"
		if s.Fragment != "" {
			of = "with the fragment " + s.Fragment
		}
		return []string{fmt.Sprintf("Gates and rules judged a link with the fragment %s; the page is known by a link %s, which decides.", s.LinkFragment, of)}
	}
	switch outside := a.Reason == scheduler.ReasonRules || a.Reason == scheduler.ReasonCrawlSpace || a.Reason == scheduler.ReasonElsewhere || a.Reason == scheduler.ReasonRenamed; {
	case x.ExcludedBy != nil && !outside && strings.HasSuffix(string(x.ExcludedBy.Gate), "-depth"):
		notes = append(notes, "It stays until it is fetched again, and is then excluded: "+x.ExcludedBy.String()+".")
	case x.ExcludedBy != nil && !outside:
		notes = append(notes, "The rules in force exclude it: "+x.ExcludedBy.String()+".")
	case x.ExcludedBy == nil && outside:
		notes = append(notes, "The rules in force accept such a link.")
	case x.KilledBy != nil && a.Reason != scheduler.ReasonKilled:
		notes = append(notes, "The kill list names it: "+x.KilledBy.String()+".")
	case x.Untaken && a.Reason != scheduler.ReasonNoTarget:
		notes = append(notes, "By the rules in force, no target accepts its push source.")
	case x.ExcludedBy == nil && !x.Index && a.Reason != scheduler.ReasonNotIndexed:
		notes = append(notes, "By the rules in force, it is not indexed.")
	}
	if a.Reason == scheduler.ReasonNotIndexed && x.ExcludedBy == nil && !x.Index && !x.indexedByRule() {
		notes = append(notes, `No rule decides that: this is its initial state, as that of a Root with site="false", which is followed but not indexed.`)
	}
	switch {
	case s.Robots == robots.Disallowed.String() && a.Reason != scheduler.ReasonRobots:
		notes = append(notes, "The stored robots.txt forbids it.")
	case s.Robots == robots.Allowed.String() && a.Reason == scheduler.ReasonRobots:
		notes = append(notes, "The stored robots.txt allows it.")
	}
	return notes
}

// indexedByRule reports whether a rule decides whether the URL is indexed.
func (x *Explanation) indexedByRule() bool {
	return slices.ContainsFunc(x.Rules, func(r RuleExplanation) bool {
		return r.Matched && slices.Contains(r.Changed, actionrules.DimensionIndex.String())
	})
}
