// Package fault lists what can go wrong below HTTP, or with its framing. The fetcher returns a fault, the scheduler
// decides what follows, and stores keep it.
package fault

import "fmt"

// Fault is the reason why a request has no usable response. Its numbers are stored, with URLs and with the traces of
// forgotten ones: a new fault is added at the end, and numbers are not reused.
type Fault uint8

// The faults. None means that an HTTP response was read.
const (
	None             Fault = iota
	Timeout                // connect, TLS, first byte, idle or whole
	Reset                  // connection reset or closed before the header was whole
	Refused                // connection refused
	ShortBody              // body ended before its Content-Length or its last chunk
	DNSNotFound            // NXDOMAIN, or no address of any kind and no failure
	DNSNoAnswer            // time-out or failure of DNS, even if only for one kind of address
	TLS                    // handshake, certificate
	Protocol               // not HTTP, bad framing or encoding, oversized header
	TooManyHops            // more redirects than allowed
	BadRedirect            // redirect to something that is not a URL, or without Location
	Address                // the built-in guard refused the address
	AddressForbidden       // a rule forbids all addresses of the host
	Proxy                  // the proxy did not forward the request, for any reason
	Render                 // the browser failed, or a script of the page could not be fetched
	RenderTimeout          // the page did not reach the awaited state in time
	Reading                // this machine failed to read a document: no time, no memory, no worker

	end
)

// String returns the fault's word in logs and metrics.
func (f Fault) String() string {
	switch f {
	case None:
		return "none"
	case Timeout:
		return "timeout"
	case Reset:
		return "reset"
	case Refused:
		return "refused"
	case ShortBody:
		return "short body"
	case DNSNotFound:
		return "host not found"
	case DNSNoAnswer:
		return "no response from DNS"
	case TLS:
		return "tls"
	case Protocol:
		return "protocol"
	case TooManyHops:
		return "too many redirects"
	case BadRedirect:
		return "bad redirect"
	case Address:
		return "address refused"
	case AddressForbidden:
		return "address forbidden"
	case Proxy:
		return "proxy"
	case Render:
		return "rendering"
	case RenderTimeout:
		return "rendering timed out"
	case Reading:
		return "reading"
	}
	return fmt.Sprintf("fault %d", uint8(f))
}

// All returns the faults without None, in order.
func All() []Fault {
	all := make([]Fault, 0, end-1)
	for f := None + 1; f < end; f++ {
		all = append(all, f)
	}
	return all
}

// ReachedHost reports whether the request reached the host: its name led to an allowed address, and no proxy refused to
// pass it on.
func (f Fault) ReachedHost() bool {
	switch f {
	case DNSNotFound, Address, AddressForbidden, Proxy:
		return false
	case None, Timeout, Reset, Refused, ShortBody, DNSNoAnswer, TLS, Protocol, TooManyHops, BadRedirect, Render, RenderTimeout,
		Reading:
	}
	return true
}
