package fetcher

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// Address is what a host's addresses are known by: the lowest of them, so that it
// does not change with the order in which DNS gives them. The guard is not asked.
// It asks Settings.Names, for at most the connect time-out. The error is
// an *Error, or that of ctx if ctx ended.
func (f *Fetcher) Address(ctx context.Context, u weburl.URL) (netip.Addr, error) {
	if a, err := netip.ParseAddr(u.Host()); err == nil {
		return a.Unmap(), nil
	}
	own, cancel := context.WithTimeout(ctx, f.settings.ConnectTimeout)
	defer cancel()
	all, err := f.dialer.net.Resolver.LookupNetIP(own, "ip", u.Host())
	if err == nil && len(all) == 0 {
		err = &net.DNSError{Err: "no address", Name: u.Host(), IsNotFound: true}
	}
	if err != nil {
		if ctx.Err() != nil {
			return netip.Addr{}, ctx.Err()
		}
		fault := classify(own, err)
		if errors.Is(err, context.DeadlineExceeded) {
			fault = DNSNoAnswer
		}
		return netip.Addr{}, &Error{URL: u.String(), Fault: fault, Err: err}
	}
	for i := range all {
		all[i] = all[i].Unmap().WithZone("")
	}
	return slices.MinFunc(all, netip.Addr.Compare), nil
}
