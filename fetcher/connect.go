package fetcher

import (
	"context"
	"net"
	"net/netip"
	"strconv"
)

// connectBy tries the addresses of a host one after the other, as net.Dialer does, and connects by Settings.Connect.
func (t *attempt) connectBy(ctx context.Context, network, hostPort string) (net.Conn, error) {
	conn, err := t.connectFirst(ctx, network, hostPort)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return conn, nil
}

// connectFirst returns the first successful connection, or the first error.
func (t *attempt) connectFirst(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, service, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, err
	}
	all, err := t.net.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var first error
	for _, a := range all {
		conn, err := t.connectTo(ctx, network, netip.AddrPortFrom(a.Unmap(), uint16(port)), hostPort == t.proxy)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// connectTo connects to one address, if the guard allows it.
func (t *attempt) connectTo(ctx context.Context, network string, address netip.AddrPort, proxy bool) (net.Conn, error) {
	if !proxy {
		if err := t.control(ctx, network, address.String(), nil); err != nil {
			return nil, err
		}
	}
	return t.connect(ctx, address)
}
