package scheduler

import (
	"net/netip"
	"slices"
)

// address is shared by the hosts of one IP address: one request at a time, and the pause after it. A bound host is
// picked only when it has the turn, which passes among the hosts that are otherwise ready.
type address struct {
	addr    netip.Addr
	gate    int64 // no request before
	turn    *host // has the turn; nil if no bound host waits for one
	waiting []*host
	bound   int // hosts
}

// Address binds the lease's host to an address if Settings.PerAddress is set. Call it before each request of a lease,
// with the address that will be contacted. It returns false, and gives the lease back, if another host of the address
// is being visited or the address must rest. Bindings are kept in memory, for as long as the host has work.
func (f *Frontier) Address(l *Lease, addr netip.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.ended || !f.set.PerAddress {
		return !l.ended
	}
	h := l.queue.host
	a := f.bind(h, addr.Unmap())
	if a.turn == nil && f.now() >= a.gate {
		a.turn = h
	}
	if a.turn == h && f.now() >= a.gate {
		return true
	}
	f.putBack(l)
	return false
}

// bind returns the entry of an address and binds the host to it, releasing an earlier binding.
func (f *Frontier) bind(h *host, addr netip.Addr) *address {
	if a := h.live.address; a != nil && a.addr == addr {
		return a
	}
	f.unbind(h)
	a := f.addresses[addr]
	if a == nil {
		a = &address{addr: addr}
		f.addresses[addr] = a
	}
	a.bound++
	h.live.address = a
	return a
}

// unbind removes a host from its address, which is dropped with its last host: its gate never outlasts theirs.
func (f *Frontier) unbind(h *host) {
	a := h.live.address
	if a == nil {
		return
	}
	f.leaveTurn(h)
	h.live.address = nil
	if a.bound--; a.bound == 0 {
		delete(f.addresses, a.addr)
	}
}

// bound reports whether a host must be kept because of its address. It unbinds a host that need not be.
func (f *Frontier) bound(h *host) bool {
	if h.live.address == nil {
		return false
	}
	if h.list != noList {
		return true
	}
	f.unbind(h)
	return false
}

// awaitsTurn reports whether an otherwise ready host must wait for another of its address. A host that gets the turn
// rests with the address.
func (f *Frontier) awaitsTurn(h *host) bool {
	if h.live == nil || h.live.address == nil || h.live.requests > 0 {
		return false
	}
	a, now := h.live.address, f.now()
	restsWithIt := a.turn == h && h.why == ByAddress && h.gate <= a.gate
	switch {
	case !h.working() || now < h.gate && !restsWithIt:
		f.leaveTurn(h)
	case a.turn == nil:
		a.turn = h
		f.closeUntil(h, a.gate, ByAddress)
	case a.turn != h:
		if !h.live.waits {
			a.waiting, h.live.waits = append(a.waiting, h), true
		}
		return true
	}
	return false
}

// leaveTurn removes a host from the turns of its address. If it had the turn, the next host gets it.
func (f *Frontier) leaveTurn(h *host) {
	a := h.live.address
	if h.live.waits {
		i := slices.Index(a.waiting, h)
		a.waiting, h.live.waits = slices.Delete(a.waiting, i, i+1), false
	}
	if a.turn != h {
		return
	}
	a.turn = nil
	if len(a.waiting) > 0 {
		next := a.waiting[0]
		a.waiting, next.live.waits = a.waiting[1:], false
		f.place(next, false)
	}
}

// restAddress closes the gate that the hosts of an address share, after a request to one of them.
func (f *Frontier) restAddress(h *host, until int64) {
	if a := h.live.address; a != nil {
		a.gate = max(a.gate, until)
		f.leaveTurn(h)
	}
}

// freeAddresses makes all hosts independent of their addresses.
func (f *Frontier) freeAddresses() {
	if len(f.addresses) == 0 {
		return
	}
	for _, h := range f.hosts {
		if h.live != nil && h.live.address != nil {
			f.unbind(h)
			f.place(h, false)
		}
	}
}
