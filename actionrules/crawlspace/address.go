package crawlspace

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// addressRule applies to all addresses that equal addr in the bits of mask.
type addressRule struct {
	rule
	addr, mask bits
	v4         bool
}

// bits holds the bits of an address; IPv4 uses the lowest 32.
type bits struct{ high, low uint64 }

func bitsOf(a netip.Addr) bits {
	b := a.As16()
	v := bits{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
	if a.Is4() {
		v = bits{0, v.low & 0xffffffff}
	}
	return v
}

// AddressRules are the address rules of crawl.rules, for the address really
// dialled. It is immutable and safe for concurrent use; nil has no rules.
type AddressRules struct{ rules []addressRule }

// Judge applies the rules to one address; the first match decides. matched reports whether a rule matched, and reason
// which one; without a match the address is allowed. An IPv4-mapped address counts as IPv4; a zone is ignored. Only the
// allowed addresses of a host may be dialled; a host without any is excluded (StatusExcluded).
func (a *AddressRules) Judge(addr netip.Addr) (allowed, matched bool, reason Reason) {
	addr = addr.Unmap()
	if a == nil || !addr.IsValid() {
		return true, false, Reason{}
	}
	candidate := bitsOf(addr)
	for i := range a.rules {
		r := &a.rules[i]
		if r.v4 == addr.Is4() && (candidate.high^r.addr.high)&r.mask.high == 0 && (candidate.low^r.addr.low)&r.mask.low == 0 {
			return r.allow, true, r.reason
		}
	}
	return true, false, Reason{}
}

// address reads ADDR [MASK].
func (p *ruleParser) address(l line, r rule, targets []word) {
	switch {
	case len(targets) > 2:
		p.add(l.number, targets[2].column, "%s is one word too many; an address rule has an address and a netmask", clip(targets[2].text))
		return
	case strings.Contains(targets[0].text, "/"):
		p.add(l.number, targets[0].column, "%s", noMask(r.allow, targets[0].text))
		return
	case len(targets) == 2 && strings.Trim(targets[1].text, "/0123456789") == "":
		p.add(l.number, targets[1].column, "%s", noMask(r.allow, targets[0].text+"/"+strings.TrimLeft(targets[1].text, "/")))
		return
	}
	addr, err := parseAddress(targets[0].text)
	if err != nil {
		p.add(l.number, targets[0].column, "%w", err)
		return
	}
	mask, err := netmask(addr, targets[1:])
	if err != nil {
		p.add(l.number, targets[1].column, "%w", err)
		return
	}
	r.reason.Gate = GateAddress
	addr = addr.Unmap()
	p.set.addresses = append(p.set.addresses, addressRule{r, bitsOf(addr), mask, addr.Is4()})
}

// netmask reads the mask of an address; without one all bits count.
func netmask(addr netip.Addr, masks []word) (bits, error) {
	if len(masks) == 0 && addr.Unmap().Is4() {
		return bits{0, 0xffffffff}, nil
	}
	if len(masks) == 0 {
		return bits{^uint64(0), ^uint64(0)}, nil
	}
	mask, err := parseAddress(masks[0].text)
	if err != nil {
		return bits{}, fmt.Errorf("in the netmask: %w", err)
	}
	b := bitsOf(mask.Unmap())
	switch {
	case mask.Unmap().Is4() == addr.Unmap().Is4():
		return b, nil
	case addr.Is4In6() && b.high == ^uint64(0) && b.low>>32 == 0xffffffff:
		return bits{0, b.low & 0xffffffff}, nil
	case addr.Unmap().Is4():
		return bits{}, fmt.Errorf("%s is not a netmask of an IPv4 address; write it as in 255.0.0.0", clip(masks[0].text))
	default:
		return bits{}, fmt.Errorf("%s is not a netmask of an IPv6 address; write for example ffff:ffff:: for the first 32 bits", clip(masks[0].text))
	}
}

// parseAddress reads an address, IPv6 with or without brackets.
func parseAddress(s string) (netip.Addr, error) {
	inside := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		inside = s[1 : len(s)-1]
	}
	a, err := netip.ParseAddr(inside)
	switch {
	case strings.Contains(s, "*"):
		return a, fmt.Errorf("%s is not an address; write two rules for every address, with :: :: and 0.0.0.0 0.0.0.0", clip(s))
	case err != nil || a.Is4() && inside != s:
		return a, fmt.Errorf("%s is not an address; write it as in 9.0.0.0 or 2001:db8::1, and a host name into a domain rule", clip(s))
	case a.Zone() != "":
		return a, fmt.Errorf("%s has a zone; write %s", clip(s), a.WithZone(""))
	}
	return a, nil
}

// noMask explains how to write a prefix length as a netmask.
func noMask(allow bool, target string) string {
	addr, length, _ := strings.Cut(target, "/")
	addr = strings.TrimSuffix(strings.TrimPrefix(addr, "["), "]")
	p, err := netip.ParsePrefix(addr + "/" + length)
	if err != nil {
		return fmt.Sprintf("%s is not an address with a netmask; write it as in 9.0.0.0 255.0.0.0", clip(target))
	}
	mask := net.IP(net.CIDRMask(p.Bits(), p.Addr().BitLen())).String()
	action := "forbid"
	if allow {
		action = "allow"
	}
	return fmt.Sprintf("/%d is no netmask; write: %s address %s %s", p.Bits(), action, addr, mask)
}
