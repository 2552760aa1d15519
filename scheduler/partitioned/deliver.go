package partitioned

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Each home has a goroutine, deliverAll. mu of a box guards it, and is held while its letters are delivered.

const (
	// postLetters and postBytes bound one post.
	postLetters = 5000
	postBytes   = 1 << 20
	// againAfter is when letters are tried again that could not be delivered.
	againAfter = time.Second
	// moveTakes is how long nobody may take letters for a partition that moves, or is taken over.
	moveTakes = 15 * time.Second
	// pause is the least time between two deliveries to one home, so that many letters go at once.
	pause = 200 * time.Millisecond
)

// box is what a partition knows of its letters for one home.
type box struct {
	mu      sync.Mutex
	asked   bool // arrived is what the receiver has said
	arrived uint64
	removed uint64    // up to here they are removed
	kept    uint64    // Store.keeps, when the receiver was last asked
	since   time.Time // when a delivery came to nothing, and none came to anything after it; zero: the last one did
	said    bool      // that it was, to people
}

// wake has the letters for a home delivered soon.
func (s *Store) wake(to scheduler.Home) {
	select {
	case s.wakes[to] <- struct{}{}:
	default:
	}
}

func (s *Store) isHere(to scheduler.Home) bool {
	if to == s.whole() {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.owned[to.Partition()] != nil
}

// deliverAll delivers letters for a home, of all partitions that are here, until the store is closed.
func (s *Store) deliverAll(to scheduler.Home) {
	again := time.NewTimer(againAfter)
	defer again.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakes[to]:
		case <-again.C:
		}
		left := false
		for _, o := range s.senders() {
			s.deliver(s.ctx, o, to)
			left = s.sweep(o, to) || left
			o.done()
		}
		again.Stop()
		if left {
			again.Reset(againAfter)
		}
		s.rest(pause)
	}
}

// rest waits for a time, or until the store is closed.
func (s *Store) rest(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// senders are all partitions that are here, also while the store is being closed.
func (s *Store) senders() parts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := s.present()
	for _, o := range list {
		o.calls.begin()
	}
	return list
}

func (s *Store) failed(what string, o *owned, to scheduler.Home, err error) {
	if s.ctx.Err() == nil {
		s.log.Warn(what+"; they are tried again", "from", o.number, "to", to.Partition(), "error", err)
	}
}

// deliver delivers the letters of a partition for a home, if that can be reached. The lane finds what got work.
func (s *Store) deliver(ctx context.Context, o *owned, to scheduler.Home) {
	receive, done := s.receiver(to)
	if receive == nil {
		return
	}
	defer done()
	b := &o.boxes[to]
	b.mu.Lock()
	defer b.mu.Unlock()
	if kept := s.keeps.Load(); kept != b.kept || s.kept.Load() > 0 { // the receiver may have been set back
		b.asked, b.kept = false, kept
	}
	for {
		more, err := s.deliverSome(ctx, o, to, b, receive)
		if err != nil {
			b.asked = false // the answer may be lost, and what was sent arrived
			s.waited(o, to, b, err)
			break
		}
		if b.since, b.said = (time.Time{}), false; !more {
			break
		}
	}
	if to == s.whole() { // it numbers nothing: a value must not come again, over a newer one
		s.remove(o, to, b)
	}
}

// waited says that letters are not delivered, once that has gone on for longer than a partition takes to go from one node to another.
func (s *Store) waited(o *owned, to scheduler.Home, b *box, err error) {
	if b.since.IsZero() {
		b.since = time.Now()
	}
	if !b.said && time.Since(b.since) >= moveTakes {
		b.said = true
		s.failed("links to another partition are not delivered", o, to, err)
	}
}

type receive func(context.Context, scheduler.Post) (scheduler.Receipt, error)

// deliverSome sends one post. It begins behind what the receiver says it has, which may be less than it once was: it was
// restored, and gets again what is still there.
func (s *Store) deliverSome(ctx context.Context, o *owned, to scheduler.Home, b *box, receive receive) (more bool, err error) {
	if !b.asked {
		if more, err := s.waits(ctx, o, to); err != nil || !more {
			return false, err
		}
		is, err := receive(ctx, scheduler.Post{From: o.number})
		if err != nil {
			return false, err
		}
		if err := s.compare(ctx, o, to, is.Arrived); err != nil {
			return false, err
		}
		b.asked, b.arrived, b.removed = true, is.Arrived, 0
	}
	letters, err := o.store.Letters(ctx, to, b.arrived, postLetters, postBytes)
	if err != nil || len(letters) == 0 {
		return false, err
	}
	is, err := receive(ctx, scheduler.Post{From: o.number, Letters: letters, After: b.arrived})
	if err != nil {
		return false, err
	}
	if is.Arrived < b.arrived { // ask, and compare
		b.asked = false
		return true, nil
	}
	if last := letters[len(letters)-1].Seq; is.Arrived < last {
		return false, fmt.Errorf("the receiver has got letters up to %d, and was sent those up to %d", is.Arrived, last)
	}
	b.arrived = is.Arrived
	o.lane.find(letters, is.Places)
	return true, nil
}

// waits reports whether there are letters for a home.
func (s *Store) waits(ctx context.Context, o *owned, to scheduler.Home) (bool, error) {
	piles, err := o.store.Piles(ctx)
	for _, p := range piles {
		if p.To == to && p.Count > 0 {
			return true, nil
		}
	}
	return false, err
}

// compare says it if a receiver lacks letters that are removed: it was restored, and its sender was not.
func (s *Store) compare(ctx context.Context, o *owned, to scheduler.Home, arrived uint64) error {
	piles, err := o.store.Piles(ctx)
	for _, p := range piles {
		if p.To == to && arrived < p.Removed && to != s.whole() {
			s.log.Warn("links to another partition are lost: it was set back; they are found again when their pages are fetched",
				"from", o.number, "to", to.Partition(), "arrived", arrived, "removed", p.Removed)
		}
	}
	return err
}

// receiver is who takes letters for a home; nil if nobody does now.
func (s *Store) receiver(to scheduler.Home) (_ receive, done func()) {
	if to == s.whole() {
		return s.receiveWhole, func() {}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if o, err := s.find(to.Partition()); err == nil {
		return func(ctx context.Context, p scheduler.Post) (scheduler.Receipt, error) { return s.receive(ctx, o, p) }, o.done
	}
	if s.carrier == nil {
		return nil, nil
	}
	return func(ctx context.Context, p scheduler.Post) (scheduler.Receipt, error) {
		is, err := s.carrier.Carry(ctx, to.Partition(), p)
		is.Places = nil // they are the owner's
		return is, err
	}, func() {}
}

// receiveWhole keeps what is of the whole crawl. A value that arrives twice is the same.
func (s *Store) receiveWhole(ctx context.Context, p scheduler.Post) (is scheduler.Receipt, err error) {
	for _, n := range p.Letters {
		if n.Note != nil {
			if err := s.values.SetValue(ctx, n.Note.Name, n.Note.Value); err != nil {
				return is, err
			}
		}
		is.Arrived = n.Seq
	}
	return is, nil
}

// Receive takes letters for a partition that is here from one that is elsewhere; see Carrier.
func (s *Store) Receive(ctx context.Context, to int, p scheduler.Post) (scheduler.Receipt, error) {
	if to < 0 || to >= s.partitions || p.From < 0 || p.From >= s.partitions || p.From == to {
		return scheduler.Receipt{}, fmt.Errorf("letters from partition %d to %d: there are those from 0 to %d", p.From, to, s.partitions-1)
	}
	o, err := s.use(to)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	defer o.done()
	for i := range p.Letters {
		if n := &p.Letters[i]; n.Note == nil && Of(n.Link.URL.Host(), s.partitions) != to {
			return scheduler.Receipt{}, fmt.Errorf("a letter for partition %d is for %s, which is not in it", to, n.Link.URL)
		}
	}
	is, err := s.receive(ctx, o, p)
	if err == nil && len(is.Places) > 0 {
		s.tell(is.Places)
	}
	return is, err
}

// Keep keeps all letters, also those that have arrived, until release is called. So a partition that is set back to
// what it was since then gets them again: begin with it before the first of several partitions is backed up, and
// release after the last.
func (s *Store) Keep() (release func()) {
	s.kept.Add(1)
	return sync.OnceFunc(func() {
		s.keeps.Add(1) // before: nothing is removed until all receivers were asked again
		s.kept.Add(-1)
		for to := scheduler.HomeOf(0); to <= s.whole(); to++ {
			s.wake(to)
		}
	})
}

// Piles are the letters that wait, of all partitions that are here, by the partition that they are for.
func (s *Store) Piles(ctx context.Context) (map[int]scheduler.Pile, error) {
	p, err := s.here()
	if err != nil {
		return nil, err
	}
	defer p.done()
	sum := map[int]scheduler.Pile{}
	for _, o := range p {
		piles, err := o.store.Piles(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range piles {
			if n.Count > 0 && n.To != s.whole() {
				of := sum[n.To.Partition()]
				sum[n.To.Partition()] = scheduler.Pile{To: n.To, Count: of.Count + n.Count, Bytes: of.Bytes + n.Bytes}
			}
		}
	}
	return sum, nil
}

// weigh reads the piles of a partition, notes which are full, and lets go on who waited for room.
func (s *Store) weigh(ctx context.Context, o *owned) ([]scheduler.Pile, error) {
	piles, err := o.store.Piles(ctx)
	if err != nil {
		return nil, err
	}
	var heavy map[scheduler.Home]bool
	for _, p := range piles {
		if p.Bytes >= s.maxPile {
			if heavy == nil {
				heavy = map[scheduler.Home]bool{}
			}
			heavy[p.To] = true
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if maps.Equal(heavy, o.heavy) {
		return piles, nil
	}
	for to := range heavy {
		if !o.heavy[to] && to != s.whole() {
			s.log.Warn("links wait for a partition that takes none: pages with more of them wait, too", "from", o.number, "to", to.Partition())
		}
	}
	o.heavy = heavy
	close(o.room)
	o.room = make(chan struct{})
	return piles, nil
}
