package partitioned

import (
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Each partition that is here has a lane: one goroutine, which settle runs. mu of a lane guards its lists, mu of
// calls its number.

// calls counts what is under way. Unlike a WaitGroup it may begin something while somebody waits.
type calls struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0; nil: nobody waits
}

func (c *calls) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// wait returns when nothing was under way for a moment. Only one caller waits.
func (c *calls) wait() {
	c.mu.Lock()
	idle := make(chan struct{})
	if c.n == 0 {
		close(idle)
	} else {
		c.idle = idle
	}
	c.mu.Unlock()
	<-idle
}

// lane is what a partition has stored and the callers of Complete are to be told, in order.
type lane struct {
	running sync.WaitGroup
	some    chan struct{} // there is some; capacity 1
	stop    chan struct{}

	mu      sync.Mutex
	list    []settlement
	pending int // completions that are not settled
	// found are URLs here that got work by the partition's letters, whoever delivered them, and that nobody was
	// told of. The completion that the letter is of may be settled later.
	found map[weburl.Key]arrival
}

// arrival is where a URL waits, and since when.
type arrival struct {
	place scheduler.Place
	at    time.Time
}

// claimWithin is how long a URL that was found waits for its completion.
const claimWithin = time.Second

// settlement is what became of a completion, without its links to other partitions.
type settlement struct {
	is      scheduler.Completed
	links   []scheduler.Link
	homes   []scheduler.Home // of links; nil: none is elsewhere
	notes   []scheduler.Note
	settled func(scheduler.Completed)
}

func newLane() lane {
	return lane{some: make(chan struct{}, 1), stop: make(chan struct{}), found: map[weburl.Key]arrival{}}
}

// begin counts a completion; told counts one off.
func (l *lane) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending++
}

func (l *lane) told() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
}

func (l *lane) push(n settlement) {
	l.mu.Lock()
	l.list = append(l.list, n)
	l.mu.Unlock()
	select {
	case l.some <- struct{}{}:
	default:
	}
}

func (l *lane) take() []settlement {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// find notes which links got work, of letters that were received.
func (l *lane) find(letters []scheduler.Letter, got []scheduler.Place) {
	if len(got) == 0 {
		return
	}
	l.mu.Lock()
	for i := range letters {
		if n := &letters[i]; n.Note == nil {
			if p := (scheduler.Place{Source: n.Link.Fifo, Host: n.Link.URL.HostKey()}); slices.Contains(got, p) {
				l.found[n.Link.URL.Key()] = arrival{p, time.Now()}
			}
		}
	}
	l.mu.Unlock()
	select {
	case l.some <- struct{}{}:
	default:
	}
}

// claim adds the places of a completion's links that got work.
func (l *lane) claim(n *settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.is.Err != nil || n.homes == nil || len(l.found) == 0 {
		return
	}
	for i := range n.links {
		if n.homes[i] == scheduler.Here {
			continue
		}
		k := n.links[i].URL.Key()
		is, ok := l.found[k]
		if !ok {
			continue
		}
		delete(l.found, k)
		if !slices.Contains(n.is.Places, is.place) {
			n.is.Places = append(n.is.Places, is.place)
		}
	}
}

// unclaimed are the places that no completion will be told of: their letters had waited.
func (l *lane) unclaimed() (places []scheduler.Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, is := range l.found {
		if l.pending > 0 && time.Since(is.at) < claimWithin {
			continue
		}
		delete(l.found, k)
		if !slices.Contains(places, is.place) {
			places = append(places, is.place)
		}
	}
	return places
}

// end stops the lane, which has nothing left.
func (l *lane) end() {
	close(l.stop)
	l.running.Wait()
}

// settle delivers what completions mean for other partitions that are here, and then tells what became of them.
func (s *Store) settle(o *owned) {
	for {
		select {
		case <-o.lane.some:
		case <-o.lane.stop:
			return
		}
		list := o.lane.take()
		s.post(o, list)
		for i := range list {
			o.lane.claim(&list[i])
			s.settling.Lock()
			list[i].settled(list[i].is)
			s.settling.Unlock()
			o.lane.told()
			o.done()
		}
		if others := o.lane.unclaimed(); len(others) > 0 {
			s.tell(others)
		}
	}
}

// post delivers the letters of completions to partitions that are here, all at once. Those that cannot be delivered now
// are tried again.
func (s *Store) post(o *owned, list []settlement) {
	homes := homesOf(list)
	if len(homes) == 0 {
		return
	}
	var all sync.WaitGroup
	for _, to := range homes {
		if s.isHere(to) {
			all.Go(func() { s.deliver(s.ctx, o, to) })
		}
	}
	all.Wait()
	if _, err := s.weigh(s.ctx, o); err != nil {
		s.log.Warn("how many links wait for other partitions is not known", "partition", o.number, "error", err)
	}
	for _, to := range homes {
		s.wake(to)
	}
}

// homesOf are those of letters that were stored, each once.
func homesOf(list []settlement) (homes []scheduler.Home) {
	add := func(to scheduler.Home) {
		if to != scheduler.Here && !slices.Contains(homes, to) {
			homes = append(homes, to)
		}
	}
	for i := range list {
		if list[i].is.Err != nil {
			continue
		}
		for _, to := range list[i].homes {
			add(to)
		}
		for _, n := range list[i].notes {
			add(n.Home)
		}
	}
	return homes
}
