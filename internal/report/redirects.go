package report

import (
	"context"
	"errors"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// A crawl sees one redirect at a time, and which chain they make only what is stored tells. So redirects
// in a circle are found when a report asks.

// MaxRedirects is how many redirects are followed to a page: the maximum of maxRedirects.
const MaxRedirects = 100

// The faults of a chain of redirects, as used in messages.
const (
	redirectCircle  = "redirects in a circle"
	redirectTooMany = "too many redirects"
)

// endsMax is how many redirects a chains stores, some 70 bytes each.
const endsMax = 1 << 20

// chains finds out where redirects lead, and remembers it for the redirects that it has passed: a report that
// asks about each of a chain reads each once.
type chains struct {
	store scheduler.Reader
	ends  map[weburl.Key]chainEnd
	dead  map[string]string // which target refused the newest order about a URL; nil: it is not asked
}

// chainEnd is the end of a chain: the number of redirects, and the fault that keeps them from a page, or "".
type chainEnd struct {
	steps int
	fault string
}

func newChains(store scheduler.Reader) *chains {
	return &chains{store: store, ends: map[weburl.Key]chainEnd{}}
}

// redirects reports whether a URL is stored as a redirect.
func redirects(r *scheduler.Record) bool { return r.Class == scheduler.Redirect && r.RedirectTo != "" }

// follow sets reason and words of a redirect that does not reach a page.
func (c *chains) follow(ctx context.Context, r *scheduler.Record) error {
	u, ok := weburl.FromCanonical(r.URL)
	if !ok || !redirects(r) {
		return nil
	}
	fault, err := c.fault(ctx, u.Key(), r.RedirectTo)
	if fault != "" {
		r.Reason, r.LastError = scheduler.ReasonBadRedirect, fault
	}
	return err
}

// fault returns the fault of the redirect of k to a URL.
func (c *chains) fault(ctx context.Context, k weburl.Key, to string) (string, error) {
	if len(c.ends) > endsMax {
		clear(c.ends)
	}
	end, known := c.ends[k]
	var path []weburl.Key
	for passed := map[weburl.Key]bool{}; !known; end, known = c.ends[k] {
		path, passed[k] = append(path, k), true
		u, ok := weburl.FromCanonical(to)
		if !ok {
			break
		}
		if k = u.Key(); passed[k] {
			end.fault = redirectCircle
			break
		}
		t, err := c.store.Lookup(ctx, k)
		if err != nil && !errors.Is(err, scheduler.ErrNotFound) {
			return "", err
		}
		if to = t.RedirectTo; !redirects(&t) {
			break
		}
	}
	for _, k := range slices.Backward(path) {
		if end.steps++; end.fault == "" && end.steps > MaxRedirects {
			end.fault = redirectTooMany
		}
		c.ends[k] = end
	}
	return end.fault, nil
}
