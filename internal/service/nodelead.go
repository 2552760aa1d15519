package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/finish"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// lead is a service that crawls while this node holds the claim of a cluster's only partition.
func (c *clusterNode) lead(ctx context.Context, a *node.Active) error {
	if !c.begin(a) {
		return nil
	}
	defer c.ended(a)
	claim, err := a.Claim(ctx)
	if err != nil {
		return err
	}
	in, err := c.common.current(ctx, true)
	if err != nil && c.common.Unfit() != "" {
		return nil // it is told, and the claim is released
	} else if err != nil {
		return err
	}
	all := func() []finish.Part {
		return []finish.Part{{Partition: cluster.Partition(a.Partition), Epoch: a.Epoch()}} // no letter arrives
	}
	return c.crawl(ctx, in, &lent{store: single{a.Store}, claim: claim}, all, func(*Service) func() { return func() {} })
}

// crawl runs a service by what is in force, with what this node lends to it. parts are those that it has taken in. beside is called before it runs, and
// what that returns when it has ended.
func (c *clusterNode) crawl(ctx context.Context, in inForce, l *lent, parts func() []finish.Part, beside func(*Service) (ended func())) error {
	o := c.Options
	o.File, o.Crawlers = in.file, []config.Crawler{in.crawler}
	open, openBack := admin.Lend(c.open)
	owner, ownerBack := admin.Lend(c.owner)
	l.door, l.config = door{open, owner, c.access}, c.common.configuration
	o.hangups, o.lent = c.hangups, l
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	c.answered()
	defer func() {
		openBack()
		ownerBack()
		c.answered = c.standBy()
	}()
	word, err := spendWord(ctx, l.store, &in.Version)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if c.start.Yes || word {
		for _, r := range s.crawls {
			r.AllowNextEdit()
		}
	}
	c.crawls(s)
	defer c.common.detach()
	if err := c.common.attach(ctx, s, in.ID); err != nil {
		return errors.Join(err, s.Close())
	}
	rests, err := c.works(s, parts)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	c.Log.Info("this node crawls", "node", c.of.Name, "crawler", o.Crawlers[0].Name, "console", c.Address())
	ended := beside(s)
	progress := s.showProgress(ctx, c.start.Progress)
	err = s.Run(ctx, crawl.Once{Drain: c.start.Once.Drain, Together: true})
	progress()
	rests()
	ended()
	return errors.Join(err, s.Close())
}

// begin notes that this node leads, with its only partition, or with any of several if a is nil; not if it is to stop.
func (c *clusterNode) begin(a *node.Active) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return false
	}
	c.leads, c.released, c.hangups = true, false, make(chan struct{}, 1)
	if a != nil {
		c.active[cluster.Partition(a.Partition)] = a
	}
	return true
}

// crawls notes the service, which may have to stop already.
func (c *clusterNode) crawls(s *Service) {
	for _, r := range s.crawls {
		status := c.status
		r.cluster.Store(&status)
	}
	c.mu.Lock()
	c.service = s
	stopping, released := c.stopping, c.released
	c.mu.Unlock()
	switch {
	case stopping:
		s.Stop()
	case released:
		s.handOver()
	}
}

func (c *clusterNode) ended(a *node.Active) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leads, c.service = false, nil
	if a != nil {
		delete(c.active, cluster.Partition(a.Partition))
	}
	if c.stopping {
		c.end()
	}
}

// leading is what leads here of a partition, nil if nothing does.
func (c *clusterNode) leading(p cluster.Partition) *node.Active {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active[p]
}

// stop is what the first signal does: what is in flight is finished before the claim is released.
func (c *clusterNode) stop() {
	c.mu.Lock()
	c.stopping = true
	leads, s := c.leads, c.service
	c.mu.Unlock()
	if s != nil {
		s.Stop()
	}
	if !leads {
		c.end()
	}
}

// hurry ends a node that is to stop while the engine does not answer, for which all that it has in flight waits.
func (c *clusterNode) hurry(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-c.start.Stop.Done():
	}
	for since := time.Now(); (cluster.SystemClock{}).Sleep(ctx, c.of.times.Beat) == nil; {
		if at, known := c.standing(); !known || at.Silent.IsZero() {
			since = time.Now()
		} else if time.Since(since) >= c.of.times.Silence {
			c.end()
			return
		}
	}
}

// errAlone refuses a hand-over that nobody would take up.
var errAlone = errors.New("no other node could take over")

// errSeveral refuses to hand over a crawl that several nodes have parts of.
var errSeveral = errors.New("several nodes have partitions of this crawl: sextant cluster drain NODE has one of them hand over its own")

// release hands the crawl over to another node.
func (c *clusterNode) release() error {
	c.mu.Lock()
	leads, several := c.leads, c.parts != nil
	c.mu.Unlock()
	at, known := c.standing()
	switch {
	case several:
		return errSeveral
	case !leads || !known:
		return node.ErrFollows
	}
	if why := cmp.Or(at.Unprotected, c.common.unprotected(at.InSync)); why != "" {
		return fmt.Errorf("%w: %s", errAlone, why)
	}
	c.mu.Lock()
	c.released = true
	s := c.service
	c.mu.Unlock()
	if s != nil {
		s.handOver()
	}
	return nil
}
