package scheduler

import "net/netip"

// Address binds the lease's host to an address.
func (f *Frontier) Address(*Lease, netip.Addr) bool { return true }
