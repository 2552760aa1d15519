package partitioned

import (
	"context"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
)

// traffic is by what it is told that no letter is on its way. There is no lock: each number is read and changed by itself.
type traffic struct {
	arriving atomic.Int64  // posts that are being stored
	work     atomic.Uint64 // posts of which something was new
	changes  atomic.Uint64 // of what may bring a letter, before they begin
}

// receive stores letters for a partition that is here.
func (s *Store) receive(ctx context.Context, o *owned, p scheduler.Post) (scheduler.Receipt, error) {
	s.letters.arriving.Add(1)
	defer s.letters.arriving.Add(-1) // after the work is counted
	s.letters.changes.Add(1)
	is, err := o.store.Receive(ctx, p)
	if s.learn(o, is.Places); len(is.Places) > 0 || err != nil {
		s.letters.work.Add(1)
	}
	return is, err
}

// Arrivals rises whenever letters have brought work to a partition that is here. It is read before it is looked whether there is work.
func (s *Store) Arrivals() uint64 { return s.letters.work.Load() }

// Changes rises before anything is stored that may leave a letter or has come by one. If it is the same before and after it was seen that nothing is
// in flight and Settled, all of that was so at once.
func (s *Store) Changes() uint64 { return s.letters.changes.Load() }

// Settled reports whether no letter waits in what is here, or is being stored here.
func (s *Store) Settled(ctx context.Context) (bool, error) {
	if s.letters.arriving.Load() > 0 {
		return false, nil
	}
	p, err := s.here()
	if err != nil {
		return false, err
	}
	defer p.done()
	for _, o := range p {
		piles, err := o.store.Piles(ctx)
		if err != nil {
			return false, err
		}
		for _, n := range piles {
			if n.Count > 0 {
				return false, nil
			}
		}
	}
	return s.letters.arriving.Load() == 0, nil
}
