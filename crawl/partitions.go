package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/weburl"
)

// A crawl over several partitions adopts and releases them while it runs. The mutex of rights guards which permits there are;
// that of Partitions is held while one comes or goes.

// Partitions are what a crawl over several works with.
type Partitions struct {
	Store  *partitioned.Store
	Relays *push.Relays
	// Number is how many there are, here and elsewhere.
	Number int
	// Start begins the run of a schedule once for all processes, as shared.Start of a cluster does: due says whether, after the last one, another is to begin
	// now, and as of when. It returns when the last one began. nil: each process runs schedules for itself.
	Start func(ctx context.Context, name string, due func(last time.Time) (at time.Time, again bool)) (time.Time, error)

	rights rights
	moving sync.Mutex
	coming atomic.Int32 // one that is being adopted, and is not known to be judged yet, and 1; 0: none
}

// Owned is a partition that this process owns from now on.
type Owned struct {
	Number int
	Store  scheduler.Partition
	// Permit is asked before each request to one of its hosts.
	Permit permit.Permit
	// Relay pushes what its outbox has; nil: nothing does.
	Relay *push.Relay
}

// NewOver puts a crawl over several partitions together, of which it has none yet.
func NewOver(ctx context.Context, s policy.Settings, p *Partitions, log *slog.Logger) (*Crawl, error) {
	if s.Frontier.PerAddress {
		return nil, errors.New("perAddress cannot be kept to over several partitions: their hosts are visited by several machines")
	}
	p.rights.number = p.Number
	s.Fetcher.Permit = &p.rights
	c, err := New(ctx, s, p.Store, p.Relays, log)
	if err != nil {
		return nil, err
	}
	c.partitions = p
	c.reviewer.Judged(c.markJudged)
	c.copies.Apart(func(origin string) string { return strconv.Itoa(p.Store.OfOrigin(origin)) })
	return c, nil
}

// Permit is asked before each request to a host: its partition's decides, and one whose partition is elsewhere may not be asked.
func (p *Partitions) Permit() permit.Hosts { return &p.rights }

// rights are the permits of the partitions that are here.
type rights struct {
	number int

	mu sync.RWMutex
	of map[int]permit.Permit
}

var _ permit.Hosts = (*rights)(nil)

// Of implements permit.Hosts.
func (r *rights) Of(host string) permit.Permit {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if p := r.of[partitioned.Of(host, r.number)]; p != nil {
		return p
	}
	return elsewhere{}
}

// Acting implements permit.Permit: what is for no host waits for nothing.
func (r *rights) Acting(ctx context.Context) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, cancel, nil
}

// May implements permit.Permit: whether anything may be asked at all. A process that was stopped has lost all rights at once.
func (r *rights) May() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, p := range r.of {
		if p.May() {
			return true
		}
	}
	return false
}

// over reports whether this process has lost the right to a partition for good.
func (r *rights) over(ctx context.Context, number int) bool {
	r.mu.RLock()
	p := r.of[number]
	r.mu.RUnlock()
	return p == nil || errors.Is(permit.Await(ctx, p), permit.ErrEnded)
}

func (r *rights) set(number int, p permit.Permit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p == nil {
		delete(r.of, number)
		return
	}
	if r.of == nil {
		r.of = map[int]permit.Permit{}
	}
	r.of[number] = p
}

// elsewhere is the permit of a host whose partition is not here.
type elsewhere struct{}

// Acting implements permit.Permit.
func (elsewhere) Acting(context.Context) (context.Context, context.CancelFunc, error) {
	return nil, nil, scheduler.ErrElsewhere
}

// May implements permit.Permit.
func (elsewhere) May() bool { return false }

// Adopt has the crawl go on with a partition. If it fails, nothing of the partition is in use, and the caller closes it.
func (c *Crawl) Adopt(ctx context.Context, o Owned) (err error) {
	p := c.partitions
	p.moving.Lock()
	defer p.moving.Unlock()
	p.coming.Store(int32(o.Number) + 1) //nolint:gosec // partitions are few
	defer p.coming.Store(0)
	if err := p.Store.Adopt(o.Number, o.Store); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, gone := c.drop(ctx, o.Number, c.frontier.Release(ctx, o.Number))
			err = errors.Join(fmt.Errorf("partition %d: %w", o.Number, err), gone)
		}
	}()
	p.rights.set(o.Number, o.Permit)
	if err := c.deletions.Adopt(ctx, o.Store); err != nil {
		return err
	}
	if err := c.sign(ctx, o.Store); err != nil {
		return err
	}
	if err := c.judgeAdopted(ctx, o); err != nil {
		return err
	}
	p.coming.Store(0)
	if c.policy().LimitsHosts() {
		if err := c.lasting.hosts.CountPart(ctx, o.Store); err != nil {
			return fmt.Errorf("counting the URLs of hosts: %w", err)
		}
	}
	if err := c.frontier.Adopt(ctx, o.Number); err != nil {
		return err
	}
	if o.Relay != nil {
		if err := p.Relays.Add(o.Number, o.Relay); err != nil {
			return err
		}
	}
	c.copies.Came(o.Store)
	c.awaitsSchedules()
	c.replacing.Lock()
	defer c.replacing.Unlock()
	return c.addRootsOf(ctx, c.policy(), o.Number)
}

// Yield takes a partition out of the crawl, and returns it for the caller to close. What is in flight is finished, unless
// ctx ends before: then it comes to nothing, and is fetched where the partition is then. Others may come and go meanwhile.
func (c *Crawl) Yield(ctx context.Context, number int) (scheduler.Partition, error) {
	released := c.frontier.Release(ctx, number)
	p := c.partitions
	p.moving.Lock()
	defer p.moving.Unlock()
	return c.drop(ctx, number, released)
}

// drop takes out a partition of which nothing is in flight any more, or err says why. The mutex moving is held.
func (c *Crawl) drop(ctx context.Context, number int, err error) (scheduler.Partition, error) {
	p := c.partitions
	if errors.Is(err, scheduler.ErrElsewhere) || ctx.Err() != nil {
		err = nil // it was not adopted by it; or what is left comes to nothing
	}
	err = errors.Join(err, p.Relays.Remove(number))
	c.deletions.Forget(func(origin string) bool { return p.Store.OfOrigin(origin) == number })
	p.rights.set(number, nil)
	released, gone := p.Store.Release(number)
	return released, errors.Join(err, gone)
}

// Renew takes in what other processes of the crawl have changed of what is one for all: whether it is paused, and which sites moved.
func (c *Crawl) Renew(ctx context.Context) error {
	if err := c.renewPause(ctx); err != nil {
		return err
	}
	return c.replace(ctx, false, func(old *policy.Policy) (*policy.Policy, error) {
		moved, err := policy.StoredMoves(ctx, c.store)
		if err != nil || reflect.DeepEqual(moved, old.Moved) || len(moved)+len(old.Moved) == 0 {
			return old, err
		}
		return policy.New(old.Settings, moved)
	})
}

func (c *Crawl) renewPause(ctx context.Context) error {
	c.pausing.Lock()
	defer c.pausing.Unlock()
	paused, err := storedPause(ctx, c.store)
	switch {
	case err != nil || paused == c.frontier.Paused():
		return err
	case paused:
		c.frontier.Pause()
	default:
		c.frontier.Resume()
	}
	c.log.Info("another node has told the crawl", "paused", paused)
	return nil
}

// Ration has this process use a part of the crawl's limits, between 0 and 1, and Elsewhere has its brake judge by what other processes have, too. The
// latter is called before Run.
func (c *Crawl) Ration(part float64) { c.gates.limits.ration(part) }

// Elsewhere is told with Ration.
func (c *Crawl) Elsewhere(count func() scheduler.BrakeCount) { c.frontier.Brake().Elsewhere(count) }

// SentDeletions are how many deletions of what is here have left within the brake's window.
func (c *Crawl) SentDeletions() int {
	return c.frontier.Brake().Sent(c.frontier.Settings().Brake, time.Now())
}

// judgedName is the value of a partition that says by which rules all of its URLs were judged.
func judgedName(number int) string { return fmt.Sprintf("crawl.judged.%d", number) }

// judgedBy is its value.
func judgedBy(p *policy.Policy) []byte { return []byte(p.Fingerprint + " " + p.Timing) }

// judgeAdopted begins to judge the stored URLs again if those of a partition were not judged by the rules in force.
func (c *Crawl) judgeAdopted(ctx context.Context, o Owned) error {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	by, err := o.Store.Value(ctx, judgedName(o.Number))
	if err != nil || string(by) == string(judgedBy(c.policy())) {
		return err
	}
	counts, err := o.Store.Counts(ctx)
	if err != nil {
		return err
	}
	if counts.Known == 0 {
		return o.Store.SetValue(ctx, judgedName(o.Number), judgedBy(c.policy()))
	}
	defer c.reviewer.Wake()
	return c.reviewer.Begin(ctx, c.policy())
}

// markJudged notes in each partition that is here that all of its URLs were judged.
func (c *Crawl) markJudged(ctx context.Context, by *policy.Policy) error {
	var failed error
	for n := range c.partitions.Number {
		if n+1 == int(c.partitions.coming.Load()) { // the pass began before it came
			continue
		}
		err := c.store.SetValue(ctx, judgedName(n), judgedBy(by))
		if err != nil && !errors.Is(err, scheduler.ErrElsewhere) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// rootsOf is the value of a partition that lists its roots.
func rootsOf(number int) string { return fmt.Sprintf("%s.%d", rootsName, number) }

// addRootsOf is addRoots for a partition, which keeps the list of its own.
func (c *Crawl) addRootsOf(ctx context.Context, p *policy.Policy, number int) error {
	return c.addRootsTo(ctx, p, rootsOf(number), func(u weburl.URL) bool {
		return c.partitions.Store.PartitionFor(u) == number
	})
}
