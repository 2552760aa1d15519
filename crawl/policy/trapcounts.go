package policy

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// TrapsName is the store's value that keeps what traps have counted.
const TrapsName = "crawl.traps"

// TrapCounts is what traps have counted, as it is stored.
type TrapCounts struct {
	// Patterns is the state of crawlspace.Traps.
	Patterns []byte `json:"patterns,omitempty"`
	// Full are hosts that have as many URLs as they may, in hexadecimal.
	Full []string `json:"full,omitempty"`
	// Learnt are the patterns of URLs that lead to copies, which are stored apart.
	Learnt []copies.Pattern `json:"learnt,omitempty"`
}

// StoredTraps is what the traps of a store's crawl had counted when that was
// stored last.
func StoredTraps(ctx context.Context, store scheduler.ValueReader) (c TrapCounts, err error) {
	b, err := store.Value(ctx, scheduler.CrawlValue(TrapsName))
	if err == nil && len(b) > 0 && json.Unmarshal(b, &c) != nil {
		return TrapCounts{}, fmt.Errorf("stored value %s: %w", TrapsName, crawlspace.ErrTrapState)
	}
	if err == nil {
		c.Learnt, err = copies.StoredPatterns(ctx, store)
	}
	return c, err
}

// fullHosts are those of TrapCounts.
type fullHosts map[string]bool

// HostURLs implements crawlspace.HostURLs as far as a limit goes.
func (f fullHosts) HostURLs(k weburl.HostKey) int {
	if f[hex.EncodeToString(k[:])] {
		return int(^uint(0) >> 1)
	}
	return 0
}
