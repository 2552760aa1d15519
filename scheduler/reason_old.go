package scheduler

import (
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// OldReason is the reason of a record that was stored before there were reasons: then
// the text decided. A store asks once for each record, when it reads it; the phrases are
// those of the versions of that time and never change.
func OldReason(r *Record) Reason {
	if r.Kind.IsSource() && r.Class == OK {
		return ReasonSource
	}
	switch r.Class {
	case Temporary, Permanent:
		return OldFailure(r.Fault, r.Status, r.LastError)
	case Redirect:
		return ReasonRedirect
	case Ignored:
		return oldExclusion(r)
	case OK, Pending:
		return oldAnswer(r)
	}
	return NoReason
}

// OldFailure is OldReason for a visit that failed.
func OldFailure(f fault.Fault, status int, text string) Reason {
	if f == fault.None && (strings.Contains(text, "log-in") || strings.Contains(text, "logged")) {
		return ReasonLogin
	}
	return reasonOf(f, status)
}

func oldExclusion(r *Record) Reason {
	switch {
	case r.Fault == fault.Address && r.Status == 0:
		return ReasonAddress
	case r.Status == 761:
		return ReasonElsewhere
	case r.LastError == "robots.txt forbids it":
		return ReasonRobots
	case r.LastError == "neither the configuration nor a robots.txt names it any more":
		return ReasonNotNamed
	case strings.HasPrefix(r.LastError, "canonical gate"):
		return ReasonRenamed
	case strings.HasPrefix(r.LastError, "rule "), strings.HasPrefix(r.LastError, "the rules ignore it"), r.LastError == "no rule accepts it":
		return ReasonRules
	}
	return ReasonCrawlSpace
}

// oldAnswer is OldReason for a good page, or one that was never fetched.
func oldAnswer(r *Record) Reason {
	for _, phrase := range [...]struct {
		begins string
		reason Reason
	}{
		{"robots.txt cannot be had", ReasonRobotsUnreachable},
		{"longer than maxBodyBytes", ReasonTruncated},
		{"the page cannot be read: ", ReasonUnreadable},
		{"the document cannot be read: ", ReasonUnreadFile},
		{"it has nearly the content of ", ReasonNearCopy},
		{"it has the content of ", ReasonCopy},
		{"its canonical is ", ReasonCanonical},
		{"not indexed by rule", ReasonNotIndexed},
		{"noindex", ReasonNoIndex},
		{"unavailable_after ", ReasonUnavailable},
		{"empty", ReasonEmpty},
		{"its element is gone from the XML file", ReasonItemGone},
		{"kill gate", ReasonKilled},
		{"mime gate", ReasonMediaType},
	} {
		if strings.HasPrefix(r.LastError, phrase.begins) {
			return phrase.reason
		}
	}
	if r.DuplicateOf != "" { // errors and a 304 since have taken the words
		return ReasonCanonical
	}
	return NoReason
}
