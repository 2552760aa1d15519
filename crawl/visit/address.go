package visit

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/crawl/meter"
)

// All workers share the addresses; mu guards them, and is not held while a name is looked up.

const (
	// addressAge is how long an address is valid before the name is resolved again, addressesKept how many are kept.
	addressAge    = time.Minute
	addressesKept = 10_000
)

// addresses remembers which address a host is known by, for perAddress.
type addresses struct {
	mu    sync.Mutex
	known map[string]knownAddress // by host name
}

type knownAddress struct {
	addr  netip.Addr
	until time.Time
}

func (a *addresses) look(host string, now time.Time) (netip.Addr, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.known[host]
	return k.addr, ok && now.Before(k.until)
}

func (a *addresses) keep(host string, addr netip.Addr, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= addressesKept {
		a.known = map[string]knownAddress{}
	}
	a.known[host] = knownAddress{addr, now.Add(addressAge)}
}

// takeAddress binds the lease's host to its address if perAddress asks for it. The lease
// ends if another host at the address is being visited, or was just now.
func (v *visit) takeAddress(ctx context.Context) (step, error) {
	if !v.policy.Settings.Frontier.PerAddress || v.access.proxied {
		return step{}, nil
	}
	addr, ok := v.visitor.addresses.look(v.lease.URL.Host(), time.Now())
	if !ok {
		var err error
		v.slot.Now(meter.WaitsForFetch)
		addr, err = v.access.fetcher.Address(ctx, v.lease.URL)
		v.slot.Now(meter.Working)
		if err != nil {
			return step{failure: err, asked: AskedPage}, nil
		}
		v.visitor.addresses.keep(v.lease.URL.Host(), addr, time.Now())
	}
	if !v.frontier.Address(v.lease, addr) {
		return step{}, leaseEnded{}
	}
	return step{}, nil
}
