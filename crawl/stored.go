package crawl

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// StoredURL is a record as the urls command prints it; the names are a contract.
type StoredURL struct {
	URL          string     `json:"url"`
	Status       int        `json:"status"`
	Class        string     `json:"class"`
	Fifo         string     `json:"fifo"`
	Depth        int        `json:"depth"`
	Kind         string     `json:"kind,omitempty"` // sitemap, feed or item; a page has none
	Source       string     `json:"source"`
	Indexed      bool       `json:"indexed"`
	Hash         string     `json:"hash,omitempty"`
	ETag         string     `json:"etag,omitempty"`
	LastModified string     `json:"last_modified,omitempty"`
	FetchedAt    *time.Time `json:"fetched_at,omitempty"`
	NextAt       *time.Time `json:"next_at,omitempty"`
	// Fate is what became of the URL, one of DocumentStatuses, and Reason the word for why
	// (scheduler.Reason), empty where there is none. Deletion says that a deletion of its
	// document is resting or held.
	Fate        string `json:"fate"`
	Reason      string `json:"reason,omitempty"`
	Deletion    string `json:"deletion,omitempty"`
	Errors      int    `json:"errors"`
	LastError   string `json:"last_error,omitempty"`
	Referrer    string `json:"referrer,omitempty"`
	DuplicateOf string `json:"duplicate_of,omitempty"`
	// Overlap is how much of its text a copy shares with DuplicateOf, in percent; 0: not
	// known.
	Overlap    uint8  `json:"overlap,omitempty"`
	RedirectTo string `json:"redirect_to,omitempty"`
	// Directives are what the page asked for when it was last read.
	Directives       []string   `json:"directives,omitempty"`
	UnavailableAfter *time.Time `json:"unavailable_after,omitempty"`

	// The rest tells how it came to be as it is; stores of older versions lack some of it.
	State     string     `json:"state"`                // waiting (also in flight), timed or at rest
	MediaType string     `json:"media_type,omitempty"` // of the last 200
	FoundAt   *time.Time `json:"found_at,omitempty"`   // when it became known
	Was       string     `json:"was,omitempty"`        // the class before this one
	ClassAt   *time.Time `json:"class_at,omitempty"`   // when it got this one
	// EnteredAt is when its document entered the index, if it has not changed since;
	// ChangedAt when it was last found changed, or was deleted.
	EnteredAt *time.Time `json:"entered_at,omitempty"`
	ChangedAt *time.Time `json:"changed_at,omitempty"`
	CheckedAt *time.Time `json:"checked_at,omitempty"` // when it was last compared with its earlier self
	Checks    int        `json:"checks,omitempty"`     // such comparisons
	Changes   int        `json:"changes,omitempty"`    // those that found a change
	IntervalS int64      `json:"interval_s,omitempty"` // between refreshes, as it is now
	Aliases   []string   `json:"aliases,omitempty"`    // URLs that redirect here
}

// NewStoredURL gives a record its printed form. Fifo is where it waits, else
// where the rules put it.
func NewStoredURL(r scheduler.Record) StoredURL {
	s := StoredURL{
		URL: r.URL, Status: r.Status, Class: r.Class.String(), Fifo: fifoNow(&r).String(), Depth: int(r.Depth),
		Source: r.PushedSource, Indexed: r.Indexed, ETag: r.ETag, LastModified: r.LastModified,
		Errors: r.Errors, LastError: r.LastError, Referrer: r.Referrer, DuplicateOf: r.DuplicateOf, Overlap: r.Overlap, RedirectTo: r.RedirectTo,
	}
	fate, reason := r.Fate()
	s.Fate, s.Reason, s.Deletion = fate.String(), reason.String(), r.Deletion.String()
	if r.Kind != scheduler.KindPage {
		s.Kind = r.Kind.String()
	}
	if r.Hash != [16]byte{} {
		s.Hash = weburl.Key(r.Hash).String()
	}
	s.FetchedAt, s.Directives, s.UnavailableAfter = timeOf(r.FetchedAt), r.Directives.Words(), timeOf(r.UnavailableAt)
	if r.State == scheduler.Timed {
		at := r.NextAt.UTC()
		s.NextAt = &at
	}
	s.addPast(&r)
	return s
}

// addPast tells how it came to be as it is.
func (s *StoredURL) addPast(r *scheduler.Record) {
	s.State, s.MediaType, s.Aliases = r.State.String(), r.MediaType, r.Aliases
	s.FoundAt, s.ClassAt, s.CheckedAt = timeOf(r.FoundAt), timeOf(r.ClassAt), timeOf(r.CheckedAt)
	if !r.ClassAt.IsZero() && r.Was != scheduler.Pending {
		s.Was = r.Was.String()
	}
	if r.Entered {
		s.EnteredAt = timeOf(r.ChangedAt)
	} else {
		s.ChangedAt = timeOf(r.ChangedAt)
	}
	s.Checks, s.Changes, s.IntervalS = int(r.History.Checks), int(r.History.Changes), int64(r.Interval.Seconds())
}

// timeOf is nil for the zero time.
func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// fifoNow is where a URL waits, else where the rules put it.
func fifoNow(r *scheduler.Record) scheduler.Source {
	if r.State == scheduler.Waiting {
		return r.Source
	}
	return r.Fifo
}

// Filter selects stored URLs; zero fields select all.
type Filter struct {
	Status *int // HTTP code, 760, 761, or 0 for never answered
	Class  *scheduler.Class
	Fifo   *scheduler.Source
	Host   string // a host name, host:port, or an origin as in https://example.com:8443; in canonical form
	// From is the least key that is looked at; keys are in the order of their bytes.
	From weburl.Key
}

// Stored calls fn for each stored URL that f selects, in order of keys. One that is
// stored meanwhile may be among them or not.
func Stored(ctx context.Context, store scheduler.Store, f Filter, fn func(StoredURL) error) error {
	return scheduler.Walk(ctx, store, f.From, f.selects, func(batch []scheduler.KeyedRecord) error {
		for i := range batch {
			if err := fn(NewStoredURL(batch[i].Record)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *Filter) selects(r *scheduler.Record) bool {
	return (f.Status == nil || *f.Status == r.Status) && (f.Class == nil || *f.Class == r.Class) &&
		(f.Fifo == nil || *f.Fifo == fifoNow(r)) && isOn(f.Host, r.Origin, r.URL)
}

// isOn says that a URL of an origin is on a host as Filter.Host names one.
func isOn(host, origin, url string) bool {
	if host == "" || host == origin {
		return true
	}
	if _, authority, _ := strings.Cut(origin, "://"); authority == host {
		return true
	}
	u, ok := weburl.FromCanonical(url)
	return ok && u.Host() == host
}

// StoredOne looks one URL up; ok is false if it is not known.
func StoredOne(ctx context.Context, store scheduler.Store, u weburl.URL) (s StoredURL, ok bool, err error) {
	r, err := store.Lookup(ctx, u.Key())
	if errors.Is(err, scheduler.ErrNotFound) {
		return s, false, nil
	}
	return NewStoredURL(r), err == nil, err
}

// What the copy of robots.txt at hand says of a URL.
const (
	RobotsAllowed   = "allowed"
	RobotsForbidden = "forbidden"
	RobotsUnknown   = "unknown" // it was not fetched yet
)

// StoredRobots is what the stored copy of u's robots.txt says to agent, however
// old it is. With original it is read by the text of 1994.
func StoredRobots(ctx context.Context, store scheduler.Store, agent string, original bool, u weburl.URL) (string, error) {
	rules, err := robots.NewCache(store, robots.Settings{Original: original}).Rules(ctx, u)
	switch {
	case err != nil:
		return "", err
	case rules == nil:
		return RobotsUnknown, nil
	case rules.Allowed(agent, u):
		return RobotsAllowed, nil
	}
	return RobotsForbidden, nil
}
