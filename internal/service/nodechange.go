package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/scheduler"
)

// nodechange.go: how the node that leads changes what is in force in the cluster. For the locks see common.

// wordName is the value of the store that says for which version the operator's word was given last.
const wordName = "word for version"

// spendWord reports whether the operator's word for what a version deletes has still to be given to the crawl, and notes that it is: the node that
// was asked for it may have been lost before its crawl went by the version. It is given once, since later edits are not meant by it.
func spendWord(ctx context.Context, store scheduler.Values, v *shared.Version) (bool, error) {
	if !v.Word {
		return false, nil
	}
	number := strconv.FormatInt(v.Number, 10)
	given, err := store.Value(ctx, wordName)
	if err != nil || string(given) == number {
		return false, err
	}
	return true, store.SetValue(ctx, wordName, []byte(number))
}

// propose makes a text the configuration of all nodes, and returns when this one goes by it.
func (c *common) propose(ctx context.Context, text []byte, base int64, word bool, by string) error {
	err := shared.Apply(ctx, c.node.Engine, cluster.SystemClock{}, c.node.times, shared.Proposal{Base: base, Content: text, By: by, Word: word, Seal: c.node.Token.Seal})
	if errors.Is(err, shared.ErrRefused) || errors.Is(err, shared.ErrChanged) {
		return &admin.Declined{Err: err}
	}
	for err == nil {
		c.mu.Lock()
		number, unfit := c.now.Number, c.unfit
		c.mu.Unlock()
		if number > base {
			c.taking.Lock() // until it is in force, not only known
			defer c.taking.Unlock()
			return nil
		}
		if unfit != nil {
			return unfit
		}
		err = (cluster.SystemClock{}).Sleep(ctx, c.node.times.Beat/10)
	}
	return err
}

// sealed reports whether a version was made by who has the cluster's token.
func (c *common) sealed(v *shared.Version) bool { return c.node.Token.Sealed(v.Sealed(), v.Seal) }

// remembers reports whether this node ever went by a version.
func (c *common) remembers() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory.Version.Number > 0
}

// forged passes over a version without the seal: this node goes on as it is, and puts that in its place where it leads. Only who remembers nothing has
// to say that it cannot go by it.
func (c *common) forged(ctx context.Context, v shared.Version) (bool, error) {
	if c.sealed(&v) || !c.remembers() {
		return false, nil
	}
	c.mu.Lock()
	leads := c.service != nil
	c.mu.Unlock()
	if leads {
		return true, c.putBack(ctx, v)
	}
	return true, nil
}

// putBack puts what this node remembers in the place of a version that was forged, as the one after it, whatever number that has.
func (c *common) putBack(ctx context.Context, forged shared.Version) error {
	c.mu.Lock()
	was, text := c.memory.Version, c.memory.Text
	c.mu.Unlock()
	c.log.Error("the configuration in the engine does not bear the seal of this cluster's token: unless you changed the token, see who can write to the engine; what was in force is put back",
		"version", forged.Number, "by", forged.By, "was", was.Number)
	err := shared.Begin(ctx, c.node.Engine, cluster.SystemClock{}, forged, shared.Proposal{Base: was.Number, Content: text, By: c.node.Name + ", in place of one without the seal", Seal: c.node.Token.Seal})
	if errors.Is(err, shared.ErrChanged) {
		return nil // another node was first
	}
	return err
}

// put is propose for a text that was sent to the service.
func (c *common) put(ctx context.Context, text []byte, word bool, by string) error {
	c.proposing.Lock()
	defer c.proposing.Unlock()
	c.mu.Lock()
	base := c.now.Number
	c.mu.Unlock()
	return c.propose(ctx, text, base, word, c.node.Name+", "+by)
}

// Reload is what a node does that leads when it is asked to read its configuration again: an edited file becomes the next version, if it was made
// from the one in force; else what that one names is read again.
func (c *common) Reload(ctx context.Context, s *Service, word bool) error {
	c.proposing.Lock()
	defer c.proposing.Unlock()
	c.lookAtFile()
	c.mu.Lock()
	said, now := c.file, c.now.Version
	c.mu.Unlock()
	if said.File != shared.FileDiffers {
		return s.reload(ctx, word)
	}
	s.notify.reloading()
	err := c.apply(ctx, said.FileVersion, &now, word)
	if err != nil {
		s.refuse(err)
	}
	return err
}

// apply proposes the file, which was made from the version base.
func (c *common) apply(ctx context.Context, base int64, now *shared.Version, word bool) error {
	text, err := c.read()
	if err != nil {
		return err
	}
	if file, report := config.Parse(c.path, text, c.own.Lookups()); file == nil {
		return &admin.Declined{Err: report.Err()}
	}
	if base != now.Number {
		made := fmt.Sprintf("was made from version %d", base)
		if base == 0 {
			made = "was never in force"
		}
		return &admin.Declined{Err: fmt.Errorf("%s on this machine %s, and version %d (%s, %s) is in force in the cluster: sextant cluster config shows that, so that you can make your change in it; or sextant cluster apply %s puts the file in force as it is",
			c.path, made, now.Number, now.By, now.At.Local().Format(time.DateTime), c.path)}
	}
	return c.propose(ctx, text, base, word, c.node.Name+", its file")
}

// judge says whether the Crawler that runs could go by a configuration. One that ends will be opened with whatever is in force then.
func (s *Service) judge(ctx context.Context, crawler config.Crawler) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.ending.Load() {
		return nil
	}
	for _, r := range s.crawls {
		change, err := r.Prepare(ctx, r.settings(crawler))
		if err != nil {
			return err
		}
		change.Discard()
	}
	return nil
}
