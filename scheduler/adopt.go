package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// A Frontier on a Parted store hands out the URLs of the parts that it has adopted. Each host belongs to a share: a
// part, or everything if the store is not divided. The Frontier's mutex guards all shares.

// ErrNotHere is returned by a Parted store, and by a Frontier on one, for a part that it does not hold.
var ErrNotHere = errors.New("the part is not on this node")

// Parted is a Store that holds some parts of a crawl, each with everything that is known of its hosts. Parts come and
// go. Values of OfPart belong to the parts: SetValue returns ErrNotHere for one that is gone.
type Parted interface {
	Store
	// PartOf returns the part of a host that a recent call of the Store named. ok is false if the Store no longer
	// remembers it.
	PartOf(h weburl.HostKey) (number int, ok bool)
	// PlacesOf is Places of one part.
	PlacesOf(ctx context.Context, number int, fn func(p Place, waiting uint64) error) error
	// LeftCleanly is ClosedCleanly of one part.
	LeftCleanly(number int) (bool, error)
}

// share is the set of hosts that are adopted and released together.
type share struct {
	unclean   bool  // requests before lostAt may have gone unrecorded
	lostAt    int64 // lostAt, loadedAt and notBefore are in the Frontier's time
	loadedAt  int64 // when its stored rests were read
	notBefore int64 // its hosts are closed until then
	inFlight  int
	leaving   bool          // its URLs are no longer handed out
	gone      bool          // forgotten; leases of it may remain
	empty     chan struct{} // closed when none of its URLs is in flight; nil if no caller waits
}

// begin sets the time at which the rests are read. The mutex is held.
func (s *share) begin(f *Frontier, clean bool) {
	if s.loadedAt = f.now(); !clean {
		s.lost(f, s.loadedAt)
	}
}

// lost records the time until which requests may have gone unrecorded. The mutex is held.
func (s *share) lost(f *Frontier, at int64) {
	if !s.unclean || at > s.lostAt {
		s.unclean, s.lostAt = true, at
		s.notBefore = max(s.notBefore, at+int64(f.set.pause(nil)))
	}
}

// restsOf returns the name under which a part keeps its rests.
func restsOf(number int) ValueName { return PartValue(uint16(number), restsName) } //nolint:gosec // parts are few

// shareOf returns the share that a host belongs to, nil if its part is not adopted. The mutex is held.
func (f *Frontier) shareOf(h weburl.HostKey) *share {
	if f.parted == nil {
		return &f.own
	}
	n, ok := f.parted.PartOf(h)
	if !ok {
		f.unplaced = true
		f.kickRun()
		return nil
	}
	return f.shares[n]
}

// rereadPlaces reads all places again if a host received work while its part was unknown.
func (f *Frontier) rereadPlaces(ctx context.Context) {
	f.mu.Lock()
	again := f.unplaced
	f.unplaced = false
	f.mu.Unlock()
	if !again {
		return
	}
	if err := f.readPlaces(ctx); err != nil && ctx.Err() == nil {
		f.log.Error("cannot read the hosts with pending work", "error", err)
		f.mu.Lock()
		f.unplaced = true // Run tries again when it next has work
		f.mu.Unlock()
	}
}

// begun allows parts to be adopted.
func (f *Frontier) begun() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gated, f.dueAt = true, time.Now()
	f.wake()
}

// Adopt hands out the URLs of a part that the store has adopted. Its hosts rest as they did on the node before; if that
// node did not release the part, every host rests for its pause. Calls of Adopt and Release for one part must not
// overlap.
func (f *Frontier) Adopt(ctx context.Context, number int) error {
	if f.parted == nil {
		return fmt.Errorf("part %d: the store has no parts", number)
	}
	clean, err := f.parted.LeftCleanly(number)
	if err != nil {
		return err
	}
	stored, err := f.storedRests(ctx, restsOf(number))
	if err != nil {
		return fmt.Errorf("reading the resting hosts: %w", err)
	}
	f.mu.Lock()
	if f.shares[number] != nil {
		f.mu.Unlock()
		return fmt.Errorf("part %d was adopted already", number)
	}
	s := &share{}
	s.begin(f, clean)
	f.rest(stored, s) // before work that arrives makes other hosts known
	f.shares[number] = s
	f.adopting++
	f.mu.Unlock()
	err = f.parted.PlacesOf(ctx, number, func(p Place, _ uint64) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.announceAt(p.Source, f.entryIn(p.Host, s))
		return nil
	})
	f.mu.Lock()
	f.adopting--
	f.dueBy(time.Now())
	f.signal()
	f.mu.Unlock()
	if err != nil {
		f.forget(number, s)
		return fmt.Errorf("part %d: %w", number, err)
	}
	return nil
}

// Release stops handing out a part's URLs, waits until its last lease has ended or ctx ends, and forgets the part.
// Release it from the store afterwards: leases that remain are then void, and their URLs stay queued.
func (f *Frontier) Release(ctx context.Context, number int) error {
	f.mu.Lock()
	s := f.shares[number]
	if s == nil {
		f.mu.Unlock()
		return fmt.Errorf("part %d: %w", number, ErrNotHere)
	}
	s.leaving, s.empty = true, make(chan struct{})
	empty := s.empty
	for _, h := range f.hosts {
		if h.share == s {
			f.withdraw(h, noList)
		}
	}
	f.leaves(s)
	f.mu.Unlock()
	var err error
	select {
	case <-empty:
		err = f.saveGates(context.WithoutCancel(ctx), s, restsOf(number))
	case <-ctx.Done():
		err = ctx.Err()
	}
	f.forget(number, s)
	return err
}

// leaves wakes Release if no URL of its share is in flight. landed and Release call it.
func (f *Frontier) leaves(s *share) {
	if s.empty != nil && s.inFlight == 0 {
		close(s.empty)
		s.empty = nil
	}
}

// forget forgets all hosts of a share.
func (f *Frontier) forget(number int, s *share) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.leaving, s.gone, s.empty = true, true, nil
	delete(f.shares, number)
	for k, h := range f.hosts {
		if h.share != s {
			continue
		}
		f.withdraw(h, noList)
		f.tally(h, -1)
		if h.counted {
			f.working--
		}
		for q := h.queues; q != nil; q = q.sibling {
			if q.reading != nil {
				f.buffered -= len(q.reading.buffer)
				q.reading.buffer = nil
			}
		}
		if h.live != nil {
			f.unbind(h)
		}
		delete(f.hosts, k)
		delete(f.silent, k)
	}
	maps.DeleteFunc(f.ill, func(_ weburl.HostKey, h IllHost) bool { return h.share == s })
	f.signal()
}

// saveShares stores the gates of all parts that were adopted.
func (f *Frontier) saveShares(ctx context.Context) error {
	f.mu.Lock()
	shares := make(map[int]*share, len(f.shares))
	for n, s := range f.shares {
		shares[n] = s
	}
	f.mu.Unlock()
	var failed error
	for n, s := range shares {
		if err := f.saveGates(ctx, s, restsOf(n)); err != nil && !errors.Is(err, ErrNotHere) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
