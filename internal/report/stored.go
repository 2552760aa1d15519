package report

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// StoredURL is a record as the urls command prints it; the names are a contract.
type StoredURL struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	Class  string `json:"class"`
	Fifo   string `json:"fifo"`
	Depth  int    `json:"depth"`
	Kind   string `json:"kind,omitempty"` // sitemap, feed or item; empty for a page
	// HostSpelling and Fragment are those of the link that admitted the URL, if rules can tell them apart.
	HostSpelling string `json:"host_spelling,omitempty"`
	Fragment     string `json:"fragment,omitempty"`
	Source       string `json:"source"`
	Indexed      bool   `json:"indexed"`
	// Hash, ETag and LastModified identify the content that was last read.
	Hash         string     `json:"hash,omitempty"`
	ETag         string     `json:"etag,omitempty"`
	LastModified string     `json:"last_modified,omitempty"`
	FetchedAt    *time.Time `json:"fetched_at,omitempty"`
	NextAt       *time.Time `json:"next_at,omitempty"`
	// Fate is one of scheduler.FateWords, and Reason a scheduler.Reason, or empty.
	Fate      string `json:"fate"`
	Reason    string `json:"reason,omitempty"`
	Errors    int    `json:"errors"`
	LastError string `json:"last_error,omitempty"`
	// RefusedBy is the target that refused its document, or the deletion; set only in lists of URLs.
	RefusedBy   string `json:"refused_by,omitempty"`
	Referrer    string `json:"referrer,omitempty"`
	DuplicateOf string `json:"duplicate_of,omitempty"`
	// Overlap is the percentage of its text that a copy shares with DuplicateOf; 0: not known.
	Overlap    uint8  `json:"overlap,omitempty"`
	RedirectTo string `json:"redirect_to,omitempty"`
	// Rendered means that a browser rendered the page when it was last read.
	Rendered bool `json:"rendered,omitempty"`
	// Directives are the page's directives when it was last read.
	Directives       []string   `json:"directives,omitempty"`
	UnavailableAfter *time.Time `json:"unavailable_after,omitempty"`
	State            string     `json:"state"`                // waiting (also in flight), timed or at rest
	MediaType        string     `json:"media_type,omitempty"` // of the last 200
	FoundAt          *time.Time `json:"found_at,omitempty"`   // when it became known
	Was              string     `json:"was,omitempty"`        // the class before this one
	ClassAt          *time.Time `json:"class_at,omitempty"`   // when it got this one
	// EnteredAt is when its document entered the index, if it has not changed since;
	// ChangedAt is when it was last found changed, or was deleted.
	EnteredAt *time.Time `json:"entered_at,omitempty"`
	ChangedAt *time.Time `json:"changed_at,omitempty"`
	CheckedAt *time.Time `json:"checked_at,omitempty"` // when it was last compared with its earlier self
	Checks    int        `json:"checks,omitempty"`     // number of such comparisons
	Changes   int        `json:"changes,omitempty"`    // those that found a change
	IntervalS int64      `json:"interval_s,omitempty"` // between refreshes, at present
	Aliases   []string   `json:"aliases,omitempty"`    // URLs that redirect here
}

// NewStoredURL converts a record into its printed form. Fifo is the URL's present fifo, or else the one that the rules
// choose.
func NewStoredURL(r scheduler.Record) StoredURL {
	fate, reason := r.Fate()
	s := StoredURL{
		URL: r.URL, Status: r.Status, Class: r.Class.String(), Fifo: fifoNow(&r).String(), Depth: int(r.Depth),
		HostSpelling: r.HostSpelling, Fragment: r.Fragment, Source: r.PushedSource, Indexed: r.Indexed,
		ETag: r.ETag, LastModified: r.LastModified, FetchedAt: timeOf(r.FetchedAt.Truncate(time.Second)),
		Fate: fate.String(), Reason: reason.String(), Errors: r.Errors, LastError: r.LastError,
		Referrer: r.Referrer, DuplicateOf: r.DuplicateOf, Overlap: r.Overlap, RedirectTo: r.RedirectTo,
		Rendered: r.Directives&scheduler.Rendered != 0, Directives: r.Directives.Words(), UnavailableAfter: timeOf(r.UnavailableAt),
		State: r.State.String(), MediaType: r.MediaType, FoundAt: timeOf(r.FoundAt), ClassAt: timeOf(r.ClassAt), CheckedAt: timeOf(r.CheckedAt),
		Checks: int(r.History.Checks), Changes: int(r.History.Changes), IntervalS: int64(r.Interval.Seconds()), Aliases: r.Aliases,
	}
	if r.Kind != scheduler.KindPage {
		s.Kind = r.Kind.String()
	}
	if r.Hash != [16]byte{} {
		s.Hash = weburl.Key(r.Hash).String()
	}
	if r.State == scheduler.Timed {
		s.NextAt = timeOf(r.NextAt.Truncate(time.Second))
	}
	if !r.ClassAt.IsZero() && r.Was != scheduler.Pending {
		s.Was = r.Was.String()
	}
	if r.Entered {
		s.EnteredAt = timeOf(r.ChangedAt)
	} else {
		s.ChangedAt = timeOf(r.ChangedAt)
	}
	return s
}

// timeOf is nil for the zero time.
func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// fifoNow returns a URL's present fifo, or else the one that the rules choose.
func fifoNow(r *scheduler.Record) scheduler.Source {
	if r.State == scheduler.Waiting {
		return r.Source
	}
	return r.Fifo
}

// LookUp looks one URL up; ok is false if it is not known.
func LookUp(ctx context.Context, store scheduler.Reader, u weburl.URL) (s StoredURL, ok bool, err error) {
	r, err := store.Lookup(ctx, u.Key())
	if errors.Is(err, scheduler.ErrNotFound) {
		return s, false, nil
	}
	if err == nil {
		s, err = storedURL(ctx, newChains(store), &r)
	}
	return s, err == nil, err
}

// storedURL is NewStoredURL for a record of the store. It includes the end of the URL's redirects, unless the loss of
// its document is pending, which has a reason already.
func storedURL(ctx context.Context, c *chains, r *scheduler.Record) (s StoredURL, err error) {
	if !r.Indexed {
		err = c.follow(ctx, r)
	}
	s = NewStoredURL(*r)
	s.RefusedBy = c.dead[r.URL]
	return s, err
}

// withRefusals is newChains with the refusals of targets.
func withRefusals(ctx context.Context, store Store) (*chains, error) {
	c := newChains(store)
	c.dead = map[string]string{}
	return c, store.Orders(ctx, push.Selection{State: push.DeadLetter}, func(l push.Listed) error {
		c.dead[l.URL] = l.Target
		return nil
	})
}

// Robots returns the robots.State of the stored copy of u's robots.txt for agent, however old the copy is. With
// original it is parsed by the text of 1994.
func Robots(ctx context.Context, store scheduler.Reader, agent string, original bool, u weburl.URL) (string, error) {
	rules, err := robots.NewCache(readOnly{store}, robots.Settings{Original: original}).Rules(ctx, u)
	switch {
	case err != nil:
		return "", err
	case rules == nil:
		return robots.NeedsFetch.String(), nil
	case rules.Allowed(agent, u):
		return robots.Allowed.String(), nil
	}
	return robots.Disallowed.String(), nil
}

// readOnly is a store as the memory of a robots.Cache that fetches nothing, and so stores
// nothing.
type readOnly struct{ scheduler.Reader }

// SetValue does nothing.
func (readOnly) SetValue(context.Context, scheduler.ValueName, []byte) error { return nil }
