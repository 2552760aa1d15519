package scheduler

import (
	"cmp"
	"context"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// A host is ill when its documents turn bad. None of them is deleted or replaced until the host is well again.
const (
	// healthResponses is the number of last responses for documents that decide, illResponses the number of bad ones
	// among them that makes a host ill. A host with fewer documents is ill when its last responses, one for each
	// document, were all bad.
	healthResponses = 10
	illResponses    = 8
	// illLeast is the least number of documents of an ill host.
	illLeast = 3
	// WellResponses is the number of good responses for different documents since the last bad one that makes a host
	// well; wellAfter is the least time since that one.
	WellResponses = len(HostState{}.Goods)
	wellAfter     = 10 * time.Minute

	healthMask = 1<<healthResponses - 1
)

// Response is the effect of a document's response on its host's health.
type Response uint8

// The effects.
const (
	NotCounted Response = iota
	GoodResponse
	BadResponse
)

// health is derived from the last responses of a host. The Frontier's mutex guards it.
type health struct {
	responses uint16 // bit 0 the newest, set where it was bad
	ill       bool
	since     time.Time
	badAt     time.Time // the last bad one; set while the host is ill
	// goods holds the documents that were good since the last bad response of an ill host, then zero keys. It is
	// stored, since the host may leave memory between two good responses.
	goods [WellResponses]weburl.Key
}

// observe adds one response of a host with so many documents and pending losses. It reports whether the host became ill
// or well.
func (h *health) observe(k weburl.Key, r Response, documents, pending uint64, now time.Time) (changed bool) {
	switch r {
	case BadResponse:
		h.responses = (h.responses<<1 | 1) & healthMask
		h.goods = [WellResponses]weburl.Key{}
		if h.ill {
			h.badAt = now.Truncate(time.Second)
			return false
		}
	case GoodResponse:
		h.responses = h.responses << 1 & healthMask
		if n := h.well(); h.ill && n < WellResponses && !slices.Contains(h.goods[:n], k) {
			h.goods[n] = k
		}
	case NotCounted:
		return false
	}
	if !h.ill && h.bad(documents) {
		h.ill, h.since, h.badAt = true, now.Truncate(time.Second), now.Truncate(time.Second)
		return true
	}
	// A host with few documents outside of losses needs only one good response for each of them.
	need := min(uint64(WellResponses), max(documents-min(pending, documents), 1))
	if h.ill && now.Sub(h.badAt) >= wellAfter && uint64(h.well()) >= need { //nolint:gosec // a count
		*h = health{}
		return true
	}
	return false
}

// bad reports whether too many of the last responses were bad.
func (h *health) bad(documents uint64) bool {
	if documents >= healthResponses {
		return bits.OnesCount16(h.responses) >= illResponses
	}
	all := uint16(1)<<documents - 1
	return documents >= illLeast && h.responses&all == all
}

// well returns the number of documents in goods.
func (h *health) well() int {
	if n := slices.Index(h.goods[:], weburl.Key{}); n >= 0 {
		return n
	}
	return WellResponses
}

// observed adds a response to its host's health, and reports whether the host is or was ill.
func (f *Frontier) observed(ctx context.Context, l *Lease, response Response) (ill bool, err error) {
	h := l.queue.host
	f.mu.Lock()
	ill = h.live.health.ill
	fresh := response == GoodResponse && !ill && h.live.health.responses == 0
	f.mu.Unlock()
	if response == NotCounted || fresh {
		return ill, nil
	}
	d, err := f.store.Documents(ctx, h.key)
	if err != nil {
		return ill, err
	}
	var pending int
	if ill {
		pending, _ = f.owner.Standing(h.key)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.live.health.observe(l.Key, response, d.Count, uint64(pending), time.Now()) { //nolint:gosec // a count
		f.noteIll(h, l.Record.Origin)
	}
	return ill || h.live.health.ill, nil
}

// noteIll records and logs that a host became ill or well. The mutex is held.
func (f *Frontier) noteIll(h *host, origin string) {
	if h.share.gone {
		return
	}
	if h.live.health.ill {
		f.ill[h.key] = IllHost{h.key, origin, h.live.health.since.UTC(), h.share}
		f.log.Warn("a host is ill because most of its documents fail; none of them is deleted or replaced", "host", origin)
	} else {
		delete(f.ill, h.key)
		f.log.Info("an ill host has recovered", "host", origin)
	}
	f.owner.HealthChanged(h.key, origin)
}

// IsIll reports whether a host is ill, by memory or the store.
func (f *Frontier) IsIll(ctx context.Context, k weburl.HostKey) (bool, error) {
	f.mu.Lock()
	if h := f.hosts[k]; h != nil && h.live != nil && h.live.loaded {
		defer f.mu.Unlock()
		return h.live.health.ill, nil
	}
	f.mu.Unlock()
	s, err := f.store.Host(ctx, k)
	return s.Ill, err
}

// illNamed is the most hosts that Ill returns.
const illNamed = 1000

// IllHost is a host whose documents mostly fail: none of them is deleted or replaced.
type IllHost struct {
	Host   weburl.HostKey `json:"-"`
	Origin string         `json:"host"`
	Since  time.Time      `json:"since"` // in UTC

	share *share
}

// illHosts holds the ill hosts. The Frontier's mutex guards it.
type illHosts map[weburl.HostKey]IllHost

// latest returns the n hosts that became ill last, the latest last.
func (f illHosts) latest(n int) []IllHost {
	all := slices.SortedFunc(maps.Values(f), func(a, b IllHost) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Origin, b.Origin))
	})
	return all[max(0, len(all)-n):]
}

// Ill returns up to illNamed ill hosts, the latest last: more than a Snapshot names.
func (f *Frontier) Ill() []IllHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ill.latest(illNamed)
}
