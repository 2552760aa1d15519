package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
)

// lead is a service that crawls while this node holds the claim.
func (c *clusterNode) lead(ctx context.Context, a *node.Active) error {
	if !c.begin(a) {
		return nil
	}
	defer c.ended()
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
	o := c.Options
	o.File, o.Crawlers = in.file, []config.Crawler{in.crawler}
	open, openBack := admin.Lend(c.open)
	owner, ownerBack := admin.Lend(c.owner)
	o.hangups, o.lent = c.hangups, &lent{door: door{open, owner, c.access}, store: a.Store, claim: claim, config: c.common.configuration}
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
	word, err := spendWord(ctx, a.Store, &in.Version)
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
	c.Log.Info("this node crawls", "node", c.of.Name, "crawler", o.Crawlers[0].Name, "console", c.Address())
	return errors.Join(s.Run(ctx, crawl.Once{}), s.Close())
}

// begin notes that this node leads; not if it is to stop.
func (c *clusterNode) begin(a *node.Active) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return false
	}
	c.leads, c.active, c.released, c.hangups = true, a, false, make(chan struct{}, 1)
	return true
}

// crawls notes the service, which may have to stop already.
func (c *clusterNode) crawls(s *Service) {
	c.mu.Lock()
	if member := c.member; member != nil {
		status := func() *admin.ClusterStatus { return c.status(member) }
		for _, r := range s.crawls {
			r.cluster.Store(&status)
		}
	}
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

func (c *clusterNode) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leads, c.active, c.service = false, nil, nil
	if c.stopping {
		c.end()
	}
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

// errAlone refuses a hand-over that nobody would take up.
var errAlone = errors.New("no other node could take over")

// release hands the crawl over to another node.
func (c *clusterNode) release() error {
	c.mu.Lock()
	member, leads := c.member, c.leads
	c.mu.Unlock()
	if !leads || member == nil {
		return node.ErrFollows
	}
	at := member.Standing()
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
