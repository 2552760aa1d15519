// Package partitioned makes one scheduler.Store out of several, each of which has some hosts of
// the crawl: a host is in the partition that its name gives, whatever scheme and port, with and
// without www. What is asked of a host goes to its partition, walks are merged in order, and counts are
// added. Partitions are adopted and released while the store is used.
//
// What a page means for other hosts, a link or a named value, its partition keeps as a letter in the same
// step (scheduler.Partition). Letters for a partition that is here are delivered before the page is settled,
// so that this is a Store like any other; those for others go by a Carrier, and wait until it has delivered
// them. A sender numbers its letters and a receiver keeps the number of the last one, so each arrives once.
//
// Goroutines: each adopted partition has one that settles its completions, and each home of letters one
// that delivers what waits. Close waits for all of them. mu of Store guards which partitions are here, the
// mutex of an owned its few facts, those of calls and lane what they count and list, that of a box the delivery of letters between two partitions, and settling
// has calls of settled come one at a time.
package partitioned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Limits and defaults.
const (
	// DefaultPartitions is how many partitions a crawl has where nothing else is said.
	DefaultPartitions = 24
	// DefaultMaxPile is how many bytes of letters may wait for one partition.
	DefaultMaxPile = 1 << 30
	// MaxPartitions is how many there may be at most.
	MaxPartitions = 1 << 10
)

// Options of New.
type Options struct {
	// Partitions is how many the crawl has, here and elsewhere; it never changes. 0: DefaultPartitions.
	Partitions int
	// Values has what is of the whole crawl, and so of no partition (see names.go).
	Values scheduler.Values
	// Carrier delivers letters to partitions that are elsewhere; nil: they wait.
	Carrier Carrier
	// Arrived is told of places that got work by letters, and not by a method that tells its caller so; it
	// must be quick. nil: nobody is.
	Arrived func([]scheduler.Place)
	// MaxPile is how many bytes of letters may wait for one partition before pages that have more for it
	// must wait, too; 0: DefaultMaxPile.
	MaxPile uint64
	// ReadOnly is for partitions that cannot be changed: no letter is delivered.
	ReadOnly bool
	Logger   *slog.Logger // nil: none
}

// Carrier takes letters to partitions that another process owns.
type Carrier interface {
	// Carry hands a post to the owner of a partition, which calls Store.Receive. After an error
	// nobody knows whether it has arrived; it is sent again.
	Carry(ctx context.Context, to int, p scheduler.Post) (scheduler.Receipt, error)
}

// Store is a scheduler.Store over the partitions that are here. Its methods may be called at once by any
// number of goroutines.
type Store struct {
	partitions int
	values     scheduler.Values
	carrier    Carrier
	arrived    atomic.Pointer[func([]scheduler.Place)]
	maxPile    uint64
	log        *slog.Logger
	hosts      hosts

	mu     sync.RWMutex
	owned  []*owned // by number; nil: elsewhere
	closed bool

	settling sync.Mutex
	wakes    []chan struct{} // by home: there may be letters for it
	kept     atomic.Int64    // Keep, under way
	keeps    atomic.Uint64   // Keep, over
	letters  traffic
	items    atomic.Bool     // see LettersHaveItems
	running  sync.WaitGroup  // deliveries
	ctx      context.Context // of the deliveries
	cancel   context.CancelFunc
}

var _ scheduler.Parted = (*Store)(nil)

// New makes a store without partitions. The caller must Close it.
func New(o Options) (*Store, error) {
	n := cmp.Or(o.Partitions, DefaultPartitions)
	if n < 1 || n > MaxPartitions {
		return nil, fmt.Errorf("%d partitions: write a number from 1 to %d", n, MaxPartitions)
	}
	if o.Values == nil {
		return nil, errors.New("a partitioned store needs a place for what is of the whole crawl: Options.Values")
	}
	s := &Store{
		partitions: n, values: o.Values, carrier: o.Carrier, maxPile: cmp.Or(o.MaxPile, DefaultMaxPile), log: o.Logger,
		owned: make([]*owned, n), wakes: make([]chan struct{}, int(scheduler.HomeOf(n))+1),
	}
	if o.Arrived == nil {
		o.Arrived = func([]scheduler.Place) {}
	}
	s.arrived.Store(&o.Arrived)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for to := scheduler.HomeOf(0); to <= s.whole(); to++ {
		s.wakes[to] = make(chan struct{}, 1)
		if !o.ReadOnly {
			s.running.Go(func() { s.deliverAll(to) })
		}
	}
	return s, nil
}

// whole is the home of what is of the whole crawl.
func (s *Store) whole() scheduler.Home { return scheduler.HomeOf(s.partitions) }

// owned is a partition that is here.
type owned struct {
	number int
	store  scheduler.Partition
	calls  calls         // methods under way, and completions until they are settled
	quit   chan struct{} // closed when it is released: long walks end
	lane   lane
	boxes  []box // by home

	mu    sync.Mutex
	due   due
	heavy map[scheduler.Home]bool // whose piles are full
	room  chan struct{}           // closed when heavy has changed
}

// Adopt adds a partition, which is the store's from now on: its hosts may be asked for, and its letters are
// delivered.
func (s *Store) Adopt(number int, p scheduler.Partition) error {
	if number < 0 || number >= s.partitions {
		return fmt.Errorf("partition %d: there are those from 0 to %d", number, s.partitions-1)
	}
	o := &owned{number: number, store: p, quit: make(chan struct{}), lane: newLane(), boxes: make([]box, len(s.wakes)), room: make(chan struct{})}
	if _, err := s.weigh(s.ctx, o); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return scheduler.ErrClosed
	case s.owned[number] != nil:
		return fmt.Errorf("partition %d is here already", number)
	}
	s.owned[number] = o
	if tells, ok := p.(interface{ OnWork(func([]scheduler.Place)) }); ok {
		tells.OnWork(func(places []scheduler.Place) { s.tell(s.learn(o, places)) })
	}
	o.lane.running.Go(func() { s.settle(o) })
	for to := scheduler.HomeOf(0); to <= s.whole(); to++ {
		s.wake(to)
	}
	return nil
}

// OnWork has fn told what Options.Arrived is told, in place of that, and of places that get work by what relays and
// operators do in the outboxes. fn must not wait for a change of the store.
func (s *Store) OnWork(fn func([]scheduler.Place)) { s.arrived.Store(&fn) }

func (s *Store) tell(places []scheduler.Place) { (*s.arrived.Load())(places) }

// Release takes a partition out, once nothing is under way in it any more, and returns it for
// the caller to close. Walks over all partitions end with scheduler.ErrElsewhere.
func (s *Store) Release(number int) (scheduler.Partition, error) {
	s.mu.Lock()
	if number < 0 || number >= s.partitions || s.owned[number] == nil {
		s.mu.Unlock()
		return nil, errElsewhere(number)
	}
	o := s.owned[number]
	s.owned[number] = nil
	s.mu.Unlock()
	s.end(o)
	return o.store, nil
}

// end waits until nothing is under way in a partition, which nobody can begin to use any more.
func (s *Store) end(o *owned) {
	close(o.quit)
	o.calls.wait()
	o.lane.end()
}

func errElsewhere(number int) error {
	return fmt.Errorf("partition %d: %w", number, scheduler.ErrElsewhere)
}

// Close settles what was taken, and closes the partitions that are here. Letters that were not delivered wait
// in them. Another Close gives ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return scheduler.ErrClosed
	}
	s.closed = true
	list := s.present()
	s.mu.Unlock()
	for _, o := range list {
		close(o.quit)
	}
	for _, o := range list { // the others receive its letters until then
		o.calls.wait()
	}
	s.cancel()
	s.running.Wait()
	var err error
	for _, o := range list {
		o.lane.end()
		err = errors.Join(err, o.store.Close())
	}
	return err
}

// present are the partitions that are here; mu is held.
func (s *Store) present() []*owned {
	return slices.DeleteFunc(slices.Clone(s.owned), func(o *owned) bool { return o == nil })
}

// use is for a method that needs a partition; done must be called on it.
func (s *Store) use(number int) (*owned, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, scheduler.ErrClosed
	}
	return s.find(number)
}

// find is use for deliveries, which go on while what was taken is settled. mu is held.
func (s *Store) find(number int) (*owned, error) {
	o := s.owned[number]
	if o == nil {
		return nil, errElsewhere(number)
	}
	o.calls.begin()
	return o, nil
}

func (o *owned) done() { o.calls.end() }

// here are the partitions that are here, to be let go by done.
func (s *Store) here() (list parts, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, scheduler.ErrClosed
	}
	list = s.present()
	for _, o := range list {
		o.calls.begin()
	}
	return list, nil
}

// parts are partitions in use, in order of their numbers.
type parts []*owned

func (p parts) done() {
	for _, o := range p {
		o.done()
	}
}

// unknown is what is said of something that none of the partitions knows.
func (s *Store) unknown(p parts, err error) error {
	if len(p) == s.partitions {
		return err
	}
	return fmt.Errorf("not known in the %d of %d partitions that are here: %w", len(p), s.partitions, scheduler.ErrElsewhere)
}

// gone is why a partition in use is to be let go.
func (s *Store) gone(o *owned) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return scheduler.ErrClosed
	}
	return errElsewhere(o.number)
}

// PartitionFor is the partition that a URL belongs to, wherever that is.
func (s *Store) PartitionFor(u weburl.URL) int { return Of(u.Host(), s.partitions) }

// Owns reports whether the partition of a URL is here.
func (s *Store) Owns(u weburl.URL) bool { return s.Has(s.PartitionFor(u)) }

// Has reports whether a partition is here.
func (s *Store) Has(number int) bool {
	o, err := s.use(number)
	if err != nil {
		return false
	}
	o.done()
	return true
}

// LeftCleanly implements scheduler.Parted.
func (s *Store) LeftCleanly(number int) (bool, error) {
	o, err := s.use(number)
	if err != nil {
		return false, err
	}
	defer o.done()
	return o.store.ClosedCleanly(), nil
}

// ClosedCleanly implements scheduler.Store: whether all that are here were.
func (s *Store) ClosedCleanly() bool {
	p, err := s.here()
	if err != nil {
		return false
	}
	defer p.done()
	return !slices.ContainsFunc(p, func(o *owned) bool { return !o.store.ClosedCleanly() })
}
