package meter

import (
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// All workers add to it; mu guards the map.

// maxTimedHosts are remembered: with more than that, one that is new takes the place of any
// other.
const maxTimedHosts = 50_000

// HostTimes are how long answers of hosts took since the process started. The zero value
// knows none.
type HostTimes struct {
	mu    sync.Mutex
	hosts map[weburl.HostKey]hostTime
}

type hostTime struct {
	sum time.Duration
	n   int64
}

// Add counts a request.
func (t *HostTimes) Add(host weburl.HostKey, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts == nil {
		t.hosts = map[weburl.HostKey]hostTime{}
	}
	h, known := t.hosts[host]
	if !known && len(t.hosts) >= maxTimedHosts {
		for other := range t.hosts {
			delete(t.hosts, other)
			break
		}
	}
	t.hosts[host] = hostTime{h.sum + d, h.n + 1}
}

// Mean is how long a request of a host took on average; 0 if none is remembered.
func (t *HostTimes) Mean(host weburl.HostKey) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.hosts[host]; h.n > 0 {
		return h.sum / time.Duration(h.n)
	}
	return 0
}
