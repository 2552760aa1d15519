package visit

import (
	"context"
	"sync"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// All workers count new URLs, and traps ask for the counts; mu guards them.

// trapHosts is how many hosts are counted; others have no limit.
const trapHosts = 1 << 20

// HostURLs counts the stored URLs by host, for traps. URLs that are removed count until the
// next start, new ones that are submitted do not. All workers share it; mu guards the counts.
type HostURLs struct {
	mu     sync.Mutex
	counts map[weburl.HostKey]int
}

// HostURLs implements crawlspace.HostURLs.
func (h *HostURLs) HostURLs(k weburl.HostKey) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts[k]
}

func (h *HostURLs) add(k weburl.HostKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	addHost(h.counts, k)
}

// addHost counts one more for a host, of up to trapHosts.
func addHost(counts map[weburl.HostKey]int, k weburl.HostKey) {
	if n, known := counts[k]; known || len(counts) < trapHosts {
		counts[k] = n + 1
	}
}

// CountAll reads all URLs of a store.
func (h *HostURLs) CountAll(ctx context.Context, store scheduler.Store) error {
	h.mu.Lock()
	h.counts = map[weburl.HostKey]int{}
	h.mu.Unlock()
	return store.Inspect(ctx, scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		h.add(r.Host)
		return nil
	})
}
