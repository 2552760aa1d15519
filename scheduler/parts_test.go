package scheduler_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex of parts guards which of them are here, and which hosts are remembered.

// partOf returns the part of a host.
func partOf(h weburl.HostKey, parts int) int { return int(binary.BigEndian.Uint16(h[:])) % parts }

// parts is a Parted store of a store in memory for each part. It has what a Frontier asks for.
type parts struct {
	*storetest.Memory // values that belong to no part
	number            int
	// deliver stores links to URLs of parts that are not here.
	deliver func(links []scheduler.Link)

	mu         sync.Mutex
	here       map[int]*storetest.Memory
	remembered map[weburl.HostKey]bool
}

var _ scheduler.Parted = (*parts)(nil)

func newParts(number int, deliver func([]scheduler.Link)) *parts {
	return &parts{
		Memory: storetest.NewMemory(), number: number, deliver: deliver,
		here: map[int]*storetest.Memory{}, remembered: map[weburl.HostKey]bool{},
	}
}

// adopt takes a part in, and release gives it up.
func (s *parts) adopt(n int, m *storetest.Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.here[n] = m
}

func (s *parts) release(n int) *storetest.Memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.here[n]
	delete(s.here, n)
	return m
}

// part returns a part, or ErrNotHere.
func (s *parts) part(n int) (*storetest.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.here[n]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("part %d: %w", n, scheduler.ErrNotHere)
}

// of returns the part of a host, which it remembers. No more than two are at once.
func (s *parts) of(h weburl.HostKey) (*storetest.Memory, error) {
	s.remember(h)
	return s.part(partOf(h, s.number))
}

func (s *parts) remember(h weburl.HostKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.remembered) == 2 {
		clear(s.remembered)
	}
	s.remembered[h] = true
}

// all returns the parts that are here.
func (s *parts) all() (list []*storetest.Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.number {
		if m := s.here[n]; m != nil {
			list = append(list, m)
		}
	}
	return list
}

// PartOf implements scheduler.Parted.
func (s *parts) PartOf(h weburl.HostKey) (number int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return partOf(h, s.number), s.remembered[h]
}

// PlacesOf implements scheduler.Parted.
func (s *parts) PlacesOf(ctx context.Context, n int, fn func(scheduler.Place, uint64) error) error {
	m, err := s.part(n)
	if err != nil {
		return err
	}
	return m.Places(ctx, fn)
}

// LeftCleanly implements scheduler.Parted.
func (s *parts) LeftCleanly(n int) (bool, error) {
	m, err := s.part(n)
	if err != nil {
		return false, err
	}
	return m.ClosedCleanly(), nil
}

func (s *parts) Places(ctx context.Context, fn func(scheduler.Place, uint64) error) error {
	for _, m := range s.all() {
		err := m.Places(ctx, func(p scheduler.Place, waiting uint64) error {
			s.remember(p.Host)
			return fn(p, waiting)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Counts counts what waits.
func (s *parts) Counts(ctx context.Context) (sum scheduler.Counts, err error) {
	for _, m := range s.all() {
		c, err := m.Counts(ctx)
		if err != nil {
			return sum, err
		}
		for i, n := range c.Pending {
			sum.Pending[i] += n
		}
	}
	return sum, nil
}

func (s *parts) Queue(ctx context.Context, p scheduler.Place, after uint64, n int) ([]scheduler.WaitingURL, error) {
	m, err := s.of(p.Host)
	if err != nil {
		return nil, err
	}
	return m.Queue(ctx, p, after, n)
}

func (s *parts) Waits(ctx context.Context, p scheduler.Place) (uint64, error) {
	m, err := s.of(p.Host)
	if err != nil {
		return 0, err
	}
	return m.Waits(ctx, p)
}

func (s *parts) Host(ctx context.Context, h weburl.HostKey) (scheduler.HostState, error) {
	m, err := s.of(h)
	if err != nil {
		return scheduler.HostState{}, err
	}
	return m.Host(ctx, h)
}

func (s *parts) Due(ctx context.Context, now time.Time, refresh scheduler.Source, n int) (places []scheduler.Place, next time.Time, err error) {
	for _, m := range s.all() {
		some, at, err := m.Due(ctx, now, refresh, n)
		if err != nil {
			return places, next, err
		}
		places = append(places, some...)
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, p := range places {
		s.remember(p.Host)
	}
	return places, next, nil
}

// Add stores links one by one, those to other parts where these are.
func (s *parts) Add(ctx context.Context, links []scheduler.Link, requeue bool) (places []scheduler.Place, n int, err error) {
	for _, l := range links {
		m, err := s.of(l.URL.HostKey())
		if err != nil {
			s.deliver([]scheduler.Link{l})
			n++
			continue
		}
		some, added, err := m.Add(ctx, []scheduler.Link{l}, requeue)
		if err != nil {
			return places, n, err
		}
		places, n = append(places, some...), n+added
	}
	return places, n, nil
}

func (s *parts) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	of := partOf(c.Taken.Host, s.number)
	m, err := s.part(of)
	if err != nil {
		return err
	}
	var own, others []scheduler.Link
	for _, l := range c.Links {
		if h := l.URL.HostKey(); partOf(h, s.number) == of {
			s.remember(h)
			own = append(own, l)
		} else {
			others = append(others, l)
		}
	}
	c.Links = own
	return m.Complete(ctx, c, func(is scheduler.Completed) {
		if is.Err == nil && len(others) > 0 {
			s.deliver(others)
		}
		settled(is)
	})
}

// values returns where a value is kept: what a Frontier saves of a part is kept there.
func (s *parts) values(name scheduler.ValueName) (*storetest.Memory, error) {
	for n := range s.number {
		if name == scheduler.PartValue(uint16(n), "scheduler.rests") {
			return s.part(n)
		}
	}
	return s.Memory, nil
}

func (s *parts) Value(ctx context.Context, name scheduler.ValueName) ([]byte, error) {
	m, err := s.values(name)
	if err != nil {
		return nil, err
	}
	return m.Value(ctx, name)
}

func (s *parts) SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error {
	m, err := s.values(name)
	if err != nil {
		return err
	}
	return m.SetValue(ctx, name, value)
}
