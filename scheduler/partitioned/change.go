package partitioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Changes of several partitions are made in goroutines, for which their method waits; a mutex of it has the caller's
// function called by one at a time.

// Add implements scheduler.Store. Links to partitions that are elsewhere become letters of one that is here, and are not counted; they change nothing
// that is known there. An item of a feed that cannot travel (see travels) becomes a page there, which is fetched. With requeue nothing is added.
func (s *Store) Add(ctx context.Context, links []scheduler.Link, requeue bool) ([]scheduler.Place, int, error) {
	s.letters.changes.Add(1)
	groups := map[int][]scheduler.Link{}
	var away []scheduler.Link
	for _, l := range links {
		n := Of(l.URL.Host(), s.partitions)
		if !requeue && !s.isHere(scheduler.HomeOf(n)) {
			if l.Kind == scheduler.KindItem && !s.travels(l.Item) {
				l.Kind, l.Item = scheduler.KindPage, s.tooLarge(l.Item)
			}
			away = append(away, l)
			continue
		}
		groups[n] = append(groups[n], l)
	}
	if err := s.leave(ctx, away); err != nil {
		return nil, 0, err
	}
	return s.each(groupsOf(groups), func(i int) (*owned, error) { return s.use(i) }, func(o *owned) ([]scheduler.Place, int, error) {
		return o.store.Add(ctx, groups[o.number], requeue)
	})
}

// travels reports whether an item's document may go to another partition in a letter: all must be able to read that, and it must not be large.
func (s *Store) travels(i *scheduler.Item) bool {
	return s.mayTravel(i) && len(i.Body) <= scheduler.ItemMost
}

// mayTravel is travels but for the size.
func (s *Store) mayTravel(i *scheduler.Item) bool { return i != nil && !i.Stays && s.items.Load() }

// tooLarge is what is told of an item that could travel if it were smaller, nil for one that could not: if it was smaller before, its document is known
// there.
func (s *Store) tooLarge(i *scheduler.Item) *scheduler.Item {
	if !s.mayTravel(i) {
		return nil
	}
	return &scheduler.Item{Document: scheduler.Document{Hash: i.Hash, Source: i.Source}, At: i.At, RulesVersion: i.RulesVersion, Large: true}
}

// LettersHaveItems says that all who may read letters of this crawl know those that bring documents of feeds. Until then there are none.
func (s *Store) LettersHaveItems() { s.items.Store(true) }

// leave keeps links to partitions that are elsewhere in that of what they were found in, so that they arrive in the order in which they were found,
// or in the first one that is here.
func (s *Store) leave(ctx context.Context, links []scheduler.Link) error {
	if len(links) == 0 {
		return nil
	}
	p, err := s.here()
	if err != nil {
		return err
	}
	defer p.done()
	if len(p) == 0 {
		return scheduler.ErrElsewhere
	}
	o := p[0]
	if from, err := weburl.Parse(links[0].Referrer); err == nil {
		if i := slices.IndexFunc(p, func(o *owned) bool { return o.number == s.PartitionFor(from) }); i >= 0 {
			o = p[i]
		}
	}
	homes := make([]scheduler.Home, len(links))
	for i := range links {
		homes[i] = scheduler.HomeOf(s.PartitionFor(links[i].URL))
		if homes[i].Partition() == o.number { // it has come meanwhile
			return errElsewhere(o.number)
		}
	}
	if err := s.awaitRoom(ctx, o, homes); err != nil {
		return err
	}
	if err := o.store.Leave(ctx, links, homes); err != nil {
		return err
	}
	for _, to := range homes {
		s.wake(to)
	}
	_, err = s.weigh(ctx, o)
	return err
}

func groupsOf[T any](groups map[int][]T) (numbers []int) {
	for n := range groups {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// each changes several partitions at once, if all of them are here, and adds up what came of it.
func (s *Store) each(numbers []int, use func(int) (*owned, error), change func(*owned) ([]scheduler.Place, int, error)) (places []scheduler.Place, n int, err error) {
	var p parts
	defer func() { p.done() }()
	for _, i := range numbers {
		o, err := use(i)
		if err != nil {
			return nil, 0, err
		}
		p = append(p, o)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, o := range p {
		all.Go(func() {
			got, changed, failed := change(o)
			mu.Lock()
			defer mu.Unlock()
			places, n, err = append(places, s.learn(o, got)...), n+changed, errors.Join(err, failed)
		})
	}
	all.Wait()
	if err != nil {
		return nil, 0, err
	}
	return places, n, nil
}

// Complete implements scheduler.Store. Links to other partitions that are here are stored there before it is
// settled, and after the page, so that each is either a letter or there. It waits while too much waits for a
// partition that the page has links to.
func (s *Store) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	if c.Next.Origin == "" {
		return fmt.Errorf("completing %q, which says no host", c.Next.URL)
	}
	o, err := s.use(s.OfOrigin(c.Next.Origin))
	if err != nil {
		return err
	}
	s.letters.changes.Add(1)
	c.Homes = s.homes(o, hostOf(c.Next.Origin), c.Links)
	if c.Notes, err = s.homeNotes(ctx, o, c.Notes); err == nil {
		err = s.awaitRoom(ctx, o, c.Homes)
	}
	if err == nil {
		o.lane.begin()
		err = o.store.Complete(ctx, c, func(is scheduler.Completed) {
			s.learn(o, is.Places)
			if is.Err == nil && c.Next.State == scheduler.Timed && !c.Forget {
				o.dueAt(c.Next.NextAt)
			}
			o.lane.push(settlement{is: is, links: c.Links, homes: c.Homes, notes: c.Notes, settled: settled})
		})
		if err != nil {
			o.lane.told()
		}
	}
	if err != nil {
		o.done()
	}
	return err
}

// homes are those of links of a page; nil if all are in its own partition, host's.
func (s *Store) homes(o *owned, host string, links []scheduler.Link) (homes []scheduler.Home) {
	home := scheduler.Here
	for i := range links {
		if h := links[i].URL.Host(); h != host {
			if host, home = h, scheduler.HomeOf(Of(h, s.partitions)); home.Partition() == o.number {
				home = scheduler.Here
			}
		}
		if home != scheduler.Here && homes == nil {
			homes = make([]scheduler.Home, len(links))
		}
		if homes != nil {
			homes[i] = home
		}
	}
	return homes
}

// awaitRoom waits while the letters for one of the homes are too many.
func (s *Store) awaitRoom(ctx context.Context, o *owned, homes []scheduler.Home) error {
	for {
		o.mu.Lock()
		full := len(o.heavy) > 0 && slices.ContainsFunc(homes, func(to scheduler.Home) bool { return o.heavy[to] })
		room := o.room
		o.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-room:
		case <-o.quit:
			return s.gone(o)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Forget implements scheduler.Store.
func (s *Store) Forget(ctx context.Context, k weburl.Key, order *scheduler.Order) error {
	o, _, err := s.byKey(ctx, k)
	if err != nil {
		return err
	}
	defer o.done()
	return o.store.Forget(ctx, k, order)
}

// Revise implements scheduler.Store. URLs that are elsewhere are passed over, as those that are not known.
func (s *Store) Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return s.revise(ctx, keys, func(o *owned, keys []weburl.Key, r *reviser) ([]scheduler.Place, int, error) {
		return o.store.Revise(ctx, keys, func(k weburl.Key, rec scheduler.Record) *scheduler.Revision {
			return r.ask(func() *scheduler.Revision { return fn(k, rec) })
		})
	})
}

// ReviseDeletions implements scheduler.Store, as Revise does.
func (s *Store) ReviseDeletions(ctx context.Context, keys []weburl.Key, fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return s.revise(ctx, keys, func(o *owned, keys []weburl.Key, r *reviser) ([]scheduler.Place, int, error) {
		return o.store.ReviseDeletions(ctx, keys, func(d scheduler.StoredDeletion, rec scheduler.Record) *scheduler.Revision {
			return r.ask(func() *scheduler.Revision { return fn(d, rec) })
		})
	})
}

// reviser is a revision of one partition under way.
type reviser struct {
	s      *Store
	turn   *sync.Mutex // of the caller's function; it guards the rest, too
	due    time.Time   // the earliest that was said; zero: none
	posted bool        // there are notes of the whole crawl
}

// ask asks the caller's function, and says where its notes belong. A store may ask while it is being changed, so that is
// said without asking the store that the URL is in.
func (r *reviser) ask(fn func() *scheduler.Revision) *scheduler.Revision {
	r.turn.Lock()
	defer r.turn.Unlock()
	v := fn()
	if v == nil {
		return nil
	}
	if v.Next.State == scheduler.Timed && (r.due.IsZero() || v.Next.NextAt.Before(r.due)) {
		r.due = v.Next.NextAt
	}
	if len(v.Notes) == 0 {
		return v
	}
	homed := *v
	homed.Notes = slices.Clone(v.Notes)
	for i := range homed.Notes {
		if of, _ := ScopeOf(homed.Notes[i].Name); of == OfCrawl {
			homed.Notes[i].Home, r.posted = r.s.whole(), true
		}
	}
	return &homed
}

func (s *Store) revise(ctx context.Context, keys []weburl.Key, in func(*owned, []weburl.Key, *reviser) ([]scheduler.Place, int, error)) ([]scheduler.Place, int, error) {
	groups := map[int][]weburl.Key{}
	for _, k := range keys {
		o, _, err := s.byKey(ctx, k)
		if errors.Is(err, scheduler.ErrNotFound) || errors.Is(err, scheduler.ErrElsewhere) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		groups[o.number] = append(groups[o.number], k)
		o.done()
	}
	var turn sync.Mutex
	return s.each(groupsOf(groups), s.use, func(o *owned) ([]scheduler.Place, int, error) {
		r := reviser{s: s, turn: &turn}
		places, n, err := in(o, groups[o.number], &r)
		turn.Lock()
		due, posted := r.due, r.posted
		turn.Unlock()
		switch {
		case err != nil:
			o.dueUnknown() // it may be stored nevertheless
		case !due.IsZero():
			o.dueAt(due)
		}
		if posted {
			s.post(o, []settlement{{notes: []scheduler.Note{{Home: s.whole()}}}})
		}
		return places, n, err
	})
}
