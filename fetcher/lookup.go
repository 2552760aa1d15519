package fetcher

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

// Address returns the lowest address of a host, which identifies its set of addresses independently of the order in
// which DNS returns them. The guard is not applied. It uses Settings.Names, for at most the connect time-out. The error
// is an *Error, or that of ctx if ctx ended.
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
	err = f.dialer.confirmError(own, u.Host(), err)
	if err != nil {
		if ctx.Err() != nil {
			return netip.Addr{}, ctx.Err()
		}
		why := classify(own, err)
		if errors.Is(err, context.DeadlineExceeded) {
			why = fault.DNSNoAnswer
		}
		return netip.Addr{}, &Error{URL: u.String(), Fault: why, Err: err}
	}
	for i := range all {
		all[i] = all[i].Unmap().WithZone("")
	}
	return slices.MinFunc(all, netip.Addr.Compare), nil
}

// confirmError returns err or, if err reports that the host does not exist, any evidence against that. When a server
// fails for one kind of address (or one name of the search list), Go's resolver may report only the response for the
// other, depending on which comes last, and the URLs of a host that does not exist are deleted. Responses are in Names,
// so only the failed queries are repeated.
func (d *dialer) confirmError(ctx context.Context, host string, err error) error {
	if dns := (*net.DNSError)(nil); !errors.As(err, &dns) || !dns.IsNotFound {
		return err
	}
	_, again := d.strict.LookupNetIP(ctx, "ip", host)
	if again == nil {
		return &net.DNSError{Err: "the DNS server failed temporarily", Name: host, IsTemporary: true}
	}
	return again
}
