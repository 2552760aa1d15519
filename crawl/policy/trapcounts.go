package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// TrapsName is the key of the stored value with the traps' counts.
const TrapsName = "crawl.traps"

// TrapCounts holds the counts of traps in their stored form.
type TrapCounts struct {
	// Patterns is the state of crawlspace.Traps.
	Patterns []byte `json:"patterns,omitempty"`
	// Learnt are the patterns of URLs that lead to copies, which are stored separately.
	Learnt []copies.Pattern `json:"learnt,omitempty"`
}

// StoredTraps returns the traps' counts as last stored.
func StoredTraps(ctx context.Context, store scheduler.ValueReader) (c TrapCounts, err error) {
	b, err := store.Value(ctx, scheduler.CrawlValue(TrapsName))
	if err == nil && len(b) > 0 && json.Unmarshal(b, &c) != nil {
		return TrapCounts{}, fmt.Errorf("the stored value %s: %w", TrapsName, crawlspace.ErrTrapState)
	}
	if err == nil {
		c.Learnt, err = copies.StoredPatterns(ctx, store)
	}
	return c, err
}

// errOtherHost ends the reading of a host's URLs.
var errOtherHost = errors.New("the URLs of another host follow")

// StoredHostURLs counts the stored URLs of the origin of u.
func StoredHostURLs(ctx context.Context, store scheduler.Inspector, u weburl.URL) (n int, err error) {
	key, host := u.Key(), u.HostKey()
	first := weburl.Key{key[0], key[1]}
	err = store.Inspect(ctx, scheduler.Filter{From: first}, func(k weburl.Key, r scheduler.Record) error {
		switch {
		case k.HostHash() != first.HostHash():
			return errOtherHost
		case r.Host == host:
			n++
		}
		return nil
	})
	if errors.Is(err, errOtherHost) {
		err = nil
	}
	return n, err
}
