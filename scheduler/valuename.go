package scheduler

import (
	"encoding/binary"
	"fmt"

	"github.com/sextant-crawler/sextant/weburl"
)

// Append returns the form in which names are stored.

// Scope is the kind of thing that a stored value belongs to.
type Scope uint8

// The scopes. Their numbers are stored.
const (
	OfCrawl Scope = iota // the crawl as a whole
	OfPart               // one of the parts into which a store may divide a crawl
	OfHost
	OfURL
)

// ValueName names a stored value and its owner. It is comparable; the zero value names nothing.
type ValueName struct {
	scope Scope
	of    string // bytes of the part's number, of the HostKey or of the Key
	name  string
}

// CrawlValue returns the name of a value of the whole crawl.
func CrawlValue(name string) ValueName { return ValueName{OfCrawl, "", name} }

// PartValue returns the name of a value of a part; an undivided store is part 0.
func PartValue(part uint16, name string) ValueName {
	return ValueName{OfPart, string(binary.BigEndian.AppendUint16(nil, part)), name}
}

// HostValue returns the name of a value of a host.
func HostValue(h weburl.HostKey, name string) ValueName { return ValueName{OfHost, string(h[:]), name} }

// URLValue returns the name of a value of a URL.
func URLValue(k weburl.Key, name string) ValueName { return ValueName{OfURL, string(k[:]), name} }

// Scope returns the kind of the value's owner.
func (n ValueName) Scope() Scope { return n.scope }

// Append appends the stored form of the name to b: the scope, the owner, whose length depends on the scope alone, and
// the name.
func (n ValueName) Append(b []byte) []byte {
	return append(append(append(b, byte(n.scope)), n.of...), n.name...)
}

// String returns the name for people.
func (n ValueName) String() string {
	switch n.scope {
	case OfCrawl:
	case OfPart:
		return fmt.Sprintf("%s of part %d", n.name, binary.BigEndian.Uint16([]byte(n.of)))
	case OfHost:
		return fmt.Sprintf("%s of host %x", n.name, n.of)
	case OfURL:
		return fmt.Sprintf("%s of URL %x", n.name, n.of)
	}
	return n.name
}
