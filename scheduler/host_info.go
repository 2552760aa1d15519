package scheduler

import (
	"cmp"
	"container/heap"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// HostInfo describes a host for the operator.
type HostInfo struct {
	Host    weburl.HostKey
	Origin  string          // empty if it cannot be read
	Waiting [Sources]uint64 // URLs by source, those in flight included
	// InFlight counts its leases without a stored outcome.
	InFlight int
	// Until is the time when it may be visited next, zero if now; Closing is the reason why not earlier.
	Until   time.Time
	Closing Closing
	// The rest is set for hosts with URLs in memory or in flight.
	Delay, Backoff time.Duration
	Errors         int        // failures in a row
	Ill            bool       // its documents mostly fail: none is deleted or replaced
	Address        netip.Addr // with Settings.PerAddress
}

// Hosts calls fn for the n hosts with the longest queues, longest first, then for up to n more that rest longest. It
// reads all places once, in time proportional to their number, and one URL of each host that it names.
func (f *Frontier) Hosts(ctx context.Context, n int, fn func(HostInfo) error) error {
	longest, err := f.longest(ctx, n)
	if err != nil {
		return err
	}
	infos := map[weburl.HostKey]*HostInfo{}
	var order []*HostInfo
	for _, k := range append(longest, f.restLongest(n)...) {
		if infos[k] == nil {
			infos[k] = &HostInfo{Host: k}
			order = append(order, infos[k])
		}
	}
	if err := f.fillIn(ctx, infos); err != nil {
		return err
	}
	for _, info := range order {
		if err := fn(*info); err != nil {
			return err
		}
	}
	return nil
}

// Host describes one host, without a walk over all.
func (f *Frontier) Host(ctx context.Context, k weburl.HostKey) (HostInfo, error) {
	info := &HostInfo{Host: k}
	err := f.fillIn(ctx, map[weburl.HostKey]*HostInfo{k: info})
	return *info, err
}

// Resting describes the hosts with work that may not be visited yet, for a reason other than the pause after a request.
type Resting struct {
	Hosts int
	URLs  uint64   // waiting for these hosts
	Last  HostInfo // the host that rests longest
}

// Resting returns the number of resting hosts with their URLs. If there are any, it reads all places, as Hosts does.
func (f *Frontier) Resting(ctx context.Context) (r Resting, err error) {
	last := f.restLongest(1)
	if len(last) == 0 {
		return r, nil
	}
	hosts := map[weburl.HostKey]bool{}
	f.mu.Lock()
	for _, h := range f.closed {
		if h.why != ByThrottle {
			hosts[h.key] = true
		}
	}
	weights := f.set.Weights
	f.mu.Unlock()
	r.Hosts = len(hosts)
	err = f.store.Places(ctx, func(p Place, waiting uint64) error {
		if hosts[p.Host] && weights[p.Source] > 0 {
			r.URLs += waiting
		}
		return nil
	})
	if err == nil {
		r.Last, err = f.Host(ctx, last[0])
	}
	return r, err
}

// longest returns the hosts with the n longest queues.
func (f *Frontier) longest(ctx context.Context, n int) ([]weburl.HostKey, error) {
	var best shortest
	err := f.store.Places(ctx, func(p Place, waiting uint64) error {
		best.offer(rankedHost{p.Host, waiting}, n)
		return nil
	})
	return best.hosts(), err
}

// restLongest returns up to n hosts whose gates open last, beyond the throttle's pause.
func (f *Frontier) restLongest(n int) []weburl.HostKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.closed) == f.restingFor[ByThrottle] {
		return nil
	}
	var best shortest
	for _, h := range f.closed {
		if h.why != ByThrottle {
			best.offer(rankedHost{h.key, uint64(h.gate)}, n)
		}
	}
	return best.hosts()
}

// fillIn adds the state in memory and in the store to each info.
func (f *Frontier) fillIn(ctx context.Context, infos map[weburl.HostKey]*HostInfo) error {
	for _, info := range infos {
		for s := range info.Waiting {
			n, err := f.store.Waits(ctx, Place{Source: Source(s), Host: info.Host})
			if err != nil {
				return err
			}
			info.Waiting[s] = n
			if n == 0 || info.Origin != "" {
				continue
			}
			urls, err := f.store.Queue(ctx, Place{Source: Source(s), Host: info.Host}, 0, 1)
			if err != nil {
				return err
			}
			if len(urls) > 0 {
				info.Origin = urls[0].Record.Origin
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, info := range infos {
		f.describe(info)
	}
	return nil
}

// describe adds the state of a host in memory.
func (f *Frontier) describe(info *HostInfo) {
	h := f.hosts[info.Host]
	if h == nil {
		return
	}
	if h.gate > f.now() {
		info.Until, info.Closing = f.time(h.gate), h.why
	}
	l := h.live
	if l == nil {
		return
	}
	info.InFlight = len(l.inFlight)
	info.Delay, info.Backoff, info.Errors, info.Ill = l.delay, l.backoff, l.errors, l.health.ill
	if l.address != nil {
		info.Address = l.address.addr
	}
}

// rankedHost is a host with the figure by which it is ranked.
type rankedHost struct {
	host    weburl.HostKey
	waiting uint64
}

// shortest is a heap of the longest queues found so far, the shortest of them first.
type shortest []rankedHost

// offer adds c if it is among the n longest. A host appears once.
func (s *shortest) offer(c rankedHost, n int) {
	if n <= 0 || len(*s) == n && c.waiting <= (*s)[0].waiting {
		return
	}
	i := slices.IndexFunc(*s, func(other rankedHost) bool { return other.host == c.host })
	switch {
	case i >= 0 && c.waiting > (*s)[i].waiting:
		(*s)[i] = c
		heap.Fix(s, i)
	case i >= 0:
	case len(*s) < n:
		heap.Push(s, c)
	default:
		(*s)[0] = c
		heap.Fix(s, 0)
	}
}

// hosts returns the hosts, longest queue first.
func (s shortest) hosts() []weburl.HostKey {
	slices.SortFunc(s, func(a, b rankedHost) int { return cmp.Compare(b.waiting, a.waiting) })
	keys := make([]weburl.HostKey, len(s))
	for i, c := range s {
		keys[i] = c.host
	}
	return keys
}

func (s shortest) Len() int           { return len(s) }
func (s shortest) Less(i, j int) bool { return s[i].waiting < s[j].waiting }
func (s shortest) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// Push implements heap.Interface.
func (s *shortest) Push(x any) { *s = append(*s, x.(rankedHost)) }

// Pop implements heap.Interface.
func (s *shortest) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
