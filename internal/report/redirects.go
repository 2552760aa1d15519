package report

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// A crawl sees one redirect at a time, and which chain they make only what is stored tells. So redirects
// in a circle are found when somebody asks.

// redirectsFollowed is how many redirects are followed: the most that maxRedirects allows.
const redirectsFollowed = 100

// The faults of a chain of redirects, as they stand in a message.
const (
	redirectCircle  = "redirects in a circle"
	redirectTooMany = "too many redirects"
)

// FollowRedirect follows a redirect from one URL to another, and those behind it. next returns where a
// URL redirects to, "" if it does not or is not known. end is the last URL; fault is "", or says in words why
// there is none.
func FollowRedirect(from, to string, next func(weburl.URL) (string, error)) (end, fault string, err error) {
	seen := map[string]bool{from: true}
	for end = to; len(seen) <= redirectsFollowed; end = to {
		if seen[end] {
			return end, redirectCircle, nil
		}
		seen[end] = true
		u, ok := weburl.FromCanonical(end)
		if !ok {
			return end, "", nil
		}
		if to, err = next(u); err != nil || to == "" {
			return end, "", err
		}
	}
	return end, redirectTooMany, nil
}

// redirects reports whether a URL is stored as a redirect.
func redirects(r *scheduler.Record) bool { return r.Class == scheduler.Redirect && r.RedirectTo != "" }

// follow gives the record of a redirect that comes to no page the reason and the words for that. It reads a record
// for each redirect of the chain.
func follow(ctx context.Context, store scheduler.Reader, r *scheduler.Record) error {
	if !redirects(r) {
		return nil
	}
	_, fault, err := FollowRedirect(r.URL, r.RedirectTo, func(u weburl.URL) (string, error) {
		t, err := store.Lookup(ctx, u.Key())
		if errors.Is(err, scheduler.ErrNotFound) || err == nil && !redirects(&t) {
			return "", nil
		}
		return t.RedirectTo, err
	})
	if fault != "" {
		r.Reason, r.LastError = scheduler.ReasonBadRedirect, fault
	}
	return err
}
