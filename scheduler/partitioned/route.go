package partitioned

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"sync"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex of hosts guards its maps. The number of a partition is that of the first 8 bytes, big endian,
// of the SHA-256 of a host's name, modulo how many there are: stores lie by it, so it never changes.

// Of is the partition, of so many, of a host, which is written as weburl.URL.Host gives it.
func Of(host string, partitions int) int {
	var buf [256]byte
	h := sha256.Sum256(append(buf[:0], strings.TrimPrefix(host, "www.")...))
	return int(binary.BigEndian.Uint64(h[:]) % uint64(partitions)) //nolint:gosec // below partitions
}

// hostOf is the host of an origin.
func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	if strings.HasPrefix(host, "[") {
		host, _, _ = strings.Cut(host[1:], "]")
		return host
	}
	host, _, _ = strings.Cut(host, ":")
	return host
}

// ByOrigin is the partition, of so many, of a host, by its origin.
func ByOrigin(origin string, partitions int) int { return Of(hostOf(origin), partitions) }

// OfOrigin is the partition of a host, by its origin.
func (s *Store) OfOrigin(origin string) int { return ByOrigin(origin, s.partitions) }

// hosts remembers in which partitions hosts are, about twice hostsKept of them: what was not asked for in a long time is
// looked up again.
type hosts struct {
	mu         sync.RWMutex
	young, old map[weburl.HostKey]uint16
}

const hostsKept = 1 << 17

func (m *hosts) find(h weburl.HostKey) (int, bool) {
	m.mu.RLock()
	n, ok := m.young[h]
	old := false
	if !ok {
		n, old = m.old[h]
	}
	m.mu.RUnlock()
	if old {
		m.put(h, int(n))
	}
	return int(n), ok || old
}

func (m *hosts) put(h weburl.HostKey, partition int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.young) >= hostsKept {
		m.old, m.young = m.young, nil
	}
	if m.young == nil {
		m.young = map[weburl.HostKey]uint16{}
	}
	m.young[h] = uint16(partition) //nolint:gosec // partitions are few
}

// learn remembers where hosts are that got work.
func (s *Store) learn(o *owned, places []scheduler.Place) []scheduler.Place {
	for _, p := range places {
		if n, ok := s.hosts.find(p.Host); !ok || n != o.number {
			s.hosts.put(p.Host, o.number)
		}
	}
	return places
}

// PartitionOf implements scheduler.Parted.
func (s *Store) PartitionOf(h weburl.HostKey) (int, bool) { return s.hosts.find(h) }

// byHost is the partition that knows a host, nil if no URL of it is known; done must be called on it.
func (s *Store) byHost(ctx context.Context, h weburl.HostKey) (*owned, error) {
	if n, ok := s.hosts.find(h); ok {
		if o, err := s.use(n); err == nil || !errors.Is(err, scheduler.ErrElsewhere) {
			return o, err
		}
	}
	p, err := s.here()
	if err != nil {
		return nil, err
	}
	defer p.done()
	for _, o := range p {
		origin, err := o.store.Origin(ctx, h)
		if err != nil {
			return nil, err
		}
		if origin != "" {
			s.hosts.put(h, o.number)
			o.calls.begin()
			return o, nil
		}
	}
	return nil, s.unknown(p, nil)
}

// byKey is the partition that knows a URL, and the URL's record; done must be called on it.
func (s *Store) byKey(ctx context.Context, k weburl.Key) (*owned, scheduler.Record, error) {
	p, err := s.here()
	if err != nil {
		return nil, scheduler.Record{}, err
	}
	defer p.done()
	for _, o := range p {
		r, err := o.store.Lookup(ctx, k)
		if errors.Is(err, scheduler.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, r, err
		}
		o.calls.begin()
		return o, r, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, scheduler.Record{}, err
	}
	return nil, scheduler.Record{}, s.unknown(p, scheduler.ErrNotFound)
}
